"""Pages for reading: turns below a place, events spread over a log, and the first words of a
session.
"""

from itertools import pairwise

import pytest

from holdfast.errors import InvalidValueError
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.service import SessionService

NOBODY = "01890000-0000-7000-8000-000000000000"


async def start_session(sessions: SessionService, turns: int, events_per_turn: int = 3) -> str:
    session = await sessions.create_session("architect", "u1")
    for turn in range(turns):
        events = [{"type": "user_message", "role": "user", "content": f"request {turn}"}]
        events += [
            {"type": "tool_result", "role": "tool", "content": f"{turn}.{n}"}
            for n in range(events_per_turn - 1)
        ]
        await sessions.append_events(session.id, events)
    return session.id


async def test_a_page_has_the_last_turns_below_a_number(sessions):
    session_id = await start_session(sessions, 10)

    last = await sessions.list_turn_events(session_id, max_turns=2)
    before = await sessions.list_turn_events(session_id, last[0].sequence, max_turns=2)

    assert [event.content for event in last if event.type == "user_message"] == [
        "request 8",
        "request 9",
    ]
    assert [event.content for event in before if event.type == "user_message"] == [
        "request 6",
        "request 7",
    ]
    assert before[-1].sequence == last[0].sequence - 1


async def test_a_long_turn_is_read_in_pieces(sessions):
    session_id = await start_session(sessions, 1, events_per_turn=50)

    piece = await sessions.list_turn_events(session_id, max_events=20)
    rest = await sessions.list_turn_events(session_id, piece[0].sequence)

    assert [event.sequence for event in rest + piece] == list(range(1, 51))


async def test_a_page_cuts_long_texts_and_keeps_what_names_them(sessions):
    session = await sessions.create_session("architect", "u1")
    written = {"tool": "Write", "input": {"file_path": "/r/a.py", "content": "x" * 2000}}
    await sessions.append_event(session.id, "tool_result", "tool", "y" * 500, written)
    await sessions.append_event(session.id, "tool_result", "tool", "short", {"tool": "Read"})
    await sessions.append_event(session.id, "model_message", "assistant", "no parts")

    long, short, bare = await sessions.list_turn_events(session.id, max_chars=100, max_bytes=1000)

    assert long.content == "y" * 100
    assert long.parts == {"tool": "Write", "input": {"file_path": "/r/a.py"}, "cut": True}
    assert short.parts == {"tool": "Read"}
    assert bare.parts is None


async def test_a_sample_is_spread_over_the_log_from_its_first_to_its_last_event(sessions):
    session_id = await start_session(sessions, 30)

    sample = await sessions.sample_events(session_id, 10)

    assert len(sample) == 10
    assert (sample[0].sequence, sample[-1].sequence) == (1, 90)
    steps = [after.sequence - before.sequence for before, after in pairwise(sample)]
    assert set(steps) <= {9, 10}
    assert sample[0].bytes == len("request 0")


@pytest.mark.parametrize(
    ("events", "limit", "expected"), [(0, 5, []), (1, 5, [1]), (3, 5, [1, 2, 3]), (3, 1, [3])]
)
async def test_a_short_log_is_its_own_sample(sessions, events, limit, expected):
    session = await sessions.create_session("architect", "u1")
    for _ in range(events):
        await sessions.append_event(session.id, "user_message", "user", "hello", {"a": 1})

    assert [event.sequence for event in await sessions.sample_events(session.id, limit)] == expected


async def test_the_first_request_is_cut_and_may_be_missing(sessions):
    session = await sessions.create_session("architect", "u1")
    assert await sessions.find_first_request(session.id) is None

    await sessions.append_event(session.id, "system_event", "system", "started")
    await sessions.append_event(session.id, "user_message", "user", "retry the webhook")
    await sessions.append_event(session.id, "user_message", "user", "another")

    assert await sessions.find_first_request(session.id, 9) == "retry the"


@pytest.mark.parametrize("session_id", [NOBODY, "nonsense"])
async def test_reading_an_unknown_session_is_refused(sessions, session_id):
    for verb in (sessions.list_turn_events, sessions.sample_events, sessions.find_first_request):
        with pytest.raises(SessionNotFoundError):
            await verb(session_id)


async def test_a_page_of_no_turns_or_below_nothing_is_refused(sessions):
    session = await sessions.create_session("architect", "u1")

    for wrong in ({"max_turns": 0}, {"max_events": 0}, {"below": -1}):
        with pytest.raises(InvalidValueError):
            await sessions.list_turn_events(session.id, **wrong)
    assert await sessions.list_turn_events(session.id) == []


async def test_a_page_of_events_continues_where_the_last_one_ended(sessions):
    s = await sessions.create_session("architect", "u1")
    appended = [
        await sessions.append_event(s.id, "tool_call", "tool", str(number)) for number in range(5)
    ]

    assert await sessions.list_events(s.id, limit=1) == appended[:1]
    assert await sessions.list_events(s.id, 1, limit=2) == appended[1:3]
    assert await sessions.list_events(s.id, 3) == appended[3:]
    assert await sessions.get_event(appended[3].id) == appended[3]
    with pytest.raises(SessionNotFoundError):
        await sessions.list_events("01890a5d-ac96-774b-bcce-b302099a8057")


async def test_a_client_s_own_session_is_found_while_it_is_open(sessions):
    s = await sessions.create_session("claude", "u1", client="claude", native_id="n1")

    assert await sessions.find_native_session("claude", "n1") == s
    await sessions.end_session(s.id)
    assert await sessions.find_native_session("claude", "n1") is None
