"""How sessions stand: from their last events, and from the programs that run on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ground import clock
from holdfast.sessions.status import SessionStatus, judge_status
from holdfast.storage.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.scope import Scope
    from holdfast.sessions.model import Session


async def find_statuses(
    scope: Scope, home: str, sessions: Sequence[Session]
) -> dict[str, SessionStatus]:
    """By the id of each session; one query and one look at a folder for all of them."""
    is_any_open = any(session.ended_at is None for session in sessions)
    last_moments = {}
    busy: set[tuple[object, ...]] = set()
    if is_any_open:
        last_moments = await scope.sessions.find_last_moments(sessions)
        busy = _list_busy(home)
    now = clock.now()
    return {
        session.id: judge_status(
            session,
            last_moments.get(session.id, session.started_at),
            now,
            has_process=_is_busy(session, busy),
        )
        for session in sessions
    }


async def find_status(scope: Scope, home: str, session: Session) -> SessionStatus:
    statuses = await find_statuses(scope, home, [session])
    return statuses[session.id]


def _list_busy(home: str) -> set[tuple[object, ...]]:
    """By their own ids, or by their clients and native ids."""
    busy: set[tuple[object, ...]] = set()
    for row in Processes(home).list_running():
        busy.add((row.get("session_id"),))
        busy.add((row.get("client"), row.get("native_id")))
    return busy


def _is_busy(session: Session, busy: set[tuple[object, ...]]) -> bool:
    if (session.id,) in busy:
        return True
    return session.native_id is not None and (session.client, session.native_id) in busy
