"""The embedded store: SQLite through apsw.

One writer. With a running loop a thread commits what has queued up (`group_commit`); without one the unit of
work runs inline. `BEGIN IMMEDIATE` always: a deferred transaction that turns into a writer is
refused at once when somebody else wrote meanwhile, however long the busy timeout.
"""

from __future__ import annotations

import os
import stat
import sys
from _thread import allocate_lock  # `threading` would cost a hook two milliseconds

import apsw

from holdfast import errors
from holdfast.ground import clock, files
from holdfast.storage import migrate
from holdfast.storage.database import drive
from holdfast.storage.failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any, TypeVar

    from holdfast.storage.database import Row, Transaction
    from holdfast.storage.group_commit import GroupCommit
    from holdfast.storage.queries import Query, Room

    T = TypeVar("T")
    Work = Callable[[Transaction], Awaitable[Any]]

OLDEST_SQLITE = (3, 51, 3)  # before: a checkpoint that races a write can drop a committed transaction
BUSY_MILLISECONDS = 30_000
PRAGMAS = (
    "pragma synchronous=full",
    "pragma foreign_keys=on",
    "pragma trusted_schema=off",
    "pragma recursive_triggers=on",
    "pragma secure_delete=on",  # what is forgotten must not linger in free pages
)


def check_version(found: str) -> None:
    """Refuse a SQLite that can lose a committed write."""
    if tuple(int(part) for part in found.split(".")[:3]) < OLDEST_SQLITE:
        raise errors.SqliteTooOldError(found, ".".join(map(str, OLDEST_SQLITE)))


def open_sqlite(path: str) -> SqliteDatabase:
    """The store in a file; made, or brought up to date, when needed."""
    check_version(apsw.sqlite_lib_version())
    _make_file(path)
    database = SqliteDatabase(path)
    try:
        migrate.migrate_sqlite(database.connection, path)
    except BaseException as error:
        database.connection.close()
        raise translate(error, path) from None
    return database


def _make_file(path: str) -> None:
    """An empty private file, before SQLite would make one with the umask's rights."""
    try:
        files.private_folder(os.path.dirname(path))
        if os.path.exists(path):
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise errors.NotADatabaseError(path, "is not a regular file")
            return
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise files.translate(error, path) from None


def connect(path: str) -> apsw.Connection:
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.setlk_timeout(BUSY_MILLISECONDS, 0)  # waits in steps of a millisecond: nobody starves
        for pragma in PRAGMAS:
            connection.execute(pragma)
    except apsw.Error as error:
        raise translate(error, path) from None
    return connection


class SqliteTransaction:
    """Runs queries on the connection that holds the transaction."""

    def __init__(self, connection: apsw.Connection):
        self.connection = connection
        self._rooms: set[Room] = set()
        self.now = ""
        connection.create_scalar_function("now_utc", self._get_now, 0)

    def _get_now(self, *_: object) -> str:
        return self.now

    def begin_unit(self) -> None:
        """One moment for a whole unit of work, as SQL's `now()` is one for a transaction."""
        self.now = clock.to_text(clock.now())

    async def run(self, query: Query, *args: object) -> list[Row]:
        return self.execute(query, args)

    def execute(self, query: Query, args: Sequence[object]) -> list[Row]:
        if query.room not in self._rooms:
            self._learn(query.room)
        bindings = {str(number): value for number, value in enumerate(args, 1)}
        rows: list[Row] = []
        for statement in query.statements:
            rows = list(self.connection.execute(statement, bindings))
        return rows

    def _learn(self, room: Room) -> None:
        for name, function in room.functions.items():
            self.connection.create_scalar_function(name, function, deterministic=True)
        self._rooms.add(room)


class SqliteDatabase:
    engine = "sqlite"

    def __init__(self, path: str):
        self.path = path
        self.connection = connect(path)
        self._process = os.getpid()
        self._writing = SqliteTransaction(self.connection)
        self._write_lock = allocate_lock()
        self._reading: SqliteTransaction | None = None
        self._read_lock = allocate_lock()
        self._group: GroupCommit | None = None
        self._closed = False

    async def read(self, query: Query, *args: object) -> list[Row]:
        self._check_open()
        try:
            if _running_loop() is None:
                with self._write_lock:
                    return self._writing.execute(query, args)
            with self._read_lock:
                return self._reader().execute(query, args)
        except apsw.Error as error:
            raise translate(error, self.path) from None

    async def write(self, query: Query, *args: object) -> list[Row]:
        return await self.transaction(lambda tx: tx.run(query, *args))

    async def write_rows(self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]) -> list[Row]:
        async def work(tx: Transaction) -> list[Row]:
            answers = [(await tx.run(query, *head, *row))[0] for row in rows]
            if any(answer[0] for answer in answers):
                raise _Undo(answers)
            return answers

        try:
            return await self.transaction(work)
        except _Undo as undo:
            return undo.answers

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        self._check_open()
        loop = _running_loop()
        if loop is None:
            [outcome] = self.commit([work])
            if isinstance(outcome, Failure):
                raise outcome.error
            return outcome  # type: ignore[no-any-return]
        return await self._grouping().submit(loop, work)  # type: ignore[no-any-return]

    async def scrub(self) -> None:
        """Empty the write-ahead log, where erased content would linger; a reader that is in the way may keep it."""
        self._check_open()
        with self._write_lock:
            try:
                self.connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            except apsw.Error as error:
                raise translate(error, self.path) from None

    async def close(self) -> None:
        """Finish what is queued, then let go of the file."""
        if self._closed:
            return
        self._closed = True
        if self._group is not None:
            self._group.finish()
        with self._write_lock, self._read_lock:
            if self._reading is not None:
                self._reading.connection.close()
            self.connection.close()

    def _check_open(self) -> None:
        if self._closed or self._process != os.getpid():
            raise errors.StoreClosedError(self.path)

    def _reader(self) -> SqliteTransaction:
        """A second connection: a read must not wait for the writer's fsync."""
        if self._reading is None:
            self._reading = SqliteTransaction(connect(self.path))
        return self._reading

    def _grouping(self) -> GroupCommit:
        if self._group is None:
            from holdfast.storage.group_commit import GroupCommit  # a hook never gets here

            self._group = GroupCommit(self.commit)
        return self._group

    def commit(self, works: Sequence[Work]) -> list[Any]:
        """All units in one transaction, each with its own outcome; the commit decides for all that went well."""
        with self._write_lock:
            try:
                self.connection.execute("begin immediate")
                outcomes = [self._attempt(work, alone=len(works) == 1) for work in works]
                self.connection.execute("commit")
            except BaseException as error:
                if self.connection.in_transaction:
                    self.connection.execute("rollback")
                failure = Failure(translate(error, self.path))
                return [failure] * len(works)
            return outcomes

    def _attempt(self, work: Work, *, alone: bool) -> Any:
        self._writing.begin_unit()
        if alone:
            return drive(work(self._writing))  # type: ignore[arg-type]
        self.connection.execute("savepoint unit")
        try:
            outcome: Any = drive(work(self._writing))  # type: ignore[arg-type]
        except BaseException as error:
            if not self.connection.in_transaction:  # the engine undid everything, so everybody has to know
                raise
            self.connection.execute("rollback to unit")
            outcome = Failure(translate(error, self.path))
        self.connection.execute("release unit")
        return outcome


class _Undo(Exception):
    """Takes a refused call out of the transaction and carries the reasons."""

    def __init__(self, answers: list[Row]):
        self.answers = answers


def _running_loop() -> AbstractEventLoop | None:
    asyncio = sys.modules.get("asyncio")
    return asyncio._get_running_loop() if asyncio else None


def translate(error: BaseException, path: str) -> BaseException:
    """An engine's error as one of ours; anything else as it is."""
    if not isinstance(error, apsw.Error):
        return error
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return errors.StoreBusyError(path)
        case apsw.FullError():
            return errors.StoreFullError(path)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return errors.StoreReadOnlyError(path)
        case apsw.NotADBError():
            return errors.NotADatabaseError(path)
        case apsw.CorruptError():
            return errors.StoreDamagedError(path, str(error))
        case apsw.CantOpenError():
            return errors.StoreReadOnlyError(path, "it cannot be opened")
        case apsw.IOError():
            return errors.StoreUnreachableError(path, f"the disk reported an error ({error})")
    return error
