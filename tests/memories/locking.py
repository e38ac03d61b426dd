"""Many verbs on the same memories at once, and whether the server had to end one of them."""

import asyncio
from typing import Any

import asyncpg

from holdfast.memories.errors import MemoryForgottenError, MemoryNotFoundError
from holdfast.memories.service import MemoryService
from tests.rig.postgres import Cluster


async def count_deadlocks(postgres: Cluster, name: str) -> int:
    """Of connections that have ended: the server adds up what a connection has met at its end."""
    connection = await asyncpg.connect(postgres.dsn())
    others = f"select count(*) from pg_stat_activity where datname = '{name}'"
    while await connection.fetchval(others):
        await connection.execute("select pg_stat_clear_snapshot()")
    count: int = await connection.fetchval(
        f"select deadlocks from pg_stat_database where datname = '{name}'"
    )
    await connection.close()
    return count


async def use_together(memories: MemoryService, text: str) -> None:
    """Every verb that locks a row or a content, on the same memories at once."""
    known = [(await memories.remember(f"{text} {part}")).memory for part in ("port", "host")]
    ids = [memory.id for memory in known]
    calls: list[Any] = [memories.forget(memory_id) for memory_id in ids]
    for memory in known:
        calls += [memories.remember(memory.content, session_id=f"s-{n}") for n in range(3)]
        calls += [memories.corroborate(memory.id, "s-4"), memories.expire(memory.id)]
    calls += [memories.store.note_use(order) for order in (ids, ids[::-1])]
    results = await asyncio.gather(*calls, return_exceptions=True)
    errors = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(error, MemoryForgottenError | MemoryNotFoundError) for error in errors), (
        errors
    )
