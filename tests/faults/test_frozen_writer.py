"""R26: a process is stopped while it holds the write lock, and an event waits in the spool.

Every read answers while the process is still stopped, and none of them has waited: a pause in the
reading process is an error here. Afterwards everything is stored once.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import asyncpg
import httpx
import pytest

from holdfast import write
from holdfast.app import App
from holdfast.bundles import service as bundle_service
from holdfast.ground import files
from holdfast.ground.settings import load_settings
from holdfast.sessions import store as session_store
from holdfast.surfaces.cli import main
from holdfast.surfaces.http import app as door
from holdfast.surfaces.http import health
from holdfast.surfaces.http.token import Keys
from holdfast.surfaces.mcp.server import ServerProcess
from holdfast.surfaces.mcp.stdio import Store
from holdfast.usecases import catching_up
from holdfast.usecases.continuation import UNREAD
from tests.faults import writers
from tests.rig.claude_program import Claude
from tests.rig.commands import run_process
from tests.rig.nursery import Child, Nursery
from tests.rig.postgres import Server, execute
from tests.surfaces.mcp import doors

EVENT = "UserPromptSubmit"
CLI_READS = [
    ("session", "list"),
    ("session", "show", "SESSION"),
    ("session", "verify"),
    ("context", "show", "--session", "SESSION"),
    ("memory", "list"),
    ("status",),
    ("bundle", "show"),
    ("handoff", "show"),
]
HTTP_READS = [
    "/api/state",
    "/api/sessions",
    "/api/sessions/SESSION",
    "/api/sessions/SESSION/events",
    "/api/memories",
    "/",
    "/sessions/SESSION",
]


def fire(number: int) -> None:
    payload = {"hook_event_name": EVENT, "session_id": "s1", "cwd": "/home/dev/project"}
    stdin = json.dumps({**payload, "prompt": f"hook {number}", "prompt_id": f"m{number}"})
    assert run_process("hook", "claude", EVENT, stdin=stdin).code == 0


@pytest.fixture
def frozen(nursery: Nursery) -> Child:
    """It holds the write lock and does not run; one event is stored and one waits."""
    fire(1)
    child = hold_store(nursery)
    fire(2)
    return child


def hold_store(nursery: Nursery) -> Child:
    child = nursery.start(writers.hold_write_lock, load_settings().database)
    child.say("hold")
    assert child.hear() == "held"
    child.stop()
    return child


@pytest.fixture
def session_id(frozen: Child) -> str:
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        return str(session.id)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch, frozen: Child) -> None:
    refuse_pauses(monkeypatch)


def refuse_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own waiting, which is none of Python's, counts as busy."""

    def refuse(seconds: float) -> NoReturn:
        raise AssertionError(f"a read waited {seconds} s")

    monkeypatch.setattr(time, "sleep", refuse)
    monkeypatch.setattr(bundle_service, "RECEIPT_SECONDS", 0.0)
    monkeypatch.setattr(catching_up, "BUSY_SECONDS", 0.0)
    monkeypatch.setattr(session_store, "OBSERVED_SECONDS", 0.0)
    monkeypatch.setattr(write, "COUNT_SECONDS", 0.0)


@asynccontextmanager
async def serve() -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    async with App() as app:
        keys = Keys(app.settings.home)
        transport = httpx.ASGITransport(app=door.make_http_app(app, keys=keys))
        headers = {"authorization": f"Bearer {keys.token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:4790", headers=headers
        ) as client:
            yield app, client


def count_waiting() -> int:
    with App() as app:
        return app.spool.count_spooled()


def test_every_command_that_reads_answers_and_names_what_waits(
    session_id: str, no_pauses: None, capsys: pytest.CaptureFixture[str]
):
    for words in CLI_READS:
        code = main([word.replace("SESSION", session_id) for word in words])

        _, notes = capsys.readouterr()
        assert (code, "1 event waits" in notes) == (0, True), words


def test_the_handoff_is_shown_as_far_as_it_is_stored(
    nursery: Nursery,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """What only the transcript has cannot be stored; one line says that it waits, and where."""
    assert catching_up.BUSY_SECONDS <= 1
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    claude = Claude(home, project)
    claude.turn("Look at the queue.", "Looked.", "p1")
    claude.ask("Now use 3 workers.", "p2")
    child = hold_store(nursery)
    monkeypatch.chdir(project)
    with monkeypatch.context() as patched:
        refuse_pauses(patched)
        code = main(["handoff", "show"])
    held, notes = capsys.readouterr()
    child.thaw()
    child.say("let go")
    child.say("end")
    assert child.wait() == 0

    assert (code, main(["handoff", "show"])) == (0, 0)
    assert "> Look at the queue." in held
    assert notes == f"Note: {UNREAD}\n"
    free, no_notes = capsys.readouterr()
    assert "> Now use 3 workers." in free
    assert no_notes == ""


def test_status_counts_what_waits(no_pauses: None, capsys: pytest.CaptureFixture[str]):
    assert main(["status", "--json"]) == 0

    counted = json.loads(capsys.readouterr().out)
    assert (counted["stored"], counted["spooled"], counted["lost"]) == (1, 1, 0)


async def test_every_http_read_answers(session_id: str, no_pauses: None):
    """One of the team would wait until it is counted; decision 0045 has how long."""
    async with serve() as (_, client):
        for path in HTTP_READS:
            answer = await client.get(path.replace("SESSION", session_id))
            assert answer.status_code == 200, (path, answer.text)


def test_a_bundle_that_nobody_could_keep_says_so(
    no_pauses: None, capsys: pytest.CaptureFixture[str]
):
    assert bundle_service.RECEIPT_SECONDS <= 1
    assert main(["bundle", "show"]) == 0

    first_line = capsys.readouterr().out.splitlines()[0]
    assert first_line.endswith("receipt not kept: the store is busy")


async def test_every_call_over_mcp_gets_its_store_at_once(no_pauses: None):
    """Tools, resources and prompts all begin here; so does the start of the server."""
    store = Store(ServerProcess())
    for _ in range(2):
        app = await store.app_for(None)
        assert len(await app.scope.sessions.list_sessions()) == 1
    await store.close()

    assert count_waiting() == 1


async def test_over_mcp_both_halves_of_a_bundle_say_that_it_has_no_receipt(
    no_pauses: None, tmp_path: Path
):
    async with doors.inside(tmp_path) as client:
        answer = await client.call_tool("repo_context", {"operation": "bundle"})

    note = "No receipt was kept, because the store is busy."
    bundle = answer.structured_content["data"]["bundle"]
    assert (answer.structured_content["warnings"], bundle["id"]) == ([note], None)
    assert answer.content[0].text == f"Note: {note}\n{bundle['text']}"


async def test_health_does_not_wait_as_long_as_a_write(
    frozen: Child, monkeypatch: pytest.MonkeyPatch
):
    """Its own write still waits when the answer is given; the bound that is in force is short."""
    assert health.HEALTH_SECONDS <= 4
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.1)
    async with serve() as (app, client):
        answer = await client.get("/api/health")
        is_still_waiting = app.database._write_lock.locked()  # type: ignore[attr-defined]
        frozen.thaw()
        frozen.say("let go")

    assert (answer.status_code, answer.json()["code"]) == (503, "store_busy")
    assert is_still_waiting


def test_a_stopped_drain_is_not_waited_for(
    frozen: Child, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """It holds the locks of the spool as well; all pauses together are a moment."""
    pauses: list[float] = []
    with App() as app:
        spool = app.spool
    real = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (pauses.append(seconds), real(seconds)))

    with files.Lock(spool.draining), files.Lock(spool.folder), files.Lock(spool.pending):
        assert main(["session", "list"]) == 0

    assert "1 event waits" in capsys.readouterr().err
    assert sum(pauses) < 1


@pytest.mark.parametrize("reads", [1, 5])
def test_when_it_runs_again_everything_is_stored_once(
    frozen: Child, reads: int, capsys: pytest.CaptureFixture[str]
):
    for _ in range(reads):
        assert main(["session", "list"]) == 0
    frozen.thaw()
    frozen.say("let go")
    frozen.say("end")
    assert frozen.wait() == 0

    assert main(["status", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (counted["stored"], counted["spooled"], counted["lost"]) == (2, 0, 0)


@pytest.mark.own_database
def test_a_session_that_another_transaction_holds_on_postgresql_delays_no_read(
    postgres_url: str,
    postgres_owner_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """The server would let it wait for seconds; the drain is given up before."""
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    monkeypatch.setattr("holdfast.app.DRAIN_SECONDS", 0.1)
    fire(1)
    lock = "begin; lock table context.session_events in share row exclusive mode"
    with asyncio.Runner() as runner:
        blocker: Any = runner.run(asyncpg.connect(postgres_owner_url))
        runner.run(blocker.execute(lock))
        fire(2)
        code = main(["status", "--json"])
        runner.run(blocker.close())

    held = json.loads(capsys.readouterr().out)
    assert (code, held["stored"], held["spooled"]) == (0, 1, 1)
    assert main(["status", "--json"]) == 0
    free = json.loads(capsys.readouterr().out)
    assert (free["stored"], free["spooled"], free["lost"]) == (2, 0, 0)


@pytest.mark.own_database
async def test_health_is_red_while_no_event_can_be_stored_on_postgresql(
    postgres_url: str, postgres_owner_url: str, monkeypatch: pytest.MonkeyPatch
):
    """Every other table can be written meanwhile."""
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    monkeypatch.setattr(health, "HEALTH_SECONDS", 1)
    async with serve() as (app, client):
        before = await client.get("/api/health")
        blocker: Any = await asyncpg.connect(postgres_owner_url)
        await blocker.execute("begin; lock table context.session_events in exclusive mode")
        locked = await client.get("/api/health")
        await blocker.close()
        monkeypatch.setattr(health, "HEALTH_SECONDS", 3)
        after = await client.get("/api/health")
        sessions = await app.scope.sessions.list_sessions()

    assert (before.status_code, locked.status_code, after.status_code) == (200, 503, 200)
    assert locked.json()["code"] == "store_busy"
    assert "cannot be reached now" in locked.json()["detail"]  # and not where it is
    assert sessions == []


@pytest.mark.own_database
async def test_health_is_green_while_one_session_is_locked_on_postgresql(
    postgres_url: str, postgres_owner_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    async with serve() as (app, client):
        session = await app.scope.sessions.create_session("architect", "ana")
        blocker: Any = await asyncpg.connect(postgres_owner_url)
        owner = app.settings.owner
        async with blocker.transaction():
            await blocker.execute(
                "select holdfast.act_for($1, $2)", owner.workspace_id, owner.developer_id
            )
            locked = await blocker.fetch("select id from context.sessions for update")
            answer = await client.get("/api/health")
        await blocker.close()

    assert [str(row["id"]) for row in locked] == [session.id]
    assert answer.status_code == 200


@contextmanager
def freeze(server: Server) -> Iterator[None]:
    """All that answers: the server itself, which takes new connections, and the open ones."""
    known = "select pid from pg_stat_activity where backend_type = 'client backend'"
    backends = [row["pid"] for row in execute(server.dsn(), f"{known} and pid <> pg_backend_pid()")]
    first, *_ = (server.data / "postmaster.pid").read_text().split()
    processes = [int(first), *backends]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


async def test_health_does_not_wait_for_a_frozen_postgresql(
    own_postgres: Server, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    """It does not even answer that a statement is to be given up."""
    monkeypatch.setenv("HOLDFAST_DATABASE", own_postgres_url)
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.2)
    async with serve() as (_, client):
        with freeze(own_postgres):
            frozen = await client.get("/api/health")
        monkeypatch.setattr(health, "HEALTH_SECONDS", 30)
        after = await client.get("/api/health")

    assert (frozen.status_code, frozen.json()["code"]) == (503, "store_busy")
    assert after.status_code == 200
