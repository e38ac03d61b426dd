"""Equal work: our tables, triggers, hash chain and statements, straight on the driver.

What ours costs beyond this is the service around the statements: checks of the input, the writer
and its groups, frozen results. It shares the connections and the transaction of the bare calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import asyncpg

from bench.contestants import Peer
from bench.contestants.bare import BarePostgres, BareSqlite
from bench.contestants.holdfast import migrate
from bench.place import Place
from holdfast.ground import ids, stamp
from holdfast.ground.settings import owner_of
from holdfast.sessions import chain
from holdfast.sessions.store import QUERIES
from holdfast.storage.sqlite import connect, open_sqlite

OWNER = ("local", owner_of("local", "bench").developer_id)
WHOLE_SESSION = 2_000_000


def session_values() -> tuple[object, ...]:
    """What `create_session` takes."""
    session_id = ids.new_id()
    optional = [None] * 8
    return (session_id, "u", "bench", *optional, "{}", "{}", chain.first_hash(session_id))


def event_values(text: str) -> tuple[object, ...]:
    """What `append_events` takes of each event."""
    kind, role = "user_message", "user"
    content_hash = chain.content_hash(kind, role, text, None)
    return None, ids.new_id(), kind, role, text, None, content_hash


class EqualWork(Peer):
    """The verbs; how a query is run is the engine's."""

    async def create(self) -> str:
        [row] = await self.change("create_session", session_values())
        return row[0]

    async def append(self, handle: str, text: str) -> Any:
        return await self.append_many(handle, [text])

    async def recent(self, handle: str, count: int) -> Sequence[Any]:
        return await self.look("recent_events", (handle, count - 1, None, WHOLE_SESSION))

    async def stored(self, handle: str) -> list[tuple[int | None, str]]:
        rows = await self.look("events_after", (handle, 0, WHOLE_SESSION))
        return [(sequence, content) for _, _, sequence, _, _, content, *_ in rows]

    async def update_state(self, handle: str, change: dict[str, Any]) -> Any:
        values = (handle, json.dumps(change), "{}")
        [(_, scratchpad, _)] = await self.change("update_state", values)
        return json.loads(scratchpad)

    async def get_state(self, handle: str) -> Any:
        [(_, scratchpad, _)] = await self.look("get_state", (handle,))
        return json.loads(scratchpad)


class EqualSqlite(EqualWork, BareSqlite):
    """One apsw connection with our settings and our SQL functions, one transaction per call."""

    async def open(self, place: Place) -> None:
        if place.first:
            await open_sqlite(place.path).close()
        self.db, self.now = connect(place.path), 0
        self.db.create_scalar_function("now_utc", lambda: stamp.stamp(self.now), 0)
        self.db.create_scalar_function("now_microseconds", lambda: self.now, 0)
        for name, function in QUERIES.functions.items():
            self.db.create_scalar_function(name, function, deterministic=True)
        self.steps = {name: query.steps for name, query in QUERIES.queries.items()}

    async def look(self, name: str, values: tuple[object, ...]) -> list[Any]:
        return self.run(name, values)

    async def change(self, name: str, values: tuple[object, ...]) -> list[Any]:
        return self.write(lambda: self.run(name, values))

    async def append_many(self, handle: str, texts: Sequence[str]) -> list[Any]:
        return self.write(
            lambda: [self.run("append_events", (handle, *event_values(text))) for text in texts]
        )

    def run(self, name: str, values: tuple[object, ...]) -> list[Any]:
        """The first statement that has rows is the answer and the end, as in the store."""
        self.now = stamp.now_microseconds()
        bindings = (*OWNER, *values)
        for statement, count in self.steps[name]:
            if rows := self.db.execute(statement, bindings[:count]).fetchall():
                return rows
        return []


class EqualPostgres(EqualWork, BarePostgres):
    """Our functions on the held connections, as the runtime role under row-level security."""

    async def open(self, place: Place) -> None:
        if place.first:
            await migrate(place)
        await self.connect(place.app_dsn)

    async def attach(self, key: str) -> str:
        return key

    async def look(self, name: str, values: tuple[object, ...]) -> list[asyncpg.Record]:
        return await self.call(QUERIES[name].function, values)

    change = look

    async def append(self, handle: str, text: str) -> list[asyncpg.Record]:
        return await self.call(QUERIES["append_events"].single, (handle, *event_values(text)))

    async def append_many(self, handle: str, texts: Sequence[str]) -> list[asyncpg.Record]:
        columns = zip(*map(event_values, texts), strict=True)
        values = (handle, [0] * len(texts), *map(list, columns))
        return await self.call(QUERIES["append_events"].function, values)

    async def call(self, function: str, values: tuple[object, ...]) -> list[asyncpg.Record]:
        places = ",".join(f"${number}" for number in range(1, len(values) + 3))
        async with self.connection() as c:
            return await c.fetch(f"select * from {function}({places})", *OWNER, *values)
