"""How sessions stand: from their last events, and from the programs that run on this machine."""

from __future__ import annotations

from holdfast.ground import clock
from holdfast.storage.processes import Processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.sessions.status import SessionStatus


async def find_statuses(
    scope: Scope, home: str, sessions: Sequence[Session]
) -> dict[str, SessionStatus]:
    """By the id of each session; one query and one look at a folder for most of them."""
    from holdfast.sessions.status import judge_status  # a hook only asks whether one is running

    is_any_open = any(session.ended_at is None for session in sessions)
    last_moments = {}
    busy = Busy()
    if is_any_open:
        last_moments = await scope.sessions.find_last_moments(sessions)
        busy = find_busy(home)
    now = clock.now()
    statuses = {}
    for session in sessions:
        last_at = last_moments.get(session.id, session.started_at)
        has_process = busy.has(session)
        status = judge_status(session, last_at, now, has_process=has_process)
        if status.word == "live" and not has_process and await _is_cut_off(scope, session):
            status = judge_status(session, last_at, now, has_process=False, is_cut_off=True)
        statuses[session.id] = status
    return statuses


async def _is_cut_off(scope: Scope, session: Session) -> bool:
    """Asked of the few that something happened in a moment ago."""
    from holdfast.sessions.status import ends_unanswered

    if session.native_id is None:
        return False
    events = await scope.sessions.list_turn_events(session.id, max_turns=1, max_events=1)
    return any(map(ends_unanswered, events))


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
