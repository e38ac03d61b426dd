"""Several server processes on one PostgreSQL, behind one address with TLS in front."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.rig import postgres as rig
from tests.rig.commands import PATIENCE_SECONDS, run_process
from tests.surfaces.http.server import Server, run_server

NAME = "team.example"
URL = f"https://{NAME}"


class Proxy(httpx.BaseTransport):
    """Gives each request to the next server, with the name that it was called by."""

    def __init__(self, servers: list[Server]):
        self._next = itertools.cycle(servers)
        self._inner = httpx.HTTPTransport(verify=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        server = next(self._next)
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=server.port)
        passed = httpx.Request(
            request.method,
            url,
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return self._inner.handle_request(passed)

    def close(self) -> None:
        self._inner.close()


@pytest.fixture(scope="module")
def servers(
    postgres: rig.Cluster, postgres_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """Two processes, each with a data folder of its own, as on two machines."""
    name = postgres.create_database(postgres_template)
    try:
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    run_server(
                        tmp_path_factory.mktemp("served"),
                        postgres.dsn(name, rig.APP),
                        HOLDFAST_SERVER_NAMES=NAME,
                    )
                )
                for _ in range(2)
            ]
    finally:
        postgres.drop_database(name)


@pytest.fixture
def token(servers: list[Server], request: pytest.FixtureRequest) -> dict[str, Any]:
    return make_token(servers, f"dev-{abs(hash(request.node.name)) % 10**8}")


def make_token(servers: list[Server], handle: str) -> dict[str, Any]:
    env = {"HOLDFAST_DATABASE": servers[0].database_url or ""}
    added = run_process("admin", "developer", "add", handle, **env)
    assert added.code == 0, added
    made = run_process("admin", "token", "add", handle, "--json", **env)
    document: dict[str, Any] = made.document
    return document


def call(servers: list[Server], token: str | None = None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(
        transport=Proxy(servers), base_url=URL, headers=headers, timeout=PATIENCE_SECONDS
    )


def test_what_one_stores_the_other_answers(servers: list[Server], token: dict[str, Any]):
    with call(servers, token["token"]) as client:
        for number in range(10):
            session = client.post("/api/sessions", json={"chatmode": "m", "user_id": "u"}).json()
            path = f"/api/sessions/{session['id']}/events"
            event = {"type": "user_message", "role": "user", "content": f"{number}"}
            assert client.post(path, json=event).status_code == 201
            assert [each["content"] for each in client.get(path).json()["events"]] == [f"{number}"]


def test_a_repeated_request_finds_its_key_at_the_other(
    servers: list[Server], token: dict[str, Any]
):
    body = {"title": "t", "summary": "s"}
    with call(servers, token["token"]) as client:
        answers = [
            client.post("/api/contexts", json=body, headers={"Idempotency-Key": "k-1"})
            for _ in range(4)
        ]

    assert len({answer.json()["id"] for answer in answers}) == 1


def test_who_logs_in_at_one_is_logged_in_at_the_other(servers: list[Server], token: dict[str, Any]):
    with call(servers) as browser:
        answer = browser.post("/login", data={"token": token["token"]}, headers={"Origin": URL})
        cookie = answer.headers["set-cookie"]
        pages = [browser.get("/", headers={"Accept": "text/html"}) for _ in range(4)]

    assert cookie.startswith("__Host-holdfast_session=")
    assert "Secure" in cookie
    assert [page.status_code for page in pages] == [200] * 4


def test_an_agent_logs_in_with_a_code_whichever_server_answers(
    servers: list[Server], token: dict[str, Any]
):
    with call(servers, token["token"]) as person, call(servers) as agent:
        begun = agent.post("/api/logins", json={"agent": "codex", "machine": "laptop"}).json()
        assert begun["verification_uri"] == f"{URL}/login/device"
        form = {"user_code": begun["user_code"], "decision": "approve"}
        person.post("/login/device", data=form, headers={"Origin": URL})
        answers = [
            agent.post("/api/logins/token", json={"device_code": begun["device_code"]})
            for _ in range(2)
        ]

    assert [answer.status_code for answer in answers] == [200, 400]


def test_a_stream_at_one_tells_what_happens_at_the_other(
    servers: list[Server], token: dict[str, Any]
):
    """And ends at both when its token is revoked at either."""
    one, other = servers
    heard = list[str]()
    is_open = threading.Event()

    def listen() -> None:
        with call([one], token["token"]) as client, client.stream("GET", "/api/events") as stream:
            for line in stream.iter_lines():
                is_open.set()
                heard.append(line)

    listening = threading.Thread(target=listen)
    listening.start()
    assert is_open.wait(PATIENCE_SECONDS)
    with call([other], token["token"]) as client:
        client.post("/api/contexts", json={"title": "t", "summary": "s"})
        while not any(line.startswith("event: team.") for line in heard):
            assert listening.is_alive()
        assert client.delete("/api/me/token").status_code in (200, 204)
    listening.join(PATIENCE_SECONDS)

    assert not listening.is_alive()
    with call(servers, token["token"]) as client:
        assert [client.get("/api/me").status_code for _ in range(4)] == [401] * 4


def test_a_server_that_is_killed_loses_nothing_of_what_it_acknowledged(
    postgres: rig.Cluster, postgres_template: str, tmp_path: Path
):
    """Its clients go on at the other."""
    name = postgres.create_database(postgres_template)
    url = postgres.dsn(name, rig.APP)
    try:
        with run_server(tmp_path / "1", url) as one, run_server(tmp_path / "2", url) as other:
            with one.client() as client:
                session = client.post("/api/sessions", json={"chatmode": "m", "user_id": "u"})
                path = f"/api/sessions/{session.json()['id']}/events"
                event = {"type": "user_message", "role": "user", "content": "kept"}
                stored = [client.post(path, json=event).json()["id"] for _ in range(5)]
            one.kill()
            with other.client() as client:
                client.post(path, json=event)
                events = client.get(path).json()["events"]
    finally:
        postgres.drop_database(name)

    assert [each["id"] for each in events][:5] == stored
    assert len(events) == 6


@pytest.mark.own_database
def test_a_server_that_only_its_proxy_can_reach_is_not_called_open(
    postgres_url: str, tmp_path: Path
):
    server = Server(tmp_path / "1", postgres_url, HOLDFAST_SERVER_NAMES=NAME).wait_until_ready()
    server.process.terminate()
    errors = server.errors()

    assert (server.wait(), errors) == (0, "")
