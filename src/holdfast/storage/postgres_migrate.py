"""Migrating a PostgreSQL database: the tables by numbered files, the functions as they are now.

Both go into the ledger with a number and a checksum. A migration is applied once. Functions are
replaced by those of a higher number; an older program neither replaces them nor runs on them, as
with a newer schema.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from holdfast.errors import shown
from holdfast.storage import errors, functions
from holdfast.storage.adoption import Adoption, Report
from holdfast.storage.database import PATIENCE_SECONDS
from holdfast.storage.migrate import Migration, migrations, pending, read_ledger, refuse_newer
from holdfast.storage.queries import Block

INSUFFICIENT_PRIVILEGE = "42501"
# What a migration raises that finds another program's `memori.memories` and cannot use it.
DUPLICATE_SCHEMA = "42P06"
# The same, where it is a table: the error names the problem and its fix.
NOT_ADOPTABLE = "HF001"
# Classes of errors: values, constraints, names and types, limits.
ABOUT_A_TABLE = ("22", "23", "42", "54")
UNRELEASED_MIGRATION = "0001_storage"  # of databases from before the first release
ISOLATION = "read_committed"  # to see what another process did while we waited
PAUSE_SECONDS = 0.1

Connect = Callable[[], AbstractAsyncContextManager[Any]]


def _ignore(step: str) -> None:
    """For a caller to which nothing is reported."""


def is_behind(where: str, schema: int | None, installed: int | None) -> bool:
    """Whether a database lacks something that this program has; a newer one is refused."""
    newest = migrations("postgres")[-1].number
    refuse_newer(where, schema or 0, newest)
    refuse_newer(where, installed or 0, functions.NUMBER, "functions")
    is_current = schema == newest and installed == functions.NUMBER
    return not is_current


async def apply_postgres(
    connect: Connect,
    where: str,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    report: Report = _ignore,
) -> list[str]:
    """All that is pending, in one transaction: a crash inside leaves the old schema whole.

    A table of another program is prepared before, in steps of their own.
    """
    ledger = read_ledger("postgres")
    async with connect() as guard, _hold_ledger(guard, ledger), connect() as connection:
        adoption = Adoption(connection, where, patience_seconds, report)
        try:
            if await adoption.is_needed():
                await adoption.prepare(lambda: _rehearse(adoption, ledger))
            async with connection.transaction(isolation=ISOLATION):
                applied = await _apply_postgres(adoption, ledger)
                await guard.execute(ledger["keep_lock"])  # fails where the lock was lost meanwhile
            return applied
        except Exception as error:
            await _raise_described(error, adoption, ledger)
            raise


@asynccontextmanager
async def _hold_ledger(connection: Any, ledger: dict[str, str]) -> AsyncIterator[None]:
    """One process migrates; the others wait, and then see the result.

    The lock has a transaction of its own, because adopting a table takes several. It is not a lock
    of the connection: a pooler would keep that after us.
    """
    transaction = await _try_lock(connection, ledger)
    while transaction is None:
        await asyncio.sleep(PAUSE_SECONDS * random.random())
        transaction = await _try_lock(connection, ledger)
    try:
        await connection.execute(ledger["keep_lock"])
        yield
    finally:
        if not connection.is_closed():
            await transaction.rollback()


async def _try_lock(connection: Any, ledger: dict[str, str]) -> Any:
    # A transaction that keeps what it has seen would hold up an index.
    transaction = connection.transaction(isolation=ISOLATION)
    await transaction.start()
    if await connection.fetchval(ledger["lock_ledger"]):
        return transaction
    await transaction.rollback()
    return None


async def _rehearse(adoption: Adoption, ledger: dict[str, str]) -> None:
    """The whole migration, and nothing of it stays."""
    transaction = adoption.connection.transaction(isolation=ISOLATION)
    await transaction.start()
    try:
        await _apply_postgres(adoption, ledger)
    finally:
        if not adoption.connection.is_closed():
            await transaction.rollback()


async def _raise_described(error: Exception, adoption: Adoption, ledger: dict[str, str]) -> None:
    connection, where = adoption.connection, adoption.where
    sqlstate: str = getattr(error, "sqlstate", None) or ""
    if sqlstate == INSUFFICIENT_PRIVILEGE:
        owner = await connection.fetchval(ledger["other_owner"])
        raise _describe_permission(where, error, owner) from error
    if sqlstate == DUPLICATE_SCHEMA:
        raise errors.SchemaTakenError(where, "memori") from error
    if await _is_about_foreign_table(adoption, sqlstate):
        remedy = getattr(error, "hint", None)
        is_begun = await connection.fetchval(adoption.sql["is_begun"])
        raise errors.AdoptionRefusedError(where, str(error), remedy, is_begun=is_begun) from error


async def _is_about_foreign_table(adoption: Adoption, sqlstate: str) -> bool:
    if sqlstate == NOT_ADOPTABLE:
        return True
    if sqlstate[:2] not in ABOUT_A_TABLE:
        return False
    return await adoption.has_foreign_table()


async def _apply_postgres(adoption: Adoption, ledger: dict[str, str]) -> list[str]:
    connection, where = adoption.connection, adoption.where
    encoding = await connection.fetchval(ledger["server_encoding"])
    if encoding != "UTF8":
        raise errors.WrongEncodingError(where, encoding)
    await connection.execute(ledger["make_ledger"])
    applied = await _read_applied(connection, ledger, where)
    todo = pending("postgres", applied, where)
    installed = await _read_installed(connection, ledger, where)
    names = [migration.name for migration in todo]
    if installed < functions.NUMBER and not names:
        names = [_name_functions()]
    # The other program may have changed its table, or made it again, since it was adopted.
    if names or await connection.fetchval(adoption.sql["is_adopted"]):
        await connection.execute(adoption.sql["check_table"])
        await _change_schema(adoption, ledger, todo, installed)
    return names


async def _change_schema(
    adoption: Adoption, ledger: dict[str, str], todo: Sequence[Migration], installed: int
) -> None:
    """What triggers call, then the tables, then the verbs; at last a foreign table is tried."""
    connection = adoption.connection
    guards = functions.read_functions("guards")
    if installed < functions.NUMBER:
        await _install(connection, guards, installed)
    for migration in todo:
        await connection.execute(migration.sql)
        entry = (migration.number, migration.name, migration.checksum)
        await connection.execute(ledger["add_migration"], *entry)
    is_adopted = await connection.fetchval(adoption.sql["is_adopted"])
    if is_adopted:
        await connection.execute(adoption.sql["expect_columns"])
    if is_adopted or installed < functions.NUMBER:
        verbs = functions.list_verbs(is_adopted=is_adopted)
        await _install(connection, verbs, installed)
        names = [functions.full_name(block) for block in (*guards, *verbs)]
        await connection.execute(ledger["grant_functions"], names)
    if installed < functions.NUMBER:
        checksum = functions.compute_checksum()
        await connection.execute(ledger["add_functions"], functions.NUMBER, checksum)
    if is_adopted:
        await adoption.add_columns()
        await connection.execute(adoption.sql["grant_table"])
        await adoption.run_briefly(adoption.sql["try_verbs"])


async def _install(connection: Any, blocks: Sequence[Block], installed: int) -> None:
    sql = "".join(block.sql for block in blocks)
    if not installed:  # an existing function is another program's, and must not be replaced
        sql = sql.replace("create or replace function", "create function")
    await connection.execute(sql)


async def _read_applied(connection: Any, ledger: dict[str, str], where: str) -> dict[int, str]:
    rows = await connection.fetch(ledger["applied_migrations"])
    if not rows:
        schema = await connection.fetchval(ledger["taken_schema"])
        if schema:
            raise errors.SchemaTakenError(where, schema)
    _refuse_unreleased(rows, where)
    return {row["number"]: row["checksum"] for row in rows}


async def refuse_unreleased(connection: Any, where: str) -> None:
    """For a role that may not migrate: an owner could not do it either."""
    ledger = read_ledger("postgres")
    _refuse_unreleased(await connection.fetch(ledger["applied_migrations"]), where)


def _refuse_unreleased(rows: Sequence[Any], where: str) -> None:
    if any(row["name"] == UNRELEASED_MIGRATION for row in rows):
        raise errors.UnreleasedSchemaError(where)


async def _read_installed(connection: Any, ledger: dict[str, str], where: str) -> int:
    """The number of the installed functions, or 0; the same number must mean the same text."""
    row = await connection.fetchrow(ledger["installed_functions"])
    number, checksum = row or (0, "")
    refuse_newer(where, number, functions.NUMBER, "functions")
    if number == functions.NUMBER:
        ours = functions.compute_checksum()
        if checksum != ours:
            raise errors.ChangedMigrationError(where, _name_functions())
    return int(number)


def _name_functions() -> str:
    return f"functions_{functions.NUMBER}"


def _describe_permission(
    where: str, error: Exception, owner: str | None
) -> errors.PermissionRefusedError:
    if owner:
        advice = (
            f"Its schemas and tables belong to {shown(owner)}: "
            "set HOLDFAST_DATABASE to that owner's URL."
        )
        return errors.PermissionRefusedError(where, str(error), advice)
    advice = (
        "Set HOLDFAST_DATABASE to the owner's URL. The owner of the database may create schemas; "
        "it may create roles too, or a role that may has created holdfast_runtime before."
    )
    return errors.PermissionRefusedError(where, str(error), advice, [errors.CREATE_RUNTIME_ROLE])
