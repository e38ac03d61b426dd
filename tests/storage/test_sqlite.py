"""The embedded store: how it is opened, how long it waits, and what its errors are called."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import apsw
import pytest

import holdfast
from holdfast.errors import (
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from holdfast.ground import clock, files, ids
from holdfast.ground.settings import Owner, owner_of
from holdfast.sessions.store import QUERIES
from holdfast.storage import errors, migrate
from holdfast.storage import sqlite as engine
from holdfast.storage.database import drive
from holdfast.storage.sqlite import SqliteDatabase, open_sqlite
from holdfast.team.model import Publication
from holdfast.team.store import TeamStore

OWNER = Owner("local", "ana")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "test.db")


@pytest.fixture
def database(path: str) -> Iterator[SqliteDatabase]:
    opened = open_sqlite(path)
    yield opened
    drive(opened.close())


# --- opening --------------------------------------------------------------------------------------


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


def test_every_connection_waits_as_long_as_its_caller_would(path: str):
    """As the engine reports it, before anything was written: a hook has one second,
    and not thirty.
    """
    database = open_sqlite(path, patience_seconds=1.5)

    assert database.connection.pragma("busy_timeout") == 1500
    assert database._open_reader().connection.pragma("busy_timeout") == 1500
    drive(database.close())


def test_a_file_that_another_program_keeps_to_itself_is_busy(path: str):
    drive(open_sqlite(path).close())
    holder = apsw.Connection(path)
    holder.execute("pragma locking_mode=exclusive; begin exclusive; commit").fetchall()

    with pytest.raises(StoreBusyError):
        open_sqlite(path, patience_seconds=0.05)

    holder.close()
    drive(open_sqlite(path, patience_seconds=0.05).close())


class NotedLock(files.Lock):
    """The lock itself, and how long each was to be waited for."""

    lock_waits: ClassVar[list[float]] = []

    def __init__(self, path: files.Path, timeout_seconds: float = files.LOCK_SECONDS):
        self.lock_waits.append(timeout_seconds)
        super().__init__(path, timeout_seconds)


@pytest.fixture
def lock_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(NotedLock, "lock_waits", [])
    monkeypatch.setattr(files, "Lock", NotedLock)
    return NotedLock.lock_waits


def test_another_process_that_migrates_is_waited_for_no_longer_than_the_caller_would(
    path: str, lock_waits: list[float]
):
    with files.Lock(path, 0), pytest.raises(StoreBusyError):
        open_sqlite(path, patience_seconds=0.05)

    assert lock_waits == [0, 0.05]


def test_a_store_in_another_mode_is_switched_back_with_the_same_patience(
    path: str, lock_waits: list[float]
):
    drive(open_sqlite(path).close())
    other = apsw.Connection(path)
    assert other.pragma("journal_mode", "delete") == "delete"
    other.close()
    lock_waits.clear()

    database = open_sqlite(path, patience_seconds=0.25)

    assert (lock_waits, database.connection.pragma("journal_mode")) == ([0.25], "wal")
    drive(database.close())


def test_opening_names_the_migrations_that_it_applied(path: str):
    first, again = open_sqlite(path), open_sqlite(path)

    assert first.applied == [migration.name for migration in migrate.migrations("sqlite")]
    assert again.applied == []
    for database in (first, again):
        drive(database.close())


# --- working --------------------------------------------------------------------------------------


def test_without_a_loop_an_error_reaches_the_caller(database: SqliteDatabase):
    async def fail(tx: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(database.transaction(fail))

    assert not database.connection.in_transaction


def test_a_lock_that_is_not_released_is_busy_after_the_patience_of_the_caller(path: str):
    """As long as the caller has patience, and no longer; nothing was written."""
    drive(open_sqlite(path).close())
    holder = apsw.Connection(path)
    holder.execute("begin immediate")
    database = open_sqlite(path, patience_seconds=0.05)
    service = holdfast.SessionService(database, owner=OWNER)

    with pytest.raises(StoreBusyError, match="locked by another writer"):
        drive(service.create_session("m", "u1"))

    holder.execute("rollback")
    assert drive(service.list_sessions()) == []
    assert drive(service.create_session("m", "u1")).last_sequence == 0
    holder.close()
    drive(database.close())


def test_erased_content_is_removed_from_every_file(path: str, database: SqliteDatabase):
    """Also from the write-ahead log, once it was scrubbed."""
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))
    event = drive(
        service.append_event(session.id, "user_message", "user", "a very private sentence")
    )
    drive(service.forget_events([event.id]))
    drive(database.scrub())

    for name in os.listdir(os.path.dirname(path)):
        file = os.path.join(os.path.dirname(path), name)
        assert not os.path.isfile(file) or b"very private" not in Path(file).read_bytes(), name


SECRET = "a very private sentence"


@contextmanager
def reader_in_the_way(path: str) -> Iterator[None]:
    """A reader that reads for a long time: the log cannot be emptied meanwhile."""
    reader = apsw.Connection(path)
    reader.execute("begin; select count(*) from session_events").fetchall()
    yield
    reader.close()


def forget_a_secret(database: SqliteDatabase) -> None:
    """A reader begins between the writing and the erasing, and stops when all is done."""
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))
    event = drive(service.append_event(session.id, "user_message", "user", SECRET))
    with reader_in_the_way(database.path):
        drive(service.forget_events([event.id]))


def log_holds_it(path: str) -> bool:
    return SECRET.encode() in Path(f"{path}-wal").read_bytes()


def test_a_scrub_does_not_wait_for_a_reader(
    path: str, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    """What was erased is erased; the log is owed, and said to be."""
    monkeypatch.setattr(engine, "SCRUB_PAUSE_SECONDS", 0)
    timeouts: list[int] = []
    database.connection.set_exec_trace(
        lambda cursor, sql, _: _note_timeout(database, sql, timeouts)
    )

    forget_a_secret(database)

    database.connection.set_exec_trace(None)
    assert set(timeouts) == {0}
    assert (database.owes_scrub, log_holds_it(path)) == (True, True)
    assert database.connection.pragma("busy_timeout") == 30_000


def _note_timeout(database: SqliteDatabase, sql: str, timeouts: list[int]) -> bool:
    if "wal_checkpoint" in sql:
        database.connection.set_exec_trace(None)
        timeouts.append(database.connection.pragma("busy_timeout"))
    return True


def test_the_next_scrub_empties_the_log(path: str, database: SqliteDatabase):
    forget_a_secret(database)
    assert log_holds_it(path)

    drive(database.scrub())

    assert (database.owes_scrub, log_holds_it(path)) == (False, False)


def test_closing_empties_the_log_that_is_owed(path: str, database: SqliteDatabase):
    """Also while others have the store open, who would keep SQLite from doing so by itself."""
    other = open_sqlite(path)
    forget_a_secret(database)

    drive(database.close())

    assert not log_holds_it(path)
    drive(other.close())


async def test_scrubbing_leaves_the_loop_to_others(path: str, monkeypatch: pytest.MonkeyPatch):
    """A thread of its own does it: what it waits for, no other caller waits for."""
    database = open_sqlite(path)
    threads: list[int] = []
    empty_log = SqliteDatabase._empty_log

    def noted(self: SqliteDatabase) -> None:
        threads.append(threading.get_ident())
        empty_log(self)

    monkeypatch.setattr(SqliteDatabase, "_empty_log", noted)
    await database.scrub()
    await database.close()

    assert len(threads) == 1
    assert threads != [threading.get_ident()]


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


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (apsw.BusyError("x"), StoreBusyError),
        (apsw.LockedError("x"), StoreBusyError),
        (apsw.FullError("x"), StoreFullError),
        (apsw.ReadOnlyError("x"), StoreReadOnlyError),
        (apsw.PermissionsError("x"), StoreReadOnlyError),
        (apsw.AuthError("x"), StoreReadOnlyError),
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
        (errno.ENOSPC, StoreFullError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.EIO, StoreUnreachableError),
    ],
)
def test_a_disk_error_becomes_the_error_of_its_system_number(number: int, ours: type[Exception]):
    """SQLite says "disk I/O error"; what a person can do about it depends on the
    number behind it.
    """

    class Connection:
        system_errno = number

    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE

    assert type(engine.translate(error, "/the/file.db", Connection())) is ours  # type: ignore[arg-type]


def test_a_short_read_is_reported_as_damage():
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHORT_READ

    assert type(engine.translate(error, "/the/file.db")) is errors.StoreDamagedError


def test_a_file_that_cannot_be_opened_is_looked_at_from_outside(tmp_path: Path):
    """SQLite gives no number when there is no connection yet."""
    error = apsw.CantOpenError("unable to open database file")
    error.extendedresult = apsw.SQLITE_CANTOPEN

    assert (
        type(engine.translate(error, str(tmp_path / "no folder" / "x.db"))) is StoreUnreachableError
    )


def test_the_log_is_emptied_once_a_blocking_reader_has_left(
    path: str, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    """The reader leaves in the first pause between two tries."""
    service = holdfast.SessionService(database, owner=OWNER)
    session = drive(service.create_session("m", "u1"))
    event = drive(service.append_event(session.id, "user_message", "user", SECRET))
    reader = apsw.Connection(path)
    reader.execute("begin; select count(*) from session_events").fetchall()
    monkeypatch.setattr(engine.time, "sleep", lambda _: reader.close())

    drive(service.forget_events([event.id]))

    assert (database.owes_scrub, log_holds_it(path)) == (False, False)


# --- files that disappear -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_commit_into_a_file_that_was_removed_meanwhile_is_not_acknowledged(
    path: str, database: SqliteDatabase, ending: str
):
    async def remove(transaction: Any) -> None:
        os.unlink(f"{path}{ending}")

    with pytest.raises(errors.StoreDamagedError, match="while it was open"):
        drive(database.transaction(remove))


async def test_a_read_knows_the_time_although_nothing_was_written(
    path: str, monkeypatch: pytest.MonkeyPatch
):
    """What expires is compared with the time of the read, not with that of an earlier write."""
    owner = owner_of("local", "dev-a")
    async with holdfast.open_database(f"sqlite:///{path}") as database:
        store = TeamStore(database, owner)
        await store.enter("dev-a", "public")
        await store.publish(ids.new_id(), Publication("t", "s", ttl_hours=1))
        [context] = await store.list_active_contexts(10)
        end = clock.microseconds(context.expires_at)

        monkeypatch.setattr("holdfast.ground.stamp.now_microseconds", lambda: end + 1)

        assert await store.list_active_contexts(10) == []
