"""The stored rows themselves, read past the service: to show that something changed
nothing at all.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import apsw

from holdfast.sessions.service import SessionService

TABLES = ("sessions", "session_events", "session_state", "erasures", "outbox")
SCHEMAS = {"outbox": "holdfast"}


async def all_rows(sessions: SessionService) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that this developer's calls could have changed."""
    database: Any = sessions.db
    if database.engine == "sqlite":
        connection = apsw.Connection(database.path)
        found = {table: connection.execute(f"select * from {table}").fetchall() for table in TABLES}
        connection.close()
    else:
        async with database.pool.acquire() as connection, connection.transaction():
            await connection.fetch("select holdfast.act_for($1, $2)", *sessions.store.owner)
            found = {
                table: [
                    tuple(row)
                    for row in await connection.fetch(f"select * from {in_schema(table)}")
                ]
                for table in TABLES
            }
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def in_schema(table: str) -> str:
    """PostgreSQL's name of a table."""
    return f"{SCHEMAS.get(table, 'context')}.{table}"


@asynccontextmanager
async def nothing_changes(sessions: SessionService) -> AsyncIterator[None]:
    """Holds that not one row was added, removed or changed inside."""
    before = await all_rows(sessions)
    yield
    assert await all_rows(sessions) == before
