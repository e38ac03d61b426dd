"""PostgreSQL's errors as ours, each with its own advice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from holdfast.errors import (
    InvalidValueError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from holdfast.storage import errors

PERMISSION_ADVICE = (
    "A program's role is a member of holdfast_runtime. The role that migrates owns the database "
    "and may create roles, or a role that may has created holdfast_runtime before. A table of "
    "another program that was made again needs `holdfast admin migrate` by its owner."
)
READ_ONLY_ADVICE = (
    "HOLDFAST_DATABASE may name a standby: name the primary server. Otherwise "
    "default_transaction_read_only is set for the database or the role."
)
NOT_AWAITED = "is not open yet. Await asyncpg.create_pool() before its first use"
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,
    ConnectionError,
)
ROLLED_BACK = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
LOCKED = (*ROLLED_BACK, asyncpg.LockNotAvailableError)
MIXED_UP = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
WRONG_URL = (asyncpg.ClientConfigurationError, *MIXED_UP)
# By another program, whose table of memories was adopted.
CHANGED_TABLE = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.DatatypeMismatchError,
)
UNREACHABLE = (
    *LOST,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
)


@asynccontextmanager
async def translate_errors(where: str) -> AsyncIterator[None]:
    try:
        yield
    except Exception as error:
        ours = translate(error, where)
        if ours is error:
            raise
        raise ours from error


def translate(error: Exception, where: str) -> Exception:
    """An engine's error as one of ours, each with its own advice; anything else as it is."""
    match error:
        case asyncpg.UndefinedFunctionError() | asyncpg.InvalidSchemaNameError():
            return errors.SchemaMissingError(where)
        case asyncpg.InsufficientPrivilegeError():
            statements = (errors.GRANT_RUNTIME_ROLE, errors.CREATE_RUNTIME_ROLE)
            return errors.PermissionRefusedError(
                where, first_line(error), PERMISSION_ADVICE, statements
            )
        case asyncpg.UniqueViolationError():
            return errors.IdTakenError()
        case asyncpg.InvalidAuthorizationSpecificationError() | asyncpg.InvalidCatalogNameError():
            return errors.LoginRefusedError(where, first_line(error))
        case asyncpg.DiskFullError():
            return StoreFullError(where)
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreReadOnlyError(where, "it accepts reads only", READ_ONLY_ADVICE)
        case asyncpg.InterfaceError() if str(error).startswith("pool is clos"):
            return errors.PoolClosedError(where)
        case asyncpg.InterfaceError() if "initialized" in str(error):
            return errors.PoolClosedError(where, NOT_AWAITED)
        case asyncpg.DataCorruptedError() | asyncpg.IndexCorruptedError():
            return errors.StoreDamagedError(where, str(error))
    return _translate_group(error, where)


def _translate_group(error: Exception, where: str) -> Exception:
    """Errors whose classes mean the same to us."""
    if isinstance(error, LOCKED):
        return StoreBusyError(where)
    if isinstance(error, CHANGED_TABLE):
        detail = f"has other tables than Holdfast needs: {first_line(error)}"
        return errors.SchemaMissingError(where, detail)
    if isinstance(error, asyncpg.QueryCanceledError):  # by a limit on statements, or by a person
        return StoreBusyError(where, f"stopped the statement ({first_line(error)})")
    if isinstance(error, asyncpg.TooManyConnectionsError):
        return StoreBusyError(where, f"has no connection left ({first_line(error)})")
    if isinstance(error, WRONG_URL):
        return InvalidValueError("HOLDFAST_DATABASE", where, _describe_url_problem(error))
    if isinstance(error, UNREACHABLE):
        return StoreUnreachableError(where, first_line(error))
    return error


def _describe_url_problem(error: BaseException) -> str:
    """What is wrong with the URL itself, which waiting would not fix."""
    if isinstance(error, MIXED_UP):
        return "leads to a pooler that mixes up prepared statements; add ?statement_cache_size=0"
    return f"cannot be used as it is: {first_line(error)}"


def first_line(error: BaseException) -> str:
    if isinstance(error, asyncpg.InvalidPasswordError):  # the server does not say which of the two
        return f"the password is wrong, or there is no such role ({error})"
    if isinstance(error, TimeoutError) and not str(error):
        return "it did not answer in time"
    return (str(error) or type(error).__name__).splitlines()[0]
