"""What only the joining of several rooms raises."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Action, NotFound, Refused

SHOWN_SESSIONS = 10


class NoClientSessionError(NotFound):
    """None that could be switched: a client has to have begun one here."""

    code = "no_client_session"

    def __init__(self, worktree: str, *, is_off: bool):
        self.worktree, self.is_off = worktree, is_off
        kind = "session that is off" if is_off else "open session of a client"
        super().__init__(f"No {kind} is known in {worktree}. Nothing was changed.")


class ClientSessionNotNamedError(Refused):
    """Several could be meant, or one that runs no more, and a guess would be about privacy."""

    code = "client_session_not_named"

    def __init__(self, worktree: str, known: Sequence[tuple[str, str]], *, is_off: bool):
        self.worktree, self.known, self.is_off = worktree, tuple(known), is_off
        shown = [f"{native_id} ({client})" for client, native_id in known[:SHOWN_SESSIONS]]
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
