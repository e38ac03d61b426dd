"""Google's Agent Development Kit: `SqliteSessionService` and `DatabaseSessionService`.

An event is appended to the `Session` object that `create_session` or `get_session` returned. Tasks
of one process share that object, which is the kindest way to use it: two objects of the same
session refuse each other as stale. Processes each have their own, and load it again after a
refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events import Event, EventActions
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from sqlalchemy import text as sql

from bench.contestants import Peer, messages
from bench.durability import postgres_durability, sqlite_durability
from bench.place import Place

NAMES = {"app_name": "bench", "user_id": "u"}

# One real event is cloned by SQL in the library's own tables: a million single appends would take
# an hour.
CLONE_SQLITE = """
with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
insert into events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
select id || '-' || i, app_name, user_id, session_id, invocation_id, {older}, event_data
from events, n where session_id = '{key}'
"""

CLONE_POSTGRES = """
insert into events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
select id || '-' || i, app_name, user_id, session_id, invocation_id,
    timestamp - i * interval '1 ms', event_data
from events, generate_series(1, {count}) as i where session_id = '{key}'
"""


class Adk(Peer):
    """What both services share: their interface."""

    service: Any

    async def create(self) -> Session:
        return await self.service.create_session(**NAMES)

    def key(self, handle: Session) -> str:
        return handle.id

    async def attach(self, key: str) -> Session:
        return await self.load(key, GetSessionConfig(num_recent_events=0))

    async def load(self, key: str, config: GetSessionConfig | None = None) -> Session:
        """`get_session` is the only way to read."""
        return await self.service.get_session(**NAMES, session_id=key, config=config)

    async def append(self, handle: Session, text: str) -> Any:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        return await self.service.append_event(
            handle, Event(author="user", invocation_id="bench", content=content)
        )

    async def recent(self, handle: Session, count: int) -> Sequence[Any]:
        return (await self.load(handle.id, GetSessionConfig(num_recent_events=count))).events

    async def stored(self, handle: Session) -> list[tuple[int | None, str]]:
        return [
            (None, event.content.parts[0].text) for event in (await self.load(handle.id)).events
        ]

    async def fill(self, handle: Session, count: int) -> None:
        await self.append(handle, messages(1, "fill")[0])
        await self.run_sql(self.clone.format(count=count - 1, key=handle.id))

    async def update_state(self, handle: Session, change: dict[str, Any]) -> Any:
        """State changes ride on an event; there is no other door to it."""
        event = Event(
            author="user", invocation_id="bench", actions=EventActions(state_delta=change)
        )
        return await self.service.append_event(handle, event)

    async def get_state(self, handle: Session) -> Any:
        return (await self.attach(handle.id)).state


class AdkSqlite(Adk):
    """Opens a connection for every call."""

    clone = CLONE_SQLITE.replace("{older}", "timestamp - i * 0.001")

    async def open(self, place: Place) -> None:
        self.service = SqliteSessionService(place.path)

    async def close(self) -> None:
        await self.service.close()

    async def durability(self) -> str:
        found = {}
        async with self.service._get_db_connection() as db:
            for pragma in ("journal_mode", "synchronous"):
                async with db.execute(f"pragma {pragma}") as cursor:
                    found[pragma] = (await cursor.fetchone())[0]
        return sqlite_durability(found.__getitem__)

    async def run_sql(self, statement: str) -> None:
        """For loading only."""
        async with self.service._get_db_connection() as db:
            await db.execute(statement)
            await db.commit()


class AdkDatabase(Adk):
    """SQLAlchemy's ORM on an async engine with its default pool."""

    async def close(self) -> None:
        await self.service.close()

    async def run_sql(self, statement: str) -> None:
        """For loading only."""
        async with self.service.db_engine.begin() as connection:
            await connection.execute(sql(statement))


class AdkDatabaseSqlite(AdkDatabase):
    """On aiosqlite."""

    clone = CLONE_SQLITE.replace(
        "{older}", "strftime('%Y-%m-%d %H:%M:%f000', timestamp, '-' || (i * 0.001) || ' seconds')"
    )

    async def open(self, place: Place) -> None:
        self.service = DatabaseSessionService(f"sqlite+aiosqlite:///{place.path}")
        await self.service.prepare_tables()

    async def durability(self) -> str:
        async with self.service.db_engine.connect() as connection:
            names = ("journal_mode", "synchronous")
            found = {
                name: (await connection.execute(sql(f"pragma {name}"))).scalar() for name in names
            }
        return sqlite_durability(found.__getitem__)


class AdkDatabasePostgres(AdkDatabase):
    """On asyncpg."""

    clone = CLONE_POSTGRES

    async def open(self, place: Place) -> None:
        self.service = DatabaseSessionService(
            place.dsn.replace("postgresql://", "postgresql+asyncpg://", 1)
        )
        await self.service.prepare_tables()

    async def durability(self) -> str:
        async with self.service.db_engine.connect() as connection:

            async def show(query: str) -> Any:
                return (await connection.execute(sql(query))).scalar()

            return await postgres_durability(show)
