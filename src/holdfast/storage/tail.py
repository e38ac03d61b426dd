"""Follows the outbox for every listener in this process.

One query for all of them, several times a second: it reads one indexed row, works through a pooler
that does not pass notifications on, and finds what other processes wrote. Each listener then reads
from its own cursor.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.storage.outbox import Outbox, OutboxEvent

LOOK_SECONDS = 0.2
PAGE = 100


class Tail:
    def __init__(self, outbox: Outbox):
        self.outbox = outbox
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
            cursor = await self.outbox.end()
        self._join()
        try:
            while True:
                moved = self._moved  # before the read, so that what comes during it is noticed
                events = await self.outbox.read(cursor, PAGE)
                for event in events:
                    cursor = event.cursor
                    yield event
                if not events and not await _set_within(moved, quiet_seconds):
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
                end = await self.outbox.end()
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
