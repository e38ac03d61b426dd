"""The accounts in the top strip: stored, spooled, lost. To count is to read, so it is done once for
all pages.
"""

from __future__ import annotations

import asyncio
import time

from holdfast.app import App
from holdfast.storage.accounting import Accounting

KEPT_SECONDS = 1.0
# A store that takes long to count is asked less often: at most a twentieth of the time goes into
# counting.
SHARE = 20


class Stock:
    def __init__(self, app: App):
        self.app = app
        self._lock = asyncio.Lock()
        self._known: Accounting | None = None
        self._until = 0.0

    async def read(self) -> Accounting:
        async with self._lock:
            if self._known is None or time.monotonic() >= self._until:
                started = time.monotonic()
                self._known = await self.app.take_stock()
                ended = time.monotonic()
                self._until = ended + max(KEPT_SECONDS, SHARE * (ended - started))
            return self._known
