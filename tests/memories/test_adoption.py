"""A table `memori.memories` that was there before Holdfast: it is added to, used, never walled, and
served to one developer only.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.memories import errors
from holdfast.memories.jsonl_store import export_memories
from holdfast.memories.service import MemoryService, finish_noting
from holdfast.storage.errors import SchemaTakenError
from holdfast.storage.migrate import migrate_postgres
from tests.rig.commands import run_process
from tests.rig.postgres import APP, OWNER, Cluster, execute
from tests.surfaces.http.server import own_address, run_server

# As the earlier program may have made it: ids of any kind, and its own full-text column, plain or
# made by the engine.
COLUMNS = {
    "uuid": (
        "id uuid primary key default gen_random_uuid(), user_id text not null, content text "
        "not null"
    ),
    "bigserial": (
        "id bigserial primary key, user_id text not null, content text not null, metadata jsonb"
    ),
    "identity": "id bigint generated always as identity "
    "primary key, user_id text not null, content "
    "text not null,"
    " category text, content_tsv tsvector",
    "plain bigint": "id bigint primary key, user_id text not null, content text not null",
    "text": "id text primary key, user_id text not null, content text not null, created_at "
    "timestamptz default now(),"
    " content_tsv tsvector generated always as (to_tsvector('simple', content)) stored",
}
ROWS = {
    "uuid": "insert into memori.memories (user_id, content)",
    "bigserial": "insert into memori.memories (user_id, content)",
    "identity": "insert into memori.memories (user_id, content)",
    "plain bigint": "insert into memori.memories (id, user_id, content)",
    "text": "insert into memori.memories (id, user_id, content)",
}
TEXTS = (
    "Staging Postgres listens on port 6543",
    "Deployments happen on Tuesdays",
    "Money is stored as cents",
)


@pytest.fixture(params=COLUMNS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def before(make: Callable[..., str], kind: str) -> str:
    """With three rows in it."""
    rows = [
        (
            f"{ROWS[kind]} values "
            f"({f'{number}, ' if '(id' in ROWS[kind] else ''}'pt2_architect', '{text}')"
        )
        for number, text in enumerate(TEXTS, start=1)
    ]
    tsv = (
        ["update memori.memories set content_tsv = to_tsvector('english', content)"]
        if kind == "identity"
        else []
    )
    return make(f"create table memori.memories ({COLUMNS[kind]})", *rows, *tsv)


@pytest.fixture
async def adopted(postgres: Cluster, before: str) -> AsyncIterator[MemoryService]:
    await migrate_postgres(postgres.dsn(before, OWNER))
    async with holdfast.open_database(postgres.dsn(before, APP)) as database:
        yield MemoryService(database)


def rows(postgres: Cluster, name: str, columns: str = "*") -> list[Any]:
    return execute(postgres.dsn(name), f"select {columns} from memori.memories order by id::text")


async def test_rows_that_were_there_are_kept_backfilled_and_found(
    adopted: MemoryService, postgres: Cluster, before: str
):
    kept = rows(
        postgres,
        before,
        "content, source_type, confidence::text, lineage::text, use_count, user_id",
    )

    assert sorted(row[0] for row in kept) == sorted(TEXTS)
    assert {tuple(row)[1:] for row in kept} == {("bootstrap", "0.80", "[]", 0, "pt2_architect")}
    [found] = await adopted.recall("which port does staging postgres listen on?")
    assert (found.memory.content, found.memory.source_type) == (TEXTS[0], "bootstrap")
    assert found.relevance > 0.8
    assert [
        recalled.memory.content for recalled in await adopted.recall("on which day are deployments")
    ] == [TEXTS[1]]
    assert await adopted.recall("who owns the reconciliation service") == []
    assert await adopted.is_adopted() is True


async def test_nothing_of_the_table_is_walled_or_triggered(
    adopted: MemoryService, postgres: Cluster, before: str
):
    [table] = execute(
        postgres.dsn(before),
        "select relrowsecurity, relforcerowsecurity, relhastriggers,"
        " (select count(*) from pg_policy where polrelid = c.oid),"
        " (select count(*) from pg_attribute where attrelid = c.oid and attname in "
        "('workspace_id', 'developer_id'))"
        " from pg_class c where c.oid = 'memori.memories'::regclass",
    )

    assert tuple(table) == (False, False, False, 0, 0)


async def test_every_verb_works_on_an_adopted_table(
    adopted: MemoryService, postgres: Cluster, before: str, tmp_path: Path
):
    kept = (
        await adopted.remember("Redis streams were rejected", category="decision", session_id="s-1")
    ).memory
    again = await adopted.remember(TEXTS[0], session_id="s-2")
    more = await adopted.corroborate(kept.id, "s-2")
    less = await adopted.contradict(kept.id)
    [found] = await adopted.recall("why was redis rejected")
    await finish_noting()
    listed = [memory.content async for memory in adopted.read_memories()]
    exported = await export_memories(adopted, str(tmp_path / "memories.jsonl"))
    gone = await adopted.forget(again.memory.id)
    expired = await adopted.expire(kept.id)

    assert (kept.category, kept.lineage, kept.source_type) == ("decision", ("s-1",), "explicit")
    assert (again.is_new, again.memory.lineage, again.memory.confidence) == (False, ("s-2",), 0.85)
    assert (more.confidence, less.confidence, found.memory.id) == (0.85, 0.42, kept.id)
    assert (await adopted.get_memory(kept.id)).use_count == 1
    assert sorted(listed) == sorted([*TEXTS, "Redis streams were rejected"])
    assert exported == 4
    assert (gone.content, expired.expires_at is not None) == ("", True)
    assert await adopted.recall("redis rejected", min_relevance=0) == []
    assert await adopted.recall("staging postgres port", min_relevance=0.5) == []
    assert len(await adopted.list_memories_with_text("Tuesdays")) == 1
    assert {memory.content for memory in await adopted.list_memories()} == {
        *TEXTS[1:],
        "Redis streams were rejected",
    }
    with pytest.raises(errors.MemoryForgottenError):
        await adopted.remember(TEXTS[0])
    assert len(rows(postgres, before)) == 4


async def test_a_row_that_the_original_program_adds_later_is_found(
    adopted: MemoryService, postgres: Cluster, before: str, kind: str
):
    number = "99, " if "(id" in ROWS[kind] else ""
    execute(
        postgres.dsn(before, OWNER),
        f"{ROWS[kind]} values ({number}'u9', 'Icons come from the Lucide set')",
    )
    if kind == "identity":  # whose column is its own program's to fill
        execute(
            postgres.dsn(before, OWNER),
            "update memori.memories set content_tsv = to_tsvector('english', content)",
        )

    [found] = await adopted.recall("which icon set")
    again = await adopted.remember("Icons come from the Lucide set", session_id="s-1")

    assert (found.memory.user_id, found.memory.source_type) == ("u9", "implicit")
    assert (again.is_new, again.memory.id, again.memory.lineage) == (
        False,
        found.memory.id,
        ("s-1",),
    )


async def test_to_migrate_again_changes_nothing(
    adopted: MemoryService, postgres: Cluster, before: str
):
    was = rows(postgres, before)

    assert await migrate_postgres(postgres.dsn(before, OWNER)) == []
    assert rows(postgres, before) == was


async def test_such_a_table_is_served_on_loopback_and_nowhere_else(
    postgres: Cluster, make: Callable[..., str], tmp_path: Path
):
    """To the one developer of that machine; other machines would bring other developers."""
    name = make(
        f"create table memori.memories ({COLUMNS['uuid']})",
        f"{ROWS['uuid']} values ('pt2_architect', '{TEXTS[0]}')",
    )
    await migrate_postgres(postgres.dsn(name, OWNER))
    url = postgres.dsn(name, APP)

    with run_server(tmp_path, url) as server, server.client() as api:
        kept = api.post("/api/memories", json={"content": TEXTS[1]})
        found = api.get("/api/memories", params={"query": "staging port"}).json()
    refused = run_process(
        "serve", "--port", "0", "--host", own_address(), "--json", HOLDFAST_DATABASE=url
    )

    assert kept.status_code == 201
    assert [memory["content"] for memory in found["memories"]] == [TEXTS[0]]
    assert (refused.code, refused.document["code"]) == (5, "adopted_memories")
    assert refused.document["next_actions"] == ["holdfast memory export FILE"]


@pytest.mark.parametrize(
    "statement",
    [
        "create table memori.memories (id int primary key, note text)",
        "create view memori.memories as select 1 as id, 'u' as user_id, 'c' as content",
    ],
)
async def test_a_thing_of_that_name_that_cannot_be_used_is_left_alone(
    statement: str, postgres: Cluster, make: Callable[..., str]
):
    name = make(statement)

    with pytest.raises(SchemaTakenError, match="memori"):
        await migrate_postgres(postgres.dsn(name, OWNER))

    assert execute(postgres.dsn(name), "select to_regclass('holdfast.migrations') is null")[0][0]


async def test_a_schema_of_that_name_without_the_table_gets_ours(
    postgres: Cluster, make: Callable[..., str]
):
    name = make("create function memori.theirs() returns int language sql as 'select 1'")

    await migrate_postgres(postgres.dsn(name, OWNER))

    async with holdfast.open_database(postgres.dsn(name, APP)) as database:
        memories = MemoryService(database)
        assert (await memories.remember("kept")).is_new
        assert await memories.is_adopted() is False
    [(allowed,)] = execute(
        postgres.dsn(name), "select has_function_privilege('public', 'memori.theirs()', 'execute')"
    )
    assert allowed
