"""Migrations: numbered SQL files, forward only.

Each file is applied once, in its own transaction, under a lock, and its checksum is kept. A store that is
newer than this program is left alone; a file that was changed after it was applied is refused.
"""

from __future__ import annotations

import os

from holdfast.errors import StoreUnreachableError, shown
from holdfast.ground import files
from holdfast.storage import errors
from holdfast.storage.database import PATIENCE_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
APPLICATION_ID = 0x486F6C64  # "Hold": tells our files from other programs' SQLite files


class Migration:
    __slots__ = ("file", "name", "number")

    def __init__(self, engine: str, file_name: str):
        self.file = os.path.join(FOLDER, engine, file_name)
        self.name = file_name.removesuffix(".sql")
        self.number = int(file_name.partition("_")[0])

    @property
    def sql(self) -> str:
        with open(self.file, encoding="utf-8") as file:
            return file.read()

    @property
    def checksum(self) -> str:
        import hashlib

        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(engine: str) -> list[Migration]:
    names = sorted(name for name in os.listdir(os.path.join(FOLDER, engine)) if name.endswith(".sql"))
    return [Migration(engine, name) for name in names]


def pending(engine: str, applied: dict[int, str], where: str) -> list[Migration]:
    """What is still to be applied; refuses a store that this program does not understand."""
    ours = migrations(engine)
    newest = ours[-1].number
    if applied and max(applied) > newest:
        raise errors.NewerSchemaError(where, max(applied), newest)
    for migration in ours:
        if migration.number in applied and applied[migration.number] != migration.checksum:
            raise errors.ChangedMigrationError(where, migration.name)
    return [migration for migration in ours if migration.number not in applied]


# --- SQLite ------------------------------------------------------------------------------------------------


def migrate_sqlite(connection: apsw.Connection, path: str, patience_seconds: float = PATIENCE_SECONDS) -> list[str]:
    """Bring a file up to date; answers with the names of what was applied. The usual case costs one read, no lock."""
    newest = migrations("sqlite")[-1].number
    if _sqlite_version(connection, path) == newest:
        return []
    with files.Lock(path, patience_seconds):
        version = _sqlite_version(connection, path)
        if version > newest:
            raise errors.NewerSchemaError(path, version, newest)
        todo = pending("sqlite", _applied_sqlite(connection) if version else {}, path)
        _keep_backup(connection, path, version, newest)
        use_write_ahead_log(connection, path)
        connection.execute("begin immediate")
        try:
            _apply_sqlite(connection, todo)
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        connection.execute("commit")
        return [migration.name for migration in todo]


def use_write_ahead_log(connection: apsw.Connection, path: str) -> None:
    """Needs the lock. SQLite does not raise when it cannot switch: it answers with the mode that stays."""
    if connection.execute("pragma journal_mode=wal").get != "wal":
        raise StoreUnreachableError(path, "the disk does not take a write-ahead log there")
    connection.execute("select count(*) from sqlite_schema").fetchall()  # the first read makes the log


def _sqlite_version(connection: apsw.Connection, path: str) -> int:
    application, version, objects = connection.execute(
        "select application_id, user_version, (select count(*) from sqlite_schema)"
        " from pragma_application_id, pragma_user_version"
    ).get
    if application != APPLICATION_ID and (objects or version or application):
        raise errors.NotADatabaseError(path, "is a SQLite database of another program")
    return int(version)


def _applied_sqlite(connection: apsw.Connection) -> dict[int, str]:
    rows: list[Any] = list(connection.execute("select number, checksum from holdfast_migrations"))
    return {row[0]: row[1] for row in rows}


def _apply_sqlite(connection: apsw.Connection, todo: Sequence[Migration]) -> None:
    connection.execute(
        "create table if not exists holdfast_migrations"
        " (number integer primary key, name text not null, checksum text not null,"
        " applied_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))) strict"
    )
    for migration in todo:
        connection.execute(migration.sql)
        connection.execute(
            "insert into holdfast_migrations (number, name, checksum) values (?, ?, ?)",
            (migration.number, migration.name, migration.checksum),
        )
        connection.execute(f"pragma user_version={migration.number:d}")
    connection.execute(f"pragma application_id={APPLICATION_ID:d}")


def _keep_backup(connection: apsw.Connection, path: str, version: int, newest: int) -> None:
    """A whole copy before an existing store is changed; it is named when something is forgotten later."""
    backup = f"{path}.before-{newest}"
    if not 0 < version < newest or os.path.exists(backup):
        return
    unfinished = f"{path}.unfinished-backup"  # the other name is taken only by a copy that is whole
    try:
        _remove(unfinished)  # of a migration that was killed
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection.execute("vacuum into ?", (unfinished,))
        os.rename(unfinished, backup)
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            files.sync_folder(folder)
        finally:
            os.close(folder)
    except BaseException:
        _remove(unfinished)
        raise


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def backups(path: str) -> list[str]:
    folder, name = os.path.split(path)
    return sorted(os.path.join(folder, entry) for entry in os.listdir(folder) if entry.startswith(f"{name}.before-"))


# --- PostgreSQL --------------------------------------------------------------------------------------------

LOCK_NUMBER = 0x486F6C64
INSUFFICIENT_PRIVILEGE = "42501"
DUPLICATE_SCHEMA = "42P06"  # what a migration raises that finds somebody else's `memori.memories` and cannot use it
NOT_ADOPTABLE = "HF001"  # the same, where it is a table: the error names what stands in the way and what mends it
ABOUT_A_TABLE = ("22", "23", "42", "54")  # classes of errors: values, constraints, names and types, limits
ADOPTION = os.path.join(os.path.dirname(__file__), "adoption.sql")
SOMEBODY_ELSES_TABLE = """
select to_regclass('memori.memories') is not null
   and not exists (select from pg_attribute
                   where attrelid = to_regclass('memori.memories') and attname in ('workspace_id', 'developer_id'))
"""
LEDGER = """
create schema if not exists holdfast;
create table if not exists holdfast.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
alter table holdfast.migrations enable row level security;
alter table holdfast.migrations force row level security;
do $$
begin
    if not exists (select from pg_policies where schemaname = 'holdfast' and tablename = 'migrations') then
        create policy everybody_reads on holdfast.migrations for select using (true);
        execute format('create policy owner_adds on holdfast.migrations for insert to %I with check (true)',
                       current_user);
    end if;
end
$$
"""
# Anything at all: what we grant, we grant on everything in our schemas.
TAKEN_SCHEMA = """
select n.nspname::text from pg_namespace n
where n.nspname in ('context', 'holdfast')
  and (exists (select from pg_class c
               where c.relnamespace = n.oid and c.oid <> 'holdfast.migrations'::regclass
                 and not exists (select from pg_index i
                                 where i.indexrelid = c.oid and i.indrelid = 'holdfast.migrations'::regclass))
       or exists (select from pg_proc p where p.pronamespace = n.oid))
order by 1
limit 1
"""
OTHER_OWNER = """
select pg_get_userbyid(n.nspowner)::text from pg_namespace n
where n.nspname in ('context', 'holdfast') and not pg_has_role(n.nspowner, 'MEMBER')
limit 1
"""


async def migrate_postgres(url: str) -> list[str]:
    """Bring a database up to date as its owner; answers with the names of what was applied."""
    from holdfast.storage import postgres

    async with postgres.connected(url) as connection:
        return await apply_postgres(connection, postgres.where_of(url))


async def apply_postgres(connection: Any, where: str) -> list[str]:
    """All that is pending, in one transaction: a crash in the middle leaves the old schema whole."""
    try:
        async with connection.transaction(isolation="read_committed"):  # to see what was done while we waited
            return await _apply_postgres(connection, where)
    except Exception as error:
        sqlstate: str = getattr(error, "sqlstate", None) or ""
        if sqlstate == INSUFFICIENT_PRIVILEGE:
            raise errors.PermissionRefusedError(where, str(error), await _owner_advice(connection)) from error
        if sqlstate == DUPLICATE_SCHEMA:
            raise errors.SchemaTakenError(where, "memori") from error
        if sqlstate == NOT_ADOPTABLE or (
            sqlstate[:2] in ABOUT_A_TABLE and await connection.fetchval(SOMEBODY_ELSES_TABLE)
        ):
            raise errors.AdoptionRefusedError(where, str(error), getattr(error, "hint", None)) from error
        raise


async def _apply_postgres(connection: Any, where: str) -> list[str]:
    if (encoding := await connection.fetchval("show server_encoding")) != "UTF8":
        raise errors.WrongEncodingError(where, encoding)
    await connection.execute("select pg_advisory_xact_lock($1)", LOCK_NUMBER)
    await connection.execute(LEDGER)
    rows = await connection.fetch("select number, checksum from holdfast.migrations")
    if not rows and (schema := await connection.fetchval(TAKEN_SCHEMA)):
        raise errors.SchemaTakenError(where, schema)
    todo = pending("postgres", {row[0]: row[1] for row in rows}, where)
    if todo:
        await connection.execute(_adoption_sql())
    for migration in todo:
        await connection.execute(migration.sql)
        await connection.execute(
            "insert into holdfast.migrations (number, name, checksum) values ($1, $2, $3)",
            migration.number,
            migration.name,
            migration.checksum,
        )
    return [migration.name for migration in todo]


def _adoption_sql() -> str:
    with open(ADOPTION, encoding="utf-8") as file:
        return file.read()


async def _owner_advice(connection: Any) -> str:
    if owner := await connection.fetchval(OTHER_OWNER):
        return f"Its schemas belong to {shown(owner)}: set HOLDFAST_DATABASE to that owner's URL."
    return (
        "Set HOLDFAST_DATABASE to the owner's URL. The owner of the database may create schemas; it may create roles "
        "too, or somebody who may has run `CREATE ROLE holdfast_runtime NOLOGIN` before."
    )
