"""MCP behind the HTTP door, opened when the first agent comes.

Its library takes as long to load as everything else of a server together, and most servers are started for the console.
What has to run beside it is entered and left by one task of its own, as its library asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from holdfast.app import App
from holdfast.ground.settings import sqlite_path
from holdfast.surfaces.http.bodies import MAX_BYTES

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.http import McpOverHttp


class LateMcp:
    def __init__(self, app: App):
        self.app = app
        self._opening = asyncio.Lock()
        self._ready, self._over = asyncio.Event(), asyncio.Event()
        self._door: McpOverHttp | None = None
        self._beside: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        door = await self._opened()
        await door(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._over.set()
            if self._beside is not None:
                await self._beside

    async def _opened(self) -> McpOverHttp:
        async with self._opening:
            if self._door is None:
                self._door = await asyncio.to_thread(self._make)
                self._beside = asyncio.create_task(self._run_beside(self._door))
        await self._ready.wait()
        return self._door

    def _make(self) -> McpOverHttp:
        from holdfast.surfaces.mcp.http import McpOverHttp

        async def app_for(_: object) -> App:
            return self.app

        is_local = sqlite_path(self.app.settings.database) is not None  # then the files are the person's own
        developer = self.app.settings.developer
        return McpOverHttp(app_for, principal_of=lambda _: developer, body_bytes=MAX_BYTES, sees_files=is_local)

    async def _run_beside(self, door: McpOverHttp) -> None:
        try:
            async with door.running():
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()
