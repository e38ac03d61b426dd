"""Asking the programs themselves: is a client here, does it reach our server, do its hooks answer.

That a file was written says little: a client may be too old, skip a hook without a word, or start
our program where it cannot be found. So each is tried as the client would do it, with a limit of
time, and an answer that does not come is an answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from holdfast.clients import CLIENTS, find_client
from holdfast.clients.contract import CHECK_ID, END
from holdfast.clients.setup import ClientSetup, SetupPlace, find_setup
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.storage.hook_marks import HookMarks

VERSION_SECONDS = 20.0
LIST_SECONDS = 40.0  # a client connects to every server of the person
HANDSHAKE_SECONDS = 20.0
HOOK_SECONDS = 10.0
AT_ONCE = 4
PROBLEM_CHARS = 300
PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"

_VERSION = compile_later(r"\d+(?:\.\d+)+")
_OWN_VERSION = compile_later(r"(?m)^holdfast, version \d")
Mark = dict[str, Any]
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class FoundClient:
    """A client on this machine; `problem` says why it is left alone."""

    name: str
    title: str
    program: str
    version: str | None
    problem: str | None
    is_newer: bool  # than what was checked

    def describe(self) -> str:
        return f"{self.title} {self.version}" if self.version else self.title


@dataclass(frozen=True)
class HookCheck:
    event: str
    answers: bool
    fired_at: float | None


@dataclass(frozen=True)
class ClientCheck:
    """Whether a client reaches us, as far as that can be tried without a session."""

    name: str
    title: str
    reaches_server: bool | None  # None: it did not say
    hooks: tuple[HookCheck, ...]
    has_commands: bool
    left: tuple[str, ...]
    last_fired_at: float | None  # in a session of the person

    @property
    def silent_hooks(self) -> list[str]:
        return [hook.event for hook in self.hooks if not hook.answers]


Report = Callable[[ClientCheck, Sequence[str]], None]


def find_clients(names: Sequence[str], environment: Mapping[str, str]) -> list[FoundClient]:
    """Those of the named clients that are on this machine, asked for their versions at once."""
    wanted = [name for name in CLIENTS if name in names]
    found = _at_once(lambda name: _find_client(name, environment), wanted)
    return [client for client in found if client]


def _find_client(name: str, environment: Mapping[str, str]) -> FoundClient | None:
    setup, client = find_setup(name), find_client(name)
    assert client is not None
    program = shutil.which(setup.PROGRAM, path=environment.get("PATH"))
    if program is None:
        return None
    output = _run([program, "--version"], environment, VERSION_SECONDS)
    match = _VERSION.search(output or "")
    if match is None:
        problem = _describe_no_version(setup.PROGRAM, output)
        return FoundClient(name, client.TITLE, program, None, problem, is_newer=False)
    version = tuple(map(int, match[0].split(".")))
    too_old = f"is older than {'.'.join(map(str, setup.OLDEST))}"
    return FoundClient(
        name,
        client.TITLE,
        program,
        version=match[0],
        problem=too_old if version < setup.OLDEST else None,
        is_newer=version > setup.CHECKED,
    )


def _describe_no_version(program: str, output: str | None) -> str:
    """In its own words: often it cannot read its settings."""
    lines = [line.strip() for line in (output or "").splitlines()]
    said = next(filter(None, lines), None)
    if said is None:
        return f"`{program} --version` does not answer"
    said = cut(said, PROBLEM_CHARS).rstrip(".")
    return f"`{program} --version` answers: {said}. Correct that, then run `holdfast init` again"


def check_client(found: FoundClient, place: SetupPlace, home: str) -> ClientCheck:
    setup = find_setup(found.name)
    checks = check_hooks(found.name, setup.list_hooks(place), place, home)
    marks = find_marks(home, found.name)
    return ClientCheck(
        name=found.name,
        title=found.title,
        reaches_server=reaches_server(found.program, setup, place),
        hooks=tuple(checks),
        has_commands=all(map(os.path.exists, setup.list_commands(place))),
        left=tuple(setup.list_left(place)),
        last_fired_at=find_last_fired(found.name, marks),
    )


def check_hooks(
    name: str, commands: Mapping[str, str], place: SetupPlace, home: str
) -> list[HookCheck]:
    """Each is run as the client would, and has to leave its mark."""
    started_at = time.time()
    _at_once(lambda hook: _run_hook(*hook, place), commands.items())
    marks = find_marks(home, name)
    return [_judge_hook(event, marks.get(event, {}), started_at) for event in commands]


def find_marks(home: str, name: str) -> dict[str, Mark]:
    """What the hooks of a client have left, by event."""
    marks = HookMarks(home).list_marks()
    return {str(mark.get("event")): mark for mark in marks if mark.get("client") == name}


def find_last_fired(name: str, marks: Mapping[str, Mark]) -> float | None:
    """In a session of the person."""
    fired = [mark.get("fired_at") for mark in list_session_marks(name, marks)]
    return max((at for at in fired if at), default=None)


def list_session_marks(name: str, marks: Mapping[str, Mark]) -> list[Mark]:
    """Without those of ends: a client that only lists its servers reports one as well."""
    client = find_client(name)
    assert client is not None
    return [mark for event, mark in marks.items() if client.MOMENTS.get(event) != END]


def check_clients(
    found: Sequence[FoundClient], places: Mapping[str, SetupPlace], home: str, report: Report
) -> list[ClientCheck]:
    """All at once; each is reported as soon as it is known, with those that are waited for.

    `places`: of each client by name, because each has variables that move its files.
    """
    waiting = [client.title for client in found]
    lock = threading.Lock()

    def check(client: FoundClient) -> ClientCheck:
        checked = check_client(client, places[client.name], home)
        with lock:
            waiting.remove(client.title)
            report(checked, tuple(waiting))
        return checked

    return _at_once(check, found)


def _judge_hook(event: str, mark: Mark, started_at: float) -> HookCheck:
    answers = mark.get("checked_at", 0.0) >= started_at
    return HookCheck(event, answers, mark.get("fired_at"))


def _run_hook(event: str, command: str, place: SetupPlace) -> str | None:
    """The installed string as it is, with an environment that has next to nothing."""
    payload = {
        "session_id": CHECK_ID,
        "hook_event_name": event,
        "cwd": place.worktree,
        "transcript_path": None,
    }
    environment = make_scrubbed_environment(place)
    return _run(
        ["/bin/sh", "-c", command],
        environment,
        HOOK_SECONDS,
        given=json.dumps(payload),
        folder=place.worktree,
    )


def starts(place: SetupPlace) -> bool:
    """Whether the installed command finds the program; without one it says nothing."""
    environment = make_scrubbed_environment(place)
    output = _run([place.shim, "--version"], environment, VERSION_SECONDS)
    return _OWN_VERSION.search(output or "") is not None


def make_scrubbed_environment(place: SetupPlace) -> dict[str, str]:
    """What the strictest client leaves to what it starts."""
    return {"HOME": place.user_folder, "PATH": PLAIN_PATH}


def reaches_server(program: str, setup: ClientSetup, place: SetupPlace) -> bool | None:
    """By the client's own words, or by a handshake where it has none."""
    if setup.LIST_COMMAND is None:
        return bool(list_offered_tools(place))
    command = [program, *setup.LIST_COMMAND]
    output = _run(command, place.environment, LIST_SECONDS, folder=place.worktree)
    return None if output is None else setup.is_connected(output)


def list_offered_tools(place: SetupPlace) -> list[str]:
    """What the installed server command offers."""
    lines = _greet_server(place).splitlines()
    return next(filter(None, map(_find_tools, lines)), [])


def find_server_problem(place: SetupPlace) -> str | None:
    """What the installed server command says itself, where it offers nothing."""
    output = _greet_server(place)
    lines = [line.strip() for line in output.splitlines()]
    if any(map(_find_tools, lines)):
        return None
    words = [line for line in lines if line and not line.startswith("{")]
    return cut(" ".join(words), PROBLEM_CHARS) or "it does not answer"


def _greet_server(place: SetupPlace) -> str:
    """What it answers to `initialize` and `tools/list`, and what it prints beside that."""
    introduction = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "holdfast-check", "version": "1"},
    }
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": introduction},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    output = _run(
        [place.shim, "mcp"],
        make_scrubbed_environment(place),
        HANDSHAKE_SECONDS,
        given="".join(f"{json.dumps(line)}\n" for line in lines),
        folder=place.worktree,
    )
    return output or ""


def _find_tools(line: str) -> list[str]:
    try:
        tools = json.loads(line)["result"]["tools"]
        return [tool["name"] for tool in tools]
    except (ValueError, KeyError, TypeError):
        return []


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    *,
    given: str = "",
    folder: str | None = None,
) -> str | None:
    """What a program prints, on both streams; None where it does not start or end in time."""
    try:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            output, _ = process.communicate(given.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the servers that a client has started
            return None
    return output.decode(errors="replace")


def _at_once(function: Callable[[A], B], values: Iterable[A]) -> list[B]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(function, values))
