"""What a door adds: to a call of the service, to a short session's page.

Real processes: `holdfast mcp` over its pipes and `holdfast serve` over loopback, each on a store of
its own. The client is as thin as it can be, so that what is measured is the door.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

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
SERVICE, TOOL, HTTP = (
    "`SessionService.append_event`",
    "MCP tool `session append`",
    "`POST /api/sessions/{id}/events`",
)
SHORT, LONG = "the page of a session of 100 events", "the page of a session of 100,000 events"
APPEND, PAGE = "append through a door", "timeline page"
DEVELOPER = "bench"
OWNER = owner_of("local", DEVELOPER)


class Pipe:
    """A server at the other end of two pipes, one JSON line each way."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str]):
        self.process: Any = subprocess.Popen(
            argv,
            env=environment,
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


@contextmanager
def pipe(argv: Sequence[str], environment: dict[str, str]) -> Any:
    opened = Pipe(argv, environment)
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
async def run_server(environment: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    """`holdfast serve` on a free port, and a client that knows its token."""
    argv = [*installed_command(), "serve", "--port", "0", "--json"]
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        said = json.loads(await asyncio.to_thread(process.stdout.readline))
        token = Path(said["token_file"]).read_text().strip()
        async with httpx.AsyncClient(
            base_url=said["url"], headers={"Authorization": f"Bearer {token}"}
        ) as client:
            yield client
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
    async with (
        open_database(f"sqlite:///{folder / 'service.db'}") as database,
        run_server(doors.environment("http")) as web,
    ):
        service = SessionService(database, owner=OWNER)
        mine = (await service.create_session("bench", "u")).id
        theirs = (
            (await web.post("/api/sessions", json={"chatmode": "bench"}))
            .raise_for_status()
            .json()["id"]
        )
        with pipe([*installed_command(), "mcp"], doors.environment("mcp")) as agent:
            agent.send(INITIALIZE)
            agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            agent.number = 1

            async def by_service(text: str) -> None:
                await service.append_event(mine, "user_message", "user", text)

            async def by_route(text: str) -> None:
                body = {"type": "user_message", "role": "user", "content": text}
                (await web.post(f"/api/sessions/{theirs}/events", json=body)).raise_for_status()

            async def by_tool(text: str) -> None:
                event = {
                    "operation": "append",
                    "event_type": "user_message",
                    "role": "user",
                    "content": text,
                }
                answer = agent.ask("tools/call", {"name": "session", "arguments": event})
                if answer.get("isError"):
                    raise RuntimeError(answer)

            calls = {SERVICE: by_service, TOOL: by_tool, HTTP: by_route}
            yield [
                Lane(name, "door", APPEND, time_calls(call), most=200)
                for name, call in calls.items()
            ]


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
    async with run_server(environment) as web:

        def show(session_id: str) -> Callable[[str], Awaitable[None]]:
            async def call(_: str) -> None:
                (await web.get(f"/sessions/{session_id}")).raise_for_status()

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
