"""Listeners hear everything that comes after their cursor, once, in order, and sleep in between."""

import asyncio
from types import SimpleNamespace

import pytest

import holdfast
from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.ground.settings import Owner
from holdfast.storage import tail
from holdfast.storage.outbox import Outbox
from holdfast.storage.tail import Tail


@pytest.fixture
def ada(database, workspace):
    return holdfast.SessionService(database, owner=Owner(workspace, "ada"))


@pytest.fixture
def outbox(database, ada):
    return Outbox(database, ada.owner)


async def read_events(follower, count):
    found = []
    async with asyncio.timeout(30):
        async for event in follower:
            if event is not None:
                found.append(event)
            if len(found) == count:
                break
    await follower.aclose()
    return found


async def test_a_listener_gets_new_events_and_those_it_missed(ada, outbox):
    s = await ada.create_session("m", "u1")
    start = Tail(outbox)
    listening = asyncio.create_task(read_events(start.follow(await outbox.end(), 5), 3))
    await asyncio.sleep(0)

    for number in range(3):
        await ada.set_relevant_context(s.id, "files", [f"{number}.py"])
    events = await listening

    assert [event.data["files"] for event in events] == [["0.py"], ["1.py"], ["2.py"]]
    assert await read_events(start.follow(events[0].cursor, 5), 2) == events[1:]


async def test_without_a_cursor_a_listener_gets_only_later_events(ada, outbox):
    await ada.create_session("m", "before")
    follower = Tail(outbox).follow(None, 0.01)
    assert await anext(follower) is None

    s = await ada.create_session("m", "after")

    assert [event.data["session_id"] for event in await read_events(follower, 1)] == [s.id]


async def test_a_listener_without_events_gets_none_at_each_interval(outbox):
    follower = Tail(outbox).follow(None, 0.01)

    assert [await anext(follower) for _ in range(3)] == [None] * 3
    await follower.aclose()


async def test_the_store_is_polled_only_while_a_listener_exists(outbox):
    shared = Tail(outbox)
    first, second = shared.follow(None, 0.01), shared.follow(None, 0.01)
    await anext(first)
    await anext(second)
    looking = shared._looking
    await first.aclose()
    assert shared._looking is looking is not None

    await second.aclose()

    assert shared._looking is None


async def test_what_a_slow_read_has_found_is_given_without_another_one(ada, outbox, monkeypatch):
    """On a busy server each read takes longer than what it found may wait for its listener."""
    cursor, read = await outbox.end(), outbox.read
    s = await ada.create_session("m", "u1")
    for number in range(5):
        await ada.set_relevant_context(s.id, "files", [f"{number}.py"])
    reads, seconds = [], [0.0]

    async def read_slowly(after, limit):
        reads.append(after)
        seconds[0] += 2 * tail.STALE_SECONDS
        return await read(after, limit)

    monkeypatch.setattr(outbox, "read", read_slowly)
    monkeypatch.setattr(tail, "time", SimpleNamespace(monotonic=lambda: seconds[0]))

    assert len(await read_events(Tail(outbox).follow(cursor, 5), 5)) == 5
    assert reads == [cursor]


async def test_a_store_that_is_briefly_busy_does_not_end_the_polling(ada, outbox, monkeypatch):
    monkeypatch.setattr(tail, "LOOK_SECONDS", 0.001)
    shared = Tail(outbox)
    listening = asyncio.create_task(read_events(shared.follow(await outbox.end(), 5), 1))
    ends = outbox.end
    failures = [StoreBusyError("The store")] * 3

    async def end():
        if failures:
            raise failures.pop()
        return await ends()

    monkeypatch.setattr(outbox, "end", end)
    s = await ada.create_session("m", "u1")

    assert [event.data["session_id"] for event in await listening] == [s.id]
    assert not failures


async def test_a_listener_whose_cursor_is_beyond_the_end_is_refused(database, outbox, workspace):
    """It comes back, is refused, and starts anew: better than a silence that looks like peace."""
    bo = Owner(workspace, "bo")
    await holdfast.SessionService(database, owner=bo).create_session("m", "u1")

    with pytest.raises(InvalidValueError, match="is not one that this store handed out"):
        await anext(Tail(outbox).follow(await Outbox(database, bo).end(), 5))


@pytest.mark.parametrize("steps", range(4))
async def test_a_listener_that_is_closed_while_events_arrive_ends(outbox, steps):
    shared = Tail(outbox)
    listening = asyncio.create_task(read_events(shared.follow(await outbox.end(), 60), 1))
    for _ in range(5):
        await asyncio.sleep(0)
    shared._moved.set()
    shared._moved = asyncio.Event()
    for _ in range(steps):
        await asyncio.sleep(0)

    listening.cancel()

    done, _ = await asyncio.wait([listening], timeout=5)
    assert done
