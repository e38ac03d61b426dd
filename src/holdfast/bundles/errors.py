"""What only bundles and rounds raise."""

from __future__ import annotations

from holdfast.errors import Action, Conflict, NotFound, Refused, shown


class ReceiptNotFoundError(NotFound):
    code = "receipt_not_found"

    def __init__(self, receipt_id: object):
        """None for the last one, where there is none."""
        self.receipt_id = receipt_id
        message = f"Receipt {shown(receipt_id)} does not exist."
        if receipt_id is None:
            message = "Nothing was handed over to an agent yet, so there is nothing to explain."
        super().__init__(message, next_actions=[Action("bundle.show")])


class ReceiptForgottenError(NotFound):
    """Its contents were erased; only that it was made is still known."""

    code = "receipt_forgotten"

    def __init__(self, receipt_id: str):
        self.receipt_id = receipt_id
        super().__init__(f"Receipt {receipt_id} was forgotten, so its bundle cannot be made again.")


class RoundNotFoundError(NotFound):
    code = "round_not_found"

    def __init__(self, workstream_id: str):
        self.workstream_id = workstream_id
        super().__init__(
            f"Workstream {shown(workstream_id)} has no open round.",
            next_actions=[Action("round.start")],
        )


class RoundOpenError(Conflict):
    code = "round_open"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"A round about {shown(topic)} is open. End it first.",
            next_actions=[Action("round.next"), Action("round.close"), Action("round.abandon")],
        )


class RoundClosingError(Conflict):
    """The chair has concluded, and its results are not all noted yet."""

    code = "round_closing"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"The round about {shown(topic)} is being closed, so it is not abandoned. If no "
            "process is closing it any more, close it again: that notes what is left.",
            next_actions=[Action("round.close")],
        )


class RoundMovedError(Conflict):
    """Another process took the same step of the round first."""

    code = "round_moved"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"The round about {shown(topic)} changed in the meantime. Nothing was written.",
            next_actions=[Action("round.next")],
        )


class WrongRoleError(Conflict):
    code = "wrong_role"

    def __init__(self, role: object, expected: str, problem: str = ""):
        self.role, self.expected = role, expected
        problem = problem or f"Role {shown(role)} does not speak now"
        super().__init__(
            f"{problem}: it is the turn of {expected}. Nothing was written.",
            next_actions=[Action("round.next")],
        )


class ReceiptOutdatedError(Refused):
    code = "receipt_outdated"

    def __init__(self, receipt_id: str):
        self.receipt_id = receipt_id
        super().__init__(
            f"Receipt {receipt_id} was written by another version of Holdfast, and this one would "
            "write its bundle differently. That version makes the exact bytes."
        )


class SourceMissingError(Refused):
    """A submission names no source and does not say that it holds no new fact."""

    code = "source_missing"

    def __init__(self, role: str):
        self.role = role
        super().__init__(
            f"{role} names no source. Give one as repo:PATH, tool:COMMAND or user:WORDS, or begin "
            'the text with "No new fact".',
            next_actions=[Action("round.submit")],
        )
