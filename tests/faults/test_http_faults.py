"""R9, R11, R20 and R21 over HTTP: streams that are cut, answers that are lost, stores that break,
servers that die.
"""

import asyncio
import json
import os
import random
import resource
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

import holdfast
from holdfast.ground import ids
from holdfast.sessions.service import SessionService
from tests.faults.audit import OWNER, audit, read_outbox, with_sessions
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS
from tests.rig.nursery import Line, Nursery
from tests.surfaces.http.server import (
    Server,
    append,
    create_session,
    environment,
    is_problem,
    run_server,
)

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]

WRITERS = 16
CUT_SECONDS = 0.1


# --- R9: a listener that is cut off again and again -----------------------------------------------


def change_contexts(line: Line, url: str, count: int) -> None:
    """A process of its own that changes a session's context, past every server."""

    async def work() -> None:
        async with holdfast.open_database(url) as database:
            sessions = SessionService(database, owner=OWNER)
            session = await sessions.create_session("coder", "u1")
            for number in range(count):
                await sessions.set_relevant_context(
                    session.id, "files", [f"/{session.id}/{number}"]
                )

    asyncio.run(work())
    line.say("done")


class Listener:
    """Reads the stream, leaves after a tenth of a second, and comes back with the
    last id it saw.
    """

    def __init__(self, servers: list[Server]):
        self.servers = servers
        self.cursor: str | None = None
        self.heard: list[tuple[str, str, Any]] = []
        self.connections = 0

    async def listen(self, is_over: Callable[[], bool]) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client:
            while not is_over():
                server = self.servers[self.connections % len(self.servers)]
                self.connections += 1
                by_header = self.connections % 2 == 0
                with suppress(TimeoutError):
                    async with asyncio.timeout(
                        CUT_SECONDS * 5
                    ):  # a busy machine needs longer to connect
                        await self._hear(client, server, by_header=by_header)

    async def _hear(self, client: httpx.AsyncClient, server: Server, *, by_header: bool) -> None:
        headers = {
            **server.bearer,
            **({"Last-Event-ID": self.cursor} if by_header and self.cursor else {}),
        }
        params = {"after": self.cursor} if self.cursor and not by_header else {}
        async with client.stream(
            "GET", f"{server.url}/api/events", headers=headers, params=params
        ) as answer:
            assert answer.status_code == 200
            with suppress(TimeoutError):
                async with asyncio.timeout(CUT_SECONDS):
                    await self._take(answer.aiter_lines())

    async def _take(self, lines: AsyncIterator[str]) -> None:
        """A block counts when it is whole; half of one is sent again."""
        block: dict[str, str] = {}
        async for line in lines:
            if line:
                name, _, value = line.partition(": ")
                block[name] = value
                continue
            if "id" in block:
                self.cursor = block["id"]
            if "data" in block:
                self.heard.append((block["id"], block["event"], json.loads(block["data"])))
            block = {}


def test_a_listener_that_reconnects_receives_every_event_once_and_in_order(
    tmp_path: Path, database_url: str, nursery: Nursery, scale: Scale
) -> None:
    """R9: sixteen processes write; on PostgreSQL the listener goes from one server to another and
    back.
    """
    each = max(1, scale(2_400) // WRITERS)
    with ExitStack() as stack:
        homes = (
            [tmp_path / "one"]
            if database_url.startswith("sqlite")
            else [tmp_path / "one", tmp_path / "two"]
        )
        servers = [stack.enter_context(run_server(home, database_url)) for home in homes]
        listener = Listener(servers)
        asyncio.run(start_listening(listener))
        writers = [nursery.start(change_contexts, database_url, each) for _ in range(WRITERS)]
        said = [False] * WRITERS

        def is_over() -> bool:
            for number, writer in enumerate(writers):
                said[number] = said[number] or (
                    bool(writer._line.is_called()) and writer.hear() == "done"
                )
            return all(said) and len(listener.heard) >= WRITERS * (each + 1)

        asyncio.run(listen_until(listener, is_over))
    told = with_sessions(database_url, read_outbox)

    assert len({cursor for cursor, _, _ in listener.heard}) == len(told)
    assert [data for _, _, data in listener.heard] == [event.data for event in told]
    assert Counter(topic for _, topic, _ in listener.heard) == {
        "session.started": WRITERS,
        "caco.context": WRITERS * each,
    }
    print(f"R9: {len(told)} events, {listener.connections} connections, {len(servers)} servers")


async def start_listening(listener: Listener) -> None:
    """Until it has a cursor: what comes before is not for it."""
    await listener.listen(lambda: listener.cursor is not None)


async def listen_until(listener: Listener, is_over: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await listener.listen(is_over)


# --- R11: answers that are lost -------------------------------------------------------------------


class Losses:
    """A TCP proxy: passes a request on, waits for the answer, and by chance keeps
    it and hangs up.
    """

    def __init__(self, port: int, chance: random.Random, loss: float):
        self.port, self.chance, self.loss = port, chance, loss
        self.lost = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        proxy = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        finally:
            proxy.close()
            await proxy.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection, so that the end of the answer is the end of the connection."""
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line[15:])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            )
            server_writer.write(head + await reader.readexactly(length))
            answer = await server_reader.read()  # to its end: the write was committed
            if answer and self.chance.random() < self.loss:
                self.lost += 1
            else:
                writer.write(answer)
                await writer.drain()
        finally:
            for each in (writer, server_writer):
                each.close()
                with suppress(OSError):
                    await each.wait_closed()


class Retrying:
    """A client that asks until there is an answer, always with the same key."""

    def __init__(self, client: httpx.AsyncClient, server: Server):
        self.client = client
        self.headers = {**server.bearer, "Host": f"127.0.0.1:{server.port}", "Connection": "close"}

    async def write(
        self, method: str, path: str, body: dict[str, Any], **headers: str
    ) -> httpx.Response:
        key = {"Idempotency-Key": ids.new_id()}
        while True:
            with suppress(httpx.TransportError):
                return await self.client.request(
                    method, path, json=body, headers={**self.headers, **key, **headers}
                )


@asynccontextmanager
async def losing(
    server: Server, chance: random.Random, loss: float = 0.4
) -> AsyncIterator[tuple[Retrying, Losses]]:
    proxy = Losses(server.port, chance, loss)
    async with (
        proxy.listening() as url,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):
        yield Retrying(client, server), proxy


def test_a_write_whose_answer_was_lost_is_done_once(
    tmp_path: Path, database_url: str, scale: Scale
) -> None:
    """R11: random writes of every kind through a network that loses four answers of ten."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    with run_server(tmp_path / "home", database_url) as server:
        asyncio.run(write_through_losses(server, chance, scale(1_000)))
        with server.client() as api:
            assert api.get("/api/health").json()["lost"] == 0


async def write_through_losses(server: Server, chance: random.Random, count: int) -> None:
    async with losing(server, chance) as (somebody, proxy):
        session = (await somebody.write("POST", "/api/sessions", {"chatmode": "coder"})).json()
        path, revision, named = f"/api/sessions/{session['id']}", session["revision"], list[str]()
        contents = list[str]()
        for number in range(count):
            kind = chance.randrange(4)
            if kind == 0:
                named.append(
                    (
                        await somebody.write(
                            "POST", "/api/sessions", {"chatmode": "x", "name": f"n{number}"}
                        )
                    ).json()["id"]
                )
            elif kind == 1:
                body = {"type": "user_message", "role": "user", "content": f"{number}"}
                answer = await somebody.write("POST", f"{path}/events", body)
                contents.append(answer.json()["content"])
                assert answer.json()["sequence"] == len(contents)
            elif kind == 2:
                change = {"unionContext": {"setName": "files", "items": [f"/{number}"]}}
                answer = await somebody.write(
                    "PATCH", path, change, **{"If-Match": f'"{revision}"'}
                )
                assert answer.status_code == 200, answer.text
                revision = answer.json()["revision"]
            else:
                await somebody.write(
                    "PATCH", f"{path}/state", {"scratchpad": {f"k{number}": number}}
                )
        print(f"R11: {count} writes, {proxy.lost} answers lost")
        assert proxy.lost or count < 20
    with server.client() as api:
        found = api.get(f"{path}/events", params={"limit": 1000}).json()["events"]
        assert [event["content"] for event in found] == contents[:1000]
        sessions = api.get("/api/sessions", params={"limit": 1000}).json()["sessions"]
        assert [listed["id"] for listed in sessions if listed["name"]] == named[::-1]
        assert api.get(path).json()["revision"] == revision


def test_ending_and_resuming_survive_lost_answers(
    tmp_path: Path, database_url: str, scale: Scale
) -> None:
    """R11: a thread of resumed sessions has no branch, however often its resuming was asked for."""
    with run_server(tmp_path / "home", database_url) as server:
        count = scale(100)
        last = asyncio.run(go_on(server, random.Random(11), count))

        async def verb(sessions: SessionService) -> int:
            return len(await sessions.list_thread(last))

        assert with_sessions(database_url, verb) == count + 1


async def go_on(server: Server, chance: random.Random, count: int) -> str:
    async with losing(server, chance) as (somebody, _):
        session_id: str = (
            await somebody.write("POST", "/api/sessions", {"chatmode": "coder"})
        ).json()["id"]
        for _ in range(count):
            assert (
                await somebody.write("POST", f"/api/sessions/{session_id}/end", {})
            ).status_code == 200
            resumed = await somebody.write("POST", f"/api/sessions/{session_id}/resume", {})
            assert resumed.status_code == 201
            session_id = resumed.json()["id"]
    return session_id


def test_duplicate_requests_have_one_effect_and_another_body_has_no_effect(
    tmp_path: Path, database_url: str, scale: Scale
) -> None:
    """R11: the same request several times at the same moment, and then with another body."""
    with run_server(tmp_path / "home", database_url) as server, server.client() as api:
        session = create_session(api)
        count = scale(500)
        asyncio.run(submit_twice(server, session["id"], count))
        events = api.get(f"/api/sessions/{session['id']}/events", params={"limit": 1000}).json()[
            "events"
        ]

        assert sorted(event["content"] for event in events) == sorted(
            str(number) for number in range(count)
        )


async def submit_twice(server: Server, session_id: str, count: int) -> None:
    path = f"/api/sessions/{session_id}/events"
    async with httpx.AsyncClient(
        base_url=server.url, headers=server.bearer, timeout=PATIENCE_SECONDS
    ) as client:
        for number in range(count):
            event = {"type": "user_message", "role": "user", "content": str(number)}
            key = {"Idempotency-Key": f"{session_id} {number}"}
            answers = await asyncio.gather(
                *(client.post(path, json=event, headers=key) for _ in range(3))
            )
            assert {answer.status_code for answer in answers} == {201}
            assert len({answer.json()["id"] for answer in answers}) == 1
            other = await client.post(path, json={**event, "content": "other"}, headers=key)
            assert is_problem(other, 409, "idempotency_key_reused")


def test_the_key_of_another_developer_means_nothing(tmp_path: Path, database_url: str) -> None:
    """R11: the same key and the same body; each has an effect of its own, and neither sees the
    other's.
    """
    key, body = {"Idempotency-Key": "one key"}, {"chatmode": "coder", "user_id": "u1"}

    @contextmanager
    def client_of(developer: str) -> Iterator[httpx.Client]:
        """One after the other: a store that is a file takes one server."""
        served_to = run_server(tmp_path / developer, database_url, HOLDFAST_DEVELOPER=developer)
        with served_to as server, server.client() as client:
            yield client

    with client_of("ada") as ada:
        hers = ada.post("/api/sessions", json=body, headers=key).json()
    with client_of("bob") as bob:
        his = bob.post("/api/sessions", json=body, headers=key).json()
        assert (
            bob.post("/api/sessions", json={**body, "chatmode": "x"}, headers=key).status_code
            == 409
        )
        assert len(bob.get("/api/sessions").json()["sessions"]) == 1
    with client_of("ada") as ada:
        assert (
            ada.post("/api/sessions", json=body, headers=key).json()["id"]
            == hers["id"]
            != his["id"]
        )


# --- R20: a store that breaks under the server ----------------------------------------------------


@contextmanager
def serve_filled_store(home: Path) -> Iterator[tuple[Server, httpx.Client, str]]:
    with run_server(home) as server, server.client() as api:
        session = create_session(api)
        for number in range(20):
            append(api, session["id"], f"{number} " * 200)
        assert api.get("/api/health").status_code == 200
        yield server, api, session["id"]


def remove_log(home: Path) -> None:
    (home / "holdfast.db-wal").unlink()


def remove_store(home: Path) -> None:
    (home / "holdfast.db").unlink()


def replace_store(home: Path) -> None:
    copy = home / "copy"
    copy.write_bytes((home / "holdfast.db").read_bytes())
    copy.rename(home / "holdfast.db")


def damage_pages(home: Path) -> None:
    """Everything behind the first page; another process wrote before, so that the server goes by
    the file again.
    """
    outside = apsw.Connection(str(home / "holdfast.db"))
    outside.execute("update heartbeats set beats = beats + 1")
    outside.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    outside.close()
    size = (home / "holdfast.db").stat().st_size
    with open(home / "holdfast.db", "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))


@pytest.mark.parametrize("vandal", [remove_log, remove_store, replace_store, damage_pages])
def test_health_sees_what_was_done_to_the_store_and_writes_are_refused(
    tmp_path: Path, vandal: Callable[[Path], None]
) -> None:
    """R20: a health that only looks at the process would stay green here."""
    with serve_filled_store(tmp_path) as (_, api, session_id):
        vandal(tmp_path)

        for _ in range(3):
            sick = api.get("/api/health")
            assert is_problem(sick, 503)
            assert sick.headers["cache-control"] == "no-store"
            assert append(api, session_id).status_code >= 500


def test_a_full_disk_is_reported_and_writes_work_again_when_it_has_space(tmp_path: Path) -> None:
    """R20: the kernel refuses every write beyond a size; then it no longer does.
    Nothing is lost.
    """
    with serve_filled_store(tmp_path) as (server, api, session_id):
        _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, most))
        assert is_problem(api.get("/api/health"), 503)
        assert is_problem(append(api, session_id, "refused"), 503)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))

        assert api.get("/api/health").json()["lost"] == 0
        assert append(api, session_id, "taken").json()["sequence"] == 21
    audit(f"sqlite:///{tmp_path / 'holdfast.db'}", session_id)


@pytest.mark.parametrize("sequence", [20, 7])
def test_an_event_that_is_missing_is_counted_and_health_says_so(
    tmp_path: Path, sequence: int
) -> None:
    """R20: accepted and stored come from different places, so that a difference shows, at the end
    of a log and in the middle.
    """
    with serve_filled_store(tmp_path) as (_, api, session_id):
        thief = apsw.Connection(str(tmp_path / "holdfast.db"))
        triggers = thief.execute("select name from sqlite_schema where type = 'trigger'").fetchall()
        for (name,) in triggers:
            thief.execute(f'drop trigger "{name}"')
        thief.execute(
            "delete from session_events where session_id = ? and sequence = ?",
            (session_id, sequence),
        )
        thief.close()

        sick = api.get("/api/health")

        assert is_problem(sick, 503, "events_lost")
        assert (sick.json()["lost"], sick.json()["stored"], sick.json()["accepted"]) == (1, 19, 20)
        status = subprocess.run(
            [*HOLDFAST, "status", "--json"], capture_output=True, env=environment(tmp_path)
        )
        counts = json.loads(status.stdout)
        assert (status.returncode, counts["lost"], counts["stored"], counts["accepted"]) == (
            5,
            1,
            19,
            20,
        )


def test_health_reports_a_stopped_postgresql_and_recovers_when_it_returns(
    tmp_path: Path, own_postgres: Any, own_postgres_url: str
) -> None:
    """R20, on the other engine."""
    with run_server(tmp_path, own_postgres_url) as server, server.client() as api:
        session = create_session(api)
        own_postgres.stop()
        assert is_problem(api.get("/api/health"), 503)
        assert is_problem(append(api, session["id"]), 503)
        own_postgres.start()

        health = api.get("/api/health")
        while health.status_code != 200:  # it may still be starting
            health = api.get("/api/health")
        assert health.json()["lost"] == 0


# --- R21: many programs on one home ---------------------------------------------------------------

PROGRAMS = 20


def start_program(number: int, home: Path, session_id: str) -> subprocess.Popen[bytes]:
    """Commands and hooks in turn; a hook takes its event from stdin."""
    pipe = subprocess.PIPE
    if number % 2:
        event = [
            "--type",
            "user_message",
            "--role",
            "user",
            "--content",
            f"command {number}",
            "--json",
        ]
        command, given = ["session", "append", session_id, *event], b""
    else:
        payload = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "claude-1",
            "cwd": str(home),
            "prompt": "x",
        }
        command, given = (
            ["hook", "claude", "UserPromptSubmit"],
            json.dumps({**payload, "prompt_id": ids.new_id()}).encode(),
        )
    process = subprocess.Popen(
        [*HOLDFAST, *command], stdin=pipe, stdout=pipe, stderr=pipe, env=environment(home)
    )
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    return process


def test_servers_are_killed_while_many_programs_use_the_same_home(
    tmp_path: Path, scale: Scale
) -> None:
    """R21: two servers at once, one of them serves; killed with -9, the next takes over; nothing is
    lost.
    """
    home = tmp_path / "home"
    with run_server(home) as server, server.client() as api:
        session_id = create_session(api)["id"]
    acked, hooks = list[str](), 0
    for _ in range(scale(20)):
        with ExitStack() as stack:
            first, second = two_servers(home, stack)
            programs = [start_program(number, home, session_id) for number in range(PROGRAMS)]
            acked += append_until_killed(first, session_id, 10)
            for number, program in enumerate(programs):
                out, err = program.communicate(timeout=PATIENCE_SECONDS)
                assert program.returncode == 0, err
                acked += [json.loads(out)["id"]] if number % 2 else []
            hooks += PROGRAMS // 2
        assert second["code"] == "server_running"
        assert f"process {first.pid} on port {first.port}" in second["message"]
    with run_server(home) as server, server.client() as api:  # takes over what was left behind
        counts = api.get("/api/health").json()
        assert (counts["lost"], counts["spooled"], counts["rejected"]) == (0, 0, 0)
        assert counts["stored"] >= len(acked) + hooks
    audit(f"sqlite:///{home / 'holdfast.db'}", session_id, acked)


def two_servers(home: Path, stack: ExitStack) -> tuple[Server, dict[str, Any]]:
    """Started at the same moment: the one that serves, and what the other said."""
    both = [Server(home), Server(home)]
    for server in both:
        stack.callback(server.kill)
    lines = []
    for server in both:
        assert server.process.stdout is not None
        lines.append(json.loads(server.process.stdout.readline()))
    [(serving, started)] = [pair for pair in zip(both, lines, strict=True) if "url" in pair[1]]
    [(other, refusal)] = [pair for pair in zip(both, lines, strict=True) if "code" in pair[1]]
    assert other.wait() == 4
    serving.started = started
    return serving, refusal


def append_until_killed(server: Server, session_id: str, count: int) -> list[str]:
    """The ids of the events that were acknowledged; the last request may be under way when the
    server dies.
    """
    acked = []
    with server.client() as api:
        for number in range(count):
            acked.append(append(api, session_id, f"http {number}").json()["id"])
        server.process.kill()
        with suppress(httpx.TransportError):
            answer = append(api, session_id, "perhaps")
            acked += [answer.json()["id"]] if answer.status_code == 201 else []
    server.kill()
    return acked
