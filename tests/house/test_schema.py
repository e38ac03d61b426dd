"""Every table has its walls, and a new one without them fails here."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

import holdfast
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.storage import sqlite as engine
from tests.house import source
from tests.rig import catalogue
from tests.rig.catalogue import READER
from tests.rig.plans import PLANS
from tests.rig.postgres import APP, OWNER, RUNTIME, Cluster
from tools import schema

pytestmark = pytest.mark.own_database

# PostgreSQL's jsonb reorders keys, so the text that was hashed is kept beside it.
# Functions have a ledger of their own; on SQLite they are statements of the program.
ONLY_ON_POSTGRES = {
    ("session_events", "parts_text"),
    *(("functions", column) for column in ("number", "checksum", "applied_at")),
}
# SQLite's full-text index is a table of its own that names rows by their number; PostgreSQL's is an
# index.
ONLY_ON_SQLITE = {("memories", "number")}
WORDS_INDEX = "memories_by_words"
# On PostgreSQL it is the primary key: notices are numbered for each developer.
OUTBOX_INDEX = "outbox_by_owner"


@pytest.fixture
async def owner(postgres_owner_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(postgres_owner_url)
    yield connection
    await connection.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[apsw.Connection]:
    database = engine.open_sqlite(str(tmp_path / "test.db"))
    yield database.connection
    database.connection.close()


# --- as it is -------------------------------------------------------------------------------------


async def test_every_table_on_postgres_is_behind_its_walls(owner: Any):
    """Policies, triggers, keys, grants, functions and views, for whatever the migrations made."""
    assert len(await catalogue.postgres_tables(owner)) >= 6
    assert await catalogue.postgres_problems(owner) == []


def test_every_table_on_sqlite_is_behind_its_walls(file: apsw.Connection):
    assert len(catalogue.sqlite_tables(file)) >= 6
    assert catalogue.sqlite_problems(file) == []


async def test_another_version_of_sqlite_finds_no_damage_in_a_filled_store(
    file: apsw.Connection, tmp_path: Path
):
    """The one of the standard library, which people check a file with: SQLite 3.40 calls a row
    damaged where a check is null.
    """
    path = tmp_path / "test.db"
    async with holdfast.open_database(f"sqlite:///{path}") as database:
        for plans in PLANS.values():
            await plans.add_rows(Scope(database, Owner("local", "ana")))

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        tables = catalogue.sqlite_tables(file)
        assert all(connection.execute(f"select 1 from {table}").fetchone() for table in tables)


async def test_row_level_security_binds_every_role_of_ours(owner: Any):
    """No role that runs Holdfast is a superuser, bypasses policies, owns a table or is a member of
    a role that does.
    """
    assert await catalogue.role_problems(owner, RUNTIME) == []
    assert await catalogue.role_problems(owner, APP, group=RUNTIME) == []
    assert await catalogue.role_problems(owner, OWNER, group=RUNTIME) == [
        f"{OWNER}: is mighty",
        f"{OWNER}: is owner",
    ]
    assert await catalogue.role_problems(owner, "nobody_at_all") == [
        "nobody_at_all: does not exist"
    ]


@pytest.mark.parametrize("ledger", ["holdfast.migrations", "holdfast.functions"])
async def test_a_ledger_can_only_grow(
    ledger: str, owner: Any, postgres: Cluster, postgres_database: str
):
    """A table without a workspace: even its owner changes nothing in it, and the application adds
    nothing.
    """
    before = await owner.fetch(f"select * from {ledger} order by number")

    assert await owner.execute(f"update {ledger} set checksum = 'x'") == "UPDATE 0"
    assert await owner.execute(f"delete from {ledger}") == "DELETE 0"
    app = await asyncpg.connect(postgres.dsn(postgres_database, APP))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await app.execute(f"insert into {ledger} (number, checksum) values (99, 'x')")
        assert await app.fetchval(f"select count(*) from {ledger}") == len(before)
    finally:
        await app.close()

    assert await owner.fetch(f"select * from {ledger} order by number") == before


SEED_DEFAULTS = {
    ("sessions", "id"): "gen_random_uuid()",
    ("sessions", "started_at"): "now()",
    ("sessions", "metadata"): "'{}'::jsonb",
    ("session_events", "id"): "gen_random_uuid()",
    ("session_events", "created_at"): "now()",
    ("session_state", "scratchpad"): "'{}'::jsonb",
    ("session_state", "updated_at"): "now()",
    ("memories", "confidence"): "0.80",
    ("memories", "lineage"): "'[]'::jsonb",
    ("memories", "use_count"): "0",
}
SEED_COMMENTS = {
    ("sessions", "user_id"): "namespace (e.g., 'pt2_architect')",
    ("sessions", "git_branch"): "current working branch",
    ("session_events", "sequence"): "strict ordering within session",
    ("session_events", "content"): "message text or JSON",
    ("memories", "source_type"): "explicit|implicit|bootstrap|tool_output",
    ("memories", "confidence"): "Belief strength, updated on corroboration/contradiction",
    ("memories", "lineage"): "Array of session_ids that contributed",
}
SEED_INDEXES = {
    "idx_sessions_started_at",
    "idx_sessions_active",
    "idx_session_events_session",
    "idx_session_events_type",
}


async def test_the_seed_s_defaults_comments_and_index_names_are_kept(owner: Any):
    rows = await owner.fetch(
        "select table_name::text, column_name::text, column_default,"
        " col_description(format('%I.%I', table_schema, table_name)::regclass, ordinal_position)"
        " from information_schema.columns where table_schema in ('context', 'memori')"
    )
    defaults = {(table, column): default for table, column, default, _ in rows}
    comments = {(table, column): comment for table, column, _, comment in rows}
    indexes = {row[0] for row in await owner.fetch("select indexname::text from pg_indexes")}

    assert {column: defaults[column] for column in SEED_DEFAULTS} == SEED_DEFAULTS
    assert {column: comments[column] for column in SEED_COMMENTS} == SEED_COMMENTS
    assert indexes >= SEED_INDEXES


async def test_both_engines_have_the_same_tables_columns_and_indexes(
    owner: Any, file: apsw.Connection
):
    """What works on a laptop works on the server, because it is the same schema."""
    here = set(
        file.execute(
            "select s.name, c.name from pragma_table_list s, pragma_table_xinfo(s.name) c"
            " where s.schema = 'main' and s.type = 'table' and s.name not like "
            "'sqlite\\_%' escape '\\'"
        )
    )
    schemas = list(schema.find_schemas().values())
    rows = await owner.fetch(
        "select table_schema, table_name, column_name from information_schema.columns"
        " where table_schema = any ($1) and table_name in"
        " (select relname from pg_class where relkind = 'r')",
        schemas,
    )
    there = {
        (
            "holdfast_migrations" if row["table_name"] == "migrations" else row["table_name"],
            row["column_name"],
        )
        for row in rows
    }
    assert there - here == ONLY_ON_POSTGRES
    assert here - there == ONLY_ON_SQLITE

    indexes = {
        row[0]
        for row in file.execute(
            "select name from sqlite_schema where type = 'index' and sql is not null"
        )
    }
    rows = await owner.fetch(
        "select indexname from pg_indexes i where schemaname = any ($1)"
        " and not exists (select from pg_constraint where conname = i.indexname)",
        schemas,
    )
    assert {row["indexname"] for row in rows} == {*indexes, WORDS_INDEX} - {OUTBOX_INDEX}


async def test_the_page_of_the_schema_says_what_both_engines_have(
    owner: Any, file: apsw.Connection
):
    """`make docs` writes it again."""
    page = schema.describe_schema(*await schema.read_postgres(owner), schema.read_sqlite(file))

    assert (source.ROOT / "docs" / "schema.md").read_text() == page


# --- spoilt on purpose ----------------------------------------------------------------------------

GOOD_POLICY = """
    (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
     and developer_id = nullif(current_setting('holdfast.developer', true), ''))
"""
GOOD_TABLE = f"""
create table context.notes (workspace_id text, developer_id text, id uuid,
    primary key (workspace_id, id));
alter table context.notes enable row level security;
alter table context.notes force row level security;
create policy owner_only on context.notes for all using {GOOD_POLICY} with check {GOOD_POLICY};
create trigger a before update or delete on context.notes for each row
    execute function holdfast.refuse();
create trigger b before truncate on context.notes for each statement
    execute function holdfast.refuse();
call holdfast.let_readers_read();
"""


async def test_a_new_table_with_everything_passes(owner: Any):
    await owner.execute(GOOD_TABLE)

    assert await catalogue.postgres_problems(owner) == []


async def test_a_new_table_without_anything_fails(owner: Any):
    """What a careless migration would look like."""
    await owner.execute("create table context.notes (id int, note text)")

    assert await catalogue.postgres_problems(owner) == [
        "context.notes: row-level security is not enabled and forced",
        "context.notes: holdfast_reader does not read exactly every row",
        "context.notes: no policy for every command",
        "context.notes: no trigger guards update",
        "context.notes: no trigger guards delete",
        "context.notes: no trigger guards truncate",
        "context.notes: no primary key",
    ]


MISTAKES = [
    (
        "alter table context.notes no force row level security",
        "row-level security is not enabled and forced",
    ),
    (
        "alter table context.notes disable row level security",
        "row-level security is not enabled and forced",
    ),
    ("drop policy owner_only on context.notes", "no policy for every command"),
    (
        "create policy extra on context.notes for select using (true)",
        "using of policy extra does not compare workspace_id",
    ),
    (
        "alter policy owner_only on context.notes with check (true)",
        "with_check of policy owner_only does not compare",
    ),
    (
        f"alter policy owner_only on context.notes using ({GOOD_POLICY} or id is null)",
        "has a way around",
    ),
    ("drop policy reader_reads on context.notes", "does not read exactly every row"),
    ("alter policy reader_reads on context.notes using (id is null)", "exactly every row"),
    (f"grant insert on context.notes to {READER}", f"{READER} may INSERT"),
    (f"grant select (token_hash) on identity.tokens to {READER}", "may read a hash"),
    (f"grant select on identity.logins to {READER}", f"{READER} may SELECT"),
    ("drop trigger b on context.notes", "no trigger guards truncate"),
    ("alter table context.notes disable trigger a", "no trigger guards delete"),
    (
        "alter table context.notes add unique (id)",
        "key notes_id_key does not begin with workspace_id",
    ),
    (
        "create unique index on context.notes (id)",
        "unique index context.notes_id_idx does not begin with workspace_id",
    ),
    (
        (
            "alter table context.notes add foreign key (workspace_id, id) references "
            "context.sessions on delete cascade"
        ),
        "cascades",
    ),
    (f"grant delete on context.notes to {RUNTIME}", f"{RUNTIME} may DELETE"),
    (f"grant truncate on context.notes to {RUNTIME}", f"{RUNTIME} may TRUNCATE"),
    (f"grant references on context.notes to {RUNTIME}", f"{RUNTIME} may REFERENCES"),
    (f"grant trigger on context.notes to {RUNTIME}", f"{RUNTIME} may TRIGGER"),
    (
        f"grant references (id) on context.notes to {RUNTIME}",
        f"{RUNTIME} may REFERENCES of a column",
    ),
    (f"grant create on schema context to {RUNTIME}", f"{RUNTIME} may CREATE"),
    (f"grant update on context.notes to {RUNTIME}", f"{RUNTIME} may update every column"),
    ("grant select on context.notes to public", "granted to public"),
    ("create view context.all_notes as select * from context.notes", "looks past the policies"),
    (
        "create materialized view context.old_notes as select * from context.notes",
        "looks past the policies",
    ),
    (
        (
            "create function context.peek() returns bigint language sql security definer as "
            "'select 1::bigint'"
        ),
        "SECURITY DEFINER without search_path",
    ),
    (
        "create function context.peek() returns bigint language sql as 'select 1::bigint'",
        "everybody may execute it",
    ),
]


async def test_each_mistake_is_named(owner: Any):
    """One wall at a time, taken down from a table that had them all."""
    unnamed = []
    for mistake, problem in MISTAKES:
        transaction = owner.transaction()
        await transaction.start()
        await owner.execute(GOOD_TABLE)
        await owner.execute(mistake)
        if not any(problem in found for found in await catalogue.postgres_problems(owner)):
            unnamed.append((mistake, problem))
        await transaction.rollback()

    assert unnamed == []


async def test_a_view_with_the_rights_of_its_reader_passes(owner: Any):
    await owner.execute(
        "create view context.open with (security_invoker = true) as select * from context.sessions"
    )

    assert await catalogue.postgres_problems(owner) == []


def test_a_new_table_without_anything_fails_on_sqlite(file: apsw.Connection):
    file.execute("create table notes (id integer primary key, note text)")

    assert catalogue.sqlite_problems(file) == [
        "notes: no trigger guards update",
        "notes: no trigger guards delete",
        "notes: no trigger guards replace",
        "notes: primary key does not begin with workspace_id",
        "notes: is not STRICT",
    ]


def test_a_key_that_cascades_fails_on_sqlite(file: apsw.Connection):
    file.execute(
        "create table notes (workspace_id text, id text, session_id text, primary key "
        "(workspace_id, id), unique (id),"
        " foreign key (session_id) references sessions (id) on delete cascade) strict"
    )

    problems = catalogue.sqlite_problems(file)

    assert (
        "notes: unique index sqlite_autoindex_notes_2 does not begin with workspace_id" in problems
    )
    assert "notes: foreign key 0 does not begin with workspace_id" in problems
    assert "notes: foreign key 0 cascades" in problems
