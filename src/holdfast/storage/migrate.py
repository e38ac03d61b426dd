"""Migrations: numbered SQL files with tables, policies, grants, triggers and data; forward only.

Each file is applied once, under a lock, and its checksum is kept. A store that is newer than this
program is left alone; a file that was changed after it was applied is refused. On PostgreSQL the
functions of the rooms are installed with them, by `postgres_migrate`, which a hook never loads.
"""

from __future__ import annotations

import os

from holdfast.errors import StoreUnreachableError
from holdfast.ground import files
from holdfast.storage import errors
from holdfast.storage.database import PATIENCE_SECONDS
from holdfast.storage.queries import read_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

HERE = os.path.dirname(__file__)
FOLDER = os.path.join(HERE, "migrations")
APPLICATION_ID = 0x486C6466  # "Hldf": tells our files from other programs' SQLite files
UNRELEASED_ID = 0x486F6C64  # files from before the first release


class Migration:
    __slots__ = ("file", "name", "number")

    def __init__(self, engine: str, file_name: str):
        self.file = os.path.join(FOLDER, engine, file_name)
        self.name = file_name.removesuffix(".sql")
        number, _, _ = file_name.partition("_")
        self.number = int(number)

    @property
    def sql(self) -> str:
        with open(self.file, encoding="utf-8") as file:
            return file.read()

    @property
    def checksum(self) -> str:
        import hashlib

        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(engine: str) -> list[Migration]:
    folder = os.path.join(FOLDER, engine)
    names = [name for name in os.listdir(folder) if name.endswith(".sql")]
    return [Migration(engine, name) for name in sorted(names)]


def pending(engine: str, applied: dict[int, str], where: str) -> list[Migration]:
    """What is still to be applied; refuses a store that this program does not understand."""
    ours = migrations(engine)
    newest_applied = max(applied, default=0)
    refuse_newer(where, newest_applied, ours[-1].number)
    for migration in ours:
        if migration.number in applied and applied[migration.number] != migration.checksum:
            raise errors.ChangedMigrationError(where, migration.name)
    return [migration for migration in ours if migration.number not in applied]


def refuse_newer(where: str, found: int, known: int, part: str = "schema") -> None:
    if found > known:
        raise errors.NewerSchemaError(where, found, known, part)


def read_ledger(engine: str) -> dict[str, str]:
    """Statements by name. No room's queries: they run where nothing of ours may be there yet."""
    file = os.path.join(HERE, f"ledger.{engine}.sql")
    blocks = read_blocks(file)
    return {block.name: block.sql for block in blocks}


# --- SQLite ---------------------------------------------------------------------------------------


def migrate_sqlite(
    connection: apsw.Connection, path: str, patience_seconds: float = PATIENCE_SECONDS
) -> list[str]:
    """Bring a file up to date; returns the names of what was applied. Usually one read, no lock."""
    newest = migrations("sqlite")[-1].number
    if _read_sqlite_version(connection, path) == newest:
        return []
    with files.Lock(path, patience_seconds):
        version = _read_sqlite_version(connection, path)
        refuse_newer(path, version, newest)
        applied: dict[int, str] = {}
        if version:
            applied = _read_applied(connection)
        todo = pending("sqlite", applied, path)
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
    """Needs the lock. SQLite does not raise when it cannot switch: it returns the old mode."""
    if connection.execute("pragma journal_mode=wal").get != "wal":
        raise StoreUnreachableError(path, "the disk does not take a write-ahead log there")
    # The first read makes the log.
    connection.execute("select count(*) from sqlite_schema").fetchall()


def _read_sqlite_version(connection: apsw.Connection, path: str) -> int:
    """Its SQL stands here because every hook asks this, and reads no file for it."""
    application, version, objects = connection.execute(
        "select application_id, user_version, (select count(*) from sqlite_schema)"
        " from pragma_application_id, pragma_user_version"
    ).get
    if application == UNRELEASED_ID:
        raise errors.UnreleasedSchemaError(path)
    if application != APPLICATION_ID and (objects or version or application):
        raise errors.NotADatabaseError(path, "is a SQLite database of another program")
    return int(version)


def _read_applied(connection: apsw.Connection) -> dict[int, str]:
    ledger = read_ledger("sqlite")
    rows: list[Any] = list(connection.execute(ledger["applied_migrations"]))
    return dict(rows)


def _apply_sqlite(connection: apsw.Connection, todo: Sequence[Migration]) -> None:
    ledger = read_ledger("sqlite")
    connection.execute(ledger["make_ledger"])
    for migration in todo:
        connection.execute(migration.sql)
        entry = (migration.number, migration.name, migration.checksum)
        connection.execute(ledger["add_migration"], entry)
        connection.execute(f"pragma user_version={migration.number:d}")
    connection.execute(f"pragma application_id={APPLICATION_ID:d}")


def _keep_backup(connection: apsw.Connection, path: str, version: int, newest: int) -> None:
    """A whole copy before an existing store is changed; `forget` names it later."""
    backup = f"{path}.before-{newest}"
    if not 0 < version < newest or os.path.exists(backup):
        return
    unfinished = f"{path}.unfinished-backup"  # the other name is taken only by a copy that is whole
    try:
        _remove(unfinished)  # of a migration that was killed
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection.execute("vacuum into ?", (name_for_sqlite(unfinished),))
        os.rename(unfinished, backup)
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            files.sync_folder(folder)
        finally:
            os.close(folder)
    except BaseException:
        _remove(unfinished)
        raise


def name_for_sqlite(path: str) -> str:
    """SQLite takes any bytes as a name, but its library only text: the others go into a URI."""
    try:
        path.encode()
    except UnicodeEncodeError:
        from urllib.parse import quote_from_bytes  # rarely needed, and a hook pays for it

        return f"file:{quote_from_bytes(os.fsencode(path))}"
    return path


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def backups(path: str) -> list[str]:
    folder, name = os.path.split(path)
    prefix = f"{name}.before-"
    names = [entry for entry in os.listdir(folder) if entry.startswith(prefix)]
    return sorted(os.path.join(folder, entry) for entry in names)


# --- PostgreSQL -----------------------------------------------------------------------------------


async def migrate_postgres(
    url: str,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    report: Callable[[str], None] = lambda step: None,
) -> list[str]:
    """Bring a database up to date as its owner; answers with the names of what was applied."""
    from holdfast.storage import postgres, postgres_migrate

    return await postgres_migrate.apply_postgres(
        lambda: postgres.open_connection(url),
        postgres.where_of(url),
        patience_seconds=patience_seconds,
        report=report,
    )
