"""How sessions stand: from their last events, and from the programs that run on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ground import clock
from holdfast.sessions.status import SessionStatus, judge_status
from holdfast.storage.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.scope import Scope
    from holdfast.sessions.model import Session


async def find_statuses(
    scope: Scope, home: str, sessions: Sequence[Session]
) -> dict[str, SessionStatus]:
    """By the id of each session; one query and one look at a folder for all of them."""
    is_any_open = any(session.ended_at is None for session in sessions)
    last_moments = {}
    busy = Busy()
    if is_any_open:
        last_moments = await scope.sessions.find_last_moments(sessions)
        busy = find_busy(home)
    now = clock.now()
    return {
        session.id: judge_status(
            session,
            last_moments.get(session.id, session.started_at),
            now,
            has_process=busy.has(session),
        )
        for session in sessions
    }


async def find_status(scope: Scope, home: str, session: Session) -> SessionStatus:
    statuses = await find_statuses(scope, home, [session])
    return statuses[session.id]


class Busy:
    """The sessions that running programs are in, by their ids or by the clients' own."""

    def __init__(self, rows: Sequence[Mapping[str, object]] = ()):
        self._ids = {row.get("session_id") for row in rows}
        self._native_ids = {(row.get("client"), row.get("native_id")) for row in rows}

    def has(self, session: Session) -> bool:
        if session.id in self._ids:
            return True
        native = session.client, session.native_id
        return session.native_id is not None and native in self._native_ids


def find_busy(home: str) -> Busy:
    return Busy(Processes(home).list_running())


def is_running(home: str, session: Session) -> bool:
    """Whether a running program is known to be in a session."""
    return find_busy(home).has(session)
