"""The statements that this process sends to its stores, in their order, on both engines.

Two calls that run the same ones differ in what they find, and in nothing else. Values are left out:
they are what was asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import asyncpg


@contextmanager
def record_statements() -> Iterator[list[str]]:
    """Of every connection that is opened within."""
    found: list[str] = []

    def note(cursor: Any, statement: str, values: Any) -> bool:
        found.append(" ".join(statement.split()))
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    really_fetch = asyncpg.Connection.fetch

    async def fetch(connection: Any, statement: str, *values: Any, **options: Any) -> Any:
        found.append(statement)
        return await really_fetch(connection, statement, *values, **options)

    apsw.connection_hooks.append(watch)
    asyncpg.Connection.fetch = fetch
    try:
        yield found
    finally:
        asyncpg.Connection.fetch = really_fetch
        apsw.connection_hooks.remove(watch)
