"""`GET /api/events`: what happens, as it happens (server-sent events).

Each event carries the cursor behind it as its `id`, and so does the beginning of the stream, before
any event: a client that reconnects with the last id it saw misses nothing and gets nothing
twice. A stream ends when its reader leaves, when the server stops, and when the token it was opened
with does not count any more.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Annotated, Any
from weakref import WeakValueDictionary

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.storage.outbox import OutboxEvent
from holdfast.storage.tail import Tail
from holdfast.surfaces.http import models
from holdfast.surfaces.http.errors import TooManyError
from holdfast.surfaces.http.principal import Principal, Principals, get_principal
from holdfast.surfaces.http.scopes import ScopedRoute
from holdfast.usecases.events import Events

HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 0.5  # at the token
LAST_WORDS_SECONDS = 0.5
MOST_STREAMS = 200
HEARTBEAT = b": still here\n\n"

router = APIRouter(route_class=ScopedRoute)


class Streams:
    """The live streams of a server: those of a developer share one look at the store, those of a
    token one look at whether it still counts.
    """

    def __init__(self, principals: Principals, stopping: asyncio.Event):
        self.principals = principals
        self.stopping = stopping
        self.open = 0
        self._tails: WeakValueDictionary[str, Tail] = WeakValueDictionary()
        self._watched = dict[str, _Watch]()

    def take_place(self) -> None:
        """The caller gives it back; nothing is awaited between the check and the count."""
        if self.open >= MOST_STREAMS:
            raise TooManyError("streams of events open", MOST_STREAMS, "Close one, then try again.")
        self.open += 1

    def find_tail(self, principal: Principal) -> Tail:
        """That of a developer, for as long as one of its streams is open."""
        tail = self._tails.get(principal.developer_id)
        if tail is None:
            tail = Tail(Events(principal.app.scope))
            self._tails[principal.developer_id] = tail
        return tail

    async def wait_for_end(self, principal: Principal) -> None:
        """Returns when a stream that was opened by this caller may not go on."""
        name = principal.token.id if principal.token else principal.key
        watch = self._watched.get(name)
        if watch is None:
            watch = self._watched[name] = _Watch(self._look_until_end(principal))
        watch.waiting += 1
        try:
            await asyncio.shield(watch.looking)
        finally:
            watch.waiting -= 1
            if not watch.waiting:
                watch.looking.cancel()
                self._watched.pop(name, None)

    async def _look_until_end(self, principal: Principal) -> None:
        """A store that cannot say whether a token still counts ends its streams."""
        with suppress(HoldfastError):
            while not self.stopping.is_set() and await self.principals.is_live(principal):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), LOOK_SECONDS)


class _Watch:
    """One look for every stream of a token."""

    def __init__(self, looking: Coroutine[Any, Any, None]):
        self.looking = asyncio.ensure_future(looking)
        self.waiting = 0


@router.get(
    "/api/events",
    response_class=Response,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "`caco.context`, `session.*` and `team.*` as they come",
        }
    },
)
async def follow_events(
    request: Request,
    query: Annotated[models.Listen, Query()],
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Everything beyond a cursor, and then what happens"""
    streams: Streams = request.app.state.streams
    # A browser that reconnects keeps its address and adds the header. An invalid cursor is refused
    # while a status can still be sent.
    principal = get_principal(request)
    cursor = await Events(principal.app.scope).start(last_event_id or query.after)
    streams.take_place()
    blocks = make_blocks(streams.find_tail(principal), cursor)
    return EventStream(streams, principal, blocks)


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(self, streams: Streams, principal: Principal, body: AsyncGenerator[bytes, None]):
        self.streams = streams
        self._principal = principal
        self._blocks = body
        self.status_code = 200
        self.background = None
        self.init_headers({"X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await run_until_first(
                self._pump(send),
                _wait_for_disconnect(receive),
                self.streams.wait_for_end(self._principal),
            )
            # A client that has stopped reading does not get the end of the stream.
            with suppress(TimeoutError, OSError):
                last = send({"type": "http.response.body", "body": b"", "more_body": False})
                await asyncio.wait_for(last, LAST_WORDS_SECONDS)
        finally:
            self.streams.open -= 1

    async def _pump(self, send: Send) -> None:
        """As fast as the client reads; a store that is not available ends it."""
        with suppress(HoldfastError, OSError):
            async with aclosing(self._blocks) as body:
                async for block in body:
                    await send({"type": "http.response.body", "body": block, "more_body": True})


async def make_blocks(
    tail: Tail, cursor: str, heartbeat_seconds: float = HEARTBEAT_SECONDS
) -> AsyncGenerator[bytes, None]:
    yield f"retry: 1000\nid: {cursor}\n\n".encode()
    follower: Any = tail.follow(cursor, heartbeat_seconds)
    async with aclosing(follower) as events:
        async for event in events:
            if event is None:
                yield HEARTBEAT
            else:
                yield format_block(event)


def format_block(event: OutboxEvent) -> bytes:
    """JSON without a line break, as the format wants it."""
    data = json.dumps(event.data)
    block = f"id: {event.cursor}\nevent: {event.topic}\ndata: {data}\n\n"
    return block.encode()


async def run_until_first(*coroutines: Any) -> None:
    """Run until the first ends or fails; then the others are cancelled in every case."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
