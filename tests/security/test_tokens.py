"""TS9 and TS16 for the tokens of developers: whatever is wrong with one, the answer is the same,
and nothing of it is written anywhere. A stream ends with the token that opened it.
"""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.rig import catalogue
from tests.rig import postgres as rig
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS
from tests.rig.postgres import execute
from tests.surfaces.http.server import (
    Server,
    append,
    create_session,
    environment,
    is_problem,
    run_server,
)
from tests.surfaces.http.test_events import listening

pytestmark = pytest.mark.own_database
CONTEXT = {"title": "t", "summary": "s", "repo": "acme/pay"}


class Administrator:
    """Runs `holdfast admin` on the machine of a server."""

    def __init__(self, server: Server, **env: str):
        self.server, self.env = server, env

    def run(self, *arguments: str) -> Any:
        done = subprocess.run(
            [*HOLDFAST, "admin", *arguments, "--json"],
            env=environment(self.server.home, self.server.database_url, **self.env),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def add(self, handle: str, *scopes: str) -> dict[str, Any]:
        self.run("workspace", "add", self.env.get("HOLDFAST_WORKSPACE", "local"))
        self.run("developer", "add", handle)
        return self.make(handle, *scopes)

    def make(self, handle: str, *scopes: str) -> dict[str, Any]:
        options = [part for scope in scopes for part in ("--scope", scope)]
        made: dict[str, Any] = self.run("token", "add", handle, *options)
        return made


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    with run_server(tmp_path / "data", url) as running:
        yield running


def open_client(server: Server, token: str) -> httpx.Client:
    return httpx.Client(
        base_url=server.url,
        headers={"Authorization": f"Bearer {token}"},
        timeout=PATIENCE_SECONDS,
    )


def flip(text: str, place: int) -> str:
    other = "A" if text[place] != "A" else "B"
    return text[:place] + other + text[place + 1 :]


# --- TS9 ------------------------------------------------------------------------------------------


def list_bad_headers(good: str, revoked: str, foreign: str, of_bo: str) -> list[dict[str, str]]:
    secret, _, workspace = good.partition(".")
    bad = [
        *(good[:-1], good[1:], secret, f"{secret}.", f"{secret}.{workspace}x", secret[:30]),
        *(flip(good, place) for place in (4, 5, 20, 46)),
        *(revoked, of_bo, foreign, f"{secret}.other", f"hft_{'x' * 43}.{workspace}"),
        *(
            "hft_" + "x" * 8192,
            "x" * 8192,
            "hft_",
            good.upper(),
            f"{good}%00",
            f"{good}.{good}",
        ),
        *("null", "undefined", "Bearer", f"hfd_{secret[4:]}", f"'{good}'", f"{good},{good}"),
    ]
    headers = [{"Authorization": f"Bearer {token}"} for token in bad]
    headers += [{"Authorization": f"{scheme} {good}"} for scheme in ("Basic", "Token", "Digest")]
    headers += [{"Authorization": good}, {"X-Api-Key": good}, {"Proxy-Authorization": good}]
    headers += [{"Cookie": f"holdfast_session={good}"}]
    return headers


def test_no_bad_token_gets_in_and_none_is_written_anywhere(
    server: Server, list_stored: Callable[[], str]
):
    admin = Administrator(server)
    good = admin.add("ana")["token"]
    gone = admin.make("ana")
    of_bo = admin.add("bo")
    for each in (gone, of_bo):
        admin.run("token", "revoke", each["id"])
    elsewhere = Administrator(server, HOLDFAST_WORKSPACE="elsewhere")
    foreign = elsewhere.add("eve")["token"]
    bad = list_bad_headers(good, gone["token"], foreign, of_bo["token"])
    assert len(bad) >= 30

    answers = set[str]()
    with httpx.Client(base_url=server.url) as client:
        for headers in bad:
            for method, path in (("GET", "/api/state"), ("POST", "/mcp"), ("GET", "/api/events")):
                refused = client.request(method, path, headers=headers)
                assert is_problem(refused, 401, "unauthorized"), headers
                challenge = refused.headers["www-authenticate"]
                assert "resource_metadata=" in challenge
                assert "scope=" in challenge
                answers.add(refused.text)
        for place in (f"/api/state?token={good}", f"/api/events?access_token={good}"):
            assert is_problem(client.get(place), 401, "unauthorized")
        assert is_problem(client.get(f"/api/state/{quote(good)}"), 401)
        twice = [("Authorization", f"Bearer {good}")] * 2
        assert is_problem(client.get("/api/state", headers=twice), 401, "unauthorized")
        login = client.post("/login", data={"token": foreign})
        assert (login.status_code, "set-cookie" in login.headers) == (403, False)
        assert foreign not in login.text
    assert len(answers) == 1
    with open_client(server, good) as ana:
        assert ana.get("/api/state").status_code == 200
        create_session(ana)
        everything = [ana.get(path).text for path in ("/api/me", "/api/state", "/openapi.json")]
    secrets = [good, gone["token"], of_bo["token"], foreign]
    stored = list_stored()
    assert server.stop() == 0
    for secret in secrets:
        bare = secret.partition(".")[0].removeprefix("hft_")
        assert not any(bare in text for text in everything)
        assert find_files_with(server.home, bare) == []
        assert bare not in stored


def find_files_with(folder: Path, text: str) -> list[str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in found if text.encode() in path.read_bytes()]


@pytest.fixture
def list_stored(request: pytest.FixtureRequest, server: Server) -> Callable[[], str]:
    """Every row of every table of PostgreSQL; the file of SQLite is in the data folder."""
    if server.database_url is None:
        return str
    cluster: rig.Cluster = request.getfixturevalue("postgres")
    url = cluster.dsn(request.getfixturevalue("postgres_database"))

    def read() -> str:
        names = [row["name"] for row in execute(url, catalogue.TABLES)]
        return "\n".join(str(execute(url, f"select t::text from {name} t")) for name in names)

    return read


def test_a_token_of_the_wrong_scope_is_told_which_one_is_needed(server: Server):
    reader = Administrator(server).add("ana", "context:read")["token"]

    with open_client(server, reader) as ana:
        refused = ana.post("/api/contexts", json=CONTEXT)
        assert is_problem(refused, 403, "insufficient_scope")
        challenge = refused.headers["www-authenticate"]
        assert (
            'error="insufficient_scope", scope="context:publish", resource_metadata=' in challenge
        )
        assert ana.get("/api/contexts").json()["contexts"] == []


# --- TS16 -----------------------------------------------------------------------------------------


def test_a_stream_ends_with_its_token_and_that_of_another_goes_on(server: Server):
    admin = Administrator(server)
    ana, bo = admin.add("ana"), admin.add("bo")
    other = admin.make("ana")
    with (
        open_client(server, ana["token"]) as revoked,
        open_client(server, other["token"]) as kept,
        open_client(server, bo["token"]) as of_bo,
    ):
        session = create_session(kept)
        with listening(revoked) as ending, listening(revoked) as beside, listening(kept) as going:
            for stream in (ending, beside, going):
                next(stream)
            admin.run("token", "revoke", ana["id"])
            assert list(ending) == []
            assert list(beside) == []
            kept.patch(f"/api/sessions/{session['id']}", json={"name": "on"})
            context = {"setContext": {"setName": "files", "items": ["/r/a.md"]}}
            kept.patch(f"/api/sessions/{session['id']}", json=context)
            assert next(going)
        assert is_problem(revoked.get("/api/events"), 401, "unauthorized")
        assert of_bo.get("/api/state").status_code == 200
        assert append(kept, session["id"]).status_code == 201


def test_a_stream_hears_its_own_developer_and_the_team_and_nobody_s_sessions(server: Server):
    admin = Administrator(server)
    tokens = [admin.add(handle)["token"] for handle in ("ana", "bo")]
    with open_client(server, tokens[0]) as ana, open_client(server, tokens[1]) as bo:
        session = create_session(ana)
        with listening(bo) as stream:
            next(stream)
            context = {"setContext": {"setName": "files", "items": ["/r/secret.md"]}}
            ana.patch(f"/api/sessions/{session['id']}", json=context)
            ana.post("/api/contexts", json=CONTEXT)
            first = next(stream)
            assert "team." in str(first)
            assert "secret.md" not in str(first)
            ana.put("/api/team/visibility", json={"visibility": "private"})
            ana.post("/api/contexts", json={**CONTEXT, "branch": "hidden"})
            bo.post("/api/contexts", json={**CONTEXT, "branch": "seen"})
            heard = str(next(stream))
            assert "seen" in heard
            assert "hidden" not in heard


# --- several servers ------------------------------------------------------------------------------


@contextmanager
def two_servers(url: str, tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    with run_server(tmp_path / "one", url) as one, run_server(tmp_path / "two", url) as two:
        yield one, two


def test_a_login_is_begun_at_one_server_approved_at_another_and_fetched_after_a_restart(
    postgres_url: str, tmp_path: Path
):
    with two_servers(postgres_url, tmp_path) as (one, two):
        made = Administrator(two).add("ana")
        begun = httpx.post(f"{one.url}/api/logins", json={"agent": "codex", "machine": "m"}).json()
        with httpx.Client(base_url=two.url) as browser:
            own = {"Origin": two.url}
            browser.post("/login", data={"token": made["token"]}, headers=own)
            form = {"user_code": begun["user_code"], "decision": "approve"}
            assert "Approved" in browser.post("/login/device", data=form, headers=own).text
        assert one.stop() == 0
    with run_server(tmp_path / "one", postgres_url) as again:
        code = {"device_code": begun["device_code"]}
        granted = httpx.post(f"{again.url}/api/logins/token", json=code).json()
        with open_client(again, granted["token"]) as ana:
            assert ana.get("/api/me").json()["developer"]["handle"] == "ana"


def test_two_servers_give_one_token_to_two_who_fetch_at_once(postgres_url: str, tmp_path: Path):
    with two_servers(postgres_url, tmp_path) as servers:
        made = Administrator(servers[0]).add("ana")
        with httpx.Client(base_url=servers[0].url) as browser:
            own = {"Origin": servers[0].url}
            browser.post("/login", data={"token": made["token"]}, headers=own)
            for _ in range(5):
                about = {"agent": "codex", "machine": "m"}
                begun = httpx.post(f"{servers[0].url}/api/logins", json=about).json()
                form = {"user_code": begun["user_code"], "decision": "approve"}
                browser.post("/login/device", data=form, headers=own)
                assert sorted(fetch_at_both(servers, begun["device_code"])) == [200, 400]


def fetch_at_both(servers: tuple[Server, Server], device_code: str) -> list[int]:
    statuses: list[int] = []

    def fetch(server: Server) -> None:
        body = {"device_code": device_code}
        statuses.append(httpx.post(f"{server.url}/api/logins/token", json=body).status_code)

    threads = [threading.Thread(target=fetch, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def test_a_token_that_is_revoked_at_one_server_ends_at_the_other(postgres_url: str, tmp_path: Path):
    with two_servers(postgres_url, tmp_path) as (one, two):
        made = Administrator(one).add("ana")
        with open_client(one, made["token"]) as here, open_client(two, made["token"]) as there:
            with listening(there) as stream:
                next(stream)
                assert here.request("DELETE", "/api/me/token").status_code == 200
                assert list(stream) == []
            for client in (here, there):
                assert is_problem(client.get("/api/me"), 401, "unauthorized")
