"""The yardsticks: the least that an append can be on each engine, with nothing around it.

Both bump a counter on the session row, insert one event under a foreign key and a unique
constraint, and take a sha256 of its content. No row-level security, no validation, no hash chain,
no idempotency. They run on the event loop's own thread and on connections that are simply held,
because that is the cheapest there is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

import apsw
import asyncpg

from bench.contestants import Peer
from bench.durability import postgres_durability, sqlite_durability
from bench.place import Place

SQLITE_SCHEMA = """
create table if not exists sessions (
  id text primary key, user_id text not null, chatmode text not null, ended_at text,
  started_at text not null default current_timestamp, last_sequence integer not null default 0);
create table if not exists session_events (
  id text primary key, session_id text not null references sessions(id), sequence integer not null,
  type text not null, role text not null, content text not null, parts text, hash blob not null,
  created_at text not null default current_timestamp, unique (session_id, sequence));
create index if not exists turns on session_events (session_id, sequence)
  where type = 'user_message';
create table if not exists session_state (
  session_id text primary key references sessions(id), scratchpad text not null default '{}',
  updated_at text not null default current_timestamp);
"""

SQLITE_BUMP = """
update sessions set last_sequence = last_sequence + ? where id = ? and ended_at is null
  returning last_sequence
"""

SQLITE_INSERT = """
insert into session_events (id, session_id, sequence, type, role, content, hash)
values (?, ?, ?, 'user_message', 'user', ?, ?)
"""

SQLITE_STATE = """
update session_state set scratchpad = json_patch(scratchpad, ?), updated_at = current_timestamp
where session_id = ? returning scratchpad, updated_at
"""

# The same window as ours: from the n-th last user message on, found through a partial index. The
# upper bound is there for PostgreSQL's planner, which takes a half-open range for a third of the
# table and scans it all; and the offset is a literal, because with a parameter the statement is
# planned anew at every call.
RECENT = """
select id, session_id, sequence, type, role, content, parts, created_at
from session_events
where session_id = $1 and sequence >= coalesce(
  (select sequence from session_events where session_id = $1 and type = 'user_message'
   order by sequence desc limit 1 offset {skip}), 0)
  and sequence <= 2147483647
order by sequence
"""


class BareSqlite(Peer):
    """One apsw connection, WAL, synchronous=FULL."""

    async def open(self, place: Place) -> None:
        self.db = apsw.Connection(place.path)
        self.db.set_busy_timeout(30_000)
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on"):
            self.db.execute(f"pragma {pragma}").fetchall()
        self.db.execute(SQLITE_SCHEMA)

    async def close(self) -> None:
        self.db.close()

    async def durability(self) -> str:
        return sqlite_durability(lambda pragma: self.db.execute(f"pragma {pragma}").fetchone()[0])

    def write(self, statements: Any) -> Any:
        """One transaction that takes the write lock at its start."""
        self.db.execute("begin immediate")
        try:
            result = statements()
        except BaseException:
            self.db.execute("rollback")
            raise
        self.db.execute("commit")
        return result

    async def create(self) -> str:
        key = str(uuid.uuid4())

        def statements() -> None:
            self.db.execute(
                "insert into sessions (id, user_id, chatmode) values (?, 'u', 'bench')", (key,)
            )
            self.db.execute("insert into session_state (session_id) values (?)", (key,))

        self.write(statements)
        return key

    async def append(self, handle: str, text: str) -> int:
        return self.write(lambda: self.insert(handle, [text]))

    async def append_many(self, handle: str, texts: Sequence[str]) -> int:
        return self.write(lambda: self.insert(handle, texts))

    def insert(self, handle: str, texts: Sequence[str]) -> int:
        """Take as many numbers as there are texts, then insert them in order."""
        (last,) = self.db.execute(SQLITE_BUMP, (len(texts), handle)).fetchone()
        first = last - len(texts) + 1
        for sequence, text in enumerate(texts, first):
            digest = hashlib.sha256(text.encode()).digest()
            self.db.execute(SQLITE_INSERT, (str(uuid.uuid4()), handle, sequence, text, digest))
        return last

    async def recent(self, handle: str, count: int) -> Sequence[Any]:
        return self.db.execute(RECENT.format(skip=count - 1), (handle,)).fetchall()

    async def stored(self, handle: str) -> list[tuple[int | None, str]]:
        query = "select sequence, content from session_events where session_id = ?"
        return list(self.db.execute(query, (handle,)))

    async def update_state(self, handle: str, change: dict[str, Any]) -> Any:
        text = json.dumps(change)
        return json.loads(
            self.write(lambda: self.db.execute(SQLITE_STATE, (text, handle)).fetchall())[0][0]
        )

    async def get_state(self, handle: str) -> Any:
        query = "select scratchpad, updated_at from session_state where session_id = ?"
        return json.loads(self.db.execute(query, (handle,)).fetchone()[0])


POSTGRES_SCHEMA = """
create table if not exists sessions (
  id uuid primary key, user_id text not null, chatmode text not null, ended_at timestamptz,
  started_at timestamptz not null default now(), last_sequence integer not null default 0);
create table if not exists session_events (
  id uuid primary key default gen_random_uuid(), session_id uuid not null references sessions(id),
  sequence integer not null, type text not null, role text not null, content text not null,
      parts jsonb,
  hash bytea not null, created_at timestamptz not null default now(),
      unique (session_id, sequence));
create index if not exists turns on session_events (session_id, sequence)
  where type = 'user_message';
create table if not exists session_state (
  session_id uuid primary key references sessions(id), scratchpad jsonb not null default '{}',
  updated_at timestamptz not null default now());
"""

POSTGRES_CREATE = """
with made as (insert into sessions (id, user_id, chatmode) values ($1, 'u', 'bench') returning id)
insert into session_state (session_id) select id from made returning session_id
"""

POSTGRES_APPEND = """
with bumped as (
  update sessions set last_sequence = last_sequence + 1 where id = $1 and ended_at is null
      returning last_sequence)
insert into session_events (session_id, sequence, type, role, content, hash)
select $1, last_sequence, 'user_message', 'user', $2::text, sha256(convert_to($2, 'UTF8'))
  from bumped
returning id, sequence, created_at
"""

POSTGRES_APPEND_MANY = """
with bumped as (
  update sessions set last_sequence = last_sequence + cardinality($2::text[])
  where id = $1 and ended_at is null returning last_sequence - cardinality($2::text[]) as before)
insert into session_events (session_id, sequence, type, role, content, hash)
select $1, before + number, 'user_message', 'user', content, sha256(convert_to(content, 'UTF8'))
from bumped, unnest($2::text[]) with ordinality as given (content, number)
returning id, sequence, created_at
"""

POSTGRES_STATE = """
update session_state set scratchpad = scratchpad || $2::jsonb, updated_at = now()
where session_id = $1 returning scratchpad, updated_at
"""


class BarePostgres(Peer):
    """Ten held asyncpg connections, one prepared statement per call, no pool bookkeeping."""

    async def open(self, place: Place) -> None:
        await self.connect(place.dsn)
        if place.first:
            await self.connections[0].execute(POSTGRES_SCHEMA)

    async def connect(self, dsn: str) -> None:
        self.connections = [await asyncpg.connect(dsn) for _ in range(10)]
        self.free: asyncio.LifoQueue[asyncpg.Connection] = asyncio.LifoQueue()
        for connection in self.connections:
            self.free.put_nowait(connection)

    async def close(self) -> None:
        for connection in self.connections:
            await connection.close()

    async def durability(self) -> str:
        return await postgres_durability(self.connections[0].fetchval)

    @asynccontextmanager
    async def connection(self) -> Any:
        """A free connection; with one caller this never waits."""
        connection = await self.free.get()
        try:
            yield connection
        finally:
            self.free.put_nowait(connection)

    async def create(self) -> uuid.UUID:
        async with self.connection() as c:
            return await c.fetchval(POSTGRES_CREATE, uuid.uuid4())

    async def attach(self, key: str) -> uuid.UUID:
        return uuid.UUID(key)

    async def append(self, handle: uuid.UUID, text: str) -> Any:
        async with self.connection() as c:
            return await c.fetchrow(POSTGRES_APPEND, handle, text)

    async def append_many(self, handle: uuid.UUID, texts: Sequence[str]) -> Any:
        async with self.connection() as c:
            return await c.fetch(POSTGRES_APPEND_MANY, handle, texts)

    async def fill(self, handle: uuid.UUID, count: int, *, batch: int = 10_000) -> None:
        await super().fill(handle, count, batch=batch)

    async def recent(self, handle: uuid.UUID, count: int) -> Sequence[Any]:
        async with self.connection() as c:
            return await c.fetch(RECENT.format(skip=count - 1), handle)

    async def stored(self, handle: uuid.UUID) -> list[tuple[int | None, str]]:
        async with self.connection() as c:
            rows = await c.fetch(
                "select sequence, content from session_events where session_id = $1", handle
            )
        return [(row["sequence"], row["content"]) for row in rows]

    async def update_state(self, handle: uuid.UUID, change: dict[str, Any]) -> Any:
        async with self.connection() as c:
            return json.loads(await c.fetchval(POSTGRES_STATE, handle, json.dumps(change)))

    async def get_state(self, handle: uuid.UUID) -> Any:
        async with self.connection() as c:
            query = "select scratchpad, updated_at from session_state where session_id = $1"
            return json.loads(await c.fetchval(query, handle))
