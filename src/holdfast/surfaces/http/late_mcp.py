"""MCP behind the HTTP door, opened when the first agent comes.

Its library takes as long to load as everything else of a server together, and most servers are
started for the console. What has to run beside it is entered and left by one task of its own, as
its library asks for. A body is read before, by the same rules as everywhere: the library would wait
for one without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from holdfast.app import App
from holdfast.surfaces.http.bodies import MAX_BYTES, check_media_type, read_body
from holdfast.surfaces.http.events import Streams, run_until_first
from holdfast.surfaces.http.here import SeenRoots

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.http import McpOverHttp


class LateMcp:
    def __init__(self, app: App, seen: SeenRoots, streams: Streams):
        self.app = app
        self.seen = seen
        self.streams = streams
        self._opening = asyncio.Lock()
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._door: McpOverHttp | None = None
        self._beside: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            receive = await _with_body(scope, receive)
        door = await self._open()
        if scope["method"] == "GET":  # a stream, which lasts no longer than the token
            end = self.streams.wait_for_end(scope["state"]["token"])
            await run_until_first(door(scope, receive, send), end)
        else:
            await door(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._over.set()
            if self._beside is not None:
                await self._beside

    async def _open(self) -> McpOverHttp:
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

        developer = self.app.settings.developer
        return McpOverHttp(
            app_for,
            principal_of=lambda _: developer,
            body_bytes=MAX_BYTES,
            exists=self.seen.exists,
            folder=self.app.served_worktree,
        )

    async def _run_beside(self, door: McpOverHttp) -> None:
        try:
            async with door.running():
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()


async def _with_body(scope: Scope, receive: Receive) -> Receive:
    """What was read and found good, given once more; then whatever else comes."""
    request = Request(scope, receive)
    check_media_type(request.headers.getlist("content-type"))
    body = await read_body(request)
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        if waiting:
            return waiting.pop()
        return await receive()

    return receive_again
