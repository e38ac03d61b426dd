"""Connections that wait for a request: they end, whatever is sent on them meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from holdfast.surfaces.http import protocol
from tests.rig.commands import PATIENCE_SECONDS

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer_at_once(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@asynccontextmanager
async def connecting(app: Any = answer_at_once) -> AsyncIterator[Streams]:
    """Without uvicorn's own time limit, which a byte now and then would put off."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_keep_alive=1_000)
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: protocol.TimedProtocol(config, ServerState(), {}), "127.0.0.1", 0
    )
    streams = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield streams
    finally:
        streams[1].close()
        server.close()


async def read_to_the_end(streams: Streams) -> bytes:
    return await asyncio.wait_for(streams[0].read(), PATIENCE_SECONDS)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.05)


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: x\r\nX-More: "])
async def test_a_head_that_does_not_end_is_given_up(sent: bytes):
    async with connecting() as streams:
        streams[1].write(sent)

        assert (await read_to_the_end(streams)).startswith(b"HTTP/1.1 408 Request Timeout")


async def test_a_second_head_that_does_not_end_is_given_up():
    async with connecting() as streams:
        streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX-More: ")

        answers = await read_to_the_end(streams)

    assert answers.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in answers


async def test_a_body_that_comes_after_its_answer_is_given_up():
    async with connecting() as streams:
        streams[1].write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")

        answers = await read_to_the_end(streams)

    assert answers.startswith(b"HTTP/1.1 200")
    assert b"408" not in answers


async def test_a_request_that_is_being_answered_has_the_time_it_needs():
    async def answer_later(scope: Any, receive: Any, send: Any) -> None:
        loop = asyncio.get_running_loop()
        later = loop.create_future()
        loop.call_later(4 * protocol.HEAD_SECONDS, later.set_result, None)
        await later
        await answer_at_once(scope, receive, send)

    async with connecting(answer_later) as streams:
        streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert b"done" in await read_to_the_end(streams)
