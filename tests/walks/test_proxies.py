"""`deploy/nginx.conf` and `deploy/Caddyfile` as nginx and Caddy run them: TLS before two server
processes on one PostgreSQL, for agents, browsers and laptops.
"""

import asyncio
import itertools
import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.identity.model import NewToken
from holdfast.team.errors import ChangeWaitsError, ServerUnreachableError
from tests.rig import http_proxy
from tests.rig import postgres as rig
from tests.rig.commands import PATIENCE_SECONDS, require_programs
from tests.rig.http_proxy import wait_until
from tests.rig.laptops import Laptop, Office
from tests.rig.proxies import KINDS, NAME, RunningProxy, run_proxy
from tests.surfaces.http.server import Server, is_problem
from tests.surfaces.http.test_principals import RPC
from tests.surfaces.team import REPO

VERSIONS = {"with a session": "2025-11-25", "stateless": "2026-07-28"}
KEY = {"Idempotency-Key": "k-1"}
ESTABLISHED = "01"  # in /proc/net/tcp
NUMBERS = itertools.count()  # of developers
CONTEXT = {"title": "Retry queue", "summary": "Jobs are retried.", "repo": "acme/pay"}


class Site:
    """Two processes, which are called by the names of all the proxies."""

    def __init__(self, url: str, folder: Path, ports: dict[str, int]):
        self.url, self.folder, self.ports = url, folder, ports
        self.names = ",".join(f"{NAME}:{port}" for port in ports.values())
        self.servers = [self._begin(number) for number in range(2)]
        for server in self.servers:
            server.wait_until_ready()

    def _begin(self, number: int, *arguments: str) -> Server:
        home = self.folder / f"server-{number}"
        return Server(home, self.url, *arguments, HOLDFAST_SERVER_NAMES=self.names)

    def restart(self, *numbers: int) -> None:
        """On the ports that they had."""
        for number in numbers:
            port = self.servers[number].port
            self.servers[number] = self._begin(number, "--port", str(port))
        for number in numbers:
            self.servers[number].wait_until_ready()

    def stop(self) -> None:
        for server in self.servers:
            server.stop()

    def count(self, route: str) -> list[int]:
        """What each process has answered there."""
        return [
            sum(
                int(line.rpartition(" ")[2])
                for line in read_metrics(server)
                if line.startswith(f'holdfast_requests_total{{route="{route}"')
            )
            for server in self.servers
        ]

    def count_streams(self) -> int:
        lines = [line for server in self.servers for line in read_metrics(server)]
        found = [line for line in lines if line.startswith("holdfast_streams_open")]
        return sum(int(line.rpartition(" ")[2]) for line in found)


def read_metrics(server: Server) -> list[str]:
    with server.client() as client:
        return client.get("/metrics").text.splitlines()


class Door:
    """The site as it is reached through one proxy."""

    def __init__(self, site: Site, proxy: RunningProxy):
        self.site, self.proxy = site, proxy
        self.context = proxy.make_context()
        self.office = Office(site.servers[0], proxy)

    def open(self, token: NewToken | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token.text}"} if token else {}
        return httpx.Client(
            base_url=self.proxy.url,
            headers=headers,
            verify=self.context,
            timeout=PATIENCE_SECONDS,
        )

    def add(self) -> NewToken:
        number = next(NUMBERS)
        return self.office.add(f"dev-{number}")

    def add_at(self, number: int) -> NewToken:
        """A token whose calls the proxy sends to this process."""
        while True:
            token = self.add()
            before = self.site.count("/api/me")
            with self.open(token) as client:
                assert client.get("/api/me").status_code == 200
            if self.site.count("/api/me")[number] > before[number]:
                return token


@pytest.fixture(scope="module")
def site(
    postgres: rig.Cluster, postgres_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    require_programs(*KINDS, "openssl")
    name = postgres.create_database(postgres_template)
    folder = tmp_path_factory.mktemp("served")
    ports = {kind: rig.pick_port() for kind in KINDS}
    try:
        running = Site(postgres.dsn(name, rig.APP), folder, ports)
        try:
            yield running
        finally:
            running.stop()
    finally:
        postgres.drop_database(name)


@pytest.fixture(scope="module")
def doors(site: Site) -> Iterator[dict[str, Door]]:
    upstreams = [server.port for server in site.servers]
    with ExitStack() as stack:
        yield {
            kind: Door(site, stack.enter_context(run_proxy(kind, port, upstreams)))
            for kind, port in site.ports.items()
        }


@pytest.fixture(params=KINDS)
def door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Door:
    return doors[request.param]


def test_what_is_published_at_one_process_is_seen_at_the_other(door: Door):
    ana, ben = door.add_at(0), door.add_at(1)
    with door.open(ana) as writer, door.open(ben) as reader:
        made = writer.post("/api/contexts", json=CONTEXT)
        seen = reader.get("/api/contexts").json()["contexts"]

    assert made.status_code == 201
    assert made.json()["id"] in [context["id"] for context in seen]


def test_only_the_name_of_the_server_and_a_token_lead_in(door: Door):
    """Caddy answers a foreign name by itself, with nothing; nginx passes it on, to be refused."""
    before = sum(door.site.count("/api/me"))
    with door.open() as client:
        closed = client.get("/api/me")
        foreign = client.get("/api/me", headers={"Host": "evil.example"})

    assert is_problem(closed, 401, "unauthorized")
    assert f'"{door.proxy.url}/' in closed.headers["www-authenticate"]
    if door.proxy.kind == "nginx":
        assert is_problem(foreign, 403, "foreign_request")
    assert foreign.content == b"" or foreign.status_code == 403
    assert sum(door.site.count("/api/me")) == before


@pytest.mark.parametrize("size", [(1 << 20) + 1, 3 << 20])
@pytest.mark.parametrize("is_announced", [True, False])
def test_a_body_that_is_too_large_is_answered_by_us(door: Door, size: int, is_announced: bool):
    body = json.dumps({**CONTEXT, "summary": "x" * size}).encode()
    with door.open(door.add()) as client:
        answer = client.post(
            "/api/contexts",
            content=body if is_announced else iter([body]),
            headers={"Content-Type": "application/json"},
        )

    assert is_problem(answer, 413, "too_large")


def test_a_browser_logs_in_and_stays_logged_in_at_both(door: Door):
    token = door.add()
    with door.open() as browser:
        origin = {"Origin": door.proxy.url}
        answer = browser.post("/login", data={"token": token.text}, headers=origin)
        cookie = answer.headers["set-cookie"]
        pages = [browser.get("/", headers={"Accept": "text/html"}) for _ in range(4)]
        foreign = browser.post("/logout", headers={"Origin": "https://evil.example"})

    assert cookie.startswith("__Host-holdfast_session=")
    assert "Secure" in cookie
    assert [page.status_code for page in pages] == [200] * 4
    assert is_problem(foreign, 403, "foreign_request")
    shown = {"Cookie": cookie.partition(";")[0], "Host": f"{NAME}:{door.site.ports['nginx']}"}
    answers = [
        httpx.get(f"{server.url}/api/me", headers=shown, verify=False)
        for server in door.site.servers
    ]
    assert [answer.status_code for answer in answers] == [200, 200]


# --- MCP ------------------------------------------------------------------------------------------


def ask_tool(client: httpx.Client, era: str, name: str, **arguments: Any) -> httpx.Response:
    version = VERSIONS[era]
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if era == "stateless":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**RPC, "MCP-Protocol-Version": version}
    named = {"Mcp-Method": "tools/call", "Mcp-Name": name} if era == "stateless" else {}
    return client.post("/mcp", json=message, headers={**headers, **named})


def begin_mcp_session(client: httpx.Client) -> str:
    """As a client of before 2026 does, whose session is in the process that answers."""
    version = VERSIONS["with a session"]
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = {name: value for name, value in RPC.items() if name != "MCP-Protocol-Version"}
    answer = client.post("/mcp", json=message, headers=headers)
    assert answer.status_code == 200, answer.text
    session_id: str = answer.headers["mcp-session-id"]
    client.headers["Mcp-Session-Id"] = session_id
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    named = {**RPC, "MCP-Protocol-Version": version}
    assert client.post("/mcp", json=done, headers=named).status_code == 202
    return session_id


@pytest.mark.parametrize("number", [0, 1])
def test_an_agent_with_a_session_stays_at_the_process_that_has_it(door: Door, number: int):
    token = door.add_at(number)
    before = door.site.count("/mcp")
    with door.open(token) as client:
        begin_mcp_session(client)
        answers = [
            ask_tool(client, "with a session", "covibe_team", operation="state") for _ in range(5)
        ]
    with door.open(token) as client:  # another connection, the same agent
        answers += [
            ask_tool(client, "stateless", "covibe_team", operation="state") for _ in range(5)
        ]

    assert [answer.status_code for answer in answers] == [200] * 10
    assert all('"status":"ok"' in answer.text.replace(" ", "") for answer in answers)
    after = door.site.count("/mcp")
    assert after[number] == before[number] + 12
    assert after[1 - number] == before[1 - number]


# --- streams --------------------------------------------------------------------------------------


class Listener:
    """A stream of events, read by a thread of its own until the other side ends it."""

    def __init__(self, door: Door, token: NewToken, after: str | None = None):
        self._door, self._token = door, token
        self._headers = {} if after is None else {"Last-Event-ID": after}
        self.lines = list[str]()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        wait_until(lambda: bool(self.lines))

    def _listen(self) -> None:
        with (
            suppress(httpx.RemoteProtocolError),
            self._door.open(self._token) as client,
            client.stream("GET", "/api/events", headers=self._headers) as stream,
        ):
            for line in stream.iter_lines():
                self.lines.append(line)

    @property
    def is_open(self) -> bool:
        return self._thread.is_alive()

    @property
    def last_id(self) -> str:
        ids = [line.removeprefix("id: ") for line in self.lines if line.startswith("id: ")]
        return ids[-1]

    def reconnect(self) -> "Listener":
        """As a browser does, behind the last event that came."""
        return Listener(self._door, self._token, self.last_id)

    def has_heard(self, context_id: str) -> bool:
        return any(context_id in line for line in self.lines)


def test_events_come_as_they_happen_until_the_token_is_revoked(door: Door):
    """Those of the other process too; the proxy holds back neither an event nor the end."""
    ana, ben = door.add_at(0), door.add_at(1)
    listener = Listener(door, ana)
    with door.open(ben) as writer:
        made = writer.post("/api/contexts", json=CONTEXT).json()
        wait_until(lambda: listener.has_heard(made["id"]))
        assert listener.is_open
        with door.open(ana) as client:
            assert client.delete("/api/me/token").status_code in (200, 204)
        wait_until(lambda: not listener.is_open)

        assert not listener.has_heard(writer.post("/api/contexts", json=CONTEXT).json()["id"])


def test_a_client_that_leaves_gives_back_its_stream(door: Door):
    """At once: a process has room for so many streams, and clients come and go."""
    wait_until(lambda: door.site.count_streams() == 0)
    token = door.add()
    with door.open(token) as client, client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        next(lines)
        assert door.site.count_streams() == 1

    wait_until(lambda: door.site.count_streams() == 0, seconds=10)


# --- what fails -----------------------------------------------------------------------------------


@pytest.fixture
def cutters(site: Site) -> Iterator[list[http_proxy.Proxy]]:
    """One before each process, on the proxy's side of it."""
    with ExitStack() as stack:
        yield [stack.enter_context(http_proxy.Proxy(server.port)) for server in site.servers]


@pytest.fixture(params=KINDS)
def cut_door(
    request: pytest.FixtureRequest, site: Site, cutters: list[http_proxy.Proxy]
) -> Iterator[Door]:
    upstreams = [cutter.port for cutter in cutters]
    with run_proxy(request.param, rig.pick_port(), upstreams) as proxy:
        yield Door(site, proxy)


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_a_write_that_was_not_answered_is_not_sent_to_the_other_process(
    cut_door: Door, cutters: list[http_proxy.Proxy], method: str
):
    """But for a DELETE, which nginx calls repeatable: two of ours come to the same as one."""
    for cutter in cutters:
        cutter.behave = http_proxy.cut_before
    body = None if method == "DELETE" else CONTEXT
    with cut_door.open() as client:
        answer = client.request(method, "/api/contexts", json=body)

    sent = [line for cutter in cutters for line in cutter.list_lines()]
    assert answer.status_code == 502
    assert set(sent) == {f"{method} /api/contexts"}
    assert len(sent) <= (2 if method == "DELETE" else 1)


@pytest.mark.parametrize("cut", [http_proxy.cut_after, http_proxy.cut_inside])
def test_a_laptop_whose_answer_is_cut_off_publishes_once(
    cut_door: Door,
    cutters: list[http_proxy.Proxy],
    cut: http_proxy.Behaviour,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """It is done and not answered: the laptop keeps it, and sends it with the same key."""
    token = cut_door.add()
    laptop = Laptop(tmp_path / "laptop", cut_door.office, token.token.handle, token)
    with pytest.raises(ServerUnreachableError, match="certificate does not count"):
        asyncio.run(laptop.team.get_state())
    monkeypatch.setenv("SSL_CERT_FILE", str(cut_door.proxy.authority))
    asyncio.run(laptop.team.get_me())

    for cutter in cutters:
        cutter.behave = cut
    fields = {"title": "Cut", "summary": "In the middle.", "repo": REPO}
    with pytest.raises(ChangeWaitsError):
        asyncio.run(laptop.team.publish_context(**fields))
    for cutter in cutters:
        cutter.behave = http_proxy.pass_on
    with cut_door.open(token) as client:
        wait_until(lambda: client.get("/api/me").status_code == 200)
    state = asyncio.run(laptop.team.get_state())
    history = asyncio.run(laptop.team.list_own_contexts())

    assert history[0].id in [context.id for context in state.published_contexts]
    assert [context.title for context in history] == ["Cut"]
    assert laptop.team.outbox.is_empty()
    assert sum("POST /api/contexts" in cutter.list_lines() for cutter in cutters) >= 1


def test_agents_go_on_when_a_process_is_killed_and_laptops_wait_when_both_are(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(door.proxy.authority))
    ana, ben = door.add_at(0), door.add_at(1)
    with door.open(ana) as client, door.open(ana) as agent, door.open(ben) as teammate:
        begin_mcp_session(agent)
        listener = Listener(door, ana)
        kill_in_the_middle(door, client)
        check_nothing_is_lost(door, client, listener, teammate)
        gone = ask_tool(agent, "with a session", "covibe_team", operation="state")
        assert gone.status_code == 404  # as the protocol says it: begin another
        del agent.headers["Mcp-Session-Id"]
        begin_mcp_session(agent)
        found = ask_tool(agent, "with a session", "covibe_team", operation="state")
        assert found.status_code == 200

        laptop = Laptop(tmp_path / "laptop", door.office, ben.token.handle, ben)
        publish_while_both_are_down(door, laptop)
        wait_until(lambda: client.get("/api/me").status_code == 200)
        titles = [each["title"] for each in list_history(teammate)]
        assert titles.count("Offline") == 0
        shown = laptop.run("team", "state", SSL_CERT_FILE=str(door.proxy.authority))
        assert shown.code == 0, shown
        titles = [each["title"] for each in list_history(teammate)]
        assert titles.count("Offline") == 1
        assert laptop.team.outbox.is_empty()


def list_history(client: httpx.Client) -> list[dict[str, Any]]:
    answer = client.get("/api/contexts", params={"history": "true"})
    assert answer.status_code == 200, answer.text
    contexts: list[dict[str, Any]] = answer.json()["contexts"]
    return contexts


def kill_in_the_middle(door: Door, client: httpx.Client) -> None:
    """Two requests are in the first process when it is killed, one of them with a key."""
    server = door.site.servers[0]
    os.kill(server.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(2) as threads:
        asked = [
            threads.submit(client.post, "/api/contexts", json=CONTEXT, headers=headers)
            for headers in ({}, KEY)
        ]
        wait_until(lambda: count_unread(server.port) == 2)
        server.kill()
        answers = [each.result() for each in asked]
    assert [answer.status_code for answer in answers] == [502, 502]


def check_nothing_is_lost(
    door: Door, client: httpx.Client, listener: Listener, teammate: httpx.Client
) -> None:
    """At the other process: what was not answered was not repeated, and can be."""
    assert list_history(client) == []
    answers = [client.post("/api/contexts", json=CONTEXT, headers=KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert answers[1].headers["idempotency-repeated"] == "true"
    assert len(list_history(client)) == 1

    wait_until(lambda: not listener.is_open)
    made = teammate.post("/api/contexts", json=CONTEXT).json()
    again = listener.reconnect()
    wait_until(lambda: again.has_heard(made["id"]) and again.has_heard(answers[0].json()["id"]))


def count_unread(port: int) -> int:
    """Connections to a port with bytes that its process has not read."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sizes = [
        row[4].partition(":")[2]
        for row in rows
        if row[1].endswith(f":{port:04X}") and row[3] == ESTABLISHED
    ]
    return sum(int(size, 16) > 0 for size in sizes)


def publish_while_both_are_down(door: Door, laptop: Laptop) -> None:
    """The other process is killed as well; then both are started again."""
    authority = {"SSL_CERT_FILE": str(door.proxy.authority)}
    repo = laptop.make_repo()
    asyncio.run(laptop.team.get_me())
    door.site.servers[1].kill()
    words = ("--title", "Offline", "--summary", "Both are down.", "--yes")
    kept = laptop.run("team", "publish", *words, cwd=repo.folder, **authority)
    asked = laptop.run("team", "state", cwd=repo.folder, **authority)
    assert (kept.code, asked.code) == (0, 6), (kept, asked)
    assert "waits on this machine" in kept.out
    assert "cannot be reached: it answered with" in asked.err
    assert not laptop.team.outbox.is_empty()
    door.site.restart(0, 1)
