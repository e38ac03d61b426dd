"""What the processes of the fault tests do: each is started from the nursery and talks to its test
over a line.

An acknowledgement is sent after the await has returned, never before, so whatever was received has
to be there.
"""

import asyncio
import logging
import os
import random
import resource
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import apsw

import holdfast
from holdfast.errors import StoreUnreachableError, Unavailable
from holdfast.ground import ids
from holdfast.sessions.service import SessionService
from holdfast.sessions.store import QUERIES, SessionStore
from holdfast.storage import migrate
from holdfast.storage.database import drive
from holdfast.storage.errors import StoreClosedError
from holdfast.storage.outbox import Outbox
from holdfast.storage.turn import Turn
from tests.faults import operations, points
from tests.faults.audit import OWNER
from tests.faults.faulty_vfs import faulty_file_system
from tests.rig.nursery import Line

Body = Callable[[SessionService], Coroutine[Any, Any, Any]]

LARGEST_TEXT = 9_000  # more than two pages


async def open_and_run(url: str, body: Body) -> Any:
    async with holdfast.open_database(url) as database:
        return await body(SessionService(database, owner=OWNER))


def with_sessions(url: str, body: Body, *, with_loop: bool = True) -> Any:
    """With a loop as a server does it, or without one as a hook does."""
    return asyncio.run(open_and_run(url, body)) if with_loop else drive(open_and_run(url, body))


def random_text(chance: random.Random) -> str:
    return "x" * (chance.randrange(LARGEST_TEXT) if chance.random() < 0.2 else chance.randrange(60))


# --- R1 -------------------------------------------------------------------------------------------


def append_inline_until_killed(line: Line, url: str, session_id: str, seed: int) -> None:
    """As a hook does: no loop, no thread."""
    chance = random.Random(seed)
    database = drive(holdfast.open_database(url).__aenter__())
    sessions = SessionService(database, owner=OWNER)
    while True:
        event = drive(
            sessions.append_event(session_id, "user_message", "user", random_text(chance))
        )
        line.say(event.id)


def append_together_until_killed(line: Line, url: str, session_id: str, seed: int) -> None:
    """As a server does: several tasks whose appends are committed in groups."""
    chance = random.Random(seed)

    async def keep_appending(sessions: SessionService) -> None:
        while True:
            event = await sessions.append_event(
                session_id, "user_message", "user", random_text(chance)
            )
            line.say(event.id)

    async def body(sessions: SessionService) -> None:
        await asyncio.gather(*(keep_appending(sessions) for _ in range(16)))

    with_sessions(url, body)


# --- R4, R4b, R5, R9 ------------------------------------------------------------------------------


def append_many(line: Line, url: str, session_id: str, writer: int, count: int) -> None:
    """Opens, waits for the word, appends, and tells every number it was given."""

    async def body(sessions: SessionService) -> None:
        line.say("open")
        line.hear()
        for number in range(count):
            event = await sessions.append_event(
                session_id, "user_message", "user", f"{writer}.{number}"
            )
            line.say([event.id, event.sequence])

    with_sessions(url, body)


def append_fenced(line: Line, url: str, session_id: str) -> None:
    """Turn by turn, as a process that wants to be the only writer: reads, waits for the word,
    appends.
    """

    async def body(sessions: SessionService) -> None:
        while line.hear() == "turn":
            seen = (await sessions.get_session(session_id)).last_sequence
            line.say(seen)
            line.hear()
            try:
                event = await sessions.append_event(
                    session_id, "model_message", "assistant", "…", expected_sequence=seen
                )
                line.say({"appended": event.sequence})
            except holdfast.SequenceConflictError as error:
                line.say({"expected": error.expected, "actual": error.actual})

    with_sessions(url, body)


def take_turns(line: Line, url: str, session_id: str, events_per_turn: int) -> None:
    """Turns of several events, each expecting the one before, as fast as it goes, until asked to
    stop.
    """

    async def turn(sessions: SessionService) -> tuple[list[int], bool]:
        seen, numbers = (await sessions.get_session(session_id)).last_sequence, list[int]()
        for _ in range(events_per_turn):
            try:
                event = await sessions.append_event(
                    session_id, "model_message", "assistant", "…", expected_sequence=seen
                )
            except holdfast.SequenceConflictError:
                return numbers, False
            seen = event.sequence
            numbers.append(seen)
        return numbers, True

    async def body(sessions: SessionService) -> None:
        while not line.is_called():
            line.say(await turn(sessions))

    with_sessions(url, body)


def open_first(line: Line) -> None:
    """Opens each store that it is given, writes to it and closes it."""
    while (url := line.hear()) is not None:

        async def body(sessions: SessionService) -> int:
            session = await sessions.create_session("coder", "u1")
            return (
                await sessions.append_event(session.id, "user_message", "user", "first")
            ).sequence

        line.say(with_sessions(url, body))


def append_and_send(line: Line, url: str, session_id: str, writer: int, count: int) -> None:
    """Appends, and changes a context set now and then, so that there is something for both kinds of
    listeners.
    """

    async def body(sessions: SessionService) -> None:
        line.say("open")
        line.hear()
        for number in range(count):
            await sessions.append_event(session_id, "user_message", "user", f"{writer}.{number}")
            if number % 5 == 0:
                await sessions.set_relevant_context(
                    session_id, f"set {writer}", [f"{writer}.{number}"]
                )

    with_sessions(url, body)


def tell_slowly(line: Line, url: str, session_id: str, writer: int, count: int) -> None:
    """Tells listeners something and dawdles before the commit, while others commit."""

    async def body(sessions: SessionService) -> None:
        line.say("open")
        line.hear()
        chance = random.Random(writer)
        for number in range(count):

            async def work(store: SessionStore, number: int = number) -> None:
                await store.lock_session(session_id)
                event = f'{{"from":"{writer}.{number}"}}'
                await store.save_metadata(session_id, "{}", "session.renamed", event)
                await asyncio.sleep(chance.uniform(0, 0.005))

            await sessions.store.in_transaction(work)

    with_sessions(url, body)


def tail_events(line: Line, url: str, session_id: str) -> None:
    """Follows a session by its numbers until asked to stop; then sends all ids, in the order it met
    them.
    """

    async def body(sessions: SessionService) -> list[str]:
        met, after, last_look = list[str](), 0, False
        while not last_look:
            last_look = line.is_called()
            async for event in sessions.read_events(session_id, after):
                assert event.sequence == after + 1, f"{event.sequence} came after {after}"
                met.append(event.id)
                after = event.sequence
        return met

    line.say(with_sessions(url, body))


def tail_outbox(line: Line, url: str) -> None:
    """Follows the events for listeners, cursor by cursor, until asked to stop."""

    async def body(sessions: SessionService) -> list[Any]:
        outbox, met, cursor, last_look = Outbox(sessions.db, OWNER), list[Any](), None, False
        while not last_look:
            last_look = line.is_called()
            while events := await outbox.read(cursor, 7):
                met += [[event.cursor, event.data] for event in events]
                cursor = events[-1].cursor
        return met

    line.say(with_sessions(url, body))


# --- R24 ------------------------------------------------------------------------------------------


def checkpoint_until_stopped(line: Line, url: str) -> None:
    """What a backup program does to the store of another program: truncates the write-ahead log
    whenever it can.
    """
    connection, done = (
        apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READWRITE),
        0,
    )
    connection.execute(
        "select count(*) from sqlite_schema"
    ).fetchall()  # before it has read, a checkpoint does nothing
    while not line.is_called():
        try:
            done += connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)
        except apsw.BusyError:
            continue
    connection.close()
    line.say(done)


# --- F2 -------------------------------------------------------------------------------------------


def append_and_die(
    line: Line, url: str, session_id: str, event_ids: list[list[str]], point: str, number: int
) -> None:
    """Each list of ids in a task of its own, so that they meet in groups, until the point is
    reached.
    """
    points.arm(point, number)

    async def append(sessions: SessionService, mine: list[str]) -> None:
        for event_id in mine:
            await sessions.append_event(
                session_id, "tool_result", "tool", event_id, event_id=event_id
            )
            line.say(event_id)

    async def body(sessions: SessionService) -> None:
        await asyncio.gather(*(append(sessions, mine) for mine in event_ids))

    with_sessions(url, body)


def change_context_and_die(
    line: Line, url: str, session_id: str, items: list[str], point: str, number: int
) -> None:
    points.arm(point, number)
    for item in items:
        with_sessions(
            url,
            lambda sessions, item=item: sessions.set_relevant_context(session_id, "files", [item]),
        )
        line.say(item)


def forget_and_die(line: Line, url: str, event_ids: list[str], point: str, number: int) -> None:
    points.arm(point, number)
    with_sessions(url, lambda sessions: sessions.forget_events(event_ids))
    line.say("forgotten")


def open_and_die(line: Line, url: str, point: str, number: int) -> None:
    points.arm(point, number)
    line.say(with_sessions(url, lambda sessions: sessions.list_sessions()))


# --- F1 -------------------------------------------------------------------------------------------


def migrate_and_die(line: Line, folder: str, migrations: str, fault: str, number: int) -> None:
    """Opens a store with a program that has these migrations."""
    migrate.FOLDER = migrations
    do_and_die(line, folder, "", "nothing", fault, number)


def do_and_die(
    line: Line, folder: str, session_id: str, operation: str, fault: str, number: int
) -> None:
    """One operation on a file system that kills at the nth call; tells if it was acknowledged
    before.
    """
    do = operations.OPERATIONS[operation].do if session_id else operations.nothing

    async def verb(sessions: SessionService) -> None:
        await do(sessions, session_id)
        line.say("done")

    with faulty_file_system(fault, number):
        operations.with_store(Path(folder), verb)


# --- R10, R11 -------------------------------------------------------------------------------------


def append_through_crashes(line: Line, url: str, session_id: str) -> None:
    """Appends until asked to stop; what was not acknowledged is repeated under the same id."""
    logging.disable()  # asyncpg tells of each connection that it could not make

    async def body(sessions: SessionService) -> int:
        failures = 0
        while not line.is_called():
            event_id = ids.new_id()
            while True:
                try:
                    event = await sessions.append_event(
                        session_id, "user_message", "user", "…", event_id=event_id
                    )
                    break
                except Unavailable:
                    failures += 1
                    await asyncio.sleep(0.02)  # the server needs the processor more than we do
            line.say(event.id)
        return failures

    line.say({"failures": with_sessions(url, body)})


def append_ids(line: Line, url: str, session_id: str, event_ids: list[str]) -> None:
    """The same events as another process appends at the same time."""

    async def body(sessions: SessionService) -> list[Any]:
        line.say("open")
        line.hear()
        append = sessions.append_event
        events = [
            await append(session_id, "user_message", "user", event_id, event_id=event_id)
            for event_id in event_ids
        ]
        return [[event.id, event.sequence] for event in events]

    line.say(with_sessions(url, body))


# --- R16 ------------------------------------------------------------------------------------------


def append_until_full(
    line: Line, url: str, session_id: str, count: int, with_loop: bool, largest_file: int | None
) -> None:
    """Appends until it was refused as often as asked; then, when it hears that there is space
    again, some more.
    """

    async def append(sessions: SessionService) -> str:
        return (await sessions.append_event(session_id, "tool_result", "tool", "x" * 8_000)).id

    async def body(sessions: SessionService) -> None:
        acked, refused = list[str](), list[str]()
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        while len(refused) < count:
            try:
                acked.append(await append(sessions))
            except Unavailable as error:
                refused.append(error.code)
                await sessions.get_recent_events(session_id, 1)  # reading goes on
        line.say({"acked": acked, "refused": refused})
        line.hear()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for _ in range(10):
            line.say(await append(sessions))

    with_sessions(url, body, with_loop=with_loop)


def append_as(line: Line, user: int, url: str, count: int) -> None:
    """Opens, makes a session and appends to it, so many times; sends the event's id or the error's
    code.
    """
    become(user)

    async def body(sessions: SessionService) -> str:
        session = await sessions.create_session("coder", "u1")
        return (await sessions.append_event(session.id, "user_message", "user", "…")).id

    line.say([code_or(lambda: with_sessions(url, body, with_loop=False)) for _ in range(count)])


def append_twice_as(line: Line, user: int, url: str) -> None:
    become(user)

    async def body(sessions: SessionService) -> None:
        session = await sessions.create_session("coder", "u1")
        first = await sessions.append_event(session.id, "user_message", "user", "first")
        line.say([session.id, first.id])
        line.hear()
        line.say(
            code_or(
                lambda: (
                    drive(sessions.append_event(session.id, "user_message", "user", "second")).id
                )
            )
        )

    with_sessions(url, body, with_loop=False)


def become(user: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def code_or(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except Unavailable as error:
        return error.code


def append_with_few_descriptors(
    line: Line, url: str, session_id: str, count: int, with_loop: bool
) -> None:
    limit_descriptors()
    acked, refused = list[str](), list[str]()

    async def body(sessions: SessionService) -> str:
        return (await sessions.append_event(session_id, "user_message", "user", "…")).id

    for number in range(count):
        loop = asyncio.new_event_loop()  # needs descriptors of its own
        taken = take_descriptors()
        for _ in range(number % 6):
            os.close(taken.pop())
        try:
            opened = open_and_run(url, body)
            acked.append(loop.run_until_complete(opened) if with_loop else drive(opened))
        except StoreUnreachableError as error:
            refused.append(f"{error.code}: {error.cause}")
        finally:
            loop.close()
            for fd in taken:
                os.close(fd)
    line.say({"acked": acked, "refused": refused})


def append_without_descriptors(line: Line, url: str, session_id: str, count: int) -> None:
    limit_descriptors()

    async def body(sessions: SessionService) -> list[str]:
        taken = take_descriptors()
        events = [
            await sessions.append_event(session_id, "user_message", "user", "…")
            for _ in range(count)
        ]
        for fd in taken:
            os.close(fd)
        return [event.id for event in events]

    line.say(with_sessions(url, body))


def limit_descriptors() -> None:
    """32 from now on; our own files are read before."""
    QUERIES["append_events"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))


def take_descriptors() -> list[int]:
    taken: list[int] = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return taken


# --- forks and locks ------------------------------------------------------------------------------


def fork_and_go_on(line: Line, url: str, session_id: str, forks: int, with_loop: bool) -> None:
    """An open store is carried over a fork; the child does all that it should not, and ends."""

    async def append(sessions: SessionService) -> None:
        line.say((await sessions.append_event(session_id, "user_message", "user", "…")).id)

    async def body(sessions: SessionService) -> None:
        for _ in range(forks):
            await append(sessions)
            if os.fork() == 0:
                child(sessions)
            assert os.wait()[1] == 0
            line.say("ended")
            await append(sessions)

    def child(sessions: SessionService) -> None:
        try:
            with_new_loop(lambda: sessions.get_session(session_id))
        except StoreClosedError:
            line.say("refused")
        with_new_loop(sessions.db.close)
        with_new_loop(lambda: open_and_run(url, append))
        sessions.db.connection.close()  # type: ignore[attr-defined]  # what an ending interpreter does to it
        os._exit(0)

    def with_new_loop(call: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        if with_loop:
            asyncio._set_running_loop(None)  # the parent's, which this process has no part in
            asyncio.run(call())
        else:
            drive(call())

    with_sessions(url, body, with_loop=with_loop)


def hold_write_lock(line: Line, url: str) -> None:
    """Another program that writes until it is asked to stop."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READWRITE)
    while line.hear() == "hold":
        connection.execute("begin immediate")
        line.say("held")
        line.hear()
        connection.execute("rollback")
    connection.close()


# --- TW2 ------------------------------------------------------------------------------------------


def live_long(line: Line, url: str, session_id: str) -> None:
    """Appends as many as requested, round by round, and reads back now and then; sends what it
    costs.
    """

    async def body(sessions: SessionService) -> None:
        while count := line.hear():
            started = time.perf_counter()
            for start in range(0, count, 16):
                size = min(16, count - start)
                append = sessions.append_event
                await asyncio.gather(
                    *(append(session_id, "tool_result", "tool", "x" * 200) for _ in range(size))
                )
            await sessions.get_recent_events(session_id, 30, 2_000)
            line.say(
                {
                    "acked": count,
                    "descriptors": len(os.listdir("/dev/fd")),
                    "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                    "microseconds_each": int((time.perf_counter() - started) / count * 1e6),
                }
            )

    with_sessions(url, body)


def stand_at_the_door(line: Line, url: str) -> None:
    """Takes its turn at the write lock, and does not come to the lock."""
    turn = Turn(url.removeprefix("sqlite:///"))
    assert turn.take()
    line.say("there")
    line.hear()


def append_impatiently(line: Line, url: str, session_id: str, count: int, with_loop: bool) -> None:
    """With the patience of a hook."""

    async def work() -> list[str]:
        async with holdfast.open_database(url, patience_seconds=0.2) as database:
            append = SessionService(database, owner=OWNER).append_event
            return [
                (await append(session_id, "user_message", "user", "…")).id for _ in range(count)
            ]

    line.say(asyncio.run(work()) if with_loop else drive(work()))


# --- R22 ------------------------------------------------------------------------------------------


def append_in_turns(line: Line, url: str, session_ids: list[str]) -> None:
    """To one session after the other, until told to stop: each acknowledged before the next."""

    async def body(sessions: SessionService) -> None:
        number = 0
        while not line.is_called():
            for session_id in session_ids:
                event = await sessions.append_event(
                    session_id, "user_message", "user", f"number {number}"
                )
                line.say(event.id)
            number += 1

    with_sessions(url, body)
