"""Callers that are cancelled, processes that fork, stores that are closed or held by others while
work is under way.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

import holdfast
from holdfast.ground.ids import new_id
from holdfast.sessions.service import SessionService
from holdfast.storage.errors import StoreClosedError
from tests.faults import writers
from tests.faults.audit import OWNER, audit, audit_open, new_session
from tests.rig.nursery import Nursery

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


@asynccontextmanager
async def open_sessions(url: str) -> AsyncIterator[SessionService]:
    async with holdfast.open_database(url) as database:
        yield SessionService(database, owner=OWNER)


# --- cancelled ------------------------------------------------------------------------------------


async def test_a_cancelled_append_does_not_affect_other_appends(
    database_url: str, scale: Scale
) -> None:
    """Of twenty appends at once some are cancelled, at any moment: the answers to the others and
    the log are true.
    """
    rounds, seed = scale(100), random.randrange(1 << 32)
    chance = random.Random(seed)
    async with open_sessions(database_url) as sessions:
        session = await sessions.create_session("coder", "u1")
        acked, asked = dict[str, int](), list[str]()
        for _ in range(rounds):
            ids = [new_id() for _ in range(20)]
            tasks = [
                asyncio.create_task(
                    sessions.append_event(
                        session.id, "user_message", "user", "…", event_id=event_id
                    )
                )
                for event_id in ids
            ]
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            await asyncio.sleep(chance.choice([0, 0, 0.0005, 0.002]))
            for task in chance.sample(tasks, 7):
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            asked += ids
            acked |= {
                outcome.id: outcome.sequence
                for outcome in outcomes
                if not isinstance(outcome, BaseException)
            }
            assert all(
                isinstance(o, asyncio.CancelledError)
                for o in outcomes
                if isinstance(o, BaseException)
            )

        stored = {
            event.id: event.sequence for event in await audit_open(sessions, session.id, acked)
        }

    assert len(acked) >= 13 * rounds
    assert {event_id: stored[event_id] for event_id in acked} == acked
    assert set(stored) <= set(asked)
    print(
        f"{rounds} rounds, {len(asked) - len(acked)} cancelled, {len(stored) - len(acked)} "
        f"of them stored, seed {seed}"
    )


async def test_a_cancelled_change_is_written_completely_or_not_at_all(
    database_url: str, scale: Scale
) -> None:
    """Transactions of several statements, and scratchpads; afterwards every call still works."""
    rounds = scale(100)
    async with open_sessions(database_url) as sessions:
        session = await sessions.create_session("coder", "u1")
        for number in range(rounds):
            tasks = [
                asyncio.create_task(
                    sessions.set_relevant_context(session.id, "files", [f"/r/{number}"])
                ),
                asyncio.create_task(sessions.update_state(session.id, {"n": number})),
                asyncio.create_task(sessions.get_recent_events(session.id)),
            ]
            for _ in range(number % 5):
                await asyncio.sleep(0)
            await asyncio.sleep(random.choice([0, 0.001, 0.003]))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        change = await sessions.set_relevant_context(session.id, "files", ["/r/last"])
        await sessions.update_state(session.id, {"n": "last"})

        assert change.items == ("/r/last",)
        assert (await sessions.get_state(session.id)).scratchpad == {"n": "last"}
        await audit_open(sessions, session.id)


# --- closed ---------------------------------------------------------------------------------------


async def test_closing_commits_what_is_queued(database_url: str, scale: Scale) -> None:
    """Appends that were asked for before the close are stored and answered; one that comes later is
    refused.
    """
    count = scale(500)
    async with open_sessions(database_url) as sessions:
        session = await sessions.create_session("coder", "u1")
        tasks = [
            asyncio.create_task(
                sessions.append_event(session.id, "user_message", "user", str(number))
            )
            for number in range(count)
        ]
        await asyncio.sleep(0)  # each task has asked
        await sessions.db.close()
        events = await asyncio.gather(*tasks)

    stored = await asyncio.to_thread(audit, database_url, session.id)
    assert [event.content for event in stored] == [str(number) for number in range(count)]
    assert [event.id for event in events] == [event.id for event in stored]


async def test_a_closed_store_refuses_and_closes_twice(sqlite_url: str) -> None:
    """Every verb says the same."""
    async with open_sessions(sqlite_url) as sessions:
        session = await sessions.create_session("coder", "u1")
        await sessions.db.close()
        for call in (
            lambda: sessions.append_event(session.id, "user_message", "user", "…"),
            lambda: sessions.get_session(session.id),
            lambda: sessions.set_relevant_context(session.id, "files", []),
        ):
            with pytest.raises(StoreClosedError):
                await call()
        await sessions.db.close()


# --- forked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_loop", [False, True], ids=["inline", "with a loop"])
def test_a_forked_child_must_open_its_own_store_and_leaves_the_parents_intact(
    nursery: Nursery, sqlite_url: str, scale: Scale, with_loop: bool
) -> None:
    """The child is refused, closes, opens its own, writes and ends in the usual way; the parent
    goes on writing.
    """
    forks, session_id = scale(50), new_session(sqlite_url)
    child = nursery.start(writers.fork_and_go_on, sqlite_url, session_id, forks, with_loop)

    said = child.hear_all()

    assert child.wait() == 0
    assert [line for line in said if line in ("refused", "ended")] == ["refused", "ended"] * forks
    acked = [line for line in said if line not in ("refused", "ended")]
    assert [event.id for event in audit(sqlite_url, session_id)] == acked
    assert len(acked) == 3 * forks


# --- held by others -------------------------------------------------------------------------------


async def test_a_lock_of_another_process_does_not_stop_the_loop(
    nursery: Nursery, sqlite_url: str, scale: Scale
) -> None:
    """While another process writes for long, reads are answered and the appends wait; then all are
    stored.
    """
    rounds = scale(20)
    async with open_sessions(sqlite_url) as sessions:
        session = await sessions.create_session("coder", "u1")
        holder = nursery.start(writers.hold_write_lock, sqlite_url)
        for _ in range(rounds):
            holder.say("hold")
            assert holder.hear() == "held"
            appends = [
                asyncio.create_task(sessions.append_event(session.id, "user_message", "user", "…"))
                for _ in range(5)
            ]
            for _ in range(5):
                await asyncio.sleep(0)
                await sessions.get_session(session.id)
            assert not any(append.done() for append in appends)
            holder.say("let go")
            await asyncio.gather(*appends)
        holder.say(None)

        assert holder.wait() == 0
        assert len(await audit_open(sessions, session.id)) == 5 * rounds


def test_an_append_without_a_loop_waits_for_the_lock(nursery: Nursery, sqlite_url: str) -> None:
    """As a hook does; another process writes, and then it is our turn."""
    session_id = new_session(sqlite_url)
    holder = nursery.start(writers.hold_write_lock, sqlite_url)
    waiter = nursery.start(writers.append_many, sqlite_url, session_id, 1, 1)
    assert waiter.hear() == "open"
    holder.say("hold")
    assert holder.hear() == "held"
    waiter.say("go")
    with pytest.raises(TimeoutError):
        waiter.hear(0.05)
    holder.say("let go")

    event_id, _ = waiter.hear()

    assert waiter.wait() == 0
    holder.say(None)
    assert holder.wait() == 0
    assert [event.id for event in audit(sqlite_url, session_id)] == [event_id]


@pytest.mark.parametrize("with_loop", [False, True], ids=["inline", "with a loop"])
def test_a_process_frozen_before_the_lock_does_not_block_other_writers(
    nursery: Nursery, sqlite_url: str, with_loop: bool
) -> None:
    """R4b: the door to the lock is only for fairness; the process in it may never wake up."""
    session_id = new_session(sqlite_url)
    frozen = nursery.start(writers.stand_at_the_door, sqlite_url)
    assert frozen.hear() == "there"
    frozen.stop()

    writer = nursery.start(writers.append_impatiently, sqlite_url, session_id, 5, with_loop)

    acked = writer.hear()
    assert writer.wait() == 0
    assert [event.id for event in audit(sqlite_url, session_id)] == acked
    assert len(acked) == 5
