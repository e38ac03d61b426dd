"""The least that the exchange can be on each engine: own tables without checks, walls or
descriptions.

A publication supersedes the active one of its branch and inserts one row. Where a call is counted,
a row says so, and a publication has an event for listeners, as ours has: a read that is counted is
a read and a commit.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Protocol

from bench.contestants.bare import BarePostgres, BareSqlite
from bench.place import Place

SCHEMA = """
create table developers (id text primary key, handle text not null);
create table contexts (
  id {id} primary key, developer text not null references developers(id), repo text not null,
  branch text not null, title text not null, summary text not null, files {json} not null,
  actions {json} not null, blockers {json} not null, tasks {json} not null, basis {json},
  published_at {time} not null default {now}, expires_at {time} not null default {tomorrow},
  superseded_by {id});
create unique index active on contexts (developer, repo, branch) where superseded_by is null;
create index by_end on contexts (expires_at) where superseded_by is null;
create table claims (
  id {id} primary key, developer text not null, paths {json} not null, reason text not null,
  expires_at {time} not null default {tomorrow});
create table handoffs (
  id {id} primary key, developer text not null, claim_id {id} not null, note text not null,
  expires_at {time} not null default {tomorrow});
create table usage (
  id {id} primary key, developer text not null, operation text not null,
  created_at {time} not null default {now});
create table events (
  number {number} primary key, type text not null, developer text not null, subject {id} not null,
  created_at {time} not null default {now});
"""
ON_SQLITE = {
    "id": "text",
    "json": "text",
    "time": "text",
    "number": "integer",
    "now": "current_timestamp",
    "tomorrow": "(datetime('now', '+1 day'))",
}
ON_POSTGRES = {
    "id": "uuid",
    "json": "jsonb",
    "time": "timestamptz",
    "number": "bigint generated always as identity",
    "now": "now()",
    "tomorrow": "now() + interval '1 day'",
}

ENTER = (
    "insert into developers (id, handle) values ($1, $1)",
    "insert into claims (id, developer, paths, reason) values ($1, $2, '[\"a.py\"]', 'r')",
    "insert into handoffs (id, developer, claim_id, note) values ($1, $2, $3, '')",
)
SUPERSEDE = """
update contexts set superseded_by = $1
where developer = $2 and repo = $3 and branch = $4 and superseded_by is null
"""
COLUMNS = "id, developer, repo, branch, title, summary, files, actions, blockers, tasks, basis"
INSERT = f"insert into contexts ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
COUNT = "insert into usage (id, developer, operation) values ($1, $2, 'o')"
EVENT = "insert into events (type, developer, subject) values ('published', $1, $2)"
ACTIVE = """
select c.id, c.developer, d.handle, title, summary, files, actions, blockers, tasks, basis, repo,
  branch, published_at, expires_at
from contexts c join developers d on d.id = c.developer
where superseded_by is null and expires_at > {now}
order by published_at desc, c.id desc limit 200
"""
OTHERS = (
    "select id, handle from developers order by handle limit 200",
    "select id, developer, paths, reason, expires_at from claims where expires_at > {now}",
    "select id, developer, claim_id, note, expires_at from handoffs where expires_at > {now}",
    "select number, type, developer, subject, created_at from events order by number desc limit 50",
)
# Counting what was superseded makes it happen first: the index holds one active row a branch.
POSTGRES_PUBLISH = f"""
with superseded as ({SUPERSEDE.replace("$1", "$1::uuid")} returning 1)
insert into contexts ({COLUMNS})
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 from (select count(*) from superseded) s
"""
POSTGRES_PUBLISH_COUNTED = f"""
with counted as (insert into usage (id, developer, operation) values ($12, $2, 'o')),
noted as (insert into events (type, developer, subject) values ('published', $2, $1)),
{POSTGRES_PUBLISH.strip().removeprefix("with ")}
"""
POSTGRES_COUNTED = f"with counted as ({COUNT}) "

Publication = tuple[str, ...]  # repo, branch, and the texts in the order of the columns


class BareExchange(Protocol):
    """What a call of ours is compared with; `counted` keeps what ours keeps beside it."""

    async def open(self, place: Place) -> None: ...

    async def close(self) -> None: ...

    async def enter(self, developer: str) -> None:
        """With a claim, and an offer of it."""

    async def publish(self, developer: str, publication: Publication, counted: bool) -> Any: ...

    async def list_contexts(self, developer: str, counted: bool) -> Sequence[Any]: ...

    async def read_state(self, developer: str, counted: bool) -> Sequence[Any]: ...


def new_id() -> str:
    return str(uuid.uuid4())


class BareExchangeSqlite(BareSqlite):
    """Statements on the thread of the event loop, each writing call one transaction."""

    async def open(self, place: Place) -> None:
        await super().open(place)
        self.db.execute(SCHEMA.format_map(ON_SQLITE))
        self.active = ACTIVE.format_map(ON_SQLITE)
        self.others = [statement.format_map(ON_SQLITE) for statement in OTHERS]

    async def enter(self, developer: str) -> None:
        claim = new_id()
        values = ((developer,), (claim, developer), (new_id(), developer, claim))
        for statement, given in zip(ENTER, values, strict=True):
            self.db.execute(statement, given)

    async def publish(self, developer: str, publication: Publication, counted: bool) -> Any:
        key, (repo, branch, *_) = new_id(), publication

        def statements() -> None:
            if counted:
                self.db.execute(COUNT, (new_id(), developer))
            self.db.execute(SUPERSEDE, (key, developer, repo, branch))
            self.db.execute(INSERT, (key, developer, *publication))
            if counted:
                self.db.execute(EVENT, (developer, key))

        self.write(statements)

    async def list_contexts(self, developer: str, counted: bool) -> Sequence[Any]:
        found = self.db.execute(self.active).fetchall()
        self.count(developer, counted)
        return found

    async def read_state(self, developer: str, counted: bool) -> Sequence[Any]:
        found = [self.db.execute(each).fetchall() for each in (self.active, *self.others)]
        self.count(developer, counted)
        return found

    def count(self, developer: str, counted: bool) -> None:
        if counted:
            self.write(lambda: self.db.execute(COUNT, (new_id(), developer)))


class BareExchangePostgres(BarePostgres):
    """One statement for each call on a held connection, and one for each list of a state."""

    async def open(self, place: Place) -> None:
        await self.connect(place.dsn)
        await self.connections[0].execute(SCHEMA.format_map(ON_POSTGRES))
        self.active = ACTIVE.format_map(ON_POSTGRES)
        self.others = [statement.format_map(ON_POSTGRES) for statement in OTHERS]

    async def enter(self, developer: str) -> None:
        claim = new_id()
        values = ((developer,), (claim, developer), (new_id(), developer, claim))
        async with self.connection() as c:
            for statement, given in zip(ENTER, values, strict=True):
                await c.execute(statement, *given)

    async def publish(self, developer: str, publication: Publication, counted: bool) -> Any:
        statement, more = POSTGRES_PUBLISH, ()
        if counted:
            statement, more = POSTGRES_PUBLISH_COUNTED, (new_id(),)
        async with self.connection() as c:
            return await c.fetch(statement, new_id(), developer, *publication, *more)

    async def list_contexts(self, developer: str, counted: bool) -> Sequence[Any]:
        async with self.connection() as c:
            return await self.fetch_active(c, developer, counted)

    async def read_state(self, developer: str, counted: bool) -> Sequence[Any]:
        async with self.connection() as c:
            contexts = await self.fetch_active(c, developer, counted)
            return [contexts, *[await c.fetch(each) for each in self.others]]

    async def fetch_active(self, connection: Any, developer: str, counted: bool) -> Sequence[Any]:
        if not counted:
            return await connection.fetch(self.active)
        return await connection.fetch(POSTGRES_COUNTED + self.active, new_id(), developer)


BARE_EXCHANGES: dict[str, type[BareExchange]] = {
    "sqlite": BareExchangeSqlite,
    "postgres": BareExchangePostgres,
}
