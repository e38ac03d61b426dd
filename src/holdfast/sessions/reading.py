"""Reading a log page by page: its newest events within limits, and the whole chain."""

from __future__ import annotations

from holdfast.ground.frozen import replace
from holdfast.sessions import chain, rules
from holdfast.sessions.model import (
    EventWindow,
    SessionEvent,
    Verification,
    get_sequence,
    get_texts,
    is_user_message,
    make_event,
    make_session,
)
from holdfast.sessions.requests import REWOUND, is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.sessions.model import Session
    from holdfast.sessions.store import SessionStore

FIRST_PAGE = 64
PAGE = 1000
MOST_EVENTS = 1000  # that a window returns
BEYOND_ALL = (1 << 63) - 1  # a number that no event has
MESSAGES_PER_PAGE = 20
MOST_MESSAGES = 200  # among which a request is looked for
LEAST_CHARS = 2_500  # of a message, to see what it is: our longest document is shorter


async def read_window(
    store: SessionStore,
    session_id: str,
    max_turns: int,
    max_tokens: int | None,
    most: int = MOST_EVENTS,
) -> EventWindow:
    """The newest events within the limits; at most `most`, however long a turn is."""
    if not max_turns:
        rows = await store.list_recent_events(session_id, 0, None, 1)
        return _make_window(rows)
    # One more than is returned, to know whether the window was cut.
    if max_tokens is None:
        rows = await store.list_recent_events(session_id, max_turns, None, most + 1)
    else:
        rows = await _list_within(store, session_id, max_turns, max_tokens, most + 1)
    if len(rows) <= most:
        return _make_window(rows)
    rows = await _put_turn_start(store, session_id, rows[:most], max_tokens)
    return _make_window(rows, is_cut=True)


def _make_window(newest_first: list[Any], *, is_cut: bool = False) -> EventWindow:
    events = [make_event(row) for row in reversed(newest_first)]
    return EventWindow(events, is_cut=is_cut)


async def _put_turn_start(
    store: SessionStore, session_id: str, newest_first: list[Any], max_tokens: int | None
) -> list[Any]:
    """The request of the turn that is cut, in the place of the oldest event, where it fits."""
    *kept, oldest = newest_first
    if is_user_message(oldest) or not kept:
        return newest_first
    start = await store.find_turn_start(session_id, get_sequence(oldest))
    if start is None:
        return newest_first
    costs = [rules.count_event_tokens(*get_texts(row)) for row in (*kept, start)]
    if max_tokens is not None and sum(costs) > max_tokens:
        return newest_first
    return [*kept, start]


async def _list_within(
    store: SessionStore, session_id: str, max_turns: int, max_tokens: int, most: int
) -> list[Any]:
    """From the newest on, until the tokens are spent: the cost follows the limit, not the log."""
    kept: list[Any] = []
    used = 0
    page = FIRST_PAGE
    below = None
    while len(kept) < most:
        size = min(page, most - len(kept))
        rows = await store.list_recent_events(session_id, max_turns, below, size)
        costs = [rules.count_event_tokens(*get_texts(row)) for row in rows]
        fitting = rules.fit_tokens(costs, used, max_tokens)
        taken = fitting
        if not kept:
            taken = max(fitting, 1)  # the newest event is always there
        kept += rows[:taken]
        used += sum(costs[:fitting])
        if fitting < len(rows) or not rows:
            break
        below = get_sequence(kept[-1])
        page = min(page * 2, PAGE)
    return kept


async def list_requests(
    store: SessionStore, session: Session, limit: int, max_chars: int
) -> list[SessionEvent]:
    """What the person asked for last and did not take back, newest first."""
    rewound = session.metadata.get(REWOUND, ())
    found: list[SessionEvent] = []
    below = BEYOND_ALL
    chars = max(max_chars, LEAST_CHARS)
    for _ in range(MOST_MESSAGES // MESSAGES_PER_PAGE):
        rows = await store.list_newest_user_messages(session.id, below, MESSAGES_PER_PAGE, chars)
        requests = _choose_requests(rows, max_chars)
        found += [request for request in requests if request.id not in rewound]
        if len(found) >= limit or len(rows) < MESSAGES_PER_PAGE:
            break
        below = get_sequence(rows[-1])
    return found[:limit]


async def find_first_request(
    store: SessionStore, session_id: str, max_chars: int
) -> SessionEvent | None:
    chars = max(max_chars, LEAST_CHARS)
    rows = await store.list_first_user_messages(session_id, MESSAGES_PER_PAGE, chars)
    return next(iter(_choose_requests(rows, max_chars)), None)


def _choose_requests(rows: list[Any], max_chars: int) -> list[SessionEvent]:
    """What was erased has no content, so it is none."""
    events = [make_event(row) for row in rows]
    requests = [event for event in events if is_request(event.content, event.parts)]
    return [replace(event, content=event.content[:max_chars]) for event in requests]


async def verify_chain(store: SessionStore, session_id: str) -> Verification:
    # The newest event is read first, so that the session's count can only be ahead of it.
    newest = await store.list_recent_events(session_id, 0, None, 1)
    session = make_session(await store.get_session(session_id))
    check = chain.ChainCheck(session.id)
    after = 0
    while after < session.last_sequence:
        rows = await store.list_events_after(session.id, after, PAGE)
        if not rows:
            break
        # Tombstones are read after the rows, because another process may be forgetting right now.
        if check.misses_tombstones(rows):
            check.tombstones |= await store.list_erased_hashes(session.id)
        counted = [row for row in rows if get_sequence(row) <= session.last_sequence]
        check.walk(counted)
        after = get_sequence(rows[-1])
    last_stored = 0
    if newest:
        last_stored = get_sequence(newest[0])
    head_hash = bytes.fromhex(session.head_hash)
    check.finish(session.last_sequence, head_hash, last_stored)
    return Verification(
        session_id=session.id,
        checked=check.checked,
        erased=check.erased,
        damage=tuple(check.damage),
    )
