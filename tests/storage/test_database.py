"""The seam: the same five verbs on both engines, and without a loop on the one that never waits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground import ids
from holdfast.sessions import chain, rules
from holdfast.sessions.store import QUERIES
from holdfast.storage.database import drive
from holdfast.storage.sqlite import open_sqlite

pytestmark = pytest.mark.own_database

OWNER = ("local", "ana")


def session_arguments(session_id: str) -> tuple[object, ...]:
    nulls = [None] * 8
    return (*OWNER, session_id, "u1", "architect", *nulls, "{}", "{}", chain.first_hash(session_id))


def event_row(content: str, event_id: str | None = None) -> tuple[object, ...]:
    return (None, *rules.check_event("user_message", "user", content, None, event_id).to_row())


async def new_session(database: Any) -> str:
    session_id = ids.new_id()
    await database.write(QUERIES["create_session"], *session_arguments(session_id))
    return session_id


# --- drive ----------------------------------------------------------------------------------------


def test_a_call_that_never_waits_is_driven_to_its_end():
    async def answer() -> int:
        return 42

    assert drive(answer()) == 42


def test_an_error_comes_through_as_it_is():
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(fail())


def test_a_call_that_has_to_wait_says_so_and_is_ended():
    """Its `finally` runs: nothing is left half-open."""
    ended = []

    async def wait() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    with pytest.raises(RuntimeError, match=r"asyncio\.run"):
        drive(wait())
    assert ended == [True]


def test_sqlite_needs_no_loop_for_any_verb(tmp_path: Path):
    """A hook drives the same services by hand."""
    database = open_sqlite(str(tmp_path / "test.db"))
    session_id = drive(new_session(database))

    async def work(tx: Any) -> str:
        return (await tx.run(QUERIES["lock_session"], *OWNER, session_id))[0][0]

    assert drive(database.transaction(work)) == session_id
    [answer] = drive(
        database.write_rows(QUERIES["append_events"], (*OWNER, session_id), [event_row("first")])
    )
    assert answer[:2] == (None, 1)
    assert len(drive(database.read(QUERIES["find_session"], *OWNER, session_id))) == 1
    drive(database.scrub())
    drive(database.close())


# --- both engines ---------------------------------------------------------------------------------


async def test_a_write_is_there_for_the_next_read(database: Any):
    session_id = await new_session(database)

    [row] = await database.read(QUERIES["find_session"], *OWNER, session_id)

    assert (row[0], row[2]) == (session_id, "architect")
    assert await database.read(QUERIES["find_session"], *OWNER, ids.new_id()) == []


async def test_a_transaction_is_all_or_nothing(database: Any):
    """Whatever the work raises reaches the caller, and nothing of it stays."""
    kept, undone = ids.new_id(), ids.new_id()

    async def write(tx: Any, session_id: str) -> str:
        await tx.run(QUERIES["create_session"], *session_arguments(session_id))
        return "done"

    async def write_and_fail(tx: Any) -> None:
        await write(tx, undone)
        raise ZeroDivisionError

    assert await database.transaction(lambda tx: write(tx, kept)) == "done"
    with pytest.raises(ZeroDivisionError):
        await database.transaction(write_and_fail)

    assert len(await database.read(QUERIES["find_session"], *OWNER, kept)) == 1
    assert await database.read(QUERIES["find_session"], *OWNER, undone) == []


async def test_a_transaction_sees_what_it_wrote(database: Any):
    session_id = ids.new_id()

    async def work(tx: Any) -> list[Any]:
        await tx.run(QUERIES["create_session"], *session_arguments(session_id))
        await tx.run(QUERIES["save_metadata"], *OWNER, session_id, '{"name": "mine"}', None, None)
        return await tx.run(QUERIES["lock_session"], *OWNER, session_id)

    [row] = await database.transaction(work)

    assert (row[13], row[15]) == ("mine", 2)


async def test_a_refused_row_keeps_all_rows_of_its_call_from_being_written(database: Any):
    """One that is refused takes the whole call with it, and every answer says why."""
    session_id = await new_session(database)
    taken = ids.new_id()
    head = (*OWNER, session_id)
    [first] = await database.write_rows(QUERIES["append_events"], head, [event_row("first", taken)])

    answers = await database.write_rows(
        QUERIES["append_events"], head, [event_row("second"), event_row("other", taken)]
    )

    assert first[0] is None
    assert "taken" in [answer[0] for answer in answers]
    rows = await database.read(QUERIES["events_after"], *OWNER, session_id, 0, 10)
    assert [row[5] for row in rows] == ["first"]


async def test_many_calls_at_once_each_get_their_own_answers(database: Any):
    """Calls travel together; answers do not get mixed up."""
    session_id = await new_session(database)
    head = (*OWNER, session_id)
    calls = [[event_row(f"{n}.{k}") for k in range(n % 4 + 1)] for n in range(40)]

    answers = await asyncio.gather(
        *(database.write_rows(QUERIES["append_events"], head, rows) for rows in calls)
    )

    rows = await database.read(QUERIES["events_after"], *OWNER, session_id, 0, 1000)
    by_number = {row[2]: row[5] for row in rows}
    for rows_sent, answered in zip(calls, answers, strict=True):
        numbers = [answer[1] for answer in answered]
        assert [by_number[number] for number in numbers] == [row[4] for row in rows_sent]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert sorted(by_number) == list(range(1, sum(map(len, calls)) + 1))


async def test_a_read_beside_a_running_write_is_as_of_one_moment(database: Any):
    """Readers are not held up by the writer, and never see half of what it does."""
    session_id = await new_session(database)
    head = (*OWNER, session_id)

    async def write() -> None:
        for n in range(20):
            await database.write_rows(
                QUERIES["append_events"], head, [event_row(f"{n}.{k}") for k in range(3)]
            )

    async def read() -> list[int]:
        return [
            len(await database.read(QUERIES["events_after"], *OWNER, session_id, 0, 1000))
            for _ in range(40)
        ]

    _, counts = await asyncio.gather(write(), read())

    assert all(count % 3 == 0 for count in counts)
    assert counts == sorted(counts)
