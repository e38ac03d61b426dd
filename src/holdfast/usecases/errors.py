"""What only the joining of several rooms raises."""

from __future__ import annotations

from holdfast.errors import Action, NotFound


class NoClientSessionError(NotFound):
    """None that could be switched: a client has to have begun one here."""

    code = "no_client_session"

    def __init__(self, worktree: str, *, is_off: bool):
        self.worktree, self.is_off = worktree, is_off
        kind = "session that is off" if is_off else "open session of a client"
        super().__init__(
            f"No {kind} is known in {worktree}. Nothing was changed.",
            next_actions=[Action("session.list")],
        )
