"""What the sessions screen shows, read from the session service and put into order.

Each list is a page, and each page costs what it shows: neither a hundred thousand sessions nor a
session of a hundred thousand events makes it slower.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import groupby

from holdfast.ground import clock
from holdfast.ground.frozen import dataclass, replace
from holdfast.observations.model import SessionTurn
from holdfast.observations.turns import gather_turns
from holdfast.sessions.model import EventSample, Session
from holdfast.sessions.service import SessionService
from holdfast.sessions.status import SessionStatus
from holdfast.surfaces.console import pictures, showing
from holdfast.surfaces.console.conversation_view import word_command
from holdfast.usecases.session_status import Busy, judge_session
from holdfast.usecases.session_titles import find_title

SESSIONS_PER_PAGE = 50
MOST_SESSIONS = 500
TURNS_PER_PAGE = 20
EVENTS_PER_PAGE = 400


@dataclass(frozen=True)
class Row:
    """A session in the list."""

    session: Session
    title: str
    is_named: bool
    status: SessionStatus
    spark: str
    last_at: datetime
    part: str = ""  # which of the sessions that continue one another


@dataclass(frozen=True)
class Day:
    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class SessionDays:
    days: tuple[Day, ...]
    count: int
    older: str | None  # the id to go on below
    goes_on: str = ""  # the day that the page before ended with
    page: int = SESSIONS_PER_PAGE
    most: int = MOST_SESSIONS  # what is fetched at once; a longer list is left as it is


@dataclass(frozen=True)
class Timeline:
    """A page of turns, newest first."""

    turns: tuple[SessionTurn, ...]
    earlier: int | None  # the number to go on below
    last: int

    @property
    def is_whole(self) -> bool:
        """Whether the oldest turn on the page begins on it."""
        if not self.turns or self.earlier is None:
            return True
        return self.turns[-1].request is not None


async def load_list(
    sessions: SessionService,
    zone: tzinfo | None,
    below: str | None = None,
    count: int = SESSIONS_PER_PAGE,
    *,
    busy: Busy,
) -> SessionDays:
    now = clock.now()
    page = await sessions.list_sessions(count + 1, below)
    shown = page[:count]
    found = await asyncio.gather(*(load_row(sessions, session, now, busy) for session in shown))
    parts = await name_parts(sessions, shown)
    rows = [replace(row, part=parts.get(row.session.id, "")) for row in found]
    goes_on = ""
    if below is not None:
        last_shown = await sessions.get_session(below)
        goes_on = _name_day(last_shown.started_at, zone, now)
    older = shown[-1].id if len(page) > count else None
    days = _group_by_day(rows, zone, now)
    return SessionDays(tuple(days), len(rows), older, goes_on)


async def load_row(sessions: SessionService, session: Session, now: datetime, busy: Busy) -> Row:
    samples = await sessions.sample_events(session.id, pictures.SPARK_SAMPLES)
    last = samples[-1] if samples else None
    title = await find_title(sessions, session)
    activity = pictures.count_activity(samples)
    last_at = _find_last_moment(session, last)
    return Row(
        session=session,
        title=showing.first_words(title),
        is_named=bool(session.name),
        status=await judge_session(sessions, session, last_at, now, busy),
        spark=pictures.make_spark_points(activity),
        last_at=last_at,
    )


def _find_last_moment(session: Session, last: EventSample | None) -> datetime:
    if last is None:
        return session.started_at
    return last.happened_at


async def find_command(sessions: SessionService, session: Session) -> str:
    """What goes on with a session, or with the last of those that continue it; empty for one in
    which nothing has happened.
    """
    thread = await sessions.list_thread(session.id)
    with_events = [each.id for each in thread if each.last_sequence]
    return word_command(with_events[-1]) if with_events else ""


async def name_parts(sessions: SessionService, shown: Sequence[Session]) -> dict[str, str]:
    """By id, the place of a session in its thread, for sessions that continue each other."""
    parts: dict[str, str] = {}
    for session in shown:
        if not session.resumed_from or session.id in parts:
            continue
        thread = await sessions.list_thread(session.id)
        count = len(thread)
        for number, part in enumerate(thread, 1):
            parts[part.id] = f"part {number} of {count}"
    return parts


async def load_timeline(
    sessions: SessionService, session_id: str, below: int | None = None
) -> Timeline:
    events = await sessions.list_turn_events(
        session_id, below, max_turns=TURNS_PER_PAGE, max_events=EVENTS_PER_PAGE
    )
    if not events:
        return Timeline((), None, 0)
    newest_first = tuple(reversed(gather_turns(events)))
    first = events[0].sequence
    earlier = first if first > 1 else None
    return Timeline(newest_first, earlier, events[-1].sequence)


async def find_page_end(sessions: SessionService, session_id: str, at: int) -> int | None:
    """The number to read below so that the turn of an event is shown, as far as a page goes.

    None for the newest page.
    """
    following = await sessions.list_events(session_id, at, EVENTS_PER_PAGE - 1)
    next_turns = [turn for turn in gather_turns(following) if turn.request]
    if next_turns:
        return next_turns[0].first
    is_cut = len(following) == EVENTS_PER_PAGE - 1
    return at + EVENTS_PER_PAGE if is_cut else None


async def load_figures(sessions: SessionService, session: Session) -> pictures.Figures:
    samples = await sessions.sample_events(session.id, pictures.FIGURE_SAMPLES)
    return pictures.make_figures(session.last_sequence, samples)


def _group_by_day(rows: Sequence[Row], zone: tzinfo | None, now: datetime) -> list[Day]:
    def name_day(row: Row) -> str:
        return _name_day(row.session.started_at, zone, now)

    by_day = groupby(rows, key=name_day)
    return [Day(name, tuple(group)) for name, group in by_day]


def _name_day(at: datetime, zone: tzinfo | None, now: datetime) -> str:
    day = showing.local(at, zone).date()
    today = showing.local(now, zone).date()
    return showing.day_name(day, today)
