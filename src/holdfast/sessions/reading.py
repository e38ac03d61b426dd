"""Reading a log page by page: the newest events within a number of tokens, and the whole chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sessions import chain, rules
from holdfast.sessions.model import Verification, get_sequence, get_texts, make_session

if TYPE_CHECKING:
    from holdfast.sessions.store import SessionStore

FIRST_PAGE = 64
PAGE = 1000


async def list_recent_within(
    store: SessionStore, session_id: str, max_turns: int, max_tokens: int
) -> list[Any]:
    """From the newest on, until the tokens are spent: the cost follows the limit, not the log."""
    kept: list[Any] = []
    used = 0
    page = FIRST_PAGE
    if not max_turns:
        page = 1
    below = None
    while rows := await store.list_recent_events(session_id, max_turns, below, page):
        costs = [rules.count_event_tokens(*get_texts(row)) for row in rows]
        fitting = rules.fit_tokens(costs, used, max_tokens)
        taken = fitting
        if not kept:
            taken = max(fitting, 1)  # the newest event is always there
        kept += rows[:taken]
        used += sum(costs[:fitting])
        if fitting < len(rows) or not max_turns:
            break
        below = get_sequence(kept[-1])
        page = min(page * 2, PAGE)
    return kept


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
