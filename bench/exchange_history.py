"""What the exchange costs beside a long history: the same team, with a thousand rows that are over
and with a million, on both engines.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import holdfast
from bench.contestants.holdfast import migrate
from bench.doors import time_calls
from bench.exchange import TEAM, case_of, fill_ours, publish, scope_of
from bench.measure import Lane
from bench.place import Place, Places
from holdfast.usecases import exchange
from tests.rig.old_exchange import KINDS, fill_postgres, fill_sqlite, make_history

SMALL, LARGE, QUICK_LARGE = 1_000, 1_000_000, 60_000
STATE, GET_ALL, GET_ONE = "state", "get, of all", "get, of one developer"
PUBLISH = "publish"
QUESTIONS = (STATE, GET_ALL, GET_ONE, PUBLISH)
PROMISED = (STATE, GET_ALL, GET_ONE)

Call = Callable[[str], Awaitable[object]]


def name_size(rows: int) -> str:
    return f"{rows:,} old rows"


@asynccontextmanager
async def history_lanes(places: Places, engine: str, large: int) -> AsyncIterator[list[Lane]]:
    """The questions in their order, each beside the short history and then beside the long one."""
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(open_calls(places, engine, SMALL))
        many = await stack.enter_async_context(open_calls(places, engine, large))
        yield [
            Lane(name_size(size), engine, case_of(engine, question), time_calls(calls[question]))
            for question in QUESTIONS
            for size, calls in ((SMALL, small), (large, many))
        ]


@asynccontextmanager
async def open_calls(places: Places, engine: str, rows: int) -> AsyncIterator[dict[str, Call]]:
    place = places.new(engine)
    if place.dsn:
        await migrate(place)
    try:
        async with holdfast.open_database(place.app_dsn or f"sqlite:///{place.path}") as database:
            for developer in TEAM:
                await fill_ours(database, developer)
            await add_history(places, place, database, rows)
            yield list_calls(database)
    finally:
        places.remove(place)


async def add_history(places: Places, place: Place, database: Any, rows: int) -> None:
    """Of everyone in the team, the caller included."""
    developers = [scope_of(database, handle).owner.developer_id for handle in TEAM]
    for table, made in make_history(rows // KINDS, developers):
        if place.dsn:
            await fill_postgres(places.superuser_dsn(place), table, made)
        else:
            await asyncio.to_thread(fill_sqlite, place.path, table, made)
    places.settle(place)


def list_calls(database: Any) -> dict[str, Call]:
    scope = scope_of(database, TEAM[0])
    return {
        STATE: lambda _: exchange.get_state(scope),
        GET_ALL: lambda _: exchange.get_contexts(scope),
        GET_ONE: lambda _: exchange.get_contexts(scope, TEAM[1]),
        PUBLISH: lambda _: publish(scope, "main"),
    }
