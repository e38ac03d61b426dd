"""What a store promises after it said yes, read from the contestant's own connection and not from
its docs.

A store that does not sync is fast for a reason; the table says which one it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

SYNCHRONOUS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}


def sqlite_durability(pragma: Callable[[str], Any]) -> str:
    """Journal mode and synchronous; WAL with NORMAL may lose the last commits when
    the power fails.
    """
    return (
        f"journal_mode={pragma('journal_mode')}, synchronous={SYNCHRONOUS[pragma('synchronous')]}"
    )


async def postgres_durability(show: Callable[[str], Awaitable[Any]]) -> str:
    """The three settings that decide whether an acknowledged commit is on disk."""
    names = ("fsync", "synchronous_commit", "full_page_writes")
    return ", ".join([f"{name}={await show(f'show {name}')}" for name in names])
