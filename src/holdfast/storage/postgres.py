"""The team store: PostgreSQL through asyncpg.

A verb is one SQL function that takes the workspace and the developer, sets them for its transaction
and does the work: one round trip with row-level security, and safe behind a pooler, because nothing
outlives the transaction.
"""

from __future__ import annotations

import asyncio
import random
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import asyncpg

from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.ground import settings
from holdfast.storage import errors, postgres_migrate
from holdfast.storage.database import PATIENCE_SECONDS
from holdfast.storage.postgres_errors import (
    LOST,
    ROLLED_BACK,
    first_line,
    translate,
    translate_errors,
)
from holdfast.storage.postgres_hosts import Hosts
from holdfast.storage.row_groups import GroupedCall, RowGroups

if TYPE_CHECKING:
    from holdfast.storage.database import Row, Transaction
    from holdfast.storage.queries import Query

T = TypeVar("T")

# Only what pgbouncer takes. The other limits are no startup parameters, which it refuses, and no
# state of a connection, which it shares out: where a transaction of several statements begins, a
# function sets them for it, and a single statement is limited from here.
SERVER_SETTINGS = {"application_name": "holdfast"}
STATEMENT_SECONDS = 15.0
CONNECT_SECONDS = 10.0
CACHE_OPTION = "statement_cache_size"
ATTEMPTS = 10  # of what the server has rolled back because of another transaction
PAUSE_SECONDS = 0.01
TAKEOVER_PAUSE_SECONDS = 0.5
# Whoever was interrupted does not know what the server does now.
INTERRUPTED = (TimeoutError, asyncio.CancelledError)
REFUSED_OPTION = (
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
    asyncpg.ProtocolViolationError,
)


class MayBeDone(Exception):
    """The server was lost when it had been told to commit, so nobody knows whether it did."""

    def __init__(self, error: Exception):
        self.error = error


class UnsafeRoleWarning(UserWarning):
    """Row-level security does not hold for the role that is connected."""


class Role(NamedTuple):
    """What the connected role is and may do."""

    name: str
    superuser: bool
    bypasses: bool
    may_create: bool
    owns: bool
    reads_all: bool
    schema: int | None
    functions: int | None

    @property
    def weakness(self) -> str | None:
        """Why row-level security does not hold for it, or None."""
        if self.superuser:
            return "is a superuser"
        if self.bypasses:
            return "has BYPASSRLS"
        if self.owns:
            return "owns the tables"
        if self.reads_all:
            return "is a member of holdfast_reader"
        return None


# In Python and not in a room's queries: both are asked of databases that may have nothing of ours.
VERSION = """
select (select max(number) from holdfast.migrations), (select max(number) from holdfast.functions)
"""
ROLE = """
select current_user::text, r.rolsuper, r.rolbypassrls,
       has_database_privilege(current_database(), 'CREATE'),
       coalesce((select pg_has_role(c.relowner, 'MEMBER') from pg_class c
                 join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = 'holdfast' and c.relname = 'migrations'), false),
       exists (select from pg_roles x
               where x.rolname = 'holdfast_reader' and pg_has_role(x.oid, 'USAGE'))
from pg_roles r
where r.rolname = current_user
"""


@asynccontextmanager
async def open_postgres(
    url: str, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[PostgresDatabase]:
    """A pool on a database whose schema is the one this program knows."""
    where = where_of(url)
    server_url, options = split_options(url)
    hosts = Hosts(server_url)
    async with translate_errors(where), _known_options(where):
        pool = await asyncpg.create_pool(
            server_url,
            min_size=0,  # else it logs every attempt to have one while no server answers
            max_size=10,
            timeout=min(CONNECT_SECONDS, patience_seconds),
            connect=hosts.connect,
            reset=_leave_as_is,
            server_settings=SERVER_SETTINGS,
            **options,
        )
        async with pool.acquire():
            pass  # it can be reached, and takes the options
    takeover_seconds = patience_seconds if hosts.are_several else 0.0
    database = PostgresDatabase(pool, where, holds=True, takeover_seconds=takeover_seconds)
    try:
        await database.prepare(patience_seconds)
        yield database
    finally:
        await database.close()
        await pool.close()


async def _leave_as_is(connection: Any) -> None:
    """No reset between uses: our settings end with their transaction; a reset is a round trip."""


@asynccontextmanager
async def open_connection(url: str) -> AsyncIterator[Any]:
    where = where_of(url)
    server_url, options = split_options(url)
    async with translate_errors(where):
        async with _known_options(where):
            hosts = Hosts(server_url)
            connection = await hosts.connect(server_url, timeout=CONNECT_SECONDS, **options)
        try:
            yield connection
        finally:
            await connection.close()


def where_of(url: str) -> str:
    return settings.hide_password(url)


def split_options(url: str) -> tuple[str, dict[str, int]]:
    """The URL for the server, and the option of the driver: `?statement_cache_size=0`."""
    base, _, query = url.partition("?")
    kept: list[str] = []
    size: str | None = None
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name == CACHE_OPTION:
            size = value
        else:
            kept.append(part)
    if size is None:
        return url, {}
    if not (size.isascii() and size.isdecimal()):
        problem = f"has a {CACHE_OPTION} that is no number"
        raise InvalidValueError("HOLDFAST_DATABASE", where_of(url), problem)
    server_url = base
    rest = "&".join(kept)
    if rest:
        server_url += f"?{rest}"
    return server_url, {CACHE_OPTION: int(size)}


@asynccontextmanager
async def _known_options(where: str) -> AsyncIterator[None]:
    """What the driver does not know of a URL's query it sends to the server as a setting."""
    try:
        yield
    except REFUSED_OPTION as error:
        problem = f"has an option after the `?` that the server does not take: {first_line(error)}"
        raise InvalidValueError("HOLDFAST_DATABASE", where, problem) from error


class PostgresTransaction:
    def __init__(self, connection: Any):
        self._connection = connection

    async def run(self, query: Query, *args: object) -> list[Row]:
        return await _fetch(self._connection, _make_call(query.function, len(args)), args)

    async def run_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        sql, args = _make_group_call([GroupedCall(query, head, rows)])
        return await _fetch(self._connection, sql, args)


class PostgresDatabase:
    """A pool of connections: ours, or a plain `asyncpg.Pool` of the caller."""

    engine = "postgres"

    def __init__(
        self,
        pool: Any,
        where: str = "The database",
        *,
        holds: bool = False,
        takeover_seconds: float = 0.0,
    ):
        """`holds`: no other code uses the pool, so a connection is kept from call to call.

        `takeover_seconds`: how long a call waits until another server has taken over from the one
        that was lost.
        """
        self.pool, self.where, self._holds = pool, where, holds
        self._takeover_seconds = takeover_seconds
        self._held: Any = None
        self._asking = 0
        self._groups = RowGroups(self._send)
        self._role: Role | None = None
        self._looked_at_role = False

    async def prepare(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Migrate where the role may; say what to do where it may not."""
        role = await self.role()
        if postgres_migrate.is_behind(self.where, role.schema, role.functions):
            may_migrate = role.may_create
            if role.schema:
                may_migrate = role.owns
            if not may_migrate:
                raise errors.SchemaMissingError(self.where)
            async with translate_errors(self.where):
                await postgres_migrate.apply_postgres(
                    self.pool.acquire, self.where, patience_seconds=patience_seconds
                )
            self._role = None
        await self._look_at_role()

    async def role(self) -> Role:
        if self._role is None:
            async with translate_errors(self.where), self.pool.acquire() as connection:
                rights = await connection.fetchrow(ROLE)
                version = await _read_version(connection, self.where)
            self._role = Role._make([*rights, *version])
        return self._role

    async def read(self, query: Query, *args: object) -> list[Row]:
        return await self._fetch(_make_call(query.function, len(args)), args)

    async def write(self, query: Query, *args: object) -> list[Row]:
        return await self._fetch(_make_call(query.function, len(args)), args, once=query.once)

    async def write_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        return await self._groups.write(query, head, rows)

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async def once() -> T:
            async with self._begin() as connection:
                return await work(PostgresTransaction(connection))

        async with translate_errors(self.where):
            return await self._retry_lost(once)

    async def try_transaction(
        self, work: Callable[[Transaction], Awaitable[T]], seconds: float
    ) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await self.transaction(work)
        except TimeoutError:
            raise StoreBusyError(self.where) from None

    async def scrub(self) -> None:
        """Nothing to do here: PostgreSQL's own vacuum removes the old row versions."""

    async def close(self) -> None:
        """Wait for what is under way; the pool is closed by the code that made it."""
        self._holds = False
        await self._groups.finish()
        await self._release_held()

    async def _look_at_role(self) -> None:
        """Warn once about a role that bypasses row-level security; `serve` refuses it."""
        self._looked_at_role = True
        role = await self.role()
        if role.superuser or role.bypasses or role.reads_all:
            error = errors.UnsafeRoleError(role.name, role.weakness or "")
            warnings.warn(str(error), UnsafeRoleWarning, stacklevel=2)

    async def _fetch(self, sql: str, args: Sequence[object], *, once: bool = False) -> list[Row]:
        """One statement; `once` is not repeated where it may have been done."""
        if not self._looked_at_role:
            await self._look_at_role()
        try:
            return await self._retry_lost(lambda: self._fetch_again(sql, args, once=once))
        except Exception as error:
            raise translate(error, self.where) from None

    async def _fetch_again(self, sql: str, args: Sequence[object], *, once: bool) -> list[Row]:
        """Again where the same id was written at the same moment."""
        async with self._connection() as connection:
            try:
                return await _fetch(connection, sql, args)
            except asyncpg.UniqueViolationError:
                if once:
                    raise
                return await _fetch(connection, sql, args)
            except (*LOST, TimeoutError) as error:
                is_undone = isinstance(error.__cause__, asyncpg.AdminShutdownError)
                if once and not is_undone:
                    raise MayBeDone(error) from error
                raise

    async def _retry_lost(self, work: Callable[[], Awaitable[T]]) -> T:
        """Again on another connection: a first time at once, then until a server has taken over."""
        deadline = time.monotonic() + self._takeover_seconds
        is_first = True
        while True:
            try:
                return await _retry_rolled_back(work)
            except MayBeDone as lost:
                raise lost.error from None
            except Exception as error:
                is_over = not is_first and time.monotonic() >= deadline
                if is_over or not self._is_lost(error):
                    raise
            await self._forget_connections()
            if not is_first:
                await asyncio.sleep(random.random() * TAKEOVER_PAUSE_SECONDS)
            is_first = False

    def _is_lost(self, error: Exception) -> bool:
        """Whether another connection may lead to a server that does it."""
        if isinstance(error, (*LOST, asyncpg.ReadOnlySQLTransactionError)):
            return True
        return self._takeover_seconds > 0 and isinstance(error, OSError)

    async def _forget_connections(self) -> None:
        """A server that restarted leaves every idle one dead."""
        await self._release_held()
        await self.pool.expire_connections()

    @asynccontextmanager
    async def _begin(self) -> AsyncIterator[Any]:
        """A connection inside a transaction."""
        async with self._connection() as connection:
            transaction = connection.transaction(isolation="read_committed")
            async with asyncio.timeout(STATEMENT_SECONDS):
                await transaction.start()
            try:
                yield connection
            except INTERRUPTED:
                raise  # the connection ends, and with it the transaction
            except BaseException:
                await _roll_back(connection, transaction)
                raise
            try:
                async with asyncio.timeout(STATEMENT_SECONDS):
                    await transaction.commit()
            except (*LOST, TimeoutError) as error:
                raise MayBeDone(error) from error

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """The previous call's connection, if free: the pool's costs a fifth of an append."""
        connection, self._held = self._held, None
        if connection is None or not _is_open(connection):
            self._asking += 1
            try:
                connection = await self.pool.acquire()
            finally:
                self._asking -= 1
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, INTERRUPTED) or isinstance(error.__cause__, TimeoutError):
                # The server is not asked to cancel: it may be cut off, and then that takes minutes.
                # A commit that waits for a synchronous standby would be done without one.
                connection.terminate()
            await self.pool.release(connection)
            raise
        if self._holds and self._held is None and not self._asking:
            self._held = connection
        else:
            await self.pool.release(connection)

    async def _release_held(self) -> None:
        connection, self._held = self._held, None
        if connection is not None:
            await self.pool.release(connection)

    async def _send(self, calls: Sequence[GroupedCall]) -> list[Row]:
        sql, args = _make_group_call(calls)
        return await self._fetch(sql, args)


async def _fetch(connection: Any, sql: str, args: Sequence[object]) -> list[Row]:
    rows: list[Row] = await connection.fetch(sql, *args, timeout=STATEMENT_SECONDS)
    return rows


async def _roll_back(connection: Any, transaction: Any) -> None:
    """Without an error: the one that is under way says more."""
    try:
        async with asyncio.timeout(STATEMENT_SECONDS):
            await transaction.rollback()
    except TimeoutError:
        connection.terminate()
    except (*LOST, asyncpg.InterfaceError):
        pass


def _is_open(connection: Any) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it broke while idle, and the pool has taken it back
        return False


async def _retry_rolled_back(work: Callable[[], Awaitable[T]]) -> T:
    """Again after a deadlock or a serialization error, which leave nothing behind."""
    for attempt in range(1, ATTEMPTS):
        try:
            return await work()
        except ROLLED_BACK:
            # Random, so that the same two transactions do not meet again.
            pause = random.random() * attempt * PAUSE_SECONDS
            await asyncio.sleep(pause)
    return await work()


_databases_by_pool: dict[int, tuple[Any, PostgresDatabase]] = {}


def wrap_pool(pool: Any) -> PostgresDatabase:
    """One database for one pool, however many services it is given to: its role is looked at once.

    By hand, because an `asyncpg.Pool` takes no weak reference: a closed one is dropped with the
    next call.
    """
    closed = [key for key, (known, _) in _databases_by_pool.items() if known.is_closing()]
    for key in closed:
        del _databases_by_pool[key]
    if not hasattr(pool, "is_closing") or pool.is_closing():
        return PostgresDatabase(pool)
    new = (pool, PostgresDatabase(pool))
    _, database = _databases_by_pool.setdefault(id(pool), new)
    return database


def _make_group_call(calls: Sequence[GroupedCall]) -> tuple[str, tuple[object, ...]]:
    """One row as its own function takes it; several as arrays, each with its call's number."""
    first = calls[0]
    args: tuple[object, ...]
    if len(calls) == len(first.rows) == 1:
        [row] = first.rows
        args = (*first.head, *row)
        return _make_call(first.query.single, len(args)), args
    numbers: list[int] = []
    rows: list[Sequence[object]] = []
    for number, call in enumerate(calls):
        numbers += [number] * len(call.rows)
        rows += call.rows
    columns = [list(column) for column in zip(*rows, strict=True)]
    args = (*first.head, numbers, *columns)
    return _make_call(first.query.function, len(args)), args


@cache
def _make_call(function: str, count: int) -> str:
    """`select * from context.find_session($1,$2,$3)`"""
    numbers = range(1, count + 1)
    places = ",".join(f"${number}" for number in numbers)
    return f"select * from {function}({places})"


async def _read_version(connection: Any, where: str) -> Sequence[int | None]:
    """The numbers of the newest migration and of the functions that are installed."""
    try:
        found: Sequence[int | None] = await connection.fetchrow(VERSION)
        return found
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        with suppress(asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            await postgres_migrate.refuse_unreleased(connection, where)
        return None, None
