"""The window: whole events of the last turns, oldest first, within the tokens, at a cost that does
not grow.
"""

import json

import apsw
import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.sessions import rules
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.reading import FIRST_PAGE, MOST_EVENTS, read_window
from holdfast.sessions.store import QUERIES
from tests.rig.postgres import APP
from tests.sessions.tables import nothing_changes

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["user_message", "model_message", "tool_call"]),
        st.integers(0, 60),
        st.booleans(),
    ),
    max_size=30,
)
TURNS = st.integers(0, 8) | st.just(rules.LARGEST_LIMIT)
TOKENS = st.none() | st.integers(0, 120) | st.just(rules.LARGEST_LIMIT)


def event(event_type, characters=4, with_parts=False):
    parts = {"a": "x" * characters} if with_parts else None
    return {"type": event_type, "role": "user", "content": "x" * characters, "parts": parts}


def count_tokens(fields):
    _, characters, with_parts = fields
    return -(-characters // 4) + (-(-(characters + 8) // 4) if with_parts else 0)


def window(events, max_turns, max_tokens, most=MOST_EVENTS):
    """The same in the plainest words, over a whole log in memory."""
    starts = [
        number for number, (event_type, _, _) in enumerate(events) if event_type == "user_message"
    ]
    turns = starts[-max_turns:] if max_turns else []
    first = turns[0] if turns and len(starts) >= max_turns else 0
    if not max_turns:
        first = max(len(events) - 1, 0)
    kept, used = [], 0
    for number in range(len(events) - 1, first - 1, -1):
        used += count_tokens(events[number])
        if max_tokens is not None and used > max_tokens and kept:
            break
        kept.append(number)
    if len(kept) > most:
        kept = cut(events, kept[:most], starts, max_tokens)
    return [number + 1 for number in reversed(kept)]


def cut(events, kept, starts, max_tokens):
    """The request of the turn that the cut is in stands for its oldest event, if it fits."""
    *newer, oldest = kept
    requests = [start for start in starts if start <= oldest]
    if not newer or not requests:
        return kept
    with_request = [*newer, requests[-1]]
    cost = sum(count_tokens(events[number]) for number in with_request)
    return kept if max_tokens is not None and cost > max_tokens else with_request


async def fill(sessions, session_id, events):
    if events:
        await sessions.append_events(session_id, [event(*fields) for fields in events])


async def numbers(sessions, session_id, *limits):
    return [
        event_found.sequence
        for event_found in await sessions.get_recent_events(session_id, *limits)
    ]


async def test_the_last_turns_come_back_whole_and_oldest_first(sessions):
    s = await sessions.create_session("architect", "u1")
    turn = [("user_message",), ("model_message",), ("tool_call",)]
    await fill(sessions, s.id, turn * 4)

    assert await numbers(sessions, s.id) == list(range(1, 13))
    assert await numbers(sessions, s.id, 1) == [10, 11, 12]
    assert await numbers(sessions, s.id, 2) == [7, 8, 9, 10, 11, 12]
    assert await numbers(sessions, s.id, 4) == list(range(1, 13))
    assert await numbers(sessions, s.id, 99) == list(range(1, 13))


async def test_thirty_turns_are_the_default(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",)] * 40)

    assert await numbers(sessions, s.id) == list(range(11, 41))


async def test_events_before_the_first_user_message_are_in_the_window_of_all_turns(
    sessions,
):
    """With fewer turns than asked for, the window is the whole session."""
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("system_event",), ("user_message",), ("model_message",)])

    assert await numbers(sessions, s.id, 2) == [1, 2, 3]
    assert await numbers(sessions, s.id, 1) == [2, 3]


async def test_the_token_limit_drops_the_oldest_first_and_cuts_no_event(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message", 40), ("model_message", 40), ("tool_call", 40)])

    assert await numbers(sessions, s.id, 30, 30) == [1, 2, 3]
    assert await numbers(sessions, s.id, 30, 29) == [2, 3]
    assert await numbers(sessions, s.id, 30, 10) == [3]


async def test_the_newest_event_is_there_however_long_it_is(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message", 4), ("tool_call", 4000)])

    assert await numbers(sessions, s.id, 30, 0) == [2]
    assert await numbers(sessions, s.id, 30, 1) == [2]
    assert await numbers(sessions, s.id, 0) == [2]
    assert await numbers(sessions, s.id, 0, 5000) == [2]


async def test_a_window_by_tokens_reads_on_until_they_are_spent(sessions):
    """More events than one page holds, each of one token."""
    s = await sessions.create_session("architect", "u1")
    count = 4 * FIRST_PAGE + 3
    await fill(sessions, s.id, [("tool_call", 4)] * count)

    assert await numbers(sessions, s.id, 30, 3 * FIRST_PAGE + 1) == list(
        range(FIRST_PAGE + 3, count + 1)
    )
    assert await numbers(sessions, s.id, 30, count + 50) == list(range(1, count + 1))


async def test_a_turn_longer_than_the_window_keeps_its_request_and_its_newest_events(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",), ("model_message",)])
    await fill(sessions, s.id, [("user_message",), *[("tool_call",)] * 500])
    await fill(sessions, s.id, [("tool_call",)] * 501)

    found = await sessions.get_recent_events(s.id)

    assert [e.sequence for e in found] == [3, *range(6, 1005)]
    assert len(found) == MOST_EVENTS
    assert found.is_cut
    assert found.warnings == [
        "One call returns 1,000 events: older ones are left out, and of the first turn 4 to 5."
    ]
    assert found.cut_as_sent(10**6).warnings == found.warnings
    assert found.cut_as_sent(10**4).warnings == [], "fewer than that are sent, as was asked"
    assert await numbers(sessions, s.id, 30, 10) == list(range(995, 1005))
    assert not (await sessions.get_recent_events(s.id, 30, 10)).is_cut


async def test_a_long_log_without_a_request_is_cut_to_its_newest_events(sessions):
    s = await sessions.create_session("architect", "u1")
    for _ in range(2):
        await fill(sessions, s.id, [("tool_call",)] * 501)

    found = await sessions.get_recent_events(s.id, 30, rules.LARGEST_LIMIT)

    assert [e.sequence for e in found] == list(range(3, 1003))
    assert found.warnings == ["One call returns 1,000 events: older ones are left out."]


async def test_a_cut_window_that_begins_with_a_request_stays_as_it_is(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",), ("tool_call",)])
    await fill(sessions, s.id, [("user_message",), ("tool_call",), ("tool_call",)])

    found = await read_window(sessions.store, s.id, 30, None, 3)

    assert [e.sequence for e in found] == [3, 4, 5]
    assert found.is_cut


async def test_a_request_that_the_tokens_do_not_cover_is_not_put_into_a_cut_window(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message", 400), *[("tool_call", 4)] * 5])

    found = await read_window(sessions.store, s.id, 30, 4, 3)

    assert [e.sequence for e in found] == [4, 5, 6]


async def test_events_as_they_are_sent_count_with_all_their_fields(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",), ("model_message",), ("tool_call",)])

    found = await sessions.get_recent_events(s.id, 30, 300)

    assert len(found) == 3
    sent = found.cut_as_sent(300)
    assert [e.sequence for e in sent] == [2, 3]
    assert len(json.dumps([e.to_dict() for e in sent])) <= 300 * 4
    assert [e.sequence for e in found.cut_as_sent(1)] == [3]
    assert found.cut_as_sent(None) is found


async def test_an_empty_session_has_an_empty_window(sessions):
    s = await sessions.create_session("architect", "u1")

    assert await sessions.get_recent_events(s.id) == []
    assert await sessions.get_recent_events(s.id, 0, 0) == []


async def test_an_erased_event_keeps_its_place_in_the_window(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",), ("model_message",), ("user_message",)])
    first = (await sessions.get_recent_events(s.id))[0]

    await sessions.forget_events([first.id])

    assert await numbers(sessions, s.id, 2) == [1, 2, 3]


async def test_reading_a_window_changes_nothing(sessions):
    s = await sessions.create_session("architect", "u1")
    await fill(sessions, s.id, [("user_message",)] * 3)

    async with nothing_changes(sessions):
        await sessions.get_recent_events(s.id, 2, 10)
        with pytest.raises(SessionNotFoundError):
            await sessions.get_recent_events("nonsense")
        with pytest.raises(SessionNotFoundError):
            await sessions.get_recent_events("01890a5d-ac96-774b-bcce-b302099a8057", 3, 10)


def test_a_window_over_any_log_equals_a_simple_reference_implementation(both, scale):
    """Both engines against a few lines of Python, and against each other."""

    @settings(max_examples=scale(1000))
    @given(EVENTS, st.lists(st.tuples(TURNS, TOKENS), min_size=1, max_size=6), st.integers(1, 20))
    def holds(events, limits, most):
        async def check(sessions):
            s = await sessions.create_session("architect", "u1")
            await fill(sessions, s.id, events)
            for max_turns, max_tokens in limits:
                found = await sessions.get_recent_events(s.id, max_turns, max_tokens)
                assert [event_found.sequence for event_found in found] == window(
                    events, max_turns, max_tokens
                )
                # What the reference above promises, said once more without it.
                assert not events or found[-1].sequence == len(events)
                costs = [-(-len(event_found.content) // 4) for event_found in found]
                assert len(found) <= 1 or max_tokens is None or sum(costs) <= max_tokens
                turns = sum(event_found.type == "user_message" for event_found in found)
                assert turns <= max(max_turns, 1)
                few = await read_window(sessions.store, s.id, max_turns, max_tokens, most)
                assert [event_found.sequence for event_found in few] == window(
                    events, max_turns, max_tokens, most
                )
                assert len(few) <= most
                assert few.is_cut == (max_turns > 0 and len(found) > most)

        for sessions in both.services:
            both.run(check(sessions))

    holds()


# --- the cost -------------------------------------------------------------------------------------


async def test_sqlite_finds_a_window_by_its_indexes(sqlite_url):
    """The plan searches, whatever the limits: no scan, and nothing is sorted."""
    async with holdfast.open_database(sqlite_url) as database:
        connection = apsw.Connection(database.path)
        [statement] = QUERIES["recent_events"].statements
        for below, limit in ((None, 1001), (100, 64)):
            bindings = ("local", "dev", "session", 29, below, limit)
            plan = [
                row[3] for row in connection.execute(f"explain query plan {statement}", bindings)
            ]

            assert [line for line in plan if line.startswith(("SCAN", "USE TEMP"))] == []
            searches = [line for line in plan if line.startswith("SEARCH")]
            assert len(searches) == 2
            assert "session_id=? AND sequence>? AND sequence<?" in searches[0]
            assert (
                "USING COVERING INDEX idx_session_events_type (workspace_id=? AND session_id=?)"
                in searches[1]
            )
        connection.close()


@pytest.mark.own_database
async def test_postgresql_finds_a_window_by_its_indexes(
    postgres, postgres_database, postgres_sessions
):
    """The plans inside the function, as the application's role gets them, fresh and kept."""
    sessions = postgres_sessions
    for number in range(3):
        s = await sessions.create_session("architect", f"u{number}")
        for _ in range(3):
            await fill(
                sessions, s.id, [("user_message",), ("model_message",), ("tool_call",)] * 300
            )
    plans: list[str] = []
    connection = await asyncpg.connect(postgres.dsn(postgres_database))
    try:
        await connection.execute("analyze context.session_events")
        await connection.execute("load 'auto_explain'")
        for name, value in (
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_nested_statements", "on"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_level", "notice"),
        ):
            await connection.execute(f"set {name} = '{value}'")
        await connection.execute(f"set role {APP}")
        connection.add_log_listener(lambda _, notice: plans.append(notice.message))
        for _ in range(8):  # from the sixth call on PostgreSQL may keep one plan for all values
            await connection.fetch(
                "select * from context.recent_events($1, $2, $3, $4, $5, $6)",
                *sessions.store.owner,
                s.id,
                29,
                None,
                1001,
            )
    finally:
        await connection.close()

    inner = [
        plan for plan in plans if "context.session_events" in plan or "on session_events" in plan
    ]
    assert len(inner) == 16
    assert [plan for plan in inner if "Seq Scan" in plan or "Sort" in plan] == []
    assert [plan for plan in inner if "Rows Removed by Filter" in plan] == []
    assert all("Index" in plan for plan in inner)
