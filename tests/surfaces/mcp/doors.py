"""Clients of both eras on every way in: the SDK's own client, a real process, a real socket, a real
store.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp import Client, StdioServerParameters
from starlette.applications import Starlette
from starlette.routing import Route

from holdfast.app import App
from holdfast.surfaces.mcp.http import McpOverHttp
from holdfast.surfaces.mcp.server import make_server

HANDSHAKE, STATELESS = "legacy", "2026-07-28"
ERAS = (HANDSHAKE, STATELESS)
VERSIONS = {HANDSHAKE: "2025-11-25", STATELESS: "2026-07-28"}
COMMAND = (sys.executable, "-m", "holdfast", "mcp")
UNKNOWN_CLIENT = "some-agent"

Connect = Callable[..., AbstractAsyncContextManager[Client]]


def introduce(name: str) -> types.Implementation:
    return types.Implementation(name=name, version="1")


def over_stdio(
    folder: Path, *, era: str = STATELESS, name: str = UNKNOWN_CLIENT, **env: str
) -> Client:
    """`holdfast mcp` as a process of its own, started in a folder as clients do."""
    command, *arguments = COMMAND
    started = StdioServerParameters(
        command=command, args=arguments, cwd=folder, env={**os.environ, **env}
    )
    return Client(started, mode=era, client_info=introduce(name), read_timeout_seconds=60)


@asynccontextmanager
async def inside(folder: Path, **options: Any) -> AsyncIterator[Client]:
    """The same server in this process, for tests that ask many things."""
    async with App() as app, on_app(app, folder, **options) as client:
        yield client


def on_app(
    app: App,
    folder: Path,
    *,
    era: str = STATELESS,
    name: str = UNKNOWN_CLIENT,
    environment: dict[str, str] | None = None,
) -> Client:
    async def app_for(request: object) -> App:
        return app

    server = make_server(
        app_for, environment=environment, folder=str(folder), exists=os.path.exists
    )
    return Client(server, mode=era, client_info=introduce(name))


@asynccontextmanager
async def hosted(**options: Any) -> AsyncIterator[str]:
    """The URL of a real HTTP server on a free port, with the door mounted as `serve` does it."""
    async with App(folder=os.getcwd()) as app:

        async def app_for(request: object) -> App:
            return app

        door = McpOverHttp(app_for, **options)
        host = Starlette(routes=[Route("/mcp", endpoint=door)], lifespan=lambda _: door.running())
        # With its protocol named, or answers wait 40 ms: asyncio asks for it before it switches off
        # Nagle's delay.
        with socket.socket(proto=socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            server = uvicorn.Server(
                uvicorn.Config(host, log_level="critical", timeout_graceful_shutdown=5)
            )
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                server.should_exit = True
                await serving


@asynccontextmanager
async def over_http(*, era: str = STATELESS, name: str = UNKNOWN_CLIENT) -> AsyncIterator[Client]:
    async with hosted() as url, Client(url, mode=era, client_info=introduce(name)) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The envelope of a call that went well."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer
    envelope: dict[str, Any] = answer.structured_content
    assert list(envelope) == ["status", "data", "warnings", "next_actions"]
    assert envelope["status"] == ("warning" if envelope["warnings"] else "ok")
    return envelope


async def data(client: Client, tool: str, **arguments: Any) -> Any:
    return (await call(client, tool, **arguments))["data"]


async def call_refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The envelope of a call that was refused."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer
    envelope: dict[str, Any] = answer.structured_content
    assert envelope["status"] == "error"
    assert envelope["data"] == {}
    assert envelope["code"]
    assert envelope["message"] in answer.content[0].text
    assert "Traceback" not in answer.content[0].text
    return envelope
