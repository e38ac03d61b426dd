"""Stored events are not changed and not removed: not by the application, and not by the owner of
the tables.
"""

import apsw
import asyncpg
import pytest

import holdfast
from tests.sessions.tables import TABLES, in_schema, nothing_changes

OTHER_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
CHANGES = {
    "sessions": (
        "last_sequence = 0",
        "ended_at = null",
        f"id = '{OTHER_ID}'",
        "developer_id = 'x'",
        "workspace_id = 'x'",
        "started_at = ended_at",
        "resumed_from = id",
        "last_sequence = last_sequence + 1",
    ),
    "session_events": (
        "content = 'x'",
        "content = ''",
        "parts = '{}'",
        "role = 'tool'",
        "type = 'tool_call'",
        "sequence = 7",
        "created_at = created_at",
        "chain_hash = content_hash",
        "erased_at = created_at",
        "content = '', parts = null, erased_at = created_at",
        "developer_id = 'x'",
    ),
    "session_state": (f"session_id = '{OTHER_ID}'", "developer_id = 'x'"),
    "erasures": ("reason = 'x'", "content_hash = content_hash"),
    "outbox": ("data = '{\"a\":1}'", "topic = 'x'", "data = '{}', topic = 'x'"),
}

# A row that takes the place of another one without deleting it by name.
REPLACE_BY_NUMBER = """
insert or replace into session_events (workspace_id, id, developer_id, session_id, sequence, type,
    role, content,
                                       created_at, content_hash, chain_hash)
select workspace_id, 'other', developer_id, session_id, sequence, type, role, 'x', created_at,
    content_hash, chain_hash
from session_events where sequence = 1
"""
REPLACE_SESSION = """
insert or replace into sessions (workspace_id, id, developer_id, user_id, chatmode, started_at,
    head_hash)
select workspace_id, id, developer_id, user_id, chatmode, started_at, head_hash from sessions
"""


async def execute_as_developer(connection, sessions, statement):
    """One statement on the rows of the developer, past every function of ours."""
    async with connection.transaction():
        await connection.fetch("select holdfast.act_for($1, $2)", *sessions.store.owner)
        await connection.execute(statement)


async def fill(sessions):
    """A row in every table, and an ended session, whose end is past as well."""
    s = await sessions.create_session("architect", "u1")
    kept = await sessions.append_event(s.id, "user_message", "user", "kept", {"a": 1})
    erased = await sessions.append_event(s.id, "user_message", "user", "erased")
    await sessions.forget_events([erased.id])
    await sessions.end_session(s.id)
    return kept


async def test_sqlite_refuses_every_change_of_what_was_written(sqlite_url):
    async with holdfast.open_database(sqlite_url) as database:
        sessions = holdfast.SessionService(database)
        kept = await fill(sessions)
        connection = apsw.Connection(database.path)
        statements = [
            f"update {table} set {change}" for table in TABLES for change in CHANGES[table]
        ]
        statements += [f"delete from {table}" for table in TABLES]
        statements += [
            f"insert or replace into {table} select * from {table}"
            for table in TABLES
            if table != "sessions"
        ]
        statements += [
            f"update or replace session_events set sequence = 2 where id = '{kept.id}'",
            REPLACE_BY_NUMBER,
            REPLACE_SESSION,
        ]

        async with nothing_changes(sessions):
            for statement in statements:
                with pytest.raises(apsw.ConstraintError):
                    connection.execute(statement).fetchall()
        connection.close()


@pytest.mark.own_database
async def test_postgresql_refuses_every_change_by_the_owner_of_the_tables(
    postgres_sessions, postgres_owner_url
):
    """Triggers fire for every role that does not alter the schema first."""
    await fill(postgres_sessions)
    connection = await asyncpg.connect(postgres_owner_url)
    statements = [
        f"update {in_schema(table)} set {change.replace('parts', 'parts_text')}"
        for table in TABLES
        for change in CHANGES[table]
    ]
    statements += [f"delete from {in_schema(table)}" for table in TABLES]
    statements += [f"truncate {in_schema(table)} cascade" for table in TABLES]

    async with nothing_changes(postgres_sessions):
        for statement in statements:
            with pytest.raises(asyncpg.RestrictViolationError):
                await execute_as_developer(connection, postgres_sessions, statement)
    await connection.close()


async def test_postgresql_gives_the_application_no_right_to_change_the_past(postgres_sessions):
    """Refused before a trigger is even asked."""
    await fill(postgres_sessions)
    pool = postgres_sessions.db.pool
    statements = [
        f"{verb} {in_schema(table)}" for table in TABLES for verb in ("delete from", "truncate")
    ]
    statements += [
        "update context.session_events set sequence = 7",
        "update context.session_events set type = 'tool_call'",
        "update context.session_events set content_hash = content_hash",
        "update context.sessions set started_at = now()",
        "update context.sessions set developer_id = 'x'",
        "update context.erasures set reason = 'x'",
        "update holdfast.outbox set topic = 'x'",
        "alter table context.session_events disable trigger all",
        "drop trigger session_events_are_only_erased on context.session_events",
        "alter table context.session_events disable row level security",
        "set session_replication_role = replica",
    ]

    async with nothing_changes(postgres_sessions), pool.acquire() as connection:
        for statement in statements:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await execute_as_developer(connection, postgres_sessions, statement)
        for change in ("content = 'x'", "content = '', parts_text = null, erased_at = now()"):
            with pytest.raises(asyncpg.RestrictViolationError):
                await execute_as_developer(
                    connection, postgres_sessions, f"update context.session_events set {change}"
                )
