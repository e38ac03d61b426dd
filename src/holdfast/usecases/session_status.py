"""How sessions stand: from their last events, and from the programs that run on this machine."""

from __future__ import annotations

from holdfast.ground import clock
from holdfast.storage.processes import Processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService
    from holdfast.sessions.status import SessionStatus


async def find_statuses(
    scope: Scope, home: str, sessions: Sequence[Session]
) -> dict[str, SessionStatus]:
    """By the id of each session; one query and one look at a folder for most of them."""
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
        statuses[session.id] = await judge_session(scope.sessions, session, last_at, now, busy)
    return statuses


async def judge_session(
    service: SessionService, session: Session, last_at: datetime, now: datetime, busy: Busy
) -> SessionStatus:
    """From the end of its log too, unless a program runs in it: a few events of any log."""
    from holdfast.ground.frozen import replace
    from holdfast.sessions.status import judge_status

    has_process = busy.has(session)
    is_left = busy.has_left(session)
    status = judge_status(session, last_at, now, has_process=has_process, is_cut_off=is_left)
    if has_process and status.word == "live":
        return status
    if status.word == "live" and await _is_cut_off(service, session):
        status = judge_status(session, last_at, now, has_process=False, is_cut_off=True)
    if status.word == "live" or not await _is_unanswered(service, session):
        return status
    return replace(status, is_unanswered=True)


async def _is_cut_off(service: SessionService, session: Session) -> bool:
    """Asked of the few that something happened in a moment ago."""
    from holdfast.sessions.status import ends_unanswered

    if session.native_id is None:
        return False
    events = await service.list_turn_events(session.id, max_turns=1, max_events=1)
    return any(map(ends_unanswered, events))


async def _is_unanswered(service: SessionService, session: Session) -> bool:
    """Where a client's own transcript is read: else nothing says that the log has every answer."""
    from holdfast.bundles import outcomes
    from holdfast.bundles.gathering import find_outcome

    if session.native_id is None or not session.last_sequence:
        return False
    outcome = await find_outcome(service, session)
    return outcome is not None and outcome.word != outcomes.ANSWERED


async def find_status(scope: Scope, home: str, session: Session) -> SessionStatus:
    statuses = await find_statuses(scope, home, [session])
    return statuses[session.id]


class Busy:
    """The sessions that running programs are in, and those that one was in a moment ago."""

    def __init__(
        self, rows: Sequence[Mapping[str, object]] = (), left: Sequence[Mapping[str, object]] = ()
    ):
        self._running = _list_names(rows)
        self._left = _list_names(left)

    def has(self, session: Session) -> bool:
        return not self._running.isdisjoint(_name_session(session))

    def has_left(self, session: Session) -> bool:
        """Whether a program was in it, and none is any more."""
        return not self.has(session) and not self._left.isdisjoint(_name_session(session))


def _list_names(rows: Sequence[Mapping[str, object]]) -> set[object]:
    """The ids of sessions, ours or a client's with its name."""
    own = {row["session_id"] for row in rows if row.get("session_id")}
    native = {(row.get("client"), row["native_id"]) for row in rows if row.get("native_id")}
    return own | native


def _name_session(session: Session) -> list[object]:
    return [session.id, (session.client, session.native_id)]


def find_busy(home: str) -> Busy:
    processes = Processes(home)
    return Busy(processes.list_running(), processes.list_left())


def is_running(home: str, session: Session) -> bool:
    """Whether a running program is known to be in a session."""
    return find_busy(home).has(session)
