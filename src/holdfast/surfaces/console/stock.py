"""The accounts in the top strip: stored, spooled, lost. To count is to read, so it is done once for
all pages.
"""

from __future__ import annotations

import asyncio
import time

from holdfast.app import App
from holdfast.storage.accounting import Accounting

KEPT_SECONDS = 1.0


class Stock:
    def __init__(self, app: App):
        self.app = app
        self._lock = asyncio.Lock()
        self._known: Accounting | None = None
        self._until = 0.0

    async def read(self) -> Accounting:
        async with self._lock:
            if self._known is None or time.monotonic() >= self._until:
                self._known = await self.app.take_stock()
                self._until = time.monotonic() + KEPT_SECONDS
            return self._known
