"""The root of every error that Holdfast raises on purpose, its five kinds, and what several rooms
raise.

Doors know the five kinds only; a kind decides the exit code and the HTTP status. A concrete class
carries its data as attributes and a stable code. Its message names the thing, its value and what is
wrong, and has no backquotes: they mark commands, and a command belongs to one door. What to do next
is data, which each door words in its own grammar. What one room alone raises is in its own
`errors.py`; docs/errors.md lists all of them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_CHARS = 80
STORE_AWAY = "The store of this server cannot be reached now. Try again later."
SET_UP_WRONG = "This server is not set up as it should be. Tell its operator."


def shown(value: object) -> str:
    """A value as it appears in a message: quoted, escaped, and short however long it is."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Nested without end, or a number of more digits than Python prints.
        return f"(a {type(value).__name__})"
    if len(text) <= SHOWN_CHARS:
        return text
    size = len(value) if isinstance(value, str) else len(text)
    return f"{text[:SHOWN_CHARS]}… ({size:,} characters)"


def find_place(error: BaseException) -> str:
    """The file and line that an error comes from."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return "an unknown place"
    path = frame.tb_frame.f_code.co_filename
    return f"{os.path.basename(path)}:{frame.tb_lineno}"


def bug_message(error: BaseException) -> str:
    """The message of an unexpected error, without any text of the user's own."""
    return f"This is a bug in Holdfast: {type(error).__name__} at {find_place(error)}."


class Action:
    """What can be done next: a verb with its arguments. Not a dataclass: every hook loads this."""

    __slots__ = ("arguments", "verb")

    def __init__(self, verb: str, **arguments: object):
        self.verb, self.arguments = verb, arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Action):
            return False
        return self.verb == other.verb and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash(self.verb)

    def __repr__(self) -> str:
        return f"Action({self.verb!r}, {self.arguments!r})"


class HoldfastError(Exception):
    """The root; a door that meets anything else has met a bug."""

    code = "error"
    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, next_actions: Iterable[Action] = ()):
        self.message = message
        self.next_actions = tuple(next_actions)
        super().__init__(message)

    @property
    def names_place(self) -> bool:
        """Whether its text says where the store or another file of this machine is."""
        return hasattr(self, "where")


class NotFound(HoldfastError):
    code, exit_code, http_status = "not_found", 3, 404


class Conflict(HoldfastError):
    code, exit_code, http_status = "conflict", 4, 409


class Refused(HoldfastError):
    code, exit_code, http_status = "refused", 5, 422


class Invalid(HoldfastError):
    code, exit_code, http_status = "invalid", 2, 400


class Unavailable(HoldfastError):
    code, exit_code, http_status = "unavailable", 6, 503


def hide_place(error: Exception) -> Exception:
    """As a caller on another machine may read it: the same kind and code, and nothing of where the
    server has its store and its files.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return Unavailable(STORE_AWAY)
    if not isinstance(error, HoldfastError) or not error.names_place:
        return error
    hidden = type(error).__new__(type(error))
    text = STORE_AWAY if isinstance(error, Unavailable) else SET_UP_WRONG
    HoldfastError.__init__(hidden, text)
    return hidden


class KeyReusedError(Conflict):
    code = "idempotency_key_reused"

    def __init__(self, key: str):
        self.key = key
        super().__init__(
            f"Idempotency key '{key}' was used for another request. "
            "Repeat that request unchanged, or use a new key."
        )


class PartlyDoneError(Unavailable):
    """Several transactions, of which the first ones are durable."""

    code = "partly_done"

    def __init__(self, done: str, cause: HoldfastError):
        self.done, self.cause = done, cause
        # The cause is about the transaction that it stopped, which may have written nothing.
        super().__init__(
            f"{done}, and that stays. Then it stopped ({cause.code}), and the rest is still "
            "stored. Run the same command again: it goes on from there.",
            next_actions=cause.next_actions,
        )


class NoWorkingTreeError(Refused):
    """A server for a team has no files of a developer."""

    code = "no_working_tree"

    def __init__(self) -> None:
        super().__init__(
            "This server has no working tree. Ask Holdfast on the machine that has one."
        )


class InvalidValueError(Invalid):
    code = "invalid_value"

    def __init__(
        self,
        field: str,
        value: object,
        problem: str,
        *,
        known: Iterable[str] = (),
        next_actions: Iterable[Action] = (),
    ):
        self.field, self.value, self.problem = field, value, problem
        self.known = tuple(known)
        message = f"{field} {shown(value)} {problem}."
        if self.known:
            choices = ", ".join(self.known)
            message += f" Known: {choices}."
        super().__init__(message, next_actions=next_actions)

    @property
    def names_place(self) -> bool:
        return self.field == "file" or self.field.startswith("HOLDFAST_")


class StoreBusyError(Unavailable):
    code = "store_busy"

    def __init__(self, where: str, problem: str = "is locked by another writer for too long"):
        self.where, self.problem = where, problem
        super().__init__(f"{where} {problem}. Nothing was written. Try again.")


class StoreUnreachableError(Unavailable):
    code = "store_unreachable"

    def __init__(
        self,
        where: str,
        cause: str,
        advice: str = "Check that it runs and that HOLDFAST_DATABASE is right.",
    ):
        self.where, self.cause = where, cause
        super().__init__(f"{where} cannot be reached: {cause}. {advice}")


class StoreFullError(Unavailable):
    code = "store_full"

    def __init__(self, where: str):
        self.where = where
        super().__init__(
            f"No space is left for {where}. Nothing was written. Free some space, then try again.",
            next_actions=[Action("status")],
        )


class StoreReadOnlyError(Unavailable):
    code = "store_read_only"

    def __init__(
        self,
        where: str,
        cause: str = "it is read-only",
        advice: str = "Make it writable, or set HOLDFAST_HOME to another folder.",
    ):
        self.where, self.cause = where, cause
        super().__init__(f"{where} cannot be written: {cause}. {advice}")


class ExtraMissingError(Unavailable):
    code = "extra_missing"

    def __init__(self, command: str, extra: str):
        self.command, self.extra = command, extra
        super().__init__(
            f"The extra holdfast[{extra}] is not installed.",
            next_actions=[Action("extra.install", extra=extra)],
        )
