"""TS21: what was written stays written, for every role.

Not the application, not the owner of the tables, not a superuser and not a stranger with another
SQLite program can change or remove an event or a session, as long as the schema is not altered
itself. The one way out is erasure, which leaves the row, its hash and a tombstone.
"""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

import holdfast
from holdfast.ground import clock, ids
from holdfast.ground.settings import Owner
from holdfast.identity.service import IdentityService
from holdfast.memories.service import MemoryService
from holdfast.scope import Scope
from holdfast.storage import sqlite as engine
from holdfast.storage.health import check_health
from holdfast.storage.idempotency import RequestKeys
from holdfast.storage.journal import Journal
from holdfast.storage.prunings import Prunings
from tests.house import source
from tests.rig import catalogue
from tests.rig.postgres import APP, OWNER, SUPERUSER, Cluster, execute

pytestmark = pytest.mark.own_database

ANA = Owner("north", "ana")


async def fill(database: Any) -> None:
    """At least one row in every table: a session with events, one of them erased, one session that
    resumed another.
    """
    service = holdfast.SessionService(database, owner=ANA)
    session = await service.create_session(
        "architect", "u1", client="claude", native_id="n-1", worktree="/r"
    )
    events = [
        await service.append_event(session.id, "user_message", "user", f"word {n}", {"n": n})
        for n in range(3)
    ]
    await service.update_state(session.id, {"step": 1})
    await service.set_relevant_context(session.id, "files", ["/r/a.py"])
    await service.forget_events([events[0].id])
    ended = await service.create_session("architect", "u1", client="claude", native_id="n-2")
    await service.append_event(ended.id, "user_message", "user", "the end")
    await service.end_session(ended.id)
    await service.resume_session(ended.id)
    await service.store.save_capture("claude", "n-2", {"handed": None}, 0)
    await service.store.save_observed(ended.id, {"rules": 0}, 0)
    memories = MemoryService(database, owner=ANA)
    await memories.remember("kept", category="c")
    await memories.forget((await memories.remember("forgotten")).memory.id)
    await RequestKeys(database, ANA).keep("end", "k1", b"0" * 32, "s1")
    journal = Journal(database, ANA)
    for number in range(2):
        entry = await journal.add("proof", ["repo"], {"number": number})
    await journal.erase(entry.id)
    await check_health(database, ANA)
    await fill_team(database)
    await Prunings(database, ANA).keep(clock.now(), {})


async def fill_team(database: Any) -> None:
    """Everything that the exchange keeps, with nothing that could still change."""
    team = Scope(database, ANA).team
    await team.enter()
    for _ in range(2):
        context = await team.publish_context(title="t", summary="s")
    await team.revoke_context(context.id)
    claim = await team.claim(["a.py"], "work")
    handoff = await team.handoff(claim.id)
    await team.cancel(handoff.id)
    await team.release(claim.id)
    for _ in range(2):
        await team.show_presence(ids.new_id(), ["a.py"])
    await Scope(database, Owner("north", "bea")).team.enter()
    await team.note_usage("covibe_team.state", "ok")
    await fill_identity(Scope(database, ANA).identity)


async def fill_identity(identity: IdentityService) -> None:
    """A token that granted another, both of them used and revoked, and logins that are over."""
    await identity.add_workspace()
    made = await identity.add_token("claude")
    denied = await identity.begin_login("codex", "laptop")
    await identity.deny_login(denied.user_code)
    login = await identity.begin_login("codex", "laptop")
    await identity.approve_login(login.user_code, made.token)
    granted = await identity.redeem_login(login.device_code)
    for each in (made, granted):
        assert await identity.authenticate(each.text) is not None
    await identity.revoke_token(made.token.id)


# Columns that a verb of ours may move forward; every other column of these tables stays as it was
# inserted.
MAY_MOVE = {
    "sessions": {
        *("ended_at", "metadata", "name", "revision", "last_sequence", "head_hash"),
        *("active_at", "noted_at", "hidden_active_at", "hidden_noted_at"),
    },
    "session_state": {"scratchpad", "cleared", "updated_at"},
    "captures": {"state", "revision", "updated_at"},
    "session_observations": {"observed", "revision", "updated_at"},
    "outbox": {"data"},
    "heartbeats": {"beats"},
    "developers": {"name", "visibility", "seen_at"},
    "session_contexts": {"superseded_by", "revoked_at"},
    "reservations": {"released_at"},
    "presence": {"client", "repo", "branch", "paths", "seen_at", "ended_at"},
    "handoffs": {
        *("to_developer_id", "status", "expires_at", "answered_at", "completed_at"),
        "taken_claim_id",
    },
    "tokens": {"last_used_at"},
    "memories": {"confidence", "lineage", "last_used_at", "use_count", "expires_at", "updated_at"},
}
# The number of a row, where a table has a name for it.
NUMBERS = {("outbox", "id"), ("memories", "number")}
OTHER_VALUE = {
    "text": "'other'",
    "uuid": "'11111111-1111-4111-8111-111111111111'",
    "bigint": "77",
    "integer": "77",
    "blob": "x'00'",
    "bytea": "'\\x00'",
    "jsonb": "'{\"other\": 1}'",
    "timestamp with time zone": "'2001-01-01Z'",
    "tsvector": "'other'",
}


# --- PostgreSQL -----------------------------------------------------------------------------------

# A trigger, a missing grant, or a key that other rows hold on to.
REFUSALS = (
    asyncpg.RestrictViolationError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.FeatureNotSupportedError,
)


@pytest.fixture
async def filled_postgres(postgres_url: str) -> str:
    async with holdfast.open_database(postgres_url) as database:
        await fill(database)
    return postgres_url


@pytest.fixture(params=[APP, OWNER, SUPERUSER])
async def role(
    request: pytest.FixtureRequest, postgres: Cluster, postgres_database: str, filled_postgres: str
) -> AsyncIterator[Any]:
    """A connection that acts for the developer whose rows are there."""
    connection = await asyncpg.connect(postgres.dsn(postgres_database, request.param))
    await connection.execute(
        "select set_config('holdfast.workspace', 'north', false), "
        "set_config('holdfast.developer', 'ana', false)"
    )
    yield connection
    await connection.close()


def rows_on_postgres(postgres: Cluster, name: str) -> dict[str, list[str]]:
    tables = [row["name"] for row in execute(postgres.dsn(name), catalogue.TABLES)]
    return {
        table: [
            row[0]
            for row in execute(
                postgres.dsn(name), f"select to_jsonb(t)::text from {table} t order by 1"
            )
        ]
        for table in tables
    }


async def columns_on_postgres(connection: Any, table: str) -> dict[str, str]:
    rows = await connection.fetch(
        "select column_name, data_type from information_schema.columns"
        " where table_schema || '.' || table_name = $1 and is_generated = 'NEVER' and "
        "is_identity = 'NO'",
        table,
    )
    return {row["column_name"]: row["data_type"] for row in rows}


async def refusal_on_postgres(connection: Any, statement: str) -> str | None:
    """Which of the walls refused, or None when the statement went through."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(statement)
    except REFUSALS as error:
        await transaction.rollback()
        return type(error).__name__
    await transaction.commit()
    return None


async def test_no_role_can_remove_a_row_on_postgres(
    role: Any, postgres: Cluster, postgres_database: str
):
    """Every table of ours, every way to delete that SQL has, committed if it goes through."""
    before = rows_on_postgres(postgres, postgres_database)
    tables = [table for table in before if table not in catalogue.LEDGERS]
    statements = [
        statement
        for table in tables
        for statement in (
            f"delete from {table}",
            f"with gone as (delete from {table} returning *) select count(*) from gone",
            f"merge into {table} t using (select 1) x on true when matched then delete",
            f"truncate {table}",
            f"truncate {table} cascade",
            f"truncate {table} restart identity cascade",
        )
    ]

    let_through = [
        statement for statement in statements if await refusal_on_postgres(role, statement) is None
    ]

    assert all(before[table] for table in tables), "a table without rows shows nothing"
    assert let_through == []
    assert rows_on_postgres(postgres, postgres_database) == before


async def test_no_role_can_rewrite_a_column_on_postgres(
    role: Any, postgres: Cluster, postgres_database: str
):
    """Column by column, as an update, as an upsert and as a merge."""
    before = rows_on_postgres(postgres, postgres_database)
    let_through = []
    for table in [table for table in before if table not in catalogue.LEDGERS]:
        columns = await columns_on_postgres(role, table)
        for column, kind in columns.items():
            if column in MAY_MOVE.get(table.partition(".")[2], ()):
                continue
            changed = f"set {column} = {OTHER_VALUE[kind]}"
            names = ", ".join(columns)
            again = (
                f"insert into {table} ({names}) overriding system value select {names} from {table}"
            )
            for statement in (
                f"update {table} {changed}",
                (
                    f"merge into {table} t using (select 1) x on true when matched then update "
                    f"{changed}"
                ),
                (
                    f"{again} on conflict on constraint {table.partition('.')[2]}_pkey do "
                    f"update {changed}"
                ),
            ):
                if table == "holdfast.outbox" and "insert" in statement:
                    continue  # its number is given by the engine, so an insert never meets a row
                if await refusal_on_postgres(role, statement) is None:
                    let_through.append(statement)

    assert let_through == []
    assert rows_on_postgres(postgres, postgres_database) == before


async def test_columns_that_may_change_only_move_forward_on_postgres(
    role: Any, postgres: Cluster, postgres_database: str
):
    """No number goes back, no end is undone, nothing is erased without a tombstone, nothing erased
    returns.
    """
    before = rows_on_postgres(postgres, postgres_database)

    let_through = [
        statement
        for statement in (
            "update context.sessions set last_sequence = last_sequence - 1",
            "update context.sessions set ended_at = null where ended_at is not null",
            "update context.sessions set ended_at = now() where ended_at is not null",
            (
                "update context.sessions set last_sequence = last_sequence + 1 where ended_at "
                "is not null"
            ),
            "update context.session_events set content = '', parts_text = null, erased_at = now()",
            "update context.session_events set erased_at = null where erased_at is not null",
            "update context.session_events set content = 'back' where erased_at is not null",
            """update holdfast.outbox set data = '{"session_id": "x"}'""",
            "update holdfast.heartbeats set beats = beats - 1",
            (
                "update memori.memories set content = '', content_tsv = '', category = "
                "null, metadata = '{}',"
                " erased_at = now()"
            ),
            (
                "update memori.memories set erased_at = null, content = 'back' where erased_at "
                "is not null"
            ),
        )
        if await refusal_on_postgres(role, statement) is None
    ]

    assert let_through == []
    assert rows_on_postgres(postgres, postgres_database) == before


# --- SQLite ---------------------------------------------------------------------------------------


@pytest.fixture(params=["ours", "a stranger's"])
async def connection(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[apsw.Connection]:
    """Our own connection, and one of a program that does not know our settings."""
    path = str(tmp_path / "test.db")
    async with holdfast.open_database(f"sqlite:///{path}") as database:
        await fill(database)
    opened = engine.connect(path) if request.param == "ours" else apsw.Connection(path)
    yield opened
    opened.close()


def rows_on_sqlite(connection: apsw.Connection) -> dict[str, list[Any]]:
    return {
        table: list(connection.execute(f"select * from {table} order by rowid"))
        for table in catalogue.sqlite_tables(connection)
    }


def columns_on_sqlite(connection: apsw.Connection, table: str) -> dict[str, str]:
    return dict(connection.execute("select name, lower(type) from pragma_table_info(?)", (table,)))


def is_refused_by_sqlite(connection: apsw.Connection, statement: str) -> bool:
    try:
        connection.execute(statement)
    except apsw.ConstraintError:
        return True
    return False


def guarded_tables(connection: apsw.Connection) -> Iterator[str]:
    yield from (
        table for table in catalogue.sqlite_tables(connection) if table not in catalogue.LEDGERS
    )


async def test_no_row_in_the_file_is_removed_or_replaced(connection: apsw.Connection):
    """DELETE, and the ways in which SQLite deletes without saying so."""
    before = rows_on_sqlite(connection)
    statements = []
    for table in guarded_tables(connection):
        names = list(columns_on_sqlite(connection, table))
        columns, others = (
            ", ".join(names),
            ", ".join(name for name in names if (table, name) not in NUMBERS),
        )
        statements += [
            f"delete from {table}",
            f"delete from {table} where rowid = (select max(rowid) from {table})",
            f"replace into {table} ({columns}) select {columns} from {table}",
            f"insert or replace into {table} ({columns}) select {columns} from {table} limit 1",
            (
                f"insert or replace into {table} (rowid, {others}) select 1, {others} from "
                f"{table} limit 1"
            ),
            f"update or replace {table} set rowid = (select max(rowid) from {table})",
        ]

    let_through = [
        statement for statement in statements if not is_refused_by_sqlite(connection, statement)
    ]

    assert all(before[table] for table in guarded_tables(connection)), (
        "a table without rows shows nothing"
    )
    assert let_through == []
    assert rows_on_sqlite(connection) == before


async def test_no_column_in_the_file_is_rewritten(connection: apsw.Connection):
    before = rows_on_sqlite(connection)
    statements = [
        f"update or {way} {table} set {column} = {OTHER_VALUE[kind]}"
        for table in guarded_tables(connection)
        for column, kind in columns_on_sqlite(connection, table).items()
        for way in ("abort", "replace")
        if column not in MAY_MOVE.get(table, ())
    ]

    let_through = [
        statement for statement in statements if not is_refused_by_sqlite(connection, statement)
    ]

    assert let_through == []
    assert rows_on_sqlite(connection) == before


async def test_columns_that_may_change_only_move_forward_in_the_file(connection: apsw.Connection):
    before = rows_on_sqlite(connection)

    let_through = [
        statement
        for statement in (
            "update sessions set last_sequence = last_sequence - 1",
            "update sessions set ended_at = null where ended_at is not null",
            "update sessions set ended_at = '2001-01-01' where ended_at is not null",
            "update sessions set last_sequence = last_sequence + 1 where ended_at is not null",
            (
                "update session_events set content = '', parts = null, erased_at = "
                "'2001-01-01' where erased_at is null"
            ),
            "update session_events set erased_at = null where erased_at is not null",
            "update session_events set content = 'back' where erased_at is not null",
            """update outbox set data = '{"session_id": "x"}'""",
            "update heartbeats set beats = beats - 1",
            (
                "update memories set content = '', content_tsv = '', category = null, metadata "
                "= '{}', erased_at = '2001'"
            ),
            "update memories set erased_at = null, content = 'back' where erased_at is not null",
        )
        if not is_refused_by_sqlite(connection, statement)
    ]

    assert let_through == []
    assert rows_on_sqlite(connection) == before


async def test_no_row_in_the_file_is_pushed_out_by_its_hidden_number(connection: apsw.Connection):
    """A new row with keys of its own, put in the place of an old one by the number that SQLite
    gives every row.
    """
    before = rows_on_sqlite(connection)
    new = {
        "id": "'n'",
        "event_id": "'n'",
        "session_id": "'n'",
        "native_id": "'n'",
        "sequence": "99",
    }
    for table in guarded_tables(connection):
        if table == "outbox":  # there the number is not secret: it is the key
            continue
        names = list(columns_on_sqlite(connection, table))
        values = ", ".join(new.get(name, name) for name in names)

        columns = ", ".join(names)
        statement = (
            f"insert or replace into {table} (rowid, "
            f"{columns}) select 1, {values} from {table} "
            "limit 1"
        )

        assert is_refused_by_sqlite(connection, statement), statement
    assert rows_on_sqlite(connection) == before


async def test_a_session_is_not_replaced_by_another_of_the_same_native_id(
    connection: apsw.Connection,
):
    """A unique index is a door too: an insert or update with REPLACE removes the row that is in the
    way.
    """
    before = rows_on_sqlite(connection)
    columns = list(columns_on_sqlite(connection, "sessions"))
    copied = ", ".join(
        "'11111111-1111-4111-8111-111111111111'" if name == "id" else name for name in columns
    )

    for statement in (
        (
            f"insert or replace into sessions ({', '.join(columns)}) select {copied} from "
            "sessions where native_id = 'n-1'"
        ),
        "update or replace sessions set native_id = 'n-1' where native_id is null",
        (
            "update or replace sessions set client = 'claude', native_id = 'n-1' where "
            "native_id is null"
        ),
    ):
        assert is_refused_by_sqlite(connection, statement)

    assert rows_on_sqlite(connection) == before


# --- our own code ---------------------------------------------------------------------------------


def test_no_statement_of_ours_deletes():
    """Neither a query nor a migration nor a line of Python asks an engine to remove a row."""
    deleting = re.compile(
        (
            r"\b(delete from|truncate (?!on\b)\w+;|replace into|or replace into|on delete "
            r"(?!restrict))"
        ),
        re.I,
    )
    found = [
        f"{path.relative_to(source.PACKAGE)}: {line.strip()}"
        for path in sorted(source.PACKAGE.rglob("*"))
        if path.suffix in (".py", ".sql")
        for line in path.read_text().splitlines()
        if deleting.search(line) and not line.lstrip().startswith("--")
    ]

    assert found == []


async def test_no_verb_of_ours_removes_a_row(database: Any):
    """Ending, resuming, renaming, forgetting everything: every event keeps its row, its number and
    its hash.
    """
    await fill(database)
    service = holdfast.SessionService(database, owner=ANA)
    sessions = await service.list_sessions()
    before = {
        s.id: [
            (e.id, e.sequence, e.content_hash, e.chain_hash)
            async for e in service.read_events(s.id)
        ]
        for s in sessions
    }

    for session in sessions:
        await service.rename_session(session.id, "renamed")
        await service.forget_session(session.id)
        await service.end_session(session.id)
        await service.resume_session(session.id)

    for session_id, events in before.items():
        after = [event async for event in service.read_events(session_id)]
        assert [(e.id, e.sequence, e.content_hash, e.chain_hash) for e in after] == events
        assert {event.content for event in after} <= {""}
        assert (await service.verify_session(session_id)).ok
