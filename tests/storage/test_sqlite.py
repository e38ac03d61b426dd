"""The embedded store: how it is opened, how long it waits, and what its errors are called."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast import errors
from holdfast.ground.settings import Owner
from holdfast.sessions.store import QUERIES
from holdfast.storage import sqlite as engine
from holdfast.storage.database import drive
from holdfast.storage.sqlite import SqliteDatabase, open_sqlite

OWNER = Owner("local", "ana")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "test.db")


@pytest.fixture
def database(path: str) -> Iterator[SqliteDatabase]:
    opened = open_sqlite(path)
    yield opened
    drive(opened.close())


# --- opening -----------------------------------------------------------------------------------------------


def test_a_connection_is_as_durable_and_as_strict_as_it_can_be(database: SqliteDatabase):
    """The settings that the promises rest on, as the engine itself reports them."""
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "recursive_triggers": 1,
        "secure_delete": 1,
    }

    assert {name: database.connection.pragma(name) for name in wanted} == wanted
    assert not database.connection.pragma("mmap_size")


# --- working -----------------------------------------------------------------------------------------------


def test_without_a_loop_an_error_reaches_the_caller(database: SqliteDatabase):
    async def fail(tx: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(database.transaction(fail))

    assert not database.connection.in_transaction


def test_a_lock_that_nobody_gives_up_is_busy_after_a_while(path: str):
    """As long as the caller has patience, and no longer; nothing was written."""
    drive(open_sqlite(path).close())
    holder = apsw.Connection(path)
    holder.execute("begin immediate")
    database = open_sqlite(path, patience_seconds=0.05)
    service = holdfast.SessionService(database, owner=OWNER)

    with pytest.raises(errors.StoreBusyError, match="locked by another writer"):
        drive(service.create_session("m", "u1"))

    holder.execute("rollback")
    assert drive(service.list_sessions()) == []
    assert drive(service.create_session("m", "u1")).last_sequence == 0
    holder.close()
    drive(database.close())


def test_what_was_erased_is_gone_from_every_file(path: str, database: SqliteDatabase):
    """Also from the write-ahead log, once it was scrubbed."""
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))
    event = drive(service.append_event(session.id, "user_message", "user", "a very private sentence"))
    drive(service.forget_events([event.id]))
    drive(database.scrub())

    for name in os.listdir(os.path.dirname(path)):
        file = os.path.join(os.path.dirname(path), name)
        assert not os.path.isfile(file) or b"very private" not in Path(file).read_bytes(), name


def test_a_read_from_a_damaged_file_says_so(path: str, database: SqliteDatabase):
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))
    for _ in range(200):
        drive(service.append_event(session.id, "user_message", "user", "x" * 500))
    drive(database.close())
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        for offset in range(4096 * 8, size, 4096):
            file.seek(offset)
            file.write(b"\xff" * 64)

    with pytest.raises(errors.StoreDamagedError, match="restore a backup"):
        drive(open_sqlite(path).read(QUERIES["matching_events"], "local", "ana", "x", "x"))


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (apsw.BusyError("x"), errors.StoreBusyError),
        (apsw.LockedError("x"), errors.StoreBusyError),
        (apsw.FullError("x"), errors.StoreFullError),
        (apsw.ReadOnlyError("x"), errors.StoreReadOnlyError),
        (apsw.PermissionsError("x"), errors.StoreReadOnlyError),
        (apsw.AuthError("x"), errors.StoreReadOnlyError),
        (apsw.NotADBError("x"), errors.NotADatabaseError),
        (apsw.CorruptError("x"), errors.StoreDamagedError),
        (ZeroDivisionError("x"), ZeroDivisionError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_every_error_of_the_engine_has_our_own_words(theirs: Exception, ours: type[Exception]):
    assert type(engine.translate(theirs, "/the/file.db")) is ours


@pytest.mark.parametrize(
    ("number", "ours"),
    [
        (errno.ENOSPC, errors.StoreFullError),
        (errno.EROFS, errors.StoreReadOnlyError),
        (errno.EIO, errors.StoreUnreachableError),
    ],
)
def test_a_disk_error_says_what_the_system_said(number: int, ours: type[Exception]):
    """SQLite says "disk I/O error"; what a person can do about it depends on the number behind it."""

    class Connection:
        system_errno = number

    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE

    assert type(engine.translate(error, "/the/file.db", Connection())) is ours  # type: ignore[arg-type]


def test_a_part_of_the_file_that_is_missing_is_damage():
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHORT_READ

    assert type(engine.translate(error, "/the/file.db")) is errors.StoreDamagedError


def test_a_file_that_cannot_be_opened_is_looked_at_from_outside(tmp_path: Path):
    """SQLite gives no number when there is no connection yet."""
    error = apsw.CantOpenError("unable to open database file")
    error.extendedresult = apsw.SQLITE_CANTOPEN

    assert type(engine.translate(error, str(tmp_path / "no folder" / "x.db"))) is errors.StoreUnreachableError
