"""Appending: numbers without gaps, repeats without effect, several at once or none, from any number
of tasks.
"""

import asyncio
import uuid
from collections import Counter

import pytest

from holdfast.errors import InvalidValueError
from holdfast.sessions import chain, rules
from holdfast.sessions.errors import EventConflictError, SequenceConflictError, SessionNotFoundError
from tests.sessions.tables import all_rows, nothing_changes

# Calls on this test's database that wait for a lock.
WAITING = (
    "select count(*) from pg_stat_activity where datname = current_database() and "
    "wait_event_type = 'Lock'"
)


def message(content="hi", **more):
    return {"type": "user_message", "role": "user", "content": content, **more}


async def contents(sessions, session_id):
    return [event.content async for event in sessions.read_events(session_id)]


async def test_events_are_numbered_from_one_without_gaps(sessions):
    s = await sessions.create_session("architect", "u1")

    appended = [
        await sessions.append_event(s.id, "user_message", "user", f"{number}")
        for number in range(5)
    ]

    assert [event.sequence for event in appended] == [1, 2, 3, 4, 5]
    assert [event async for event in sessions.read_events(s.id)] == appended
    after = await sessions.get_session(s.id)
    assert (after.last_sequence, after.head_hash) == (5, appended[-1].chain_hash)


async def test_an_event_comes_back_as_it_went_in(sessions):
    s = await sessions.create_session("architect", "u1")
    parts = {"tool": "ls", "args": {"päth": ["/", None, True, 0.5]}, "n": 10**30}
    content = "line\r\n\ttab \u2028 \ufeff \U0001f9f5 \x1b[0m"

    event = await sessions.append_event(s.id, "tool_call", "tool", content, parts)

    assert (event.type, event.role, event.content, event.parts) == (
        "tool_call",
        "tool",
        content,
        parts,
    )
    assert (
        event.content_hash
        == rules.check_event("tool_call", "tool", content, parts, None).content_hash.hex()
    )
    assert [event] == await sessions.get_recent_events(s.id)


async def test_an_empty_content_is_an_event_and_empty_parts_are_parts(sessions):
    s = await sessions.create_session("architect", "u1")

    with_parts = await sessions.append_event(s.id, "tool_result", "tool", "", {})
    without = await sessions.append_event(s.id, "tool_result", "tool", "")

    assert (with_parts.parts, without.parts) == ({}, None)
    assert with_parts.content_hash != without.content_hash


async def test_the_longest_content_is_taken_whole(sessions):
    s = await sessions.create_session("architect", "u1")
    longest = "é" * (rules.CONTENT_BYTES // 2)

    await sessions.append_event(s.id, "tool_result", "tool", longest)

    [event] = await sessions.get_recent_events(s.id)
    assert event.content == longest


async def test_each_link_follows_the_one_before_on_both_engines(sessions):
    """Python computes here what the engine has computed while it wrote."""
    s = await sessions.create_session("architect", "u1")
    await sessions.append_events(s.id, [message("a"), message("b", parts={"x": 1})])
    await sessions.append_event(s.id, "model_message", "assistant", "c")

    check = chain.ChainCheck(s.id)
    check.walk(await sessions.store.list_events_after(s.id, 0, 10))

    assert check.damage == []
    assert check.head.hex() == (await sessions.get_session(s.id)).head_hash


# --- several at once ------------------------------------------------------------------------------


async def test_several_events_go_in_together_in_their_order(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.append_event(s.id, "user_message", "user", "before")

    appended = await sessions.append_events(
        s.id,
        [
            message("a"),
            {"type": "tool_call", "role": "tool", "content": "b", "parts": {"x": 1}},
            message("c"),
        ],
    )

    assert [(event.sequence, event.content) for event in appended] == [(2, "a"), (3, "b"), (4, "c")]
    assert len({event.created_at for event in appended}) == 1
    assert await contents(sessions, s.id) == ["before", "a", "b", "c"]


async def test_a_thousand_events_go_in_at_once(sessions):
    s = await sessions.create_session("architect", "u1")

    appended = await sessions.append_events(
        s.id, [message(str(number)) for number in range(rules.EVENTS_PER_CALL)]
    )

    assert [event.sequence for event in appended] == list(range(1, rules.EVENTS_PER_CALL + 1))
    assert (await sessions.verify_session(s.id)).ok


async def test_appending_no_events_changes_nothing(sessions):
    s = await sessions.create_session("architect", "u1")

    async with nothing_changes(sessions):
        assert await sessions.append_events(s.id, []) == []
        with pytest.raises(SessionNotFoundError):
            await sessions.append_events("nonsense", [])


async def test_a_taken_event_id_rolls_back_the_whole_call(sessions):
    s = await sessions.create_session("architect", "u1")
    taken = await sessions.append_event(s.id, "user_message", "user", "first")

    async with nothing_changes(sessions):
        with pytest.raises(EventConflictError):
            await sessions.append_events(
                s.id, [message("new"), message("other", event_id=taken.id), message("new")]
            )


async def test_an_event_that_is_repeated_inside_a_call_is_written_once(sessions):
    s = await sessions.create_session("architect", "u1")
    event_id = str(uuid.uuid4())

    first, other, again = await sessions.append_events(
        s.id, [message("a", event_id=event_id), message("b"), message("a", event_id=event_id)]
    )

    assert first == again
    assert (first.sequence, other.sequence) == (1, 2)
    assert await contents(sessions, s.id) == ["a", "b"]


async def test_one_id_for_two_contents_inside_a_call_is_a_conflict(sessions):
    s = await sessions.create_session("architect", "u1")
    event_id = str(uuid.uuid4())

    async with nothing_changes(sessions):
        with pytest.raises(EventConflictError) as refusal:
            await sessions.append_events(
                s.id, [message("a", event_id=event_id), message("b", event_id=event_id)]
            )

    assert refusal.value.event_id == event_id


# --- repeats --------------------------------------------------------------------------------------


async def test_the_same_event_id_again_returns_the_stored_event(sessions):
    s = await sessions.create_session("architect", "u1")
    event_id = str(uuid.uuid4())
    stored = await sessions.append_event(
        s.id, "tool_call", "tool", "ls", {"a": 1}, event_id=event_id
    )
    await sessions.append_event(s.id, "user_message", "user", "in between")

    async with nothing_changes(sessions):
        again = await sessions.append_event(
            s.id, "tool_call", "tool", "ls", {"a": 1.0}, event_id=event_id.upper()
        )

    assert again == stored
    assert again.id == event_id


async def test_a_repeat_is_answered_after_the_end_and_with_an_old_expected_sequence(sessions):
    """A client whose answer was lost repeats the request as it was, whatever happened since."""
    s = await sessions.create_session("architect", "u1")
    event_id = str(uuid.uuid4())
    stored = await sessions.append_event(
        s.id, "user_message", "user", "hi", event_id=event_id, expected_sequence=0
    )
    await sessions.append_event(s.id, "user_message", "user", "later")
    await sessions.end_session(s.id)

    again = await sessions.append_event(
        s.id, "user_message", "user", "hi", event_id=event_id, expected_sequence=0
    )

    assert again == stored


async def test_the_same_event_id_with_other_content_is_a_conflict(sessions):
    s = await sessions.create_session("architect", "u1")
    event = {"event_type": "user_message", "role": "user", "content": "hi", "parts": {"a": 1}}
    stored = await sessions.append_event(s.id, **event)
    others = (
        {"event_type": "model_message"},
        {"role": "assistant"},
        {"content": "bye"},
        {"parts": None},
        {"parts": {}},
        {"parts": {"a": 2}},
    )

    async with nothing_changes(sessions):
        for other in others:
            with pytest.raises(EventConflictError) as refusal:
                await sessions.append_event(s.id, **{**event, **other}, event_id=stored.id)

    assert refusal.value.event_id == stored.id
    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "event_conflict",
        4,
        409,
    )


async def test_an_event_id_belongs_to_one_session(sessions):
    s = await sessions.create_session("architect", "u1")
    other = await sessions.create_session("architect", "u1")
    stored = await sessions.append_event(s.id, "user_message", "user", "hi")

    async with nothing_changes(sessions):
        with pytest.raises(EventConflictError):
            await sessions.append_event(other.id, "user_message", "user", "hi", event_id=stored.id)


async def test_the_conflict_names_the_event_that_is_taken(sessions):
    s = await sessions.create_session("architect", "u1")
    taken = await sessions.append_event(s.id, "user_message", "user", "first")

    with pytest.raises(EventConflictError) as refusal:
        await sessions.append_events(s.id, [message("new"), message("other", event_id=taken.id)])

    assert refusal.value.event_id == taken.id


async def test_a_sequence_conflict_says_where_the_session_is_and_which_event_did_not_fit(sessions):
    """An event that is there already takes no number, so the one after it expects too much."""
    s = await sessions.create_session("architect", "u1")
    known = await sessions.append_event(s.id, "user_message", "user", "first")

    events = [message("new"), message("first", event_id=known.id), message("newer")]

    async with nothing_changes(sessions):
        with pytest.raises(SequenceConflictError) as refusal:
            await sessions.append_events(s.id, events, expected_sequence=1)

    assert (refusal.value.expected, refusal.value.actual) == (3, 1)


async def test_a_session_is_named_by_a_uuid_object_as_well(sessions):
    s = await sessions.create_session("architect", "u1")

    event = await sessions.append_event(uuid.UUID(s.id), "user_message", "user", "hi")

    assert (event.session_id, event.sequence) == (s.id, 1)


async def test_a_call_that_is_larger_than_the_limit_is_refused(sessions, monkeypatch):
    monkeypatch.setattr(rules, "CALL_BYTES", 100)
    s = await sessions.create_session("architect", "u1")

    async with nothing_changes(sessions):
        with pytest.raises(InvalidValueError, match="hold more than 100 characters"):
            await sessions.append_events(s.id, [message("x" * 60), message("y" * 60)])


async def test_double_submits_give_one_row(sessions):
    """Every event twice at the same time, as a client does whose answer did not come."""
    s = await sessions.create_session("architect", "u1")
    event_ids = [str(uuid.uuid4()) for _ in range(50)]

    appended = await asyncio.gather(
        *(
            sessions.append_event(s.id, "user_message", "user", event_id, event_id=event_id)
            for event_id in event_ids
            for _ in range(2)
        )
    )

    assert [
        first == second for first, second in zip(appended[::2], appended[1::2], strict=True)
    ] == [True] * 50
    stored = [event async for event in sessions.read_events(s.id)]
    assert Counter(event.id for event in stored) == Counter(event_ids)
    assert [event.sequence for event in stored] == list(range(1, 51))


async def test_an_event_id_that_another_session_is_writing_right_now_is_a_conflict(
    postgres_sessions,
):
    """The other append has inserted its row and not committed yet, so no other transaction sees it,
    and the index still knows it.
    """
    first = await postgres_sessions.create_session("architect", "u1")
    second = await postgres_sessions.create_session("architect", "u1")
    event = rules.check_event("user_message", "user", "hi", None, str(uuid.uuid4()))
    pool = postgres_sessions.db.pool

    async with pool.acquire() as connection:
        writing = connection.transaction()
        await writing.start()
        columns = [[value] for value in (0, None, *event.to_row())]
        await connection.fetch(
            "select * from context.append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            *postgres_sessions.store.owner,
            first.id,
            *columns,
        )
        late = asyncio.create_task(
            postgres_sessions.append_event(
                second.id, "user_message", "user", "hi", event_id=event.id
            )
        )
        while not await pool.fetchval(WAITING):
            assert not late.done()
        await writing.commit()

    with pytest.raises(EventConflictError):
        await late


# --- an expected sequence -------------------------------------------------------------------------


async def test_an_expected_sequence_that_fits_is_taken(sessions):
    s = await sessions.create_session("architect", "u1")

    first = await sessions.append_event(s.id, "user_message", "user", "a", expected_sequence=0)
    more = await sessions.append_events(s.id, [message("b"), message("c")], expected_sequence=1)

    assert [first.sequence, *(event.sequence for event in more)] == [1, 2, 3]


async def test_an_expected_sequence_that_does_not_fit_is_a_conflict(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.append_events(s.id, [message("a"), message("b")])

    async with nothing_changes(sessions):
        for expected in (0, 1, 3):
            with pytest.raises(SequenceConflictError) as refusal:
                await sessions.append_events(
                    s.id, [message("c"), message("d")], expected_sequence=expected
                )
            assert (refusal.value.session_id, refusal.value.expected, refusal.value.actual) == (
                s.id,
                expected,
                2,
            )

    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "sequence_conflict",
        4,
        409,
    )
    assert f"Session {s.id} is at sequence 2, not 3" in str(refusal.value)


async def test_only_one_of_many_writers_that_expect_the_same_sequence_succeeds(sessions):
    s = await sessions.create_session("architect", "u1")

    results = await asyncio.gather(
        *(
            sessions.append_event(s.id, "user_message", "user", "x", expected_sequence=0)
            for _ in range(16)
        ),
        return_exceptions=True,
    )

    assert Counter(type(result).__name__ for result in results) == {
        "SessionEvent": 1,
        "SequenceConflictError": 15,
    }
    assert len(await contents(sessions, s.id)) == 1


# --- many at once ---------------------------------------------------------------------------------


async def test_sixty_four_tasks_on_one_session_leave_no_gap(sessions):
    s = await sessions.create_session("architect", "u1")

    async def write(task):
        return [
            await sessions.append_event(s.id, "user_message", "user", f"{task}.{n}")
            for n in range(5)
        ]

    written = [event for events in await asyncio.gather(*map(write, range(64))) for event in events]

    stored = [event async for event in sessions.read_events(s.id)]
    assert [event.sequence for event in stored] == list(range(1, 321))
    assert sorted(written, key=lambda event: event.sequence) == stored
    assert (await sessions.verify_session(s.id)).ok
    assert (await sessions.get_session(s.id)).last_sequence == 320


async def test_each_task_finds_its_own_events_in_its_own_order(sessions):
    s = await sessions.create_session("architect", "u1")

    async def write(task):
        for number in range(5):
            await sessions.append_events(
                s.id, [message(f"{task}.{number}.{part}") for part in range(3)]
            )

    await asyncio.gather(*map(write, range(10)))

    found = await contents(sessions, s.id)
    for task in range(10):
        own = [content for content in found if content.startswith(f"{task}.")]
        assert own == [f"{task}.{number}.{part}" for number in range(5) for part in range(3)]
    # A call's events stand together.
    starts = found[::3]
    assert all(content.endswith(".0") for content in starts)


async def test_refused_calls_among_many_leave_the_others_alone(sessions):
    """Good, repeated and refused calls travel in one group, and each has its own answer."""
    s = await sessions.create_session("architect", "u1")
    taken = await sessions.append_event(s.id, "user_message", "user", "taken")

    results = await asyncio.gather(
        *(
            call
            for number in range(20)
            for call in (
                sessions.append_event(s.id, "user_message", "user", f"good {number}"),
                sessions.append_event(s.id, "user_message", "user", "other", event_id=taken.id),
                sessions.append_event(s.id, "user_message", "user", "taken", event_id=taken.id),
                sessions.append_event(s.id, "user_message", "user", "lost", expected_sequence=0),
            )
        ),
        return_exceptions=True,
    )

    assert Counter(type(result).__name__ for result in results) == {
        "SessionEvent": 40,
        "EventConflictError": 20,
        "SequenceConflictError": 20,
    }
    assert len(await contents(sessions, s.id)) == 21
    assert (await sessions.verify_session(s.id)).ok


async def test_an_end_among_many_appends_lets_no_later_one_in(sessions):
    s = await sessions.create_session("architect", "u1")

    results = await asyncio.gather(
        *(sessions.append_event(s.id, "user_message", "user", f"{number}") for number in range(20)),
        sessions.end_session(s.id),
        *(sessions.append_event(s.id, "user_message", "user", f"{number}") for number in range(20)),
        return_exceptions=True,
    )

    acknowledged = [result for result in results if hasattr(result, "sequence")]
    stored = [event async for event in sessions.read_events(s.id)]
    assert sorted(acknowledged, key=lambda event: event.sequence) == stored
    assert {type(result).__name__ for result in results if isinstance(result, Exception)} <= {
        "SessionEndedError"
    }
    async with nothing_changes(sessions):
        with pytest.raises(Exception, match="ended at"):
            await sessions.append_event(s.id, "user_message", "user", "late")


async def test_a_reader_during_writes_sees_every_event_once_and_in_order(sessions):
    """A tail that reads while others write sees every event once, in order."""
    s = await sessions.create_session("architect", "u1")
    seen: list[int] = []

    async def tail():
        while len(seen) < 160:
            seen.extend(
                [event.sequence async for event in sessions.read_events(s.id, after=len(seen))]
            )
            await asyncio.sleep(0)

    async def write():
        for _ in range(10):
            await sessions.append_event(s.id, "user_message", "user", "x")

    await asyncio.gather(tail(), *(write() for _ in range(16)))

    assert seen == list(range(1, 161))


async def test_the_rows_hold_the_hashes_and_the_owner(sessions):
    s = await sessions.create_session("architect", "u1")
    event = await sessions.append_event(s.id, "user_message", "user", "hi")

    [row] = (await all_rows(sessions))["session_events"]

    assert set(sessions.store.owner) <= set(row)
    assert {bytes.fromhex(event.content_hash), bytes.fromhex(event.chain_hash)} <= {
        bytes(value) for value in row if isinstance(value, bytes)
    }


async def test_a_repeated_call_that_grew_is_checked_against_what_came_in_between(sessions):
    """Its first event is there already, so the second one carries the expectation."""
    s = await sessions.create_session("architect", "u1")
    first = {
        "type": "user_message",
        "role": "user",
        "content": "one",
        "event_id": str(uuid.uuid4()),
    }
    second = {
        "type": "user_message",
        "role": "user",
        "content": "two",
        "event_id": str(uuid.uuid4()),
    }
    await sessions.append_events(s.id, [first], expected_sequence=0)

    assert [
        e.sequence for e in await sessions.append_events(s.id, [first, second], expected_sequence=0)
    ] == [1, 2]
    await sessions.append_event(s.id, "tool_call", "tool", "somebody else's")
    three = {**second, "content": "three", "event_id": str(uuid.uuid4())}
    with pytest.raises(SequenceConflictError):
        await sessions.append_events(s.id, [first, second, three], expected_sequence=0)
    assert [
        e.sequence for e in await sessions.append_events(s.id, [first, second], expected_sequence=0)
    ] == [1, 2]
    assert (await sessions.get_session(s.id)).last_sequence == 3


async def test_an_event_id_of_another_session_with_the_same_content_is_named(sessions):
    first = await sessions.create_session("architect", "u1")
    second = await sessions.create_session("architect", "u1")
    event = await sessions.append_event(first.id, "user_message", "user", "hi")

    with pytest.raises(EventConflictError) as refusal:
        await sessions.append_event(second.id, "user_message", "user", "hi", event_id=event.id)

    assert refusal.value.message == (
        f"Event id {event.id} is taken by an event with the same content in session {first.id}. "
        "Append to that session, or use a new id."
    )
    with pytest.raises(EventConflictError, match="with other content"):
        await sessions.append_event(second.id, "user_message", "user", "ho", event_id=event.id)
    with pytest.raises(EventConflictError, match="with other content"):
        await sessions.append_event(first.id, "user_message", "user", "ho", event_id=event.id)
