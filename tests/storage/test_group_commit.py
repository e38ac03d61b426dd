"""Group commit: many callers share one transaction, and each of them still gets an answer of its
own.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast
from holdfast.errors import StoreBusyError
from holdfast.ground.settings import Owner
from holdfast.sessions.store import QUERIES, SessionStore
from holdfast.storage import group_commit
from holdfast.storage.database import Failure, drive
from holdfast.storage.group_commit import LARGEST_GROUP, GroupCommit
from holdfast.storage.sqlite import SqliteDatabase, open_sqlite

OWNER = Owner("local", "ana")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    opened = open_sqlite(str(tmp_path / "test.db"))
    yield opened
    await opened.close()


def new_session(tx: Any, session_id: str) -> Any:
    """Writes one row; the id distinguishes the rows."""
    nulls = [None] * 8
    return tx.run(
        QUERIES["create_session"], "local", "ana", session_id, "u1", "m", *nulls, "{}", "{}", b""
    )


async def ids(database: SqliteDatabase) -> list[str]:
    return sorted(row[0] for row in await SessionStore(database, OWNER).list_sessions(None, 1000))


# --- in the store ---------------------------------------------------------------------------------


async def test_one_unit_that_fails_does_not_touch_the_others(database: SqliteDatabase):
    """What it wrote before it failed is undone, and what the others wrote is there."""

    async def fail(tx: Any) -> None:
        await new_session(tx, "failed")
        raise ZeroDivisionError

    units = [database.transaction(lambda tx, n=n: new_session(tx, f"s{n}")) for n in range(3)]
    outcomes = await asyncio.gather(
        units[0], database.transaction(fail), *units[1:], return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [list, ZeroDivisionError, list, list]
    assert await ids(database) == ["s0", "s1", "s2"]


async def test_a_row_that_the_engine_refuses_fails_its_own_unit_only(database: SqliteDatabase):
    """A constraint undoes the statement, the savepoint undoes the unit."""

    async def break_a_rule(tx: Any) -> None:
        await new_session(tx, "broken")
        await tx.run(QUERIES["save_metadata"], "local", "ana", "broken", "[]", None, None)

    good, bad = await asyncio.gather(
        database.transaction(lambda tx: new_session(tx, "good")),
        database.transaction(break_a_rule),
        return_exceptions=True,
    )

    assert good[0][0] == "good"
    assert "CHECK" in str(bad)
    assert await ids(database) == ["good"]


async def test_a_transaction_that_the_engine_rolled_back_fails_every_caller_in_it(
    database: SqliteDatabase,
):
    """Some errors end the whole transaction: then no caller may get a success."""

    async def give_up(tx: Any) -> None:
        tx.connection.execute("rollback")
        raise ZeroDivisionError

    before, gave_up, after = await asyncio.gather(
        database.transaction(lambda tx: new_session(tx, "before")),
        database.transaction(give_up),
        database.transaction(lambda tx: new_session(tx, "after")),
        return_exceptions=True,
    )

    assert [type(before), type(gave_up), type(after)] == [ZeroDivisionError] * 3
    assert await ids(database) == []
    await database.transaction(lambda tx: new_session(tx, "later"))
    assert await ids(database) == ["later"]


async def test_a_failed_commit_fails_every_caller_in_its_group(database: SqliteDatabase):
    """Nothing is acknowledged before it is durable."""
    database.connection.set_commit_hook(lambda: True)

    outcomes = await asyncio.gather(
        *(database.transaction(lambda tx, n=n: new_session(tx, f"s{n}")) for n in range(3)),
        return_exceptions=True,
    )

    assert all(isinstance(outcome, Exception) for outcome in outcomes)
    database.connection.set_commit_hook(None)
    assert await ids(database) == []


async def test_a_unit_must_not_wait_for_anything_but_the_store(database: SqliteDatabase):
    """It would hold the lock against every other caller meanwhile."""

    async def dawdle(tx: Any) -> None:
        await new_session(tx, "slow")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="has to wait"):
        await database.transaction(dawdle)

    assert await ids(database) == []


async def test_more_callers_than_one_group_takes_are_all_answered(database: SqliteDatabase):
    count = 2 * LARGEST_GROUP + 3

    rows = await asyncio.gather(
        *(database.transaction(lambda tx, n=n: new_session(tx, f"{n:05d}")) for n in range(count))
    )

    assert [row[0][0] for row in rows] == [f"{n:05d}" for n in range(count)]
    assert len(await ids(database)) == count


async def test_a_cancelled_caller_does_not_affect_the_answers_of_the_others(
    database: SqliteDatabase,
):
    """Cancelled before the commit: it may have been written or not, but no other caller notices."""
    tasks = [
        asyncio.ensure_future(database.transaction(lambda tx, n=n: new_session(tx, f"s{n}")))
        for n in range(3)
    ]
    await asyncio.sleep(0)
    tasks[1].cancel()

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert [outcomes[0][0][0], outcomes[2][0][0]] == ["s0", "s2"]


async def test_a_writer_that_is_alone_commits_without_a_round_of_the_loop(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(group_commit, "ALONE_SECONDS", 3600)
    await database.transaction(lambda tx: new_session(tx, "first"))
    rounds: list[str] = []

    alone = database.transaction(lambda tx: new_session(tx, "alone"))
    with pytest.raises(StopIteration):
        alone.send(None)
    asyncio.get_running_loop().call_soon(rounds.append, "another")
    await database.transaction(lambda tx: new_session(tx, "with another"))

    assert rounds == ["another"]
    assert await ids(database) == ["alone", "first", "with another"]


async def test_an_error_of_a_writer_that_is_alone_is_its_own(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(group_commit, "ALONE_SECONDS", 3600)
    await database.transaction(lambda tx: new_session(tx, "first"))

    with pytest.raises(KeyError):
        await database.transaction(lambda tx: {}["nothing"])

    assert await ids(database) == ["first"]


async def test_a_caller_that_only_ever_writes_lets_others_run(database: SqliteDatabase):
    """The guard against hanging is the measure: without it this would never end."""
    is_over = asyncio.Event()
    asyncio.get_running_loop().call_later(0, is_over.set)
    count = 0

    while not is_over.is_set():
        count += 1
        await database.transaction(lambda tx, n=count: new_session(tx, f"s{n}"))

    assert len(await ids(database)) == count


def test_two_loops_in_two_threads_share_one_store(tmp_path: Path):
    database = open_sqlite(str(tmp_path / "test.db"))
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))

    async def append(count: int) -> None:
        await asyncio.gather(
            *(service.append_event(session.id, "tool_call", "tool", str(n)) for n in range(count))
        )

    threads = [threading.Thread(target=lambda: asyncio.run(append(40))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert drive(service.get_session(session.id)).last_sequence == 160
    assert drive(service.verify_session(session.id)).ok
    drive(database.close())


def test_a_closed_loop_does_not_stop_later_writes(tmp_path: Path):
    """Its caller waits no more; what it had handed over is written, and closing the store works."""
    database = open_sqlite(str(tmp_path / "test.db"))
    loop = asyncio.new_event_loop()
    task = loop.create_task(database.transaction(lambda tx: new_session(tx, "abandoned")))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]

    assert asyncio.run(database.transaction(lambda tx: new_session(tx, "next")))[0][0] == "next"
    drive(database.close())

    again = open_sqlite(str(tmp_path / "test.db"))
    assert "next" in drive(ids(again))
    drive(again.close())


# --- by itself ------------------------------------------------------------------------------------


class Commits:
    """Stands where the store stands: notes the groups, and does what the test says."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.is_locked = False
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def commit(self, works: Sequence[Any]) -> list[Any]:
        self.may_go_on.wait()
        self.groups.append(list(works))
        return [Failure(StoreBusyError("x")) if work == "bad" else f"{work} done" for work in works]

    def try_commit(self, works: Sequence[Any]) -> list[Any] | None:
        return None if self.is_locked else self.commit(works)


async def test_calls_that_arrive_together_are_committed_together():
    commits = Commits()
    group = GroupCommit(commits.commit, commits.try_commit)
    loop = asyncio.get_running_loop()

    answers = await asyncio.gather(
        *(group.submit(loop, name) for name in ("a", "b", "bad", "c")), return_exceptions=True
    )
    alone = await group.submit(loop, "d")

    assert commits.groups == [["a", "b", "bad", "c"], ["d"]]
    assert [answers[0], answers[1], answers[3], alone] == ["a done", "b done", "c done", "d done"]
    assert isinstance(answers[2], StoreBusyError)
    group.finish()


async def test_a_lock_held_by_another_process_is_awaited_off_the_loop():
    """The loop goes on; what gathers behind the lock is one group."""
    commits = Commits()
    commits.is_locked = True
    commits.may_go_on.clear()
    group = GroupCommit(commits.commit, commits.try_commit)
    loop = asyncio.get_running_loop()
    first = asyncio.ensure_future(group.submit(loop, "a"))
    others = [asyncio.ensure_future(group.submit(loop, name)) for name in ("b", "c")]
    for _ in range(10):
        await asyncio.sleep(0)
    assert not first.done()

    commits.may_go_on.set()
    answers = await asyncio.gather(first, *others)

    assert answers == ["a done", "b done", "c done"]
    assert [name for names in commits.groups for name in names] == ["a", "b", "c"]
    group.finish()


class SlowCommits(Commits):
    """Each commit takes as long as the test says, by a clock that nothing else moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.now = self.takes_seconds = 0.0
        self.threads: list[str] = []
        monkeypatch.setattr(group_commit, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def commit(self, works: Sequence[Any]) -> list[Any]:
        self.now += self.takes_seconds
        self.threads.append(threading.current_thread().name)
        return super().commit(works)


async def test_from_ten_milliseconds_on_a_thread_commits_until_the_disk_is_quick_again(
    monkeypatch: pytest.MonkeyPatch,
):
    commits = SlowCommits(monkeypatch)
    group = GroupCommit(commits.commit, commits.try_commit)
    loop, here, there = (
        asyncio.get_running_loop(),
        threading.current_thread().name,
        "holdfast-writer",
    )

    for seconds in (0.009, 0.011, 0.011, 0.009, 0.009):
        commits.takes_seconds = seconds
        assert await group.submit(loop, "a") == "a done"

    assert commits.threads == [here, here, there, there, here]
    group.finish()


async def test_finishing_answers_every_waiting_caller():
    """Closing leaves no caller without an answer, whether the group had begun or not."""
    commits = Commits()
    group = GroupCommit(commits.commit, commits.try_commit)
    loop = asyncio.get_running_loop()
    commits.is_locked = True
    queued = asyncio.ensure_future(group.submit(loop, "queued"))
    for _ in range(3):
        await asyncio.sleep(0)
    commits.is_locked = False
    gathered = asyncio.ensure_future(group.submit(loop, "gathered"))
    while not group._gathering and not gathered.done():
        await asyncio.sleep(0)

    group.finish()

    assert await asyncio.gather(queued, gathered) == ["queued done", "gathered done"]


async def test_finishing_waits_for_a_group_that_is_on_its_way():
    """One call is being committed, one waits behind it: both are answered before
    the thread ends.
    """
    commits = Commits()
    commits.is_locked = True
    commits.may_go_on.clear()
    group = GroupCommit(commits.commit, commits.try_commit)
    loop = asyncio.get_running_loop()
    tasks = [asyncio.ensure_future(group.submit(loop, "first"))]
    while group._thread is None or group._queue.qsize():
        await asyncio.sleep(0)
    tasks.append(asyncio.ensure_future(group.submit(loop, "second")))
    while not group._queue.qsize():
        await asyncio.sleep(0)
    closer = threading.Thread(target=group.finish)
    closer.start()
    while group._queue.qsize() < 2:
        await asyncio.sleep(0)

    commits.may_go_on.set()
    closer.join()

    assert await asyncio.gather(*tasks) == ["first done", "second done"]
    assert commits.groups == [["first"], ["second"]]


def test_an_answer_for_a_loop_that_is_closed_is_dropped():
    """The thread has committed meanwhile; the loop that asked is closed, and the
    thread continues.
    """
    commits = Commits()
    commits.is_locked = True
    commits.may_go_on.clear()
    group = GroupCommit(commits.commit, commits.try_commit)
    loop = asyncio.new_event_loop()
    task = loop.create_task(group.submit(loop, "abandoned"))
    while group._thread is None:
        loop.call_soon(loop.stop)
        loop.run_forever()
    loop.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]

    commits.may_go_on.set()
    group.finish()

    assert commits.groups == [["abandoned"]]
