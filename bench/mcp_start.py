"""What a client waits for when it starts an MCP server, and what the server costs while it waits.

Clients start one for every session, some for every subagent, and most of them are never called.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.doors import INITIALIZE, Doors, Pipe, pipe
from bench.measure import Block, Lane
from bench.startup import BARE_PYTHON, installed_command, process_run

EMPTY_SERVER = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("empty")
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
IDLE_PYTHON = "an idle bare Python"
EMPTY = "an empty `mcp` server"
OURS = "`holdfast mcp`"
FIFTY = "each of 50 `holdfast mcp`"
ANSWERS = "from the start to an answer"
MEMORY = "resident memory of an idle server"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def name_answer(server: str, method: str) -> str:
    return f"{server}: `{method}`"


def discover(server: Pipe) -> None:
    server.ask("server/discover", {"_meta": ENVELOPE})


def initialize(server: Pipe) -> None:
    server.send(INITIALIZE)


def list_tools(server: Pipe) -> None:
    """As clients do it, after the handshake."""
    initialize(server)
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.number = 1
    server.ask("tools/list", {})


def wait_for_line(program: Pipe) -> None:
    program.process.stdout.readline()


ASKED = {"server/discover": discover, "initialize": initialize, "tools/list": list_tools}


class Starts:
    def __init__(self, folder: Path):
        self.environment = Doors(folder).environment("first")
        self.ours = [*installed_command(), "mcp"]
        self.empty = [sys.executable, "-c", EMPTY_SERVER]
        self.bare = [sys.executable, "-c", "print(flush=True); input()"]

    def time_answer(
        self, argv: Sequence[str], ask: Callable[[Pipe], None]
    ) -> Callable[[int], Awaitable[Block]]:
        def once() -> Block:
            start = time.perf_counter()
            with pipe(argv, self.environment) as server:
                ask(server)
                seconds = time.perf_counter() - start
            return Block(1, seconds)

        return in_thread(once)

    def weigh(
        self, argv: Sequence[str], ask: Callable[[Pipe], None], count: int = 1
    ) -> Callable[[int], Awaitable[Block]]:
        """The mean of `count` idle servers at once; a block has megabytes in place of seconds."""

        def once() -> Block:
            with ExitStack() as opened:
                servers = [opened.enter_context(pipe(argv, self.environment)) for _ in range(count)]
                for server in servers:
                    ask(server)
                sizes = [read_resident_megabytes(server.process.pid) for server in servers]
            return Block(1, statistics.mean(sizes))

        return in_thread(once)


def in_thread(once: Callable[[], Block]) -> Callable[[int], Awaitable[Block]]:
    async def run(_calls: int) -> Block:
        return await asyncio.to_thread(once)

    return run


def answer_lanes(folder: Path) -> list[Lane]:
    starts = Starts(folder)
    runs = {BARE_PYTHON: process_run([sys.executable, "-c", "pass"], {})}
    for method, ask in ASKED.items():
        runs[name_answer(OURS, method)] = starts.time_answer(starts.ours, ask)
    runs[name_answer(EMPTY, "initialize")] = starts.time_answer(starts.empty, initialize)
    return [Lane(name, "door", ANSWERS, run, most=1) for name, run in runs.items()]


def memory_lanes(folder: Path) -> list[Lane]:
    starts = Starts(folder)
    runs = {
        IDLE_PYTHON: starts.weigh(starts.bare, wait_for_line),
        OURS: starts.weigh(starts.ours, list_tools),
        FIFTY: starts.weigh(starts.ours, list_tools, 50),
        EMPTY: starts.weigh(starts.empty, initialize),
    }
    return [Lane(name, "door", MEMORY, run, most=1) for name, run in runs.items()]


def read_resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
