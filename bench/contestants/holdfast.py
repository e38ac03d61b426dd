"""Ours, through the public interface and nothing else.

On PostgreSQL the migrations run as the owner, and everything that is timed runs as the runtime role
under row-level security.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.contestants import Peer
from bench.durability import postgres_durability, sqlite_durability
from bench.place import Place
from holdfast import SessionService, open_database
from holdfast.storage.migrate import migrate_postgres
from tests.rig.postgres import APP, RUNTIME, execute


def event(text: str) -> dict[str, str]:
    """One event as `append_events` takes it."""
    return {"type": "user_message", "role": "user", "content": text}


async def migrate(place: Place) -> None:
    """As the owner; the application's login joins the runtime role."""
    await migrate_postgres(place.dsn)
    execute(place.dsn, f"grant {RUNTIME} to {APP}")


class Holdfast(Peer):
    """`SessionService` on whatever `open_database` gives."""

    async def start(self, url: str) -> None:
        """Open the store and keep it open, as a server does."""
        self.context = open_database(url)
        self.db = await self.context.__aenter__()
        self.service = SessionService(self.db)

    async def close(self) -> None:
        await self.context.__aexit__(None, None, None)

    async def create(self) -> str:
        return (await self.service.create_session("bench", "u")).id

    async def append(self, handle: str, text: str) -> Any:
        return await self.service.append_event(handle, "user_message", "user", text)

    async def append_many(self, handle: str, texts: Sequence[str]) -> Any:
        return await self.service.append_events(handle, [event(text) for text in texts])

    async def recent(self, handle: str, count: int) -> Sequence[Any]:
        return await self.service.get_recent_events(handle, max_turns=count)

    async def stored(self, handle: str) -> list[tuple[int | None, str]]:
        return [(event.sequence, event.content) async for event in self.service.read_events(handle)]

    async def update_state(self, handle: str, change: dict[str, Any]) -> Any:
        return await self.service.update_state(handle, change)

    async def get_state(self, handle: str) -> Any:
        return await self.service.get_state(handle)


class HoldfastSqlite(Holdfast):
    """Group commit by one writer thread."""

    async def open(self, place: Place) -> None:
        await self.start(f"sqlite:///{place.path}")

    async def durability(self) -> str:
        return sqlite_durability(
            lambda pragma: self.db.connection.execute(f"pragma {pragma}").fetchone()[0]
        )


class HoldfastPostgres(Holdfast):
    """One SQL function per verb, as the runtime role."""

    async def open(self, place: Place) -> None:
        if place.first:
            await migrate(place)
        await self.start(place.app_dsn)

    async def durability(self) -> str:
        return await postgres_durability(self.db.pool.fetchval)
