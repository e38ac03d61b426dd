"""What a door adds: to a call of the service, to a short session's page.

Real processes: `holdfast mcp` over its pipes and `holdfast serve` over a socket, each on a store of
its own. The client is as thin as it can be, so that what is measured is the door: a library for
HTTP would cost more than the door itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.measure import Block, Lane, one_by_one
from bench.startup import installed_command
from holdfast import SessionService, open_database
from holdfast.ground.settings import owner_of

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
EMPTY_TOOL_SERVER = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    tool = types.Tool(name="session", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])

async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="stored")])

async def main():
    server = Server("empty", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
BARE_SERVER = """
import asyncio, json, socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from holdfast import SessionService, open_database
from holdfast.ground.settings import owner_of

async def main():
    async with open_database(sys.argv[1]) as database:
        service = SessionService(database, owner=owner_of("local", "bench"))
        session = await service.create_session("bench", "u")

        async def append(request):
            body = await request.json()
            session_id = request.path_params["session_id"]
            stored = await service.append_event(session_id, *body.values())
            return JSONResponse(stored.to_dict(), 201)

        route = Route("/api/sessions/{session_id}/events", append, methods=["POST"])
        # With its protocol, or asyncio would leave Nagle's algorithm on
        with socket.socket(proto=socket.IPPROTO_TCP) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            said = {"url": f"http://127.0.0.1:{port}", "session": session.id}
            print(json.dumps(said), flush=True)
            config = uvicorn.Config(Starlette(routes=[route]), http="h11", log_level="critical")
            await uvicorn.Server(config).serve(sockets=[listener])

asyncio.run(main())
"""
SERVICE, EMPTY_TOOL, TOOL, BARE_HTTP, HTTP = (
    "`SessionService.append_event`",
    "a tool of an empty `mcp` server",
    "MCP tool `session append`",
    "the same call in a bare Starlette server over a raw socket",
    "`POST /api/sessions/{id}/events` over a raw socket",
)
SHORT, LONG = "the page of a session of 100 events", "the page of a session of 100,000 events"
APPEND, PAGE = "append through a door", "timeline page"
DEVELOPER = "bench"
OWNER = owner_of("local", DEVELOPER)


class Pipe:
    """A server at the other end of two pipes, one JSON line each way."""

    def __init__(
        self, argv: Sequence[str], environment: dict[str, str], folder: Path | None = None
    ):
        self.process: Any = subprocess.Popen(
            argv,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        return self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})

    def send(self, message: dict[str, Any]) -> dict[str, Any]:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if "id" not in message:
            return {}
        while (answer := json.loads(self.process.stdout.readline())).get("id") != message["id"]:
            pass
        if "error" in answer:
            raise RuntimeError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Wire:
    """A connection to a server of ours that is kept open, one request after the other."""

    def __init__(self, url: str, token: str):
        self.address = urlsplit(url).netloc
        host, _, port = self.address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")
        self.token = token

    def get(self, path: str) -> bytes:
        return self.ask("GET", path, b"")

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return json.loads(self.ask("POST", path, json.dumps(body).encode()))

    def ask(self, method: str, path: str, body: bytes) -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.address}\r\n"
            f"Authorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)
        _, status, *_ = self.answers.readline().split()
        length = 0
        while (line := self.answers.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer = self.answers.read(length)
        if not status.startswith(b"2"):
            raise RuntimeError(f"{method} {path}: {status.decode()} {answer[:200]!r}")
        return answer

    def close(self) -> None:
        self.answers.close()
        self.socket.close()


@contextmanager
def pipe(argv: Sequence[str], environment: dict[str, str], folder: Path | None = None) -> Any:
    opened = Pipe(argv, environment, folder)
    try:
        yield opened
    finally:
        opened.close()


@dataclass(frozen=True)
class Doors:
    """What the lanes share."""

    folder: Path

    def environment(self, name: str) -> dict[str, str]:
        home = self.folder / f"home-{name}"
        own = {
            "HOME": str(self.folder),
            "HOLDFAST_HOME": str(home),
            "HOLDFAST_DEVELOPER": DEVELOPER,
        }
        return {
            key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST_")
        } | own


@asynccontextmanager
async def run_server(environment: dict[str, str]) -> AsyncIterator[Wire]:
    """`holdfast serve` on a free port, and a connection that knows its token."""
    argv = [*installed_command(), "serve", "--port", "0", "--json"]
    async with started(argv, environment) as said:
        token = Path(said["token_file"]).read_text().strip()
        with closing(Wire(said["url"], token)) as wire:
            yield wire


@asynccontextmanager
async def run_bare_server(
    database_url: str, environment: dict[str, str]
) -> AsyncIterator[tuple[Wire, str]]:
    """The least that the libraries of our door can do for an append, and its one session."""
    argv = [sys.executable, "-c", BARE_SERVER, database_url]
    async with started(argv, environment) as said:
        with closing(Wire(said["url"], token="none")) as wire:
            yield wire, said["session"]


@asynccontextmanager
async def started(argv: Sequence[str], environment: dict[str, str]) -> AsyncIterator[Any]:
    """A server, and what its first line says."""
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        yield json.loads(await asyncio.to_thread(process.stdout.readline))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@asynccontextmanager
async def append_lanes(folder: Path) -> AsyncIterator[list[Lane]]:
    """One event through the service, through a tool and through a route, each to a session of its
    own store.
    """
    doors = Doors(folder)
    empty = [sys.executable, "-c", EMPTY_TOOL_SERVER]
    ours = [*installed_command(), "mcp"]
    bare_url = f"sqlite:///{folder / 'bare.db'}"
    async with (
        open_database(f"sqlite:///{folder / 'service.db'}") as database,
        run_server(doors.environment("http")) as wire,
        run_bare_server(bare_url, doors.environment("bare")) as (bare_wire, bare_session),
    ):
        service = SessionService(database, owner=OWNER)
        mine = (await service.create_session("bench", "u")).id
        theirs = wire.post("/api/sessions", {"chatmode": "bench"})["id"]
        with ExitStack() as opened:
            agent = opened.enter_context(handshaken(ours, doors.environment("mcp")))
            idle = opened.enter_context(handshaken(empty, doors.environment("empty")))

            async def by_service(text: str) -> None:
                await service.append_event(mine, "user_message", "user", text)

            async def by_route(text: str) -> None:
                post_event(wire, theirs, text)

            async def by_bare_route(text: str) -> None:
                post_event(bare_wire, bare_session, text)

            async def by_empty_tool(text: str) -> None:
                call_tool(idle, text)

            async def by_tool(text: str) -> None:
                call_tool(agent, text)

            calls = {
                SERVICE: by_service,
                EMPTY_TOOL: by_empty_tool,
                TOOL: by_tool,
                BARE_HTTP: by_bare_route,
                HTTP: by_route,
            }
            yield [
                Lane(name, "door", APPEND, time_calls(call), most=200)
                for name, call in calls.items()
            ]


@contextmanager
def handshaken(argv: Sequence[str], environment: dict[str, str], folder: Path | None = None) -> Any:
    """A server that knows its client."""
    with pipe(argv, environment, folder) as server:
        server.send(INITIALIZE)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        server.number = 1
        yield server


def post_event(wire: Wire, session_id: str, text: str) -> None:
    body = {"type": "user_message", "role": "user", "content": text}
    wire.post(f"/api/sessions/{session_id}/events", body)


def call_tool(server: Pipe, text: str) -> None:
    event = {"operation": "append", "event_type": "user_message", "role": "user", "content": text}
    ask_tool(server, "session", event)


def ask_tool(server: Pipe, name: str, arguments: dict[str, Any]) -> None:
    answer = server.ask("tools/call", {"name": name, "arguments": arguments})
    if answer.get("isError"):
        raise RuntimeError(answer)


@asynccontextmanager
async def page_lanes(folder: Path) -> AsyncIterator[list[Lane]]:
    """The screen of a session, short and long, in one store."""
    environment = Doors(folder).environment("page")
    home = Path(environment["HOLDFAST_HOME"])
    home.mkdir()
    ids = {}
    async with open_database(f"sqlite:///{home / 'holdfast.db'}") as database:
        service = SessionService(database, owner=OWNER)
        for name, events in ((SHORT, 100), (LONG, 100_000)):
            ids[name] = (await service.create_session("bench", "u")).id
            for start in range(0, events, 1000):
                batch = [turn(number) for number in range(start, min(start + 1000, events))]
                await service.append_events(ids[name], batch)
    async with run_server(environment) as wire:

        def show(session_id: str) -> Callable[[str], Awaitable[None]]:
            async def call(_: str) -> None:
                wire.get(f"/sessions/{session_id}")

            return call

        yield [
            Lane(name, "door", PAGE, time_calls(show(ids[name])), most=50) for name in (SHORT, LONG)
        ]


def turn(number: int) -> dict[str, str]:
    """Every fourth event is a request."""
    kinds = (
        ("user_message", "user"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("model_message", "assistant"),
    )
    kind, role = kinds[number % 4]
    return {"type": kind, "role": role, "content": f"event {number}"}


def time_calls(call: Callable[[str], Awaitable[None]]) -> Callable[[int], Awaitable[Block]]:
    async def run(calls: int) -> Block:
        block = await one_by_one(call, [f"text {number}" for number in range(calls)])
        if block.errors:
            raise RuntimeError(f"a door refused: {dict(block.errors)}")
        return block

    return run
