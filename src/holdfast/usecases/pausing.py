"""A person keeps a session out of everything, or lets it in again.

From then on no hook stores anything of it, no later reading of its transcript brings it back, and
nobody is handed it. What was stored before stays until it is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.errors import SessionNotNamedError
from holdfast.storage.off_sessions import OffSessions

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.sessions.model import Session


async def set_off(app: App, session: Session, is_off: bool) -> None:
    """By its client's own id, which a hook knows before anything is stored."""
    if session.client is None or session.native_id is None:
        raise SessionNotNamedError
    off = OffSessions(app.settings.home)
    store = app.scope.sessions.store
    if is_off:
        off.add(session.client, session.native_id)
        await store.hide_session(session.id)
    else:
        off.remove(session.client, session.native_id)
        await store.mark_active(session.id)
