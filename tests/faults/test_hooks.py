"""R12: hooks that are killed, fired twice and out of order, on a store that is up,
locked or down.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from holdfast.app import App
from holdfast.ground import ids, jsonl
from holdfast.ground.settings import load_settings, sqlite_path
from holdfast.storage.sqlite import LEFT_LOG_BYTES
from holdfast.usecases import capture
from tests.faults.faulty_vfs import faulty_file_system
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, run_process
from tests.rig.nursery import Line, Nursery

pytestmark = pytest.mark.own_database

AT_ONCE = 8
SESSIONS = [
    ("claude", "UserPromptSubmit", "prompt", "prompt_id"),
    ("codex", "UserPromptSubmit", "prompt", "turn_id"),
    ("gemini", "BeforeAgent", "prompt", "timestamp"),
    ("claude", "Stop", "last_assistant_message", "prompt_id"),
]


class HookProcess:
    """One hook process that was given one event."""

    def __init__(self, number: int):
        client, event, content, mark = SESSIONS[number % len(SESSIONS)]
        self.content = f"hook {number}"
        payload = {
            "hook_event_name": event,
            "session_id": f"{client}-1",
            "cwd": "/home/dev/project",
        }
        self.payload = json.dumps({**payload, content: self.content, mark: f"m{number}"}).encode()
        self.command = [*HOLDFAST, "hook", client, event]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, env: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=env
        )
        assert self.process.stdin is not None
        self.process.stdin.write(self.payload)
        self.process.stdin.close()
        self.process.stdin = None

    def kill_after(self, seconds: float) -> None:
        assert self.process is not None
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def end(self) -> int:
        """Its exit code; whatever happened, it said nothing."""
        assert self.process is not None
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert out == b""
        return self.process.returncode


@contextmanager
def hold_store(url: str) -> Iterator[None]:
    """Another process writes, and lets no other process in."""
    if path := sqlite_path(url):
        connection = apsw.Connection(path)
        connection.execute("begin immediate")
        yield
        connection.close()
    else:
        with asyncio.Runner() as runner:
            blocker: Any = runner.run(asyncpg.connect(url))
            runner.run(
                blocker.execute(
                    "begin; lock table context.session_events in share row exclusive mode"
                )
            )
            yield
            runner.run(blocker.close())


@pytest.mark.parametrize(("engine", "hooks"), [("sqlite", 500), ("postgres", 250)])
def test_no_hook_that_ended_by_itself_is_lost_or_stored_twice(
    engine: str,
    hooks: int,
    request: pytest.FixtureRequest,
    scale: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
):
    """500 hooks in waves, a quarter of them killed at any moment, each event fired twice and in any
    order.

    Every one that was not killed ends with 0 and without a word; after the drain each of their
    events is stored once, and those of the killed ones at most once.
    """
    url = request.getfixturevalue(f"{engine}_url")
    owner_url = request.getfixturevalue("postgres_owner_url") if engine == "postgres" else url
    down = (
        f"{url}?sslmode=require" if engine == "postgres" else "sqlite://"
    )  # no TLS there, and no file here
    monkeypatch.setenv("HOLDFAST_DATABASE", url)
    with App() as app:
        _ = app.database
    seed = random.randrange(1 << 32)
    chance, count = random.Random(seed), scale(hooks)
    fired = [HookProcess(number // 2) for number in range(count)]
    chance.shuffle(fired)
    codes: dict[str, list[int]] = {hook.content: [] for hook in fired}

    for start in range(0, count, AT_ONCE):
        wave = fired[start : start + AT_ONCE]
        state = chance.choice(["up", "up", "locked", "down"])
        if state == "locked":
            with hold_store(owner_url):
                fire_wave(wave, chance, url, codes)
        else:
            fire_wave(wave, chance, down if state == "down" else url, codes)

    status = run_process("status", "--json").document
    stored = stored_contents()
    ended = {content for content, ends in codes.items() if 0 in ends}

    assert {code for ends in codes.values() for code in ends} <= {0, -9}, f"seed {seed}"
    assert len(stored) == len(set(stored)), f"stored twice, seed {seed}"
    assert ended - set(stored) == set(), f"lost, seed {seed}"
    assert set(stored) <= codes.keys()
    assert (status["spooled"], status["lost"]) == (0, 0)
    assert (
        status["accepted"]
        == status["stored"] + status["rejected"]
        == len(stored) + status["rejected"]
    )
    assert {note["code"] for note in list_rejected()} <= {
        "damaged_line"
    }  # of one that was killed while it wrote
    assert run_process("session", "verify").code == 0
    killed = sum(ends.count(-9) for ends in codes.values())
    print(f"R12: {count} hooks, {killed} killed, {len(stored)} events stored, seed {seed}")


def fire_wave(
    wave: list[HookProcess], chance: random.Random, url: str, codes: dict[str, list[int]]
) -> None:
    for hook in wave:
        hook.start({**os.environ, "HOLDFAST_DATABASE": url})
    for hook in wave:
        if chance.random() < 0.25:
            hook.kill_after(chance.uniform(0, 0.15))
    for hook in wave:
        codes[hook.content].append(hook.end())


def stored_contents() -> list[str]:
    with App() as app:
        sessions = app.run(app.scope.sessions.list_all_sessions())
        events = [
            event
            for session in sessions
            for event in app.run(app.scope.sessions.get_recent_events(session.id, 10_000))
        ]
    assert len(sessions) <= len(SESSIONS)
    return [event.content for event in events]


def list_rejected() -> list[dict[str, Any]]:
    with App() as app:
        return list(jsonl.read_records(app.spool.rejected).records)


# --- F2: a drain that dies in the middle ----------------------------------------------------------


def drain_and_die(line: Line, environment: dict[str, str], number: int) -> None:
    """Stores what waits, and dies when so many are in the store and the spool does
    not know it yet.
    """
    stored = 0
    with App(load_settings(environment)) as app:

        async def store(record: dict[str, Any]) -> None:
            nonlocal stored
            await app._store_record(record)
            stored += 1
            if stored == number:
                os.kill(os.getpid(), signal.SIGKILL)

        app.run(app.spool.drain(store))


def test_a_killed_drain_is_repeated_and_stores_each_record_once(
    nursery: Nursery, tmp_path: Path, scale: Callable[[int], int]
):
    """F2, mid-spool-drain: 100 drains are killed, others add meanwhile, and each record is stored
    once, in order.
    """
    chance, added = random.Random(12), list[str]()
    environment = {"HOLDFAST_HOME": str(tmp_path / "holdfast"), "HOME": str(tmp_path)}
    settings = load_settings(environment)
    for _ in range(scale(100)):
        with App(settings) as app:
            for _ in range(chance.randrange(1, 8)):
                added.append(f"text {len(added)}")
                app.spool.add(waiting(settings, added[-1]))
        child = nursery.start(drain_and_die, environment, chance.randrange(1, 5))
        child.hear_all()
        assert child.wait() in (0, -9)

    with App(settings) as app:
        accounts = app.count()
        [session] = app.run(app.scope.sessions.list_sessions())
        events = app.run(app.scope.sessions.get_recent_events(session.id, 10_000))
        verification = app.run(app.scope.sessions.verify_session(session.id))

    assert [event.content for event in events] == added
    assert (accounts.accepted, accounts.spooled, accounts.rejected, accounts.lost) == (
        len(added),
        0,
        0,
        0,
    )
    assert verification.ok


def waiting(settings: Any, content: str) -> dict[str, Any]:
    event = {
        "id": ids.new_id(),
        "type": "user_message",
        "role": "user",
        "content": content,
        "parts": None,
    }
    owner = {
        "workspace_id": settings.owner.workspace_id,
        "developer_id": settings.owner.developer_id,
    }
    return {
        **owner,
        "user_id": "u1",
        "client": "claude",
        "native_id": "n1",
        "worktree": None,
        "event": event,
    }


# --- the log that a hook leaves -------------------------------------------------------------------


def store_as_a_hook(content: str) -> int:
    """In this process, to count its syncs."""
    settings = load_settings()
    record = waiting(settings, content)
    with faulty_file_system("sync error", 0) as syncs, App(settings, wait_seconds=1) as app:
        app.run(capture.store_record(app.database, settings.owner, record))
    return syncs.count


def find_log_size() -> int:
    log = Path(f"{sqlite_path(load_settings().database)}-wal")
    return log.stat().st_size if log.exists() else 0


def test_a_hook_syncs_twice_at_most_and_leaves_the_log():
    with App() as app:
        _ = app.database
    first = store_as_a_hook("starts the session")

    assert [store_as_a_hook(f"text {number}") for number in range(5)] == [1] * 5
    assert first <= 4  # two commits, into a new log
    assert find_log_size() > 0


def test_the_log_stays_bounded_however_many_hooks_leave_it():
    """The one that finds it long empties it; so does any other program in closing."""
    largest = 0
    syncs = []
    for number in range(150):
        syncs.append(store_as_a_hook(f"text {number} ".ljust(20_000, "x")))
        largest = max(largest, find_log_size())

    assert LEFT_LOG_BYTES / 2 < largest < LEFT_LOG_BYTES
    assert sum(syncs) < 2 * len(syncs)
    with App() as app:
        assert app.count().stored == 150
    assert find_log_size() == 0
