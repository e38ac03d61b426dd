"""What only the command line raises: a person or a script stopped a command."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Action, HoldfastError, Invalid

UNCHANGED = "Nothing was changed."


class StoppedError(HoldfastError):
    code = "aborted"


class DeclinedError(HoldfastError):
    """The person's own no: nothing went wrong, so it is not printed as an error."""

    code = "aborted"

    def __init__(self, left_undone: str):
        self.left_undone = left_undone
        super().__init__(left_undone)


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


class UndraftedError(Invalid):
    """Where there is no repository, nothing says what the work is."""

    code = "invalid_value"

    def __init__(self, missing: Sequence[str]):
        self.missing = missing  # options
        super().__init__(
            "No git repository of this folder says what the work is, so it has to be given: "
            f"{' and '.join(missing)}."
        )


class UnpublishedError(Invalid):
    """A draft that nobody was there to agree to."""

    code = "unconfirmed"

    def __init__(self, confirmed: Action):
        self.confirmed = confirmed  # the same, without a question
        super().__init__(
            "Nothing was published: there is no terminal to ask at.", next_actions=[confirmed]
        )
