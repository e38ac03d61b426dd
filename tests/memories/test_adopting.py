"""Adopting a table while its own program uses it: neither has to wait for the other, and a run that
ends half way is continued by the next.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.errors import Action, StoreUnreachableError
from holdfast.memories.service import MemoryService
from holdfast.storage import migrate
from holdfast.storage.errors import (
    AdoptionRefusedError,
    PermissionRefusedError,
    TableLockedError,
)
from holdfast.storage.migrate import migrate_postgres
from tests.memories.locking import count_deadlocks, use_together
from tests.rig.commands import HOLDFAST, run_process
from tests.rig.postgres import APP, OWNER, Cluster, execute
from tests.rig.roles import new_role

MIGRATIONS = sorted(path.stem for path in Path(migrate.FOLDER, "postgres").glob("*.sql"))
UUID = "id uuid primary key default gen_random_uuid(), user_id text not null, content text not null"
TABLE = f"create table memori.memories ({UUID})"
FILL = (
    "insert into memori.memories (user_id, content)"
    " select 'a', 'statement ' || n from generate_series(1, 2500) n"
)
INSERT = "insert into memori.memories (user_id, content) values ('a', '{}')"
STATE = """
select (select count(*) from pg_attribute
        where attrelid = 'memori.memories'::regclass and attnum > 0 and not attisdropped),
       (select count(*) from pg_index where indrelid = 'memori.memories'::regclass),
       to_regclass('holdfast.migrations') is not null
"""
WAITING = """
select count(*) from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'
"""
MAKES_INDEX = "datname = current_database() and query like 'create index%'"
HOLDS_LEDGER = (
    "locktype = 'advisory' and database = "
    "(select oid from pg_database where datname = current_database())"
)
NOTHING_DONE = (3, 1, False)
ALL_DONE = (16, 7, True)


def read_state(url: str) -> tuple[Any, ...]:
    """How many columns and indexes the table has, and whether our tables are there."""
    [state] = execute(url, STATE)
    return tuple(state)


def count_unusable(url: str) -> int:
    count: int = execute(url, "select count(*) from pg_index where not indisvalid")[0][0]
    return count


@asynccontextmanager
async def open_transaction(url: str, statement: str) -> AsyncIterator[asyncpg.Connection]:
    """Of another program, which does not end it."""
    connection = await asyncpg.connect(url)
    await connection.execute("begin")
    await connection.execute(statement)
    try:
        yield connection
    finally:
        await connection.close()


async def until_waiting(url: str) -> None:
    watcher = await asyncpg.connect(url)
    while not await watcher.fetchval(WAITING):
        await watcher.execute("select pg_stat_clear_snapshot()")
    await watcher.close()


@asynccontextmanager
async def open_memories(postgres: Cluster, name: str) -> AsyncIterator[MemoryService]:
    async with holdfast.open_database(postgres.dsn(name, APP)) as database:
        yield MemoryService(database)


async def test_the_rows_are_not_written_again_to_add_columns(
    make: Callable[..., str], postgres: Cluster
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)
    node = "select pg_relation_filenode('memori.memories')"
    before = execute(url, node)

    await migrate_postgres(url)

    assert execute(url, node) == before
    assert read_state(url) == ALL_DONE


async def test_the_other_program_adds_rows_between_all_steps(
    make: Callable[..., str], postgres: Cluster
):
    """They are found, and only those that were there before our columns are `bootstrap`."""
    name = make(TABLE, FILL)
    url = postgres.dsn(name, OWNER)
    steps: list[str] = []

    def add_row(step: str) -> None:
        steps.append(step)
        execute(url, INSERT.format(f"Zebra {len(steps)} came later"))

    await migrate_postgres(url, report=add_row)

    sources = ["bootstrap"] + ["implicit"] * (len(steps) - 1)
    async with open_memories(postgres, name) as memories:
        found = await memories.recall("zebra", limit=50)
        by_text = {match.memory.content: match.memory.source_type for match in found}
        numbers = range(1, len(steps) + 1)
        assert [by_text[f"Zebra {number} came later"] for number in numbers] == sources
        for number in numbers:
            again = await memories.remember(f"Zebra {number} came later")
            assert not again.is_new
        assert (await memories.remember("Zebra 99 is ours")).memory.source_type == "explicit"
    assert len(steps) == 6


async def test_rows_without_a_source_are_labelled_in_batches(
    make: Callable[..., str], postgres: Cluster
):
    """Where the table has the column itself; what it says of its own stays."""
    name = make(
        f"create table memori.memories ({UUID}, source_type text)",
        FILL,
        "insert into memori.memories (user_id, content, source_type) values ('a', 'x', 'chat')",
    )
    url = postgres.dsn(name, OWNER)
    steps: list[str] = []

    await migrate_postgres(url, report=steps.append)
    execute(url, INSERT.format("Zebras came later"))

    count = "select source_type, count(*) from memori.memories group by 1 order by 1"
    assert [tuple(row) for row in execute(url, count)] == [
        ("bootstrap", 2500),
        ("chat", 1),
        (None, 1),
    ]
    assert len([step for step in steps if step.startswith("Labelled")]) == 3
    async with open_memories(postgres, name) as memories:
        [later] = await memories.recall("zebras")
        assert later.memory.source_type == "implicit"


@pytest.mark.parametrize(
    "statement", ["select count(*) from memori.memories", INSERT.format("not committed")]
)
async def test_the_other_program_writes_while_the_adoption_waits_for_an_open_transaction(
    statement: str, make: Callable[..., str], postgres: Cluster
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)
    async with open_transaction(url, statement):
        adopting = asyncio.create_task(migrate_postgres(url))
        await until_waiting(url)
        for _ in range(20):
            execute(url, "set lock_timeout = '20s'", INSERT.format("written meanwhile"))
        assert not adopting.done()
    await adopting

    assert read_state(url) == ALL_DONE
    assert count_unusable(url) == 0


@pytest.mark.parametrize("role", [OWNER, APP])
async def test_a_table_that_stays_busy_is_reported_with_the_process_that_uses_it(
    role: str, make: Callable[..., str], postgres: Cluster
):
    name = make(
        TABLE,
        f"grant usage on schema memori to {APP}",
        f"grant select on memori.memories to {APP}",
    )
    url = postgres.dsn(name, OWNER)
    reading = open_transaction(postgres.dsn(name, role), "select count(*) from memori.memories")
    async with reading as reader:
        pid = reader.get_server_pid()
        with pytest.raises(TableLockedError, match=f"^Process {pid} of role '{role}'") as busy:
            await migrate_postgres(url, patience_seconds=0.1)
        columns, _, is_migrated = read_state(url)
        assert (columns, is_migrated) == (3, False)
    assert (busy.value.exit_code, busy.value.next_actions) == (6, (Action("database.migrate"),))

    await migrate_postgres(url)

    assert read_state(url) == ALL_DONE


async def test_an_index_that_waits_for_too_long_is_made_by_the_next_run(
    make: Callable[..., str], postgres: Cluster
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)
    async with open_transaction(url, INSERT.format("not committed")):
        with pytest.raises(TableLockedError, match="Process"):
            await migrate_postgres(url, patience_seconds=0.1)
        assert count_unusable(url) == 1
        [(limit,)] = execute(url, "show lock_timeout")
    assert limit == "0"

    await migrate_postgres(url)

    assert (read_state(url), count_unusable(url)) == (ALL_DONE, 0)


@pytest.mark.parametrize("lines", [1, 2, 5])
async def test_a_run_that_was_killed_is_continued_by_the_next(
    lines: int, make: Callable[..., str], postgres: Cluster, monkeypatch: pytest.MonkeyPatch
):
    """Killed after so many steps were reported: at any point, because it goes on meanwhile."""
    name = make(TABLE, FILL)
    url = postgres.dsn(name, OWNER)
    monkeypatch.setenv("HOLDFAST_DATABASE", url)
    process = subprocess.Popen([*HOLDFAST, "admin", "migrate"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    for _ in range(lines):
        assert process.stderr.readline()
    process.kill()
    process.wait()
    process.stderr.close()

    await migrate_postgres(url)

    assert (read_state(url), count_unusable(url)) == (ALL_DONE, 0)
    async with open_memories(postgres, name) as memories:
        [found] = await memories.recall("statement 2499", limit=1)
        assert (found.memory.content, found.memory.source_type) == ("statement 2499", "bootstrap")


async def test_what_a_killed_run_left_of_an_index_is_made_again(
    make: Callable[..., str], postgres: Cluster, monkeypatch: pytest.MonkeyPatch
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)
    monkeypatch.setenv("HOLDFAST_DATABASE", url)
    async with open_transaction(url, INSERT.format("not committed")):
        process = subprocess.Popen([*HOLDFAST, "admin", "migrate"], stderr=subprocess.DEVNULL)
        await until_waiting(url)
        process.kill()
        process.wait()
        execute(url, f"select pg_terminate_backend(pid) from pg_stat_activity where {MAKES_INDEX}")
    assert count_unusable(url) == 1

    await migrate_postgres(url)

    assert (read_state(url), count_unusable(url)) == (ALL_DONE, 0)


async def test_a_run_whose_lock_was_lost_commits_no_migration(
    make: Callable[..., str], postgres: Cluster
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)

    def end_lock(step: str) -> None:
        if step.startswith("Making index 5"):
            execute(url, f"select pg_terminate_backend(pid) from pg_locks where {HOLDS_LEDGER}")

    with pytest.raises(StoreUnreachableError):
        await migrate_postgres(url, report=end_lock)
    assert read_state(url) == (*ALL_DONE[:2], False)

    assert await migrate_postgres(url) == MIGRATIONS


async def test_of_several_adoptions_at_once_one_does_it(
    make: Callable[..., str], postgres: Cluster
):
    url = postgres.dsn(make(TABLE, FILL), OWNER)

    applied = await asyncio.gather(*(migrate_postgres(url) for _ in range(4)))

    assert sorted(applied) == [[], [], [], MIGRATIONS]
    assert (read_state(url), count_unusable(url)) == (ALL_DONE, 0)


async def test_a_table_of_another_role_is_refused_with_its_owner_named(
    make: Callable[..., str], postgres: Cluster
):
    name = make(TABLE)
    with new_role(postgres, name, "in role holdfast_runtime") as role:
        execute(postgres.dsn(), f"grant create on database {name} to {role.name}")
        execute(postgres.dsn(name, OWNER), f"grant usage, create on schema memori to {role.name}")

        with pytest.raises(PermissionRefusedError, match=f"belong to '{OWNER}'"):
            await migrate_postgres(role.url)

    assert read_state(postgres.dsn(name, OWNER)) == NOTHING_DONE


async def test_a_refused_table_keeps_no_index_of_ours(make: Callable[..., str], postgres: Cluster):
    url = postgres.dsn(make(f"create table memori.memories ({UUID}, agent text not null)"), OWNER)

    with pytest.raises(holdfast.errors.Refused):
        await migrate_postgres(url)

    assert read_state(url) == (4, 1, False)


async def test_a_value_that_does_not_fit_an_index_is_refused_with_what_was_done(
    make: Callable[..., str], postgres: Cluster
):
    """Found when the index is made; what the server has made of it is removed."""
    long_name = "string_agg(md5(n::text), '') from generate_series(1, 300) n"
    url = postgres.dsn(
        make(TABLE, f"insert into memori.memories (content, user_id) select 'x', {long_name}"),
        OWNER,
    )

    with pytest.raises(AdoptionRefusedError, match=r"index row .* has columns of Holdfast now"):
        await migrate_postgres(url)

    assert (read_state(url), count_unusable(url)) == ((16, 2, False), 0)


def test_progress_is_for_a_person(make: Callable[..., str], postgres: Cluster):
    told, silent = (
        run_process("admin", "migrate", *more, HOLDFAST_DATABASE=postgres.dsn(make(TABLE), OWNER))
        for more in ((), ("--json",))
    )

    assert "Making index 5 of 5: memories_by_age\n" in told.err
    assert (silent.err, silent.document["applied"]) == ("", MIGRATIONS)


async def test_verbs_on_the_same_rows_of_another_program_never_deadlock(
    make: Callable[..., str], postgres: Cluster, scale: Callable[[int], int]
):
    """Where a text is in several rows."""
    count = scale(50)
    rows = [INSERT.format(f"staging {n} port") for n in range(count) for _ in range(3)]
    name = make(TABLE, *rows)
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        for number in range(count):
            await use_together(memories, f"staging {number}")

    assert await count_deadlocks(postgres, name) == 0
