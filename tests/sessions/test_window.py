"""The window: whole events of the last turns, oldest first, within the tokens, at a cost that does
not grow.
"""

import apsw
import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.sessions import rules
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.reading import FIRST_PAGE
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


def window(events, max_turns, max_tokens):
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
        _, characters, with_parts = events[number]
        used += -(-characters // 4) + (-(-(characters + 8) // 4) if with_parts else 0)
        if max_tokens is not None and used > max_tokens and kept:
            break
        kept.append(number + 1)
    return kept[::-1]


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
    @given(EVENTS, st.lists(st.tuples(TURNS, TOKENS), min_size=1, max_size=6))
    def holds(events, limits):
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

        for sessions in both.services:
            both.run(check(sessions))

    holds()


# --- the cost -------------------------------------------------------------------------------------


async def test_sqlite_finds_a_window_by_its_indexes(sqlite_url):
    """The plan searches, whatever the limits: no scan, and nothing is sorted."""
    async with holdfast.open_database(sqlite_url) as database:
        connection = apsw.Connection(database.path)
        [statement] = QUERIES["recent_events"].statements
        for below, limit in ((None, None), (100, 64)):
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
                None,
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
