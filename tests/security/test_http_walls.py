"""TS7, TS8, TS16, TS22 over HTTP: who is let in, under which name, from which page;
and who is not.
"""

import itertools
import json
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.surfaces.http.server import Server, append, create_session, is_problem, run_server

pytestmark = pytest.mark.own_database

MCP = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# What the stateless era of MCP wants of every call; no other route looks at it.
JSON_RPC = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "set_relevant_context",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_server(tmp_path_factory.mktemp("walls")) as running:
        yield running


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def anonymous(server: Server) -> Iterator[httpx.Client]:
    """A client without a token."""
    with httpx.Client(base_url=server.url) as client:
        yield client


def look(client: httpx.Client, method: str, path: str, headers: dict[str, str], **body: Any) -> int:
    """The status; an endless answer is left alone."""
    with client.stream(method, path, headers=headers, **body) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        assert_headers(answer)
        return answer.status_code


def assert_headers(answer: httpx.Response) -> None:
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert len(answer.headers.get_list("cache-control")) == 1


# --- TS7: hosts and origins -----------------------------------------------------------------------

PATHS = [
    "/api/health",
    "/api/events",
    "/api/sessions",
    "/static/nothing.css",
    "/login",
    "/mcp",
    "/",
    "/nothing",
]
METHODS = ["GET", "POST", "PATCH", "DELETE", "OPTIONS"]


def hosts(port: int) -> dict[str, bool]:
    return {
        f"127.0.0.1:{port}": True,
        f"localhost:{port}": True,
        f"[::1]:{port}": True,
        f"LOCALHOST:{port}": True,
        f"evil.example:{port}": False,
        "127.0.0.1": False,
        f"127.0.0.1:{port + 1}": False,
        f"127.0.0.1.evil.example:{port}": False,
        f"localhost.:{port}": False,
        f"user@127.0.0.1:{port}": False,
        "": False,
    }


def origins(host: str, port: int) -> dict[str | None, bool]:
    return {
        None: True,
        f"http://{host}": True,
        f"https://{host}": False,
        "null": False,
        "": False,
        "http://evil.example": False,
        f"http://evil.example:{port}": False,
        f"http://127.0.0.1:{port + 1}": False,
        f"http://{host}.evil.example": False,
        f"http://{host}/": False,
        "chrome-extension://abcdef": False,
    }


def test_a_foreign_name_or_page_is_refused_on_every_path(
    server: Server, api: httpx.Client, scale: Any
) -> None:
    """TS7: hosts × origins × methods × paths, with the token, so that nothing but the wall can
    refuse them.
    """
    cases = [
        (host, origin, method, path, good_host and good_origin)
        for host, good_host in hosts(server.port).items()
        for origin, good_origin in origins(host.lower(), server.port).items()
        for method, path in itertools.product(METHODS, PATHS)
    ]
    chosen = random.Random(7).sample(cases, min(len(cases), scale(10 * 600)))
    wrong = []
    for host, origin, method, path, good in chosen:
        headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
        status = look(api, method, path, headers, json=MCP if method in ("POST", "PATCH") else None)
        if (status == 403) == good:
            wrong.append((status, host, origin, method, path))

    assert wrong == []


def test_two_hosts_or_none_are_refused(server: Server) -> None:
    for lines in ("", f"Host: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n"):
        answer = raw(server, f"GET /login HTTP/1.1\r\n{lines}\r\n")
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))
    assert raw(server, "GET /login HTTP/1.0\r\n\r\n").split(b" ")[1] == b"403"


def raw(server: Server, request: str) -> bytes:
    import socket

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request.encode())
        return connection.recv(65_536)


def test_nothing_listens_beyond_loopback(server: Server) -> None:
    """TS7: by the kernel's own list, where there is one."""
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc/net/tcp here")
    port = f"{server.port:04X}"
    lines = [line.split() for line in listening.read_text().splitlines()[1:]]
    addresses = {
        fields[1] for fields in lines if fields[3] == "0A" and fields[1].endswith(f":{port}")
    }

    assert addresses == {f"0100007F:{port}"}


@pytest.mark.parametrize(
    ("site", "mode", "allowed"),
    [
        ("none", "navigate", True),
        ("same-origin", "cors", True),
        ("same-site", "navigate", True),
        ("same-site", "cors", False),
        ("same-site", "no-cors", False),
        ("cross-site", "navigate", False),
        ("cross-site", "cors", False),
        ("cross-site", "no-cors", False),
        ("", "", False),
        ("anything", "navigate", False),
    ],
)
def test_a_page_of_another_site_gets_nothing(
    api: httpx.Client, site: str, mode: str, allowed: bool
) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "document"}

    for path in ("/api/state", "/login", "/static/nothing.css", "/mcp"):
        assert (look(api, "GET", path, headers) != 403) is allowed
    if site == "same-site":
        assert look(api, "POST", "/api/sessions", headers, json={"chatmode": "x"}) == 403


# --- who is let in --------------------------------------------------------------------------------


def wrong_tokens(token: str) -> list[str]:
    flipped = token[:-1] + ("A" if token[-1] != "A" else "B")
    return [
        "",
        "Bearer",
        f"Basic {token}",
        token,
        f"Bearer {flipped}",
        f"Bearer {token[:-1]}",
        f"Bearer {token}x",
        f"Bearer {token.swapcase()}",
        f"Bearer {'x' * 8192}",
        f"Bearer {token}, Bearer {token}",
    ]


def test_without_the_token_everything_but_the_way_in_is_closed(
    server: Server, anonymous: httpx.Client
) -> None:
    for given in [None, *wrong_tokens(server.token)]:
        headers = {} if given is None else {"Authorization": given}
        for method, path in itertools.product(
            ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"], PATHS
        ):
            if path not in ("/login", "/static/nothing.css"):
                answer = anonymous.request(method, path, headers=headers)
                assert is_problem(answer, 401, "unauthorized")
                assert answer.headers["www-authenticate"].startswith(
                    'Bearer realm="holdfast", resource_metadata="http://'
                )


@pytest.mark.parametrize(
    "path",
    [
        "/login/../api/state",
        "/login/api/state",
        "//login",
        "/login/",
        "/Login",
        "/static",
        "/static/../api/state",
        "/static/%2e%2e/api/state",
        "/api/state/login",
        "/api/state;/login",
        "/api/state?x=/login",
        "/login%2f..%2fapi",
    ],
)
def test_no_spelling_leads_around_the_wall(server: Server, path: str) -> None:
    """The path that the wall sees is the path that is served: sent as it stands, by hand."""
    answer = raw(
        server, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n"
    )

    assert answer.split(b" ")[1] in (b"401", b"404")
    assert b"workspace" not in answer


def test_a_token_in_an_address_is_not_accepted(server: Server, anonymous: httpx.Client) -> None:
    for query in (f"token={server.token}", f"access_token={server.token}", f"code={server.token}"):
        assert anonymous.get(f"/api/state?{query}").status_code == 401
        assert anonymous.get(f"/login?{query}").status_code in (200, 403)
        assert not anonymous.cookies


def test_the_token_is_in_no_log_and_in_no_error(server: Server, anonymous: httpx.Client) -> None:
    secret = server.token
    for given in wrong_tokens(secret):
        assert secret not in anonymous.get("/api/state", headers={"Authorization": given}).text
    anonymous.get(f"/api/sessions?{secret}={secret}", headers=server.bearer)
    kept = [
        path
        for path in server.home.iterdir()
        if path.name != "token" and secret.encode() in path.read_bytes()
    ]

    assert kept == []


# --- TS8: what changes something ------------------------------------------------------------------

KINDS = [
    None,
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json",
    "application/json; charset=utf-8",
]
SITES = [None, "none", "same-origin", "same-site", "cross-site"]


def writes(session_id: str) -> list[tuple[str, str, str]]:
    return [
        ("POST", "/api/sessions", '{"chatmode": "coder"}'),
        ("PATCH", f"/api/sessions/{session_id}", '{"name": "changed"}'),
        ("PATCH", f"/api/sessions/{session_id}/state", '{"scratchpad": {"changed": 1}}'),
        (
            "POST",
            f"/api/sessions/{session_id}/events",
            '{"type": "user_message", "role": "user", "content": "x"}',
        ),
        ("POST", f"/api/sessions/{session_id}/resume", "{}"),
        ("POST", f"/api/sessions/{session_id}/end", "{}"),
        ("POST", "/mcp", json.dumps(tool_call(session_id))),
    ]


def tool_call(session_id: str) -> dict[str, Any]:
    arguments = {"setName": "files", "items": ["/changed"], "session_id": session_id}
    params = {"name": "set_relevant_context", "arguments": arguments, "_meta": META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_nothing_changes_without_the_right_and_json(
    server: Server, api: httpx.Client, anonymous: httpx.Client, scale: Any
) -> None:
    """TS8: kinds of content × routes × what is brought × where it comes from; 0 changes by those
    who may not.
    """
    cookie = log_in(server)
    rights: dict[str, dict[str, str]] = {
        "nothing": {},
        "cookie": {"Cookie": cookie},
        "token": server.bearer,
    }
    cases = list(itertools.product(KINDS, range(len(writes(""))), rights, SITES))
    done = refused = 0
    session, before = create_session(api), None
    for kind, number, right, site in random.Random(8).sample(
        cases, min(len(cases), scale(10 * len(cases)))
    ):
        before = before or picture(api, session["id"])
        method, path, body = writes(session["id"])[number]
        headers = JSON_RPC | rights[right] | ({} if kind is None else {"Content-Type": kind})
        headers |= {} if site is None else {"Sec-Fetch-Site": site}
        status = anonymous.request(method, path, content=body, headers=headers).status_code
        if may_write(kind, right, site):
            assert status in (200, 201), (kind, path, right, site, status)
            assert picture(api, session["id"]) != before or path.endswith("/resume"), (
                kind,
                path,
                right,
                site,
            )
            session, before, done = create_session(api), None, done + 1
        else:
            assert status in (401, 403, 415), (kind, path, right, site, status)
            assert picture(api, session["id"]) == before
            refused += 1
    assert done
    assert refused


def may_write(kind: str | None, right: str, site: str | None) -> bool:
    is_json = kind is not None and kind.startswith("application/json")
    is_let_in = right == "token" or (right == "cookie" and site == "same-origin")
    return is_json and is_let_in and site not in ("cross-site", "same-site")


def picture(api: httpx.Client, session_id: str) -> list[Any]:
    """Everything that a write could have changed."""
    parts = ["", "/state", "/events"]
    newest = api.get("/api/sessions", params={"limit": 1}).json()["sessions"][0]["id"]
    return [newest, *(api.get(f"/api/sessions/{session_id}{part}").json() for part in parts)]


def log_in(server: Server) -> str:
    with httpx.Client(base_url=server.url) as browser:
        answer = browser.post("/login", data={"token": server.token})
        assert answer.status_code == 303
        return str(answer.headers["set-cookie"].partition(";")[0])


# --- TS16: streams, TH8: ids ----------------------------------------------------------------------


def test_a_stream_needs_the_token_and_sends_only_the_owners_events(
    tmp_path: Path, postgres_url: str
) -> None:
    """TS16: two developers on one store; what one does is not sent to the other, also not with the
    other's cursor.

    At the same time, which a store that is a file does not take.
    """
    store = postgres_url
    with (
        run_server(tmp_path / "ada", store, HOLDFAST_DEVELOPER="ada") as ada_server,
        run_server(tmp_path / "bob", store, HOLDFAST_DEVELOPER="bob") as bob_server,
        ada_server.client() as ada,
        bob_server.client() as bob,
    ):
        assert is_problem(httpx.get(f"{ada_server.url}/api/events"), 401)
        assert is_problem(httpx.get(f"{ada_server.url}/api/events", headers=bob_server.bearer), 401)
        with ada.stream("GET", "/api/events") as stream:
            lines = stream.iter_lines()
            cursor = [next(lines), next(lines), next(lines)][1].removeprefix("id: ")
        secret = create_session(ada, name="secret of ada")
        with bob.stream("GET", "/api/events", params={"after": cursor}) as stream:
            lines = stream.iter_lines()
            own = create_session(bob, name="of bob")
            heard = list(itertools.takewhile(lambda line: own["id"] not in line, lines))

        assert not [line for line in heard if secret["id"] in line or "secret" in line]


def test_a_session_of_another_developer_is_answered_as_missing(
    tmp_path: Path, database_url: str
) -> None:
    """TH8: an id is a name and not a right; the answers differ in nothing but the id. Read or
    written, by any door.
    """
    with (
        run_server(tmp_path / "ada", database_url, HOLDFAST_DEVELOPER="ada") as server,
        server.client() as ada,
    ):
        session = create_session(ada)
        append(ada, session["id"], "secret of ada")
        foreign, absent = session["id"], str(uuid.UUID(int=uuid.uuid4().int, version=4))
        before = picture(ada, foreign)
    with (
        run_server(tmp_path / "bob", database_url, HOLDFAST_DEVELOPER="bob") as server,
        server.client(**JSON_RPC) as bob,
    ):
        reads = [
            ("GET", f"/api/sessions/ID{rest}", "")
            for rest in ("", "/state", "/events", "/events?turns=1")
        ]
        for method, path, body in [*reads, *writes("ID")[1:]]:
            answers = [
                bob.request(
                    method,
                    path.replace("ID", session_id),
                    content=body.replace('"ID"', f'"{session_id}"'),
                    headers={"Content-Type": "application/json"},
                )
                for session_id in (foreign, absent)
            ]
            texts = [re.sub(r"[0-9a-f-]{36}", "ID", answer.text) for answer in answers]
            assert texts[0] == texts[1]
            assert [answer.status_code for answer in answers] == [
                200 if path == "/mcp" else 404
            ] * 2
            assert path != "/mcp" or '"code":"session_not_found"' in texts[0].replace(" ", "")
        assert bob.get("/api/sessions", params={"below": foreign}).status_code == 404
    with (
        run_server(tmp_path / "ada", database_url, HOLDFAST_DEVELOPER="ada") as server,
        server.client() as ada,
    ):
        assert picture(ada, foreign) == before


def test_no_error_answer_shows_a_traceback(api: httpx.Client) -> None:
    """The wall answers for whatever breaks below it; looked at without a bug to break: no answer
    has a trace.
    """
    session = create_session(api, name="my secret name")
    append(api, session["id"])
    for path in (
        "/api/sessions/%ff",
        "/api/sessions?limit=" + "9" * 5000,
        "/login?code=%00",
        "/static/%00",
    ):
        answer = api.get(path)
        assert answer.status_code < 500
        assert "Traceback" not in answer.text
