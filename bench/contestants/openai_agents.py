"""OpenAI Agents SDK: `SQLiteSession` and `SQLAlchemySession`.

A session is an object per conversation over a list of items; items have no numbers, and there is no
state.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from agents import SQLiteSession
from agents.extensions.memory import SQLAlchemySession
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import create_async_engine

from bench.contestants import Peer
from bench.durability import postgres_durability, sqlite_durability
from bench.place import Place


class Agents(Peer):
    """The `Session` protocol of the SDK, which both stores follow."""

    lacks: ClassVar[dict[str, str]] = {
        "create": "no such verb: the first item creates it",
        "update state": "has no state",
        "get state": "has no state",
    }

    async def create(self) -> Any:
        return await self.attach(str(uuid.uuid4()))

    def key(self, handle: Any) -> str:
        return handle.session_id

    async def append(self, handle: Any, text: str) -> Any:
        return await handle.add_items([{"role": "user", "content": text}])

    async def append_many(self, handle: Any, texts: Sequence[str]) -> Any:
        return await handle.add_items([{"role": "user", "content": text} for text in texts])

    async def recent(self, handle: Any, count: int) -> Sequence[Any]:
        return await handle.get_items(limit=count)

    async def stored(self, handle: Any) -> list[tuple[int | None, str]]:
        return [(None, item["content"]) for item in await handle.get_items()]

    async def fill(self, handle: Any, count: int, *, batch: int = 10_000) -> None:
        await super().fill(handle, count, batch=batch)


class AgentsSqlite(Agents):
    """The standard library's sqlite3 in worker threads, one lock per file."""

    async def open(self, place: Place) -> None:
        self.path = place.path

    async def close(self) -> None:
        """Every session has a connection of its own and is closed by `release`."""

    async def attach(self, key: str) -> SQLiteSession:
        return SQLiteSession(key, self.path)

    async def release(self, handle: SQLiteSession) -> None:
        handle.close()

    async def durability(self) -> str:
        session = await self.create()
        connection = session._get_connection()
        try:
            return sqlite_durability(
                lambda pragma: connection.execute(f"pragma {pragma}").fetchone()[0]
            )
        finally:
            session.close()


class AgentsSqlalchemy(Agents):
    """One engine for all sessions, as its documentation has it."""

    async def close(self) -> None:
        await self.engine.dispose()

    async def start(self, url: str) -> None:
        """The first item makes the tables, so one is written before anything is timed."""
        self.engine = create_async_engine(url)
        await self.append(await self.create(), "first")

    async def attach(self, key: str) -> SQLAlchemySession:
        return SQLAlchemySession(key, engine=self.engine, create_tables=True)

    async def show(self, query: str) -> Any:
        """One value from a connection of the engine that the sessions use."""
        async with self.engine.connect() as connection:
            return (await connection.execute(sql(query))).scalar()


class AgentsSqlalchemySqlite(AgentsSqlalchemy):
    """On aiosqlite."""

    async def open(self, place: Place) -> None:
        await self.start(f"sqlite+aiosqlite:///{place.path}")

    async def durability(self) -> str:
        found = {
            name: await self.show(f"pragma {name}") for name in ("journal_mode", "synchronous")
        }
        return sqlite_durability(found.__getitem__)


class AgentsSqlalchemyPostgres(AgentsSqlalchemy):
    """On asyncpg."""

    async def open(self, place: Place) -> None:
        await self.start(place.dsn.replace("postgresql://", "postgresql+asyncpg://", 1))

    async def fill(self, handle: Any, count: int, *, batch: int = 10_000) -> None:
        """A batch has one time, and reading would sort through all that share it; items of real
        life have their own.
        """
        await super().fill(handle, count, batch=batch)
        async with self.engine.begin() as connection:
            spread = (
                "update agent_messages set created_at = created_at + id * interval '1 microsecond'"
            )
            await connection.execute(sql(spread))

    async def durability(self) -> str:
        return await postgres_durability(self.show)
