"""MCP behind the HTTP door, opened when the first agent comes.

Its library takes as long to load as everything else of a server together, and most servers are
started for the console. What has to run beside it is entered and left by one task of its own, as
its library asks for. A body is read before, by the same rules as everywhere: the library would wait
for one without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection, Request
from starlette.types import Message, Receive, Scope, Send

from holdfast.app import App
from holdfast.identity.errors import InsufficientScopeError
from holdfast.surfaces.http.bodies import MAX_BYTES, check_media_type, read_body
from holdfast.surfaces.http.events import Streams, run_until_first
from holdfast.surfaces.http.here import SeenRoots
from holdfast.surfaces.http.principal import get_principal
from holdfast.surfaces.http.problems import describe_error
from holdfast.surfaces.http.scopes import require_scope

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.http import McpOverHttp


class LateMcp:
    """Two doors: that of the developer of this machine, who has a checkout and files here, and that
    of all the others, who have none.
    """

    def __init__(self, app: App, seen: SeenRoots, streams: Streams):
        self.app = app
        self.seen = seen
        self.streams = streams
        self._opening = asyncio.Lock()
        self._over = asyncio.Event()
        self._at_home: OpenDoor | None = None
        self._elsewhere: OpenDoor | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = get_principal(HTTPConnection(scope))
        if scope["method"] == "POST":
            receive = await _with_body(scope, receive)
        door = await self._open(is_at_home=principal.app.is_at_home)
        answer = _Answer(scope, send)
        if scope["method"] == "GET":  # a stream, which lasts no longer than the token
            end = self.streams.wait_for_end(principal)
            await run_until_first(door(scope, receive, answer), end)
        else:
            await door(scope, receive, answer)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._over.set()
            for opened in (self._at_home, self._elsewhere):
                if opened is not None:
                    await opened.beside

    async def _open(self, *, is_at_home: bool) -> McpOverHttp:
        async with self._opening:
            if is_at_home:
                if self._at_home is None:
                    self._at_home = OpenDoor(await asyncio.to_thread(self._make), self._over)
                opened = self._at_home
            else:
                if self._elsewhere is None:
                    made = await asyncio.to_thread(self._make_elsewhere)
                    self._elsewhere = OpenDoor(made, self._over)
                opened = self._elsewhere
        await opened.ready.wait()
        return opened.door

    def _make(self) -> McpOverHttp:
        from holdfast.surfaces.mcp.http import McpOverHttp

        return McpOverHttp(
            _find_app,
            principal_of=_name_principal,
            body_bytes=MAX_BYTES,
            exists=self.seen.exists,
            folder=self.app.served_worktree,
            hides_places=not self.app.has_own_file,
        )

    def _make_elsewhere(self) -> McpOverHttp:
        from holdfast.surfaces.mcp.http import McpOverHttp

        return McpOverHttp(
            _find_app,
            principal_of=_name_principal,
            body_bytes=MAX_BYTES,
            check_scope=require_scope,
        )


class OpenDoor:
    """A door, and the task that enters and leaves what runs beside it."""

    def __init__(self, door: McpOverHttp, over: asyncio.Event):
        self.door = door
        self.ready = asyncio.Event()
        self._over = over
        self.beside = asyncio.create_task(self._run_beside())

    async def _run_beside(self) -> None:
        try:
            async with self.door.running():
                self.ready.set()
                await self._over.wait()
        finally:
            self.ready.set()


class _Answer:
    """What the door sends; where a call lacked a scope, the refusal instead, with its status.

    The library answers every call of a tool with 200, and a client asks for more rights at a 403.
    """

    def __init__(self, scope: Scope, send: Send):
        self._scope, self._send = scope, send
        self._is_refused = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            missing = self._scope["state"].get("missing_scope")
            if missing is not None:
                self._is_refused = True
                problem = describe_error(InsufficientScopeError(missing))
                await problem(self._scope, _receive_nothing, self._send)
        if not self._is_refused:
            await self._send(message)


async def _receive_nothing() -> Message:
    return {"type": "http.disconnect"}


async def _find_app(request: Any) -> App:
    return get_principal(request).app


def _name_principal(scope: MutableMapping[str, Any]) -> str:
    return get_principal(HTTPConnection(scope)).developer_id


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
