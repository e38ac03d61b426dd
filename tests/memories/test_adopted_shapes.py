"""Tables that other programs may have made: each is used as it is, or refused with what is wrong
and what fixes it.
"""

import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.ground.settings import Owner
from holdfast.memories import errors
from holdfast.memories.jsonl_store import export_memories, import_memories
from holdfast.memories.service import MemoryService, finish_noting
from holdfast.storage import migrate
from holdfast.storage.errors import (
    AdoptionRefusedError,
    PermissionRefusedError,
    SchemaMissingError,
)
from holdfast.storage.migrate import migrate_postgres
from holdfast.storage.queries import read_blocks
from tests.rig.commands import run_process
from tests.rig.postgres import APP, OWNER, Cluster, execute

PORT = "The staging database listens on port 5433"
INDEXES = f"{migrate.HERE}/adopted_indexes.postgres.sql"
KEY = "id text primary key, user_id text, content text"
ONE = "01a1e32b-e814-774f-b2ce-74143d07cbf2"
WORDS = "string_agg('w' || i, ' ') from generate_series(1, 200000) i"
UUID = "id uuid primary key default gen_random_uuid(), user_id text not null, content text not null"

# Columns, and rows of which each but the last is a memory that says something about a port.
USABLE = {
    "metadata json": (f"{KEY}, metadata json", ("metadata", "'{\"a\": 1}'"), {"a": 1}),
    "metadata text": (
        f"{KEY}, metadata text, importance int not null default 3",
        ("metadata", "'not json'"),
        "not json",
    ),
    "metadata a list": (f"{KEY}, metadata jsonb", ("metadata", "'[1, 2]'"), [1, 2]),
    "lineage an object": (f"{KEY}, lineage jsonb", ("lineage", "'{\"a\": 1}'"), {}),
    "lineage null": (f"{KEY}, lineage json", ("lineage", "'null'"), {}),
    "its own source": (f"{KEY}, source_type varchar(11)", ("source_type", "'chat'"), {}),
    "a strange belief": (f"{KEY}, confidence real", ("confidence", "'NaN'"), {}),
    "no zone": (
        f"{KEY}, created_at timestamp, updated_at timestamp, expires_at date",
        ("created_at", "'2024-05-06'"),
        {},
    ),
    "no time": (
        f"{KEY}, created_at timestamptz, updated_at timestamptz",
        ("created_at", "null"),
        {},
    ),
    "before all times": (f"{KEY}, created_at timestamptz", ("created_at", "'-infinity'"), {}),
    "before our era": (f"{KEY}, created_at timestamptz", ("created_at", "'0044-03-15 BC'"), {}),
    "after all times": (
        f"{KEY}, created_at timestamptz, expires_at timestamptz",
        ("created_at", "'infinity'"),
        {},
    ),
    "never expires": (f"{KEY}, expires_at timestamptz", ("expires_at", "'infinity'"), {}),
    "words not filled in": (f"{KEY}, content_tsv tsvector", ("category", "'ops'"), {}),
    "words of another language": (
        f"{KEY}, content_tsv tsvector generated always as (to_tsvector('german', content)) stored",
        ("category", "'ops'"),
        {},
    ),
    "a workspace of its own": (
        f"{KEY}, workspace_id text, developer_id integer",
        ("workspace_id", "'w-1'"),
        {},
    ),
    "texts are never empty": (f"{KEY} check (length(content) > 0)", ("category", "''"), {}),
    "texts are unique": (f"{KEY}, unique (user_id, content)", ("category", "null"), {}),
}


def count_indexes(postgres: Cluster, name: str) -> int:
    """Of ours, on the table as it is now."""
    names = ", ".join(f"'{index.name}'" for index in read_blocks(INDEXES))
    [(count,)] = execute(
        postgres.dsn(name),
        f"select count(*) from pg_indexes where tablename = 'memories' and indexname in ({names})",
    )
    return int(count)


@asynccontextmanager
async def open_memories(postgres: Cluster, name: str) -> AsyncIterator[MemoryService]:
    async with holdfast.open_database(postgres.dsn(name, APP)) as database:
        yield MemoryService(database)


@pytest.mark.parametrize("shape", USABLE)
async def test_every_row_that_says_something_is_found_listed_exported_and_forgotten(
    shape: str, make: Callable[..., str], postgres: Cluster, tmp_path: Path
):
    columns, (column, value), metadata = USABLE[shape]
    if column == "category":
        columns += ", category text"
    name = make(
        f"create table memori.memories ({columns})",
        (
            f"insert into memori.memories (id, user_id, content, {column}) values ('k1', 'a', "
            f"'{PORT}', {value})"
        ),
        (
            "insert into memori.memories (id, content) values ('k2', 'Deployments happen on "
            "Fridays'), ('k3', null)"
        ),
    )
    await migrate_postgres(postgres.dsn(name, OWNER))
    assert count_indexes(postgres, name) == len(read_blocks(INDEXES))

    async with open_memories(postgres, name) as memories:
        [found] = await memories.recall("which port does the staging database listen on")
        await finish_noting()
        listed = await memories.list_memories()
        paged = [*await memories.list_memories(1), *await memories.list_memories(1, listed[0].id)]
        assert await export_memories(memories, str(tmp_path / "out.jsonl")) == 2
        assert (found.memory.id, found.memory.metadata) in [
            ("k1", metadata),
            ("k1", {"metadata": metadata}),
        ]
        assert sorted(memory.id for memory in listed) == ["k1", "k2"]
        assert [memory.id for memory in paged] == [memory.id for memory in listed]
        assert len(await memories.list_memories_with_text("port")) == 1

        new = (await memories.remember("Icons come from Lucide", session_id="s-1")).memory
        assert (await memories.remember(PORT, session_id="s-2")).memory.lineage == ("s-2",)
        assert (await memories.corroborate("k2", "s-3")).lineage == ("s-3",)
        assert [recalled.memory.id for recalled in await memories.recall("lucide icons")] == [
            new.id
        ]
        for memory_id in ("k1", "k2", new.id):
            assert (await memories.forget(memory_id)).content == ""
        assert await memories.list_memories() == []
        elsewhere = await import_memories(
            MemoryService(memories.db, owner=Owner("w", "d")), str(tmp_path / "out.jsonl")
        )
        assert elsewhere.forgotten + elsewhere.imported == 2
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == ["k1", "k2"]


REFUSED = {
    "row-level security": (
        [
            f"create table memori.memories ({UUID})",
            "alter table memori.memories enable row level security",
        ],
        "row-level security",
        "DISABLE ROW LEVEL SECURITY",
    ),
    "lineage text[]": (
        [f"create table memori.memories ({UUID}, lineage text[])"],
        "lineage is of type text",
        "to_jsonb",
    ),
    "user_id integer": (
        ["create table memori.memories (id serial primary key, user_id integer, content text)"],
        "user_id is of type integer",
        "ALTER COLUMN user_id TYPE text USING user_id::text",
    ),
    "confidence integer": (
        [f"create table memori.memories ({UUID}, confidence int)"],
        "confidence is of",
        "numeric",
    ),
    "content_tsv text": (
        [f"create table memori.memories ({UUID}, content_tsv text)"],
        "content_tsv is of",
        "tsvector",
    ),
    "category json": (
        [f"create table memori.memories ({UUID}, category json)"],
        "category is of type json",
        "text",
    ),
    "category not null": (
        [f"create table memori.memories ({UUID}, category text not null)"],
        'null value in column "category"',
        "ALTER COLUMN category DROP NOT NULL",
    ),
    "another column not null": (
        [f"create table memori.memories ({UUID}, agent text not null)"],
        'null value in column "agent"',
        "ALTER COLUMN agent DROP NOT NULL",
    ),
    "its own sources": (
        [
            (
                f"create table memori.memories ({UUID}, source_type text constraint chat check "
                "(source_type = 'chat'))"
            ),
            "insert into memori.memories (user_id, content, source_type) values ('a', 'x', 'chat')",
        ],
        'constraint "chat"',
        "DROP CONSTRAINT chat",
    ),
    "its own sources, not filled in": (
        [
            (
                f"create table memori.memories ({UUID}, source_type text constraint chat check "
                "(source_type = 'chat'))"
            ),
            "insert into memori.memories (user_id, content) values ('a', 'x')",
        ],
        'constraint "chat"',
        "Nothing was changed",
    ),
    "sources too short": (
        [f"create table memori.memories ({UUID}, source_type varchar(10))"],
        "a memory of source_type tool_output: value too long",
        "Nothing was changed",
    ),
    "a trigger that refuses": (
        [
            f"create table memori.memories ({UUID})",
            (
                "create function memori.no() returns trigger language plpgsql as 'begin raise "
                "''not here''; end'"
            ),
            (
                "create trigger no before insert on memori.memories for each row execute "
                "function memori.no()"
            ),
        ],
        "not here",
        "Nothing was changed",
    ),
    "no key": (
        ["create table memori.memories (id int, user_id text, content text)"],
        "id is not unique",
        "PRIMARY KEY",
    ),
    "a table that inherits from it": (
        [
            "create table memori.memories (id int primary key, user_id text, content text)",
            "create table memori.kid () inherits (memori.memories)",
            "insert into memori.memories values (1, 'a', 'Alpha')",
            "insert into memori.kid values (1, 'b', 'Bravo')",
        ],
        "memori.kid inherits from memori.memories",
        "Nothing was changed",
    ),
    "a table that it inherits from": (
        [
            "create table memori.all_texts (id int primary key, user_id text, content text)",
            "create table memori.memories (primary key (id)) inherits (memori.all_texts)",
        ],
        "memori.memories inherits from memori.all_texts",
        "Nothing was changed",
    ),
    "a partition": (
        [
            (
                "create table memori.all_texts (id int, user_id text, content text) "
                "partition by range (id)"
            ),
            "create table memori.memories partition of memori.all_texts (primary key (id)) default",
        ],
        "memori.memories inherits from memori.all_texts",
        "Nothing was changed",
    ),
    "a column of our name": (
        [f"create table memori.memories ({UUID}, adopted_at timestamptz)"],
        "its column adopted_at is not Holdfast's, which needs that name",
        "ALTER TABLE memori.memories RENAME COLUMN adopted_at TO adopted_at_before",
    ),
    "a name that is taken": (
        [
            f"create table memori.memories ({UUID})",
            "create table memori.x (a int)",
            "create index memories_by_content on memori.x (a)",
        ],
        "memories_by_content is something else",
        "ALTER TABLE memori.memories_by_content RENAME TO memories_by_content_before",
    ),
    "an index of our name": (
        [
            f"create table memori.memories ({UUID})",
            "create index memories_by_text on memori.memories (user_id)",
        ],
        "memories_by_text is something else",
        "ALTER TABLE memori.memories_by_text RENAME TO memories_by_text_before",
    ),
}


@pytest.mark.parametrize("shape", REFUSED)
async def test_a_table_that_cannot_be_used_is_refused_with_a_remedy_and_left_as_it_was(
    shape: str, make: Callable[..., str], postgres: Cluster
):
    statements, problem, remedy = REFUSED[shape]
    name = make(*statements)

    with pytest.raises(AdoptionRefusedError) as refused:
        await migrate_postgres(postgres.dsn(name, OWNER))

    assert problem in refused.value.message
    assert remedy in refused.value.message
    [left] = execute(
        postgres.dsn(name),
        "select to_regclass('holdfast.migrations') is null, "
        "to_regprocedure('memori.is_adopted()') is null,"
        " (select count(*) from pg_attribute where attrelid = 'memori.memories'::regclass "
        "and attname = 'erased_at')",
    )
    assert tuple(left) == (True, True, 0)


@pytest.mark.parametrize(
    "shape",
    [
        "user_id integer",
        "another column not null",
        "an index of our name",
        "lineage text[]",
        "a column of our name",
    ],
)
async def test_the_remedy_in_the_refusal_makes_the_adoption_work(
    shape: str, make: Callable[..., str], postgres: Cluster
):
    name = make(*REFUSED[shape][0])
    with pytest.raises(AdoptionRefusedError) as refused:
        await migrate_postgres(postgres.dsn(name, OWNER))
    assert refused.value.remedy

    execute(postgres.dsn(name, OWNER), refused.value.remedy)
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        await memories.remember(PORT)
        assert await memories.recall("staging port")


async def test_a_text_with_more_words_than_an_index_holds_is_found_by_its_first_ones(
    make: Callable[..., str], postgres: Cluster
):
    name = make(
        f"create table memori.memories ({UUID})",
        f"insert into memori.memories select '{ONE}', 'a', {WORDS}",
    )
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        assert [recalled.memory.user_id for recalled in await memories.recall("w7")] == ["a"]


async def test_row_level_security_added_later_also_limits_a_recall(
    make: Callable[..., str], postgres: Cluster
):
    """Searching is done with the rights of the caller."""
    name = make(
        f"create table memori.memories ({UUID})",
        f"insert into memori.memories (user_id, content) values ('alice', '{PORT}')",
    )
    await migrate_postgres(postgres.dsn(name, OWNER))
    async with open_memories(postgres, name) as memories:
        assert len(await memories.recall("staging port")) == 1
        execute(
            postgres.dsn(name, OWNER),
            "alter table memori.memories enable row level security",
            "create policy own on memori.memories using (user_id = current_user)",
        )

        assert await memories.recall("staging port") == []
        assert await memories.list_memories() == []


async def test_a_value_that_the_table_refuses_is_reported_as_a_table_error(
    make: Callable[..., str], postgres: Cluster
):
    name = make(
        "create table memori.memories (id serial primary key, user_id varchar(9), content "
        "varchar(60))"
    )
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        assert (await memories.remember("short", user_id="u1")).is_new
        with pytest.raises(errors.ForeignTableError, match="too long for type character varying"):
            await memories.remember("x" * 61, user_id="u1")


async def test_a_text_is_forgotten_wherever_it_stands_and_whenever_it_comes_back(
    make: Callable[..., str], postgres: Cluster, tmp_path: Path
):
    """M2: by its content, whatever its own program does."""
    add = "insert into memori.memories (user_id, content) values"
    name = make(
        "create table memori.memories (id serial primary key, user_id text, content text)",
        (
            f"{add} ('a', '{PORT}'), ('b', '{PORT}'), ('b', '{PORT.upper()}'), ('b', 'Staging "
            "is shared')"
        ),
    )
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        assert len(await memories.recall("database port")) == 3
        await memories.forget("1")
        left = execute(
            postgres.dsn(name), "select content from memori.memories where erased_at is null"
        )
        assert [row[0] for row in left] == ["Staging is shared"]
        execute(postgres.dsn(name, OWNER), f"{add} ('a', '{PORT}')")

        assert await memories.recall("staging database port", min_relevance=0.5) == []
        assert [memory.content for memory in await memories.list_memories(1)] == [
            "Staging is shared"
        ]
        assert await export_memories(memories, str(tmp_path / "out.jsonl")) == 1
        with pytest.raises(errors.MemoryForgottenError):
            await memories.remember(PORT)
        [back] = await memories.list_memories_with_text("port 5433")
        assert (await memories.forget(back.id)).content == ""
        assert await memories.list_memories_with_text("port 5433") == []


async def test_a_table_that_was_adopted_before_is_looked_at_again(
    make: Callable[..., str], postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Before anything is changed in it once more."""
    name = make(
        f"create table memori.memories ({UUID}, content_tsv tsvector, created_at timestamptz)",
        f"insert into memori.memories (user_id, content) values ('a', '{PORT}')",
    )
    await migrate_postgres(postgres.dsn(name, OWNER))
    later = shutil.copytree(migrate.FOLDER, tmp_path / "later")
    (later / "postgres" / "9999_notes.sql").write_text("create table context.notes (id int);")
    monkeypatch.setattr(migrate, "FOLDER", str(later))
    execute(postgres.dsn(name, OWNER), "alter table memori.memories enable row level security")

    with pytest.raises(AdoptionRefusedError, match="row-level security") as refused:
        await migrate_postgres(postgres.dsn(name, OWNER))
    execute(postgres.dsn(name, OWNER), refused.value.remedy or "")
    assert await migrate_postgres(postgres.dsn(name, OWNER)) == ["9999_notes"]

    async with open_memories(postgres, name) as memories:
        assert [recalled.memory.content for recalled in await memories.recall("staging port")] == [
            PORT
        ]
        assert [memory.content for memory in await memories.list_memories()] == [PORT]


SERIAL = "id serial primary key, user_id text, content text, content_tsv tsvector"
MADE = (
    f"create table memori.memories ({SERIAL})",
    f"insert into memori.memories (user_id, content) values ('a', '{PORT}')",
)
# What its own program may do to the table later, and how a recall fails until it is migrated again.
CHANGED = {
    "a column of ours dropped": (
        ["alter table memori.memories drop column lineage"],
        SchemaMissingError,
    ),
    "a column of ours renamed": (
        ["alter table memori.memories rename column expires_at to ends_at"],
        SchemaMissingError,
    ),
    "the table made again": (["drop table memori.memories cascade", *MADE], SchemaMissingError),
    "its rights taken away": (
        ["revoke all on memori.memories from holdfast_runtime"],
        PermissionRefusedError,
    ),
}


@pytest.mark.parametrize("change", CHANGED)
async def test_a_table_that_its_program_changed_is_usable_after_the_next_migration(
    change: str, make: Callable[..., str], postgres: Cluster
):
    statements, error = CHANGED[change]
    name = make(*MADE)
    await migrate_postgres(postgres.dsn(name, OWNER))
    execute(postgres.dsn(name, OWNER), *statements)

    async with open_memories(postgres, name) as memories:
        for verb in (memories.recall("staging port"), memories.list_memories()):
            with pytest.raises(error) as failed:
                await verb
            assert "migrate" in str([failed.value, *failed.value.next_actions])
    assert await migrate_postgres(postgres.dsn(name, OWNER)) == []

    async with open_memories(postgres, name) as memories:
        [found] = await memories.recall("staging port")
        assert [memory.content for memory in await memories.list_memories()] == [PORT]
        assert (await memories.remember("Icons come from Lucide", session_id="s-1")).is_new
        assert (await memories.forget(found.memory.id)).content == ""
    assert count_indexes(postgres, name) == len(read_blocks(INDEXES))


async def test_a_column_of_its_own_that_the_program_dropped_is_done_without_after_a_migration(
    make: Callable[..., str], postgres: Cluster
):
    name = make(*MADE)
    await migrate_postgres(postgres.dsn(name, OWNER))
    execute(postgres.dsn(name, OWNER), "alter table memori.memories drop column content_tsv")

    async with open_memories(postgres, name) as memories:
        with pytest.raises(SchemaMissingError, match="content_tsv"):
            await memories.forget("1")
    await migrate_postgres(postgres.dsn(name, OWNER))

    async with open_memories(postgres, name) as memories:
        assert (await memories.forget("1")).content == ""


BROKEN = {
    "the text renamed": (
        "alter table memori.memories rename column content to body",
        "it has no column content",
    ),
    "the table removed": ("drop table memori.memories cascade", "it is not there any more"),
    "a rule that refuses us": (
        "alter table memori.memories add agent text not null default null",
        'null value in column "agent"',
    ),
    "a table that inherits from it": (
        "create table memori.kid () inherits (memori.memories)",
        "memori.kid inherits",
    ),
}


@pytest.mark.parametrize("change", BROKEN)
async def test_a_change_that_cannot_be_repaired_is_refused_by_the_next_migration(
    change: str, make: Callable[..., str], postgres: Cluster
):
    statement, problem = BROKEN[change]
    name = make(f"create table memori.memories ({SERIAL})")
    await migrate_postgres(postgres.dsn(name, OWNER))
    execute(postgres.dsn(name, OWNER), statement)

    with pytest.raises(AdoptionRefusedError, match=problem):
        await migrate_postgres(postgres.dsn(name, OWNER))


async def test_a_recall_without_the_column_of_the_texts_says_what_is_missing(
    make: Callable[..., str], postgres: Cluster
):
    name = make(*MADE)
    await migrate_postgres(postgres.dsn(name, OWNER))
    execute(postgres.dsn(name, OWNER), "alter table memori.memories rename column content to body")

    recalled = run_process(
        "memory", "recall", "staging port", "--json", HOLDFAST_DATABASE=postgres.dsn(name, APP)
    )

    assert (recalled.document["code"], "content" in recalled.document["message"]) == (
        "schema_missing",
        True,
    )
