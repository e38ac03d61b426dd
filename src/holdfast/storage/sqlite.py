"""The embedded store: SQLite through apsw.

One writer. With a running loop a thread commits what has queued up (`group_commit`); without one
the unit of work runs inline. `BEGIN IMMEDIATE` always: a deferred transaction that turns into a
writer is refused at once when another process wrote meanwhile, however long the busy timeout.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from _thread import allocate_lock  # `threading` would cost a hook two milliseconds

import apsw

from holdfast.errors import (
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
    Unavailable,
)
from holdfast.ground import files, stamp
from holdfast.storage import errors, migrate
from holdfast.storage.database import PATIENCE_SECONDS, Failure, drive, take_outcome
from holdfast.storage.file_watch import FileWatch
from holdfast.storage.turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any, Self, TypeVar

    from holdfast.storage.database import Row, Transaction
    from holdfast.storage.group_commit import GroupCommit
    from holdfast.storage.queries import Query, Room

    T = TypeVar("T")
    # What runs in a transaction, alone or with others.
    Unit = Callable[["SqliteTransaction"], Any]

# Before it, a checkpoint that races a write can drop a committed transaction.
OLDEST_SQLITE = (3, 51, 3)
PAUSE_SECONDS = 0.0005
FOREIGN_SECONDS = 0.2  # how long another program may keep its own database locked
CLOSING_SECONDS = 1.0
SCRUB_ATTEMPTS = 50
SCRUB_PAUSE_SECONDS = 0.01
SMALLEST_BYTES = 512
LEFT_LOG_BYTES = 1 << 20
PRAGMAS = (
    "pragma synchronous=full",
    "pragma foreign_keys=on",
    "pragma trusted_schema=off",
    "pragma recursive_triggers=on",
    "pragma secure_delete=on",  # what is forgotten must not linger in free pages
)
REPORTED_CAUSES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EMFILE, errno.ENFILE),
}
TORN = {apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_DATA}


def check_version(found: str) -> None:
    """Refuse a SQLite that can lose a committed write."""
    parts = found.split(".")[:3]
    version = tuple(int(part) for part in parts)
    if version < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise errors.SqliteTooOldError(found, oldest)


def open_sqlite(path: str, patience_seconds: float = PATIENCE_SECONDS) -> SqliteDatabase:
    """The store in a file; made, or brought up to date, when needed."""
    check_version(apsw.sqlite_lib_version())
    _make_file(path)
    database = SqliteDatabase(path, patience_seconds)
    try:
        database.applied = migrate.migrate_sqlite(database.connection, path, patience_seconds)
        database.watch()
    except BaseException as error:
        ours = _translate_opening(error, path, database.connection)
        database.let_go()
        raise ours from None
    return database


def _translate_opening(
    error: BaseException, path: str, connection: apsw.Connection
) -> BaseException:
    if isinstance(error, OSError):
        return files.translate(error, path)
    return translate(error, path, connection)


def _make_file(path: str) -> None:
    """An empty private file, before SQLite would make one with the umask's rights."""
    try:
        files.private_folder(os.path.dirname(path))
        # The log first: another process may be making the store right now.
        log_size = _read_size(f"{path}-wal")
        found = _read_size(path)
        if not found and log_size:
            # SQLite would discard the log, and with it what may be all that is left.
            raise errors.StoreDamagedError(path, "it is empty, but its write-ahead log is not")
        if found is None:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        elif not stat.S_ISREG(os.stat(path).st_mode):
            raise errors.NotADatabaseError(path, "is not a regular file")
        elif 0 < found < SMALLEST_BYTES:  # SQLite would take a file of one byte for an empty one
            raise errors.NotADatabaseError(path)
        elif not os.access(path, os.W_OK):
            # SQLite would leave a log that is not writable even when the file is again.
            raise StoreReadOnlyError(path)
    except OSError as error:
        raise files.translate(error, path) from None


def _read_size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def connect(path: str, patience_seconds: float = PATIENCE_SECONDS) -> apsw.Connection:
    """A connection that waits for another program's lock as long as its caller would."""
    try:
        connection = apsw.Connection(
            migrate.name_for_sqlite(path),
            flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI,
        )
    except apsw.Error as error:
        raise translate(error, path) from None
    try:
        connection.set_busy_timeout(_milliseconds(patience_seconds))
        for pragma in PRAGMAS:
            connection.execute(pragma)
    except apsw.Error as error:
        ours = translate(error, path, connection)
        _close(connection)
        raise ours from None
    return connection


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _close(connection: apsw.Connection) -> None:
    """An error here loses nothing: what was committed is in the log, and the next open moves it."""
    try:
        connection.close()
    except apsw.Error:
        return


def copy_store(path: str, target: str) -> None:
    """What is stored at one moment, into an empty file; others go on writing meanwhile."""
    connection = connect(path)
    try:
        connection.execute("vacuum into ?", (migrate.name_for_sqlite(target),))
    except apsw.Error as error:
        raise translate(error, target, connection) from None
    finally:
        _close(connection)


class ForeignDatabase:
    """A database of another program, while that may be running: read at one moment, never written.

    What cannot be read, for whatever reason, is Unavailable.
    """

    def __init__(self, path: str):
        from holdfast.storage.sqlite_look import name_to_read  # a hook reads no foreign database

        self.path = path
        try:
            self.connection = apsw.Connection(
                name_to_read(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            self.connection.set_busy_timeout(_milliseconds(FOREIGN_SECONDS))
            self.connection.execute("pragma trusted_schema=off")
        except (OSError, ValueError, apsw.Error) as error:
            raise StoreUnreachableError(path, str(error)) from None

    def __enter__(self) -> Self:
        self.list_rows("begin")
        return self

    def __exit__(self, *_: object) -> None:
        _close(self.connection)

    def list_rows(self, statement: str, *args: object) -> list[Row]:
        try:
            return list(self.connection.execute(statement, args))
        except (apsw.Error, UnicodeDecodeError) as error:
            _close(self.connection)
            raise StoreUnreachableError(self.path, str(error)) from None


class SqliteTransaction:
    """Runs queries on the connection that holds the transaction."""

    def __init__(self, connection: apsw.Connection):
        self.connection = connection
        self._rooms: set[Room] = set()
        self.now = 0
        connection.create_scalar_function("now_utc", self._now_utc, 0)
        connection.create_scalar_function("now_microseconds", self._now_microseconds, 0)

    def _now_utc(self, *_: object) -> str:
        return stamp.stamp(self.now)

    def _now_microseconds(self, *_: object) -> int:
        return self.now

    def begin_unit(self) -> None:
        """One moment for a whole unit of work, as SQL's `now()` is one for a transaction."""
        self.now = stamp.now_microseconds()

    async def run(self, query: Query, *args: object) -> list[Row]:
        return self.execute(query, args)

    async def run_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        return self.execute_rows(query, head, rows)

    def execute_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        return [self.execute(query, (*head, *row))[0] for row in rows]

    def execute_now(self, query: Query, args: Sequence[object]) -> list[Row]:
        """A read that is a unit of its own."""
        self.begin_unit()
        return self.execute(query, args)

    def execute(self, query: Query, args: Sequence[object]) -> list[Row]:
        if query.room not in self._rooms:
            self._learn(query.room)
        for statement, count in query.steps:
            # By their places: ten values take 1.5 µs, by their names 2.5.
            if rows := list(self.connection.execute(statement, args[:count])):
                return rows
        return []

    def _learn(self, room: Room) -> None:
        for name, function in room.functions.items():
            self.connection.create_scalar_function(name, function, deterministic=True)
        self._rooms.add(room)


class SqliteDatabase:
    engine = "sqlite"

    def __init__(self, path: str, patience_seconds: float = PATIENCE_SECONDS):
        self.path, self.patience_seconds = path, patience_seconds
        self.connection = connect(path, patience_seconds)
        try:
            self._turn = Turn(path)
        except OSError as error:
            _close(self.connection)
            raise files.translate(error, path) from None
        self._process = os.getpid()
        self._writing = SqliteTransaction(self.connection)
        self._write_lock = allocate_lock()
        self._reading: SqliteTransaction | None = None
        self._read_lock = allocate_lock()
        self._group: GroupCommit | None = None
        self._watch: FileWatch | None = None
        self._closed = False
        self.applied: list[str] = []  # migrations, by this very opening
        self.leaves_log = False  # to the next program
        self.owes_scrub = False  # erased content may still be in the write-ahead log

    def watch(self) -> None:
        """From here on, a commit into a file that was removed is an error."""
        try:
            self._watch = FileWatch(self.path)
        except FileNotFoundError:  # another program has switched the store to another mode
            with files.Lock(self.path, self.patience_seconds):
                migrate.use_write_ahead_log(self.connection, self.path)
            self._watch = FileWatch(self.path)

    async def read(self, query: Query, *args: object) -> list[Row]:
        self._check_open()
        try:
            if _running_loop() is None:
                with self._write_lock:
                    return self._writing.execute_now(query, args)
            with self._read_lock:
                return self._open_reader().execute_now(query, args)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate(error, self.path, self.connection) from None

    async def write(self, query: Query, *args: object) -> list[Row]:
        rows: list[Row] = await self._submit(lambda tx: tx.execute(query, args))
        return rows

    async def write_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        def run_all_or_none(tx: SqliteTransaction) -> list[Row]:
            answers = tx.execute_rows(query, head, rows)
            if any(refused for refused, *_ in answers):
                raise _Undo(answers)
            return answers

        try:
            answers: list[Row] = await self._submit(run_all_or_none)
        except _Undo as undo:
            return undo.answers
        return answers

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        result: T = await self._submit(_as_unit(work))
        return result

    async def _submit(self, unit: Unit) -> Any:
        """At once if this task is alone, else with what others submit meanwhile."""
        self._check_open()
        loop = _running_loop()
        if loop is None:
            [outcome] = self.commit([unit])
            return take_outcome(outcome)
        group = self._group or self._open_group()
        return await group.submit(loop, unit)

    async def try_transaction(
        self, work: Callable[[Transaction], Awaitable[T]], seconds: float
    ) -> T:
        """Without the group, whose thread may be waiting for another process."""
        from holdfast.ground.off_loop import off_loop  # a hook never gets here

        self._check_open()
        outcomes = await off_loop(self._commit_within, [_as_unit(work)], seconds)
        if outcomes is None:
            raise StoreBusyError(self.path)
        [outcome] = outcomes
        return take_outcome(outcome)  # type: ignore[no-any-return]

    async def scrub(self) -> None:
        """Empty the write-ahead log, where erased content would linger.

        As far as it goes: a reader may hold a snapshot for hours. Then the next scrub or `close`
        tries again.
        """
        self._check_open()
        if _running_loop() is None:
            self._scrub()
        else:
            import asyncio  # it is loaded: a loop runs

            await asyncio.to_thread(self._scrub)

    async def close(self) -> None:
        """Finish what is queued, then close the file; after a fork only its own process does."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        try:
            if self._group is not None:
                self._group.finish()
        finally:
            # With a limit: a signal between taking a lock and using it leaves it locked for ever.
            for lock in (self._write_lock, self._read_lock):
                lock.acquire(True, CLOSING_SECONDS)
            if self.owes_scrub:
                self._empty_log()
            elif self.leaves_log:
                self._leave_log()
            self.let_go()

    def _leave_log(self) -> None:
        """Close without moving a short log to the store: it costs three syncs, and an agent waits.

        SQLite's own limit would not bound it: the process that opens an idle store does not know
        what was moved before, so it never begins the log again. So the hook that finds the log
        long empties it in closing, as every other program does that is the last to close.
        """
        log_size = _read_size(f"{self.path}-wal") or 0
        if log_size < LEFT_LOG_BYTES:
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def let_go(self) -> None:
        """Close every file; errors are ignored."""
        if self._reading is not None:
            _close(self._reading.connection)
        _close(self.connection)
        if self._watch is not None:
            self._watch.close()
        self._turn.close()

    def _check_open(self) -> None:
        if self._closed or self._process != os.getpid():
            raise errors.StoreClosedError(self.path)

    def _open_reader(self) -> SqliteTransaction:
        """A second connection: a read must not wait for the writer's fsync."""
        if self._reading is None:
            self._reading = SqliteTransaction(connect(self.path, self.patience_seconds))
        return self._reading

    def _open_group(self) -> GroupCommit:
        with self._read_lock:  # two threads may each run a loop
            if self._group is None:
                from holdfast.storage.group_commit import GroupCommit  # a hook never gets here

                self._group = GroupCommit(self.commit, self.try_commit)
            return self._group

    def commit(self, units: Sequence[Unit]) -> list[Any]:
        """All units in one transaction, each with its own outcome; the commit decides for all."""
        with self._write_lock:
            outcomes: list[Any] = self._commit(units, self._begin)
            return outcomes

    def try_commit(self, units: Sequence[Unit]) -> list[Any] | None:
        """The same, or None when another caller is writing: for a caller that must not wait."""
        if not self._write_lock.acquire(False):
            return None
        try:
            outcomes: list[Any] | None = self._commit(units, self._try_begin)
            return outcomes
        finally:
            self._write_lock.release()

    def _commit_within(self, units: Sequence[Unit], seconds: float) -> list[Any] | None:
        deadline = time.monotonic() + seconds
        while (outcomes := self.try_commit(units)) is None:
            if time.monotonic() >= deadline:
                return None
            time.sleep(PAUSE_SECONDS)
        return outcomes

    def _begin(self) -> None:
        """Wait for our turn, then for the lock, in short steps: SQLite's own ones grow longer."""
        start = time.monotonic()
        # The process whose turn it is may be frozen, and only fairness depends on the turn: after
        # half the time we go past it.
        is_our_turn = self._turn.wait(start + self.patience_seconds / 2)
        try:
            while not self._try_lock():
                if time.monotonic() > start + self.patience_seconds:
                    raise StoreBusyError(self.path)
                time.sleep(PAUSE_SECONDS)
        finally:
            if is_our_turn:
                self._turn.leave()

    def _try_begin(self) -> bool:
        if not self._turn.take():
            return False
        try:
            return self._try_lock()
        finally:
            self._turn.leave()

    def _try_lock(self) -> bool:
        self.connection.set_busy_timeout(0)
        try:
            self.connection.execute("begin immediate")
        except apsw.BusyError:
            return False
        finally:
            self.connection.set_busy_timeout(_milliseconds(self.patience_seconds))
        return True

    def _scrub(self) -> None:
        """Several short tries: a writer is soon done, and a reader is not waited for."""
        for _ in range(SCRUB_ATTEMPTS):
            with self._write_lock:
                self._empty_log()
            if not self.owes_scrub:
                return
            time.sleep(SCRUB_PAUSE_SECONDS)

    def _empty_log(self) -> None:
        """What was erased is committed, so an error here is not the caller's: it is owed."""
        self.owes_scrub = True
        try:
            self._truncate_log()
        except apsw.Error:
            return

    def _truncate_log(self) -> None:
        self.connection.set_busy_timeout(0)
        try:
            is_busy, _, _ = self.connection.execute("pragma wal_checkpoint(truncate)").get
            self.owes_scrub = bool(is_busy)
        finally:
            self.connection.set_busy_timeout(_milliseconds(self.patience_seconds))

    def _commit(self, units: Sequence[Unit], begin: Callable[[], bool | None]) -> Any:
        try:
            if begin() is False:
                return None
            if self._watch is not None:
                self._watch.begin()
            outcomes = [self._attempt(unit, alone=len(units) == 1) for unit in units]
            self.connection.execute("commit")
            if self._watch is not None:
                self._watch.commit()
        except BaseException as error:
            failure = Failure(translate(error, self.path, self.connection))
            self._roll_back()
            return [failure] * len(units)
        return outcomes

    def _roll_back(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
        except apsw.Error:  # the transaction is over anyway, and the first error says more
            pass

    def _attempt(self, unit: Unit, *, alone: bool) -> Any:
        self._writing.begin_unit()
        if alone:
            return unit(self._writing)
        self.connection.execute("savepoint unit")
        try:
            outcome = unit(self._writing)
        except BaseException as error:
            if not self.connection.in_transaction:  # the engine undid every unit
                raise
            outcome = Failure(translate(error, self.path, self.connection))
            self.connection.execute("rollback to unit")
        self.connection.execute("release unit")
        return outcome


def _as_unit(work: Callable[[Transaction], Awaitable[Any]]) -> Unit:
    return lambda tx: drive(work(tx))  # type: ignore[arg-type]


class _Undo(Exception):
    """Takes a refused call out of the transaction and carries the reasons."""

    def __init__(self, answers: list[Row]):
        self.answers = answers


def _running_loop() -> AbstractEventLoop | None:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    loop: AbstractEventLoop | None = asyncio._get_running_loop()
    return loop


def translate(
    error: BaseException, path: str, connection: apsw.Connection | None = None
) -> BaseException:
    """An engine's error as one of ours; anything else as it is."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(path)
        case apsw.FullError():
            return StoreFullError(path)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreReadOnlyError(path)
        case apsw.NotADBError():
            return errors.NotADatabaseError(path)
        # A wrong statement too: ours fit a schema that is whole.
        case apsw.CorruptError() | apsw.SQLError() | UnicodeDecodeError():
            return errors.StoreDamagedError(path, str(error))
        case apsw.CantOpenError() | apsw.IOError():
            return _translate_disk_error(error, path, connection)
    return error


def _translate_disk_error(error: Any, path: str, connection: apsw.Connection | None) -> Unavailable:
    """What the system reported, where a person can do something about it."""
    if error.extendedresult in TORN:
        return errors.StoreDamagedError(path, f"a part of it is missing ({error})")
    number = connection.system_errno if connection is not None else _find_open_error(path)
    if number in REPORTED_CAUSES:
        return files.translate(OSError(number, os.strerror(number)), path)
    return StoreUnreachableError(path, f"the disk reported an error ({error})")


def _find_open_error(path: str) -> int:
    """Without a connection SQLite reports no cause; opening the folder does, and drops no lock."""
    try:
        os.close(os.open(os.path.dirname(path), os.O_RDONLY))
    except OSError as error:
        return error.errno or 0
    if os.access(path, os.R_OK | os.W_OK):
        return 0
    return errno.EACCES
