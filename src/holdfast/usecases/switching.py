"""Keeping the session that runs in a working tree out of everything, and taking it in again.

From then on no hook stores anything of it, no later reading of its transcript brings it back, and
nobody is handed it. What was stored before stays until it is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.model import make_session
from holdfast.storage.off_sessions import OffSessions
from holdfast.usecases.errors import NoClientSessionError

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.sessions.model import Session


async def set_off(app: App, worktree: str, *, is_off: bool) -> Session:
    """The newest open session of a client here that is not so yet."""
    if is_off:
        return await _switch_off(app, worktree)
    return await _switch_on(app, worktree)


async def _switch_off(app: App, worktree: str) -> Session:
    sessions = app.scope.sessions
    for session in await sessions.list_active_sessions(worktree):
        if session.ended_at or session.client is None or session.native_id is None:
            continue
        OffSessions(app.settings.home).add(session.client, session.native_id)
        await sessions.store.hide_session(session.id)
        return session
    raise NoClientSessionError(worktree, is_off=False)


async def _switch_on(app: App, worktree: str) -> Session:
    store = app.scope.sessions.store
    off = OffSessions(app.settings.home)
    for client, native_id in off.list_newest():
        row = await store.find_native(client, native_id)
        if row is None or make_session(row).worktree != worktree:
            continue
        session = make_session(row)
        off.remove(client, native_id)
        await store.mark_active(session.id)
        return session
    raise NoClientSessionError(worktree, is_off=True)
