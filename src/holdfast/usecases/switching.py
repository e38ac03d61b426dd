"""Keeping the session that runs in a working tree out of everything, and taking it in again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.storage.off_sessions import OffSessions
from holdfast.usecases.errors import NoClientSessionError

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.sessions.model import Session


async def set_off(app: App, worktree: str, *, is_off: bool) -> Session:
    """The newest open session of a client here that is not so yet."""
    sessions = OffSessions(app.settings.home)
    for session in await app.scope.sessions.list_active_sessions(worktree):
        if session.ended_at or session.client is None or session.native_id is None:
            continue
        if sessions.has(session.client, session.native_id) != is_off:
            change = sessions.add if is_off else sessions.remove
            change(session.client, session.native_id)
            return session
    raise NoClientSessionError(worktree, is_off=not is_off)
