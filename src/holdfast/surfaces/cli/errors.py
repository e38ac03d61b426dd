"""What only the command line raises: a person or a script stopped a command."""

from __future__ import annotations

from holdfast.errors import Action, HoldfastError


class StoppedError(HoldfastError):
    code = "aborted"


class NobodyAnsweredError(HoldfastError):
    """To a script the same as a no; only that a script can do something about it."""

    code = "aborted"

    def __init__(self, confirmed: Action):
        self.confirmed = confirmed  # the same, without a question
        super().__init__(
            "Nothing was changed: the question was not answered.", next_actions=[confirmed]
        )


class UnconfirmedError(HoldfastError):
    """A question that nobody is there to answer: no terminal, or a program that reads JSON."""

    code = "aborted"

    def __init__(self) -> None:
        super().__init__(
            "Nothing was changed: there is no terminal to ask at.",
            next_actions=[Action("init.confirmed"), Action("init.look")],
        )
