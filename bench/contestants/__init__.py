"""The one small protocol that every store is driven by, and the list of stores.

A contestant is used the way its own documentation says, with its own defaults. Where it has no such
verb, `lacks` says so and the table shows the sentence instead of a number. Modules are imported
when a contestant is made, so that one missing package costs one row and not the run.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from bench.place import Place

CONTESTANTS = {
    "bare apsw transaction": ("sqlite", "bare:BareSqlite"),
    "equal work on apsw": ("sqlite", "equal:EqualSqlite"),
    "Holdfast on SQLite": ("sqlite", "holdfast:HoldfastSqlite"),
    "ADK SqliteSessionService": ("sqlite", "adk:AdkSqlite"),
    "ADK DatabaseSessionService on SQLite": ("sqlite", "adk:AdkDatabaseSqlite"),
    "OpenAI Agents SQLiteSession": ("sqlite", "openai_agents:AgentsSqlite"),
    "OpenAI Agents SQLAlchemySession on SQLite": ("sqlite", "openai_agents:AgentsSqlalchemySqlite"),
    "LangGraph AsyncSqliteSaver": ("sqlite", "langgraph:LanggraphSqlite"),
    "bare asyncpg call": ("postgres", "bare:BarePostgres"),
    "equal work on asyncpg": ("postgres", "equal:EqualPostgres"),
    "Holdfast on PostgreSQL": ("postgres", "holdfast:HoldfastPostgres"),
    "ADK DatabaseSessionService on PostgreSQL": ("postgres", "adk:AdkDatabasePostgres"),
    "OpenAI Agents SQLAlchemySession on PostgreSQL": (
        "postgres",
        "openai_agents:AgentsSqlalchemyPostgres",
    ),
    "LangGraph AsyncPostgresSaver": ("postgres", "langgraph:LanggraphPostgres"),
}

BARE = {"sqlite": "bare apsw transaction", "postgres": "bare asyncpg call"}
EQUAL = {"sqlite": "equal work on apsw", "postgres": "equal work on asyncpg"}
OURS = {"sqlite": "Holdfast on SQLite", "postgres": "Holdfast on PostgreSQL"}


class Contestant(Protocol):
    """One store. A handle is whatever the library hands out for a session; its key can travel to
    another process.
    """

    lacks: ClassVar[dict[str, str]]
    most_events: int

    async def open(self, place: Place) -> None: ...
    async def close(self) -> None: ...
    async def durability(self) -> str: ...
    async def create(self) -> Any: ...
    def key(self, handle: Any) -> str: ...
    async def attach(self, key: str) -> Any: ...
    async def release(self, handle: Any) -> None: ...
    async def append(self, handle: Any, text: str) -> Any: ...
    async def append_many(self, handle: Any, texts: Sequence[str]) -> Any: ...
    async def recent(self, handle: Any, count: int) -> Sequence[Any]: ...
    async def stored(self, handle: Any) -> list[tuple[int | None, str]]: ...
    async def fill(self, handle: Any, count: int) -> None: ...
    async def update_state(self, handle: Any, change: dict[str, Any]) -> Any: ...
    async def get_state(self, handle: Any) -> Any: ...


class Peer:
    """What most contestants have in common, so that their files show only what is their own."""

    lacks: ClassVar[dict[str, str]] = {}
    most_events = 1_000_000

    def key(self, handle: Any) -> str:
        """Most libraries name a session by a string."""
        return str(handle)

    async def attach(self, key: str) -> Any:
        """A process that did not create the session finds it by its key."""
        return key

    async def release(self, handle: Any) -> None:
        """The handle is not needed any more; most libraries hold nothing for it."""

    async def append_many(self, handle: Any, texts: Sequence[str]) -> None:
        """Without a verb for several, a caller writes one after the other."""
        for text in texts:
            await self.append(handle, text)  # type: ignore[attr-defined]

    async def fill(self, handle: Any, count: int, *, batch: int = 1_000) -> None:
        """Load a long session through the library's own verb for several."""
        for start in range(0, count, batch):
            await self.append_many(handle, messages(min(batch, count - start), f"fill-{start}"))


def make(name: str) -> Contestant:
    """Import a contestant's module and construct it."""
    module, _, class_name = CONTESTANTS[name][1].partition(":")
    return getattr(importlib.import_module(f"bench.contestants.{module}"), class_name)()


def engine_of(name: str) -> str:
    """SQLite rows are compared with the bare apsw transaction, PostgreSQL rows with the bare
    asyncpg call.
    """
    return CONTESTANTS[name][0]


FILLER = (
    "The staleness check hashes tracked files, so a commit of our own files leaves a "
    "context fresh. "
) * 2


def messages(count: int, tag: str) -> list[str]:
    """Texts of about 200 characters, each one of a kind, so that a lost one can be distinguished
    from the rest.
    """
    return [f"{tag}-{number} {FILLER}" for number in range(count)]
