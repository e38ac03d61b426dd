"""The outcome of a unit of work that went wrong, carried across a thread."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Failure:
    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error = error


def take_outcome(outcome: Any) -> Any:
    """What a unit of work returned, or its error."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
