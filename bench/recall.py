"""How well recall answers, beside plain full-text search over the same rows.

Not a time: shares of questions. The sets are those that the tests hold recall to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import holdfast
from bench.contestants.holdfast import migrate
from bench.place import Places
from holdfast.memories.service import MemoryService
from tests.rig.recall import (
    ALL,
    Figures,
    RecallSet,
    load_set,
    make_plain_search,
    make_recall,
    measure,
)

PLAIN = "plain FTS5, words joined by OR, bm25"
ENGINES = {"sqlite": "holdfast, SQLite", "postgres": "holdfast, PostgreSQL"}


@dataclass(frozen=True)
class Answered:
    """What one contestant answered of one set."""

    contestant: str
    case: str
    figures: Figures


async def measure_recall(places: Places) -> list[Answered]:
    rows = []
    for name in ALL:
        questions = load_set(name)
        counts = f"{len(questions.questions)} with an answer, {len(questions.without)} without"
        case = f"{name} ({counts})"
        rows.append(Answered(PLAIN, case, await measure(questions, make_plain_search(questions))))
        for engine, contestant in ENGINES.items():
            figures = await measure_ours(places, engine, questions)
            rows.append(Answered(contestant, case, figures))
    return rows


async def measure_ours(places: Places, engine: str, questions: RecallSet) -> Figures:
    async with open_memories(places, engine) as memories:
        return await measure(questions, await make_recall(memories, questions))


@asynccontextmanager
async def open_memories(places: Places, engine: str) -> AsyncIterator[MemoryService]:
    place = places.new(engine)
    address = place.app_dsn or f"sqlite:///{place.path}"
    if place.dsn:
        await migrate(place)
    async with holdfast.open_database(address) as database:
        yield MemoryService(database)
    places.remove(place)
