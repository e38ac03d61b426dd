"""Named points of a write at which a process can die, reached through SQLite's own hooks.

Nothing of Holdfast is touched: every connection that is opened gets a hook which counts, and at the
right count the process kills itself, without a chance to clean up.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

import apsw

Die = Callable[[], None]


def before_begin(connection: apsw.Connection, die: Die) -> None:
    on_statement(connection, lambda sql: sql == "begin immediate", die)


def after_counter(connection: apsw.Connection, die: Die) -> None:
    on_change(connection, apsw.SQLITE_UPDATE, "sessions", die)


def after_insert(connection: apsw.Connection, die: Die) -> None:
    on_change(connection, apsw.SQLITE_INSERT, "session_events", die)


def before_commit(connection: apsw.Connection, die: Die) -> None:
    connection.set_commit_hook(lambda: bool(die()))


def after_commit(connection: apsw.Connection, die: Die) -> None:
    """Durable, and not yet acknowledged."""

    def hook(*_: Any) -> int:
        die()
        return apsw.SQLITE_OK

    connection.set_wal_hook(hook)


def between_change_and_telling(connection: apsw.Connection, die: Die) -> None:
    on_statement(connection, lambda sql: sql.startswith("insert into outbox"), die)


def after_tombstone(connection: apsw.Connection, die: Die) -> None:
    on_change(connection, apsw.SQLITE_INSERT, "erasures", die)


def after_wal_switch(connection: apsw.Connection, die: Die) -> None:
    """The file is in write-ahead mode and empty."""
    on_statement(
        connection,
        lambda sql: sql.startswith("create table if not exists holdfast_migrations"),
        die,
    )


def mid_migration(connection: apsw.Connection, die: Die) -> None:
    on_statement(
        connection,
        lambda sql: sql.startswith(("create t", "create i", "create u", "pragma user_ver")),
        die,
    )


def on_statement(connection: apsw.Connection, matches: Callable[[str], bool], die: Die) -> None:
    def trace(_: apsw.Cursor, sql: str, bindings: object) -> bool:
        if matches(sql.lstrip()):
            die()
        return True

    connection.set_exec_trace(trace)


def on_change(connection: apsw.Connection, kind: int, table: str, die: Die) -> None:
    def hook(operation: int, database: str, changed: str, rowid: int) -> None:
        if (operation, changed) == (kind, table):
            die()

    connection.set_update_hook(hook)


def arm(point: str, number: int) -> None:
    """Die when this point is reached for the nth time."""
    left = number

    def die() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    apsw.connection_hooks.append(lambda connection: globals()[point](connection, die))
