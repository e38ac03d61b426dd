"""What a process pays before it does anything, as multiples of `python -c pass`.

A hook is a new process for every event of an agent, so an import that a server never notices is
felt at every keystroke there. Wall time and processor time are both given: on a busy machine the
second is the steadier one.
"""

from __future__ import annotations

import asyncio
import compileall
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import holdfast
from bench.measure import Block, Lane

BARE_PYTHON = "`python -c pass`"
HOOK = "Holdfast: `holdfast hook claude Stop`"

PAYLOAD = {
    "session_id": "6c1b1f0e-5a0c-4f6e-9a39-0d4f3c1a7b52",
    "transcript_path": "/nonexistent/transcript.jsonl",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "The retry stops after eight attempts.",
}

IMPORTS = {
    "Holdfast": ("import holdfast", "from holdfast import SessionService, open_database"),
    "ADK": (
        "from google.adk.sessions.sqlite_session_service import SqliteSessionService",
        "from google.adk.sessions import DatabaseSessionService",
    ),
    "OpenAI Agents": (
        "from agents import SQLiteSession",
        "from agents.extensions.memory import SQLAlchemySession",
    ),
    "LangGraph": (
        "from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver",
        "from langgraph.graph import StateGraph",
    ),
    "driver alone": ("import apsw", "import asyncpg"),
}


def startup_lanes(folder: Path) -> list[Lane]:
    """Ours also through the installed command, as a person and a hook call it."""
    compile_package()
    python, ours = [sys.executable], installed_command()
    commands = {
        BARE_PYTHON: [*python, "-c", "pass"],
        "Holdfast: `holdfast --help`": [*ours, "--help"],
        HOOK: [*ours, "hook", "claude", "Stop"],
    }
    for owner, lines in IMPORTS.items():
        commands |= {f"{owner}: `{line}`": [*python, "-c", line] for line in lines}
    home = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "home")}
    return [
        Lane(title, "process", "start-up", process_run(argv, home), most=1)
        for title, argv in commands.items()
    ]


def compile_package() -> None:
    """As an installer leaves it."""
    compileall.compile_dir(str(Path(holdfast.__file__).parent), quiet=1)


def installed_command() -> list[str]:
    """The console script beside this interpreter, or the module where it is not installed."""
    script = Path(sysconfig.get_path("scripts")) / "holdfast"
    return [str(script)] if script.exists() else [sys.executable, "-m", "holdfast"]


def process_run(argv: list[str], home: dict[str, str]) -> Callable[[int], Awaitable[Block]]:
    """Start it, feed it the payload, wait for it; an exit code other than 0 is an error."""

    async def run(_calls: int) -> Block:
        return await asyncio.to_thread(run_process, argv, os.environ | home, PAYLOAD)

    return run


def run_process(argv: list[str], environment: dict[str, str], payload: dict[str, Any]) -> Block:
    """Wall time from outside, processor time from the kernel's account of the child."""
    start = time.perf_counter()
    process = subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    feed(process, json.dumps(payload).encode())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = Counter({f"exit {process.returncode}": 1} if process.returncode else {})
    return Block(1, seconds, errors=errors, processor=usage.ru_utime + usage.ru_stime)


def feed(process: subprocess.Popen[bytes], payload: bytes) -> None:
    """Most programs here do not read; one that is already gone is not a fault."""
    assert process.stdin
    try:
        process.stdin.write(payload + b"\n")
        process.stdin.close()
    except BrokenPipeError:
        pass
