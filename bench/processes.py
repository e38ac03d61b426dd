"""Eight real processes on one store.

They are forked from a server that has imported every library already: what is compared is how
stores share a file or a row, not how long their libraries take to import (start-up has a table of
its own).
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.contestants import CONTESTANTS, FILLER, make
from bench.place import Place

PROCESSES = 8
READY_SECONDS = 90.0


@dataclass
class Writer:
    """What the store acknowledged to one process."""

    acknowledged: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0
    seconds: float = 0.0


def preload() -> None:
    """Import all contestants in the fork server, before any store is open."""
    modules = {
        f"bench.contestants.{module.partition(':')[0]}" for _, module in CONTESTANTS.values()
    }
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["bench.processes", *sorted(modules)]
    )


def write_from_processes(name: str, place: Place, key: str, seconds: float) -> list[Writer]:
    """Start all of them, let them begin together, and collect what each saw."""
    context = multiprocessing.get_context("forkserver")
    barrier, answers = context.Barrier(PROCESSES), context.SimpleQueue()
    arguments = [
        (name, place, key, number, seconds, barrier, answers) for number in range(PROCESSES)
    ]
    children = [context.Process(target=child, args=each) for each in arguments]
    for process in children:
        process.start()
    writers = [answers.get() for _ in children]
    for process in children:
        process.join()
    return writers


def child(
    name: str, place: Place, key: str, number: int, seconds: float, barrier: Any, answers: Any
) -> None:
    """One process: whatever happens, it answers, so that no other process waits for it."""
    writer = Writer()
    try:
        asyncio.run(write(writer, name, place, key, number, seconds, barrier))
    except Exception as error:
        writer.errors[f"{type(error).__name__} at opening"] += 1
        barrier.abort()
    answers.put(writer)


async def write(
    writer: Writer, name: str, place: Place, key: str, number: int, seconds: float, barrier: Any
) -> None:
    """Append until the time is up; after a refusal load the session again, as the peers' errors
    advise.
    """
    contestant = make(name)
    await contestant.open(place)
    session = await contestant.attach(key)
    texts = (f"p{number}-{count} {FILLER}" for count in itertools.count())
    barrier.wait(READY_SECONDS)
    start = time.perf_counter()
    while (before := time.perf_counter()) < start + seconds:
        text = next(texts)
        try:
            await contestant.append(session, text)
        except Exception as error:
            writer.errors[type(error).__name__] += 1
            await contestant.release(session)
            session = await contestant.attach(key)
        else:
            writer.acknowledged.append(text)
        writer.longest = max(writer.longest, time.perf_counter() - before)
    writer.seconds = time.perf_counter() - start
    await contestant.release(session)
    await contestant.close()
