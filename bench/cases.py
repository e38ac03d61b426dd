"""What one turn of each case does: a function per case, from an open contestant to a block of
calls.

An append block starts on a fresh session, because some peers' appends grow dearer with the
session's length and would otherwise be punished for being called often.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench.contestants import Contestant, messages
from bench.measure import Block, count_damage, one_by_one
from bench.place import Place
from bench.processes import PROCESSES, Writer, write_from_processes

Run = Callable[[int], Awaitable[Block]]
numbers = itertools.count(1)


@dataclass
class Entry:
    """A contestant that is open on a store of its own; `session` is there when a case wants it
    loaded beforehand.
    """

    name: str
    contestant: Contestant
    place: Place
    session: Any = None


def fresh_texts(count: int) -> list[str]:
    """Texts that no earlier block used."""
    return messages(count, f"b{next(numbers)}")


@asynccontextmanager
async def fresh_sessions(contestant: Contestant, count: int = 1) -> AsyncIterator[list[Any]]:
    """New sessions for one block, let go of afterwards: some libraries hold a
    connection for each.
    """
    handles = [await contestant.create() for _ in range(count)]
    try:
        yield handles
    finally:
        for handle in handles:
            await contestant.release(handle)


def create_run(entry: Entry) -> Run:
    """New sessions, one after the other."""

    async def run(calls: int) -> Block:
        return await one_by_one(lambda _: entry.contestant.create(), range(calls))

    return run


def append_run(entry: Entry) -> Run:
    """One event per call, one call after the other."""
    contestant = entry.contestant

    async def run(calls: int) -> Block:
        async with fresh_sessions(contestant) as [session]:
            return await one_by_one(
                lambda text: contestant.append(session, text), fresh_texts(calls)
            )

    return run


def ten_run(entry: Entry) -> Run:
    """Ten events in one call."""
    contestant = entry.contestant

    async def run(calls: int) -> Block:
        tens = [fresh_texts(10) for _ in range(calls)]
        async with fresh_sessions(contestant) as [session]:
            return await one_by_one(lambda ten: contestant.append_many(session, ten), tens)

    return run


def update_state_run(entry: Entry) -> Run:
    """A small change to a scratchpad that already has something in it."""
    contestant = entry.contestant
    change = {"current_task": "bench", "handoff_context": {"from_chatmode": "architect"}}

    async def run(calls: int) -> Block:
        changes = [change | {"spec_file": f"docs/{number}.md"} for number in range(calls)]
        async with fresh_sessions(contestant) as [session]:
            await contestant.update_state(
                session, {"files_in_progress": ["src/a.py", "src/b.py"], "blockers": []}
            )
            return await one_by_one(lambda item: contestant.update_state(session, item), changes)

    return run


def get_state_run(entry: Entry) -> Run:
    """Read a scratchpad."""
    contestant = entry.contestant

    async def run(calls: int) -> Block:
        async with fresh_sessions(contestant) as [session]:
            await contestant.update_state(session, {"current_task": "bench", "blockers": []})
            return await one_by_one(lambda _: contestant.get_state(session), range(calls))

    return run


def recent_run(entry: Entry) -> Run:
    """The newest thirty events of the loaded session."""

    async def run(calls: int) -> Block:
        return await one_by_one(lambda _: entry.contestant.recent(entry.session, 30), range(calls))

    return run


def tasks_run(entry: Entry, tasks: int, sessions: int) -> Run:
    """Many tasks of one event loop write at once; afterwards everything
    acknowledged must be there.
    """
    contestant = entry.contestant

    async def run(calls: int) -> Block:
        texts = [fresh_texts(max(1, calls // tasks)) for _ in range(tasks)]
        async with fresh_sessions(contestant, sessions) as handles:
            return await write_together(contestant, handles, texts)

    return run


async def write_together(
    contestant: Contestant, handles: list[Any], texts: list[list[str]]
) -> Block:
    """A task per list of texts; task n writes to session n, or to one that it shares."""
    acknowledged: list[list[str]] = [[] for _ in handles]
    errors: Counter[str] = Counter()

    async def write(task: int) -> None:
        session = task % len(handles)
        for text in texts[task]:
            try:
                await contestant.append(handles[session], text)
            except Exception as error:
                errors[type(error).__name__] += 1
            else:
                acknowledged[session].append(text)

    start = time.perf_counter()
    await asyncio.gather(*map(write, range(len(texts))))
    seconds = time.perf_counter() - start
    damage = [
        count_damage(a, await contestant.stored(h))
        for h, a in zip(handles, acknowledged, strict=True)
    ]
    lost, gaps = map(sum, zip(*damage, strict=True))
    return Block(sum(map(len, acknowledged)), seconds, errors=errors, lost=lost, gaps=gaps)


def processes_run(entry: Entry, seconds: float) -> Run:
    """Real processes write to one session for a fixed time."""
    contestant = entry.contestant

    async def run(_calls: int) -> Block:
        async with fresh_sessions(contestant) as [session]:
            key = contestant.key(session)
            writers = await asyncio.to_thread(
                write_from_processes, entry.name, entry.place.again(), key, seconds
            )
            return summarise(writers, await contestant.stored(session))

    return run


def summarise(writers: list[Writer], stored: list[tuple[int | None, str]]) -> Block:
    """What all processes together got acknowledged, against what is stored."""
    counts = [len(writer.acknowledged) for writer in writers]
    lost, gaps = count_damage([text for writer in writers for text in writer.acknowledged], stored)
    return Block(
        done=sum(counts),
        seconds=max(writer.seconds for writer in writers),
        errors=sum((writer.errors for writer in writers), Counter()),
        lost=lost,
        gaps=gaps,
        share=min(counts) * PROCESSES / sum(counts) if any(counts) else 0.0,
        longest=max(writer.longest for writer in writers),
    )
