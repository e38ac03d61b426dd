"""Follows events for every listener in this process.

One look for all of them, several times a second: it reads the last number of each source from an
index, works through a pooler that does not pass notifications on, and finds what other processes
wrote. Each listener then reads from its own cursor.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.storage.outbox import OutboxEvent

LOOK_SECONDS = 0.2
STALE_SECONDS = 0.2  # how long what was read may wait for a slow listener before it is read again
PAGE = 100


class Source(Protocol):
    """The outbox, or it and what else a developer may hear."""

    async def read(self, after: str, limit: int = ...) -> list[OutboxEvent]: ...

    async def end(self) -> str: ...


class Tail:
    def __init__(self, source: Source):
        self.source = source
        self._moved = asyncio.Event()
        self._end: str | None = None
        self._listeners = 0
        self._looking: asyncio.Task[None] | None = None

    async def follow(
        self, after: str | None, quiet_seconds: float
    ) -> AsyncIterator[OutboxEvent | None]:
        """Every event beyond a cursor as it comes; None whenever nothing has come for so long."""
        cursor = after
        if cursor is None:
            cursor = await self.source.end()
        self._join()
        try:
            while True:
                moved = self._moved  # before the read, so that what comes during it is noticed
                events = await self.source.read(cursor, PAGE)
                # A read that waited for its turn is not old: else a busy server would read again
                # after each event.
                read_at = time.monotonic()
                is_behind = len(events) == PAGE
                for event in events:
                    cursor = event.cursor
                    yield event
                    if time.monotonic() - read_at > STALE_SECONDS:
                        is_behind = True  # what this listener may see can have changed meanwhile
                        break
                if not is_behind and not await _set_within(moved, quiet_seconds):
                    yield None
        finally:
            self._leave()

    def _join(self) -> None:
        self._listeners += 1
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())

    def _leave(self) -> None:
        self._listeners -= 1
        if not self._listeners and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            with suppress(HoldfastError):  # listeners meet it themselves when they read
                end = await self.source.end()
                if end != self._end:
                    self._end = end
                    self._moved.set()
                    self._moved = asyncio.Event()
            await asyncio.sleep(LOOK_SECONDS)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        # Not `wait_for`: it loses a cancellation that comes together with the event.
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
