"""What only the joining of several rooms raises."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Action, NotFound, Refused, shown
from holdfast.ground.frozen import dataclass
from holdfast.ground.text import cut

SHOWN_SESSIONS = 10
ID_CHARS, TITLE_CHARS = 13, 50  # the beginning of an id is enough for any command


@dataclass(frozen=True)
class SwitchableSession:
    """A session that a person may mean, as they know it."""

    id: str  # ours, or the client's own where nothing is stored
    client: str
    title: str

    def describe(self) -> str:
        shown_id = self.id if self.title == NOTHING_STORED else self.id[:ID_CHARS]
        return f"{shown_id} ({self.client}: {cut(self.title, TITLE_CHARS)})"


NOTHING_STORED = "nothing stored yet"


class NoClientSessionError(NotFound):
    """None that could be switched: a client has to have begun one here."""

    code = "no_client_session"

    def __init__(self, worktree: str, *, is_off: bool):
        self.worktree, self.is_off = worktree, is_off
        kind = "session that is off" if is_off else "open session of a client"
        super().__init__(
            f"No {kind} is known in {worktree}. Nothing was changed.",
            next_actions=[Action("session.look"), Action("doctor")],
        )


class ClientSessionNotNamedError(Refused):
    """Several could be meant, or one that runs no more, and a guess would be about privacy."""

    code = "client_session_not_named"

    def __init__(self, worktree: str, known: Sequence[SwitchableSession], *, is_off: bool):
        self.worktree, self.known, self.is_off = worktree, tuple(known), is_off
        shown = [session.describe() for session in known[:SHOWN_SESSIONS]]
        action = Action("session.switch_on") if is_off else Action("session.switch_off")
        super().__init__(
            f"Which session is meant is not known. In {worktree} there are: {', '.join(shown)}. "
            "Nothing was changed.",
            next_actions=[action],
        )


class SessionOffError(Refused):
    """A tool was called in a session that a person keeps out of everything."""

    code = "session_off"

    def __init__(self, native_id: str):
        self.native_id = native_id
        super().__init__(
            f"Session {native_id} is off: the person keeps it out of everything, so nothing was "
            "stored.",
            next_actions=[Action("session.on")],
        )


class ClientMissingError(NotFound):
    """A program that is to be opened and is not on this machine."""

    code = "client_missing"

    def __init__(self, wanted: str | None, found: Sequence[str]):
        self.wanted, self.found = wanted, tuple(found)
        missing = f"The program {wanted} was not found" if wanted else "No agent program was found"
        there = f" Found: {', '.join(found)}." if found else ""
        super().__init__(
            f"{missing} in this shell's PATH.{there}", next_actions=[Action("resume.print")]
        )


class NothingToResumeError(NotFound):
    """Words that no conversation and no session of a working tree has."""

    code = "nothing_to_resume"

    def __init__(self, words: str):
        self.words = words
        super().__init__(
            f"Nothing here was about {shown(words)}.", next_actions=[Action("resume.list")]
        )
