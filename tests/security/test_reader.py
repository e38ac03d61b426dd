"""A role of the group `holdfast_reader` reads every row of every workspace, and that is all.

TS1 with a third role: the same tables, statements and settings as for the application.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from holdfast.storage.errors import UnsafeRoleError
from holdfast.storage.postgres import PostgresDatabase, UnsafeRoleWarning
from holdfast.surfaces.http.serving import refuse_unsafe_role
from tests.rig import catalogue
from tests.rig.catalogue import READER, RUNTIME
from tests.rig.postgres import Cluster, execute
from tests.rig.roles import new_role
from tests.security.test_walls import (
    Table,
    everything,
    filled,
    statements,
    tables,
    try_everything,
)

__all__ = ["filled", "tables"]

pytestmark = pytest.mark.own_database

HASHES = {"token_hash", "device_hash", "user_code_hash"}


@pytest.fixture
def reader_url(postgres: Cluster, postgres_database: str) -> Iterator[str]:
    with new_role(postgres, postgres_database, f"in role {READER}") as role:
        yield role.url


@pytest.fixture
async def reader(reader_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(reader_url)
    yield connection
    await connection.close()


async def test_a_reader_sees_every_row_of_every_owner(
    reader: Any, postgres: Cluster, postgres_database: str, tables: list[Table]
):
    names = {row["name"] for row in execute(postgres.dsn(postgres_database), catalogue.TABLES)}
    assert names > {table.name for table in tables}
    for name in names:
        [there] = execute(postgres.dsn(postgres_database), f"select count(*) from {name}")
        assert await reader.fetchval(f"select count(*) from {name}") == there[0] > 0


async def test_a_handoff_and_an_event_that_are_hidden_from_their_owners_are_read(
    reader: Any, postgres: Cluster, postgres_database: str, tables: list[Table]
):
    execute(postgres.dsn(postgres_database), "update team.developers set visibility = 'private'")

    for table in ("team.handoffs", "team.work_events"):
        [there] = execute(postgres.dsn(postgres_database), f"select count(*) from {table}")
        assert await reader.fetchval(f"select count(*) from {table}") == there[0] > 0


async def test_a_reader_changes_nothing(
    reader: Any,
    postgres: Cluster,
    postgres_database: str,
    tables: list[Table],
    record_property: Callable[[str, object], None],
):
    before = everything(postgres, postgres_database)

    matrix = await try_everything(reader, tables)

    record_property("N", matrix.cases)
    assert everything(postgres, postgres_database) == before


async def test_a_reader_reads_no_hash_of_a_token_or_a_code(reader: Any, tables: list[Table]):
    known = set()
    for table in [table for table in tables if table.name.startswith("identity.")]:
        for column in table.columns:
            if column in HASHES:
                known.add(column)
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await reader.fetch(f"select {column} from {table.name}")
            else:
                await reader.fetch(f"select {column} from {table.name}")
        for statement in statements(table)[:1]:
            if HASHES.intersection(table.columns):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await reader.fetch(statement)

    assert known == HASHES


async def test_a_reader_calls_no_verb(reader: Any):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await reader.fetch("select * from context.list_sessions('north', 'ana', null, 10)")


async def test_a_server_does_not_start_as_a_reader(
    reader_url: str, postgres: Cluster, postgres_database: str
):
    """Row-level security would not hold for whoever it answers."""
    name = reader_url.partition("://")[2].partition(":")[0]
    execute(postgres.dsn(postgres_database), f"grant {RUNTIME} to {name}")

    async with asyncpg.create_pool(reader_url, min_size=1, max_size=1) as pool:
        database = PostgresDatabase(pool)
        with pytest.raises(UnsafeRoleError, match="is a member of holdfast_reader"):
            await refuse_unsafe_role(_App(database))
        with pytest.warns(UnsafeRoleWarning, match="is a member of holdfast_reader"):
            await database.prepare()


class _App:
    """As much of an app as the check asks for."""

    def __init__(self, database: PostgresDatabase):
        self.database = database


async def test_a_group_that_is_made_later_is_let_in_by_the_owner(
    own_postgres: Any,
):
    """Where the owner may not make roles, somebody else does it after the migration."""
    from holdfast.storage.migrate import migrate_postgres
    from tests.rig.postgres import OWNER, SUPERUSER

    superuser = own_postgres.dsn("postgres", SUPERUSER)
    execute(superuser, f"create role {RUNTIME} nologin", f"alter role {OWNER} nocreaterole")
    name = own_postgres.create_database()
    await migrate_postgres(own_postgres.dsn(name, OWNER))
    owner = await asyncpg.connect(own_postgres.dsn(name, OWNER))
    try:
        await owner.execute("call holdfast.let_readers_read()")
        assert await owner.fetch(f"select 1 from pg_roles where rolname = '{READER}'") == []
        execute(superuser, f"create role {READER} nologin")
        for _ in range(2):
            await owner.execute("call holdfast.let_readers_read()")
        assert await catalogue.postgres_problems(owner) == []
    finally:
        await owner.close()
