"""`GET /api/events`: what happens, as it happens (server-sent events).

Each event carries the cursor behind it as its `id`, and so does the beginning of the stream, before
any event: a client that reconnects with the last id it saw misses nothing and gets nothing
twice. A stream ends when its reader leaves, when the server stops, and when the token it was opened
with is no longer the token.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.storage.outbox import OutboxEvent
from holdfast.storage.tail import Tail
from holdfast.surfaces.http import models
from holdfast.surfaces.http.errors import TooManyError
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.token import Keys

HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 0.5  # at the token
LAST_WORDS_SECONDS = 0.5
MOST_STREAMS = 200
HEARTBEAT = b": still here\n\n"

router = APIRouter()


class Streams:
    """The live streams of a server, which share one reader of the outbox and one end."""

    def __init__(self, tail: Tail, keys: Keys, stopping: asyncio.Event):
        self.tail = tail
        self.keys = keys
        self.stopping = stopping
        self.open = 0

    def take_place(self) -> None:
        """The caller gives it back; nothing is awaited between the check and the count."""
        if self.open >= MOST_STREAMS:
            raise TooManyError("streams of events open", MOST_STREAMS, "Close one, then try again.")
        self.open += 1

    async def wait_for_end(self, token: str) -> None:
        """Returns when a stream that was opened under this token may not go on."""
        while not self.stopping.is_set() and self.keys.token == token:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), LOOK_SECONDS)


@router.get(
    "/api/events",
    response_class=Response,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "`caco.context` and `session.*` as they come",
        }
    },
)
async def follow_events(
    request: Request,
    app: Here,
    query: Annotated[models.Listen, Query()],
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Everything beyond a cursor, and then what happens"""
    streams: Streams = request.app.state.streams
    # A browser that reconnects keeps its address and adds the header.
    cursor = last_event_id or query.after
    if cursor is None:
        cursor = await app.scope.outbox.end()
    else:
        # Refuses an invalid cursor while a status can still be sent.
        await app.scope.outbox.read(cursor, 1)
    streams.take_place()
    blocks = make_blocks(streams.tail, cursor)
    return EventStream(streams, request.state.token, blocks)


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(self, streams: Streams, token: str, body: AsyncGenerator[bytes, None]):
        self.streams = streams
        self._token = token
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
                self.streams.wait_for_end(self._token),
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
