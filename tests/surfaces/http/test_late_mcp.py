"""MCP behind the HTTP door: bodies by the same rules as everywhere, and no disk of a user."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from holdfast.app import App
from holdfast.surfaces.http import app as door
from holdfast.surfaces.http import bodies
from holdfast.surfaces.http.token import Keys
from tests.surfaces.http.server import create_session, is_problem, run_server

ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
JSON = {**ACCEPT, "Content-Type": "application/json"}
LARGE = b'{"jsonrpc": "' + b"x" * bodies.MAX_BYTES + b'"}'


def tool(api, name, **arguments):
    """One call in a transport session of its own."""
    held = open_transport(api)
    answer = api.post(
        "/mcp", json=message("tools/call", {"name": name, "arguments": arguments}), headers=held
    )
    return answer.json()["result"]["structuredContent"]


def open_transport(api):
    """The headers of a transport session."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    first = api.post("/mcp", json=message("initialize", hello), headers=ACCEPT)
    return {**ACCEPT, "Mcp-Session-Id": first.headers["mcp-session-id"]}


def message(method, params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_with_a_document(api, chunked):
    parts = (
        (LARGE[start : start + 65_536] for start in range(0, len(LARGE), 65_536))
        if chunked
        else LARGE
    )

    assert is_problem(api.post("/mcp", content=parts, headers=JSON), 413, "too_large")


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json; charset=latin-1"])
def test_a_body_of_another_kind_is_refused_with_a_document(api, content_type):
    answer = api.post("/mcp", content=b"{}", headers={**ACCEPT, "Content-Type": content_type})

    assert is_problem(answer, 415, "wrong_media_type")


def test_a_foreign_page_is_refused_with_a_document(api):
    answer = api.post("/mcp", content=b"{}", headers={**JSON, "Origin": "http://evil.example"})

    assert is_problem(answer, 403, "foreign_request")


def test_a_body_that_is_not_a_message_gets_the_error_of_the_protocol(api):
    answer = api.post("/mcp", content=b"{", headers=JSON)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


async def test_a_body_that_does_not_come_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.05)

    async def dripping() -> AsyncIterator[bytes]:
        yield b'{"jsonrpc": '
        await asyncio.Event().wait()

    async with App() as app:
        transport = httpx.ASGITransport(app=door.make_http_app(app))
        bearer = {"Authorization": f"Bearer {Keys(app.settings.home).token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:4790", headers=bearer
        ) as client:
            answer = await asyncio.wait_for(
                client.post("/mcp", content=dripping(), headers=JSON), 30
            )

    assert is_problem(answer, 408, "too_slow")
    assert answer.headers["connection"] == "close"


def test_an_agent_learns_which_files_are_gone_wherever_they_are(api, server):
    root = server.home / "shown"
    session = create_session(api)
    names = ["/etc/passwd", "/etc/no-such-file", f"{root}/gone.md"]
    tool(api, "set_relevant_context", setName="files", items=names, session_id=session["id"])

    started = tool(api, "session", operation="start", session_id=session["id"])

    found = "Relevant files:\n- /etc/passwd\n(2 files not found)"
    assert started["data"]["resume_text"] == found


def test_the_stream_of_a_revoked_token_ends(tmp_path):
    """TS16, as for the events: a listener with it gets nothing more."""
    with run_server(tmp_path) as server, server.client() as api:
        held = open_transport(api)
        with api.stream("GET", "/mcp", headers=held) as answer:
            assert (answer.status_code, answer.headers["content-type"][:17]) == (
                200,
                "text/event-stream",
            )
            (tmp_path / "token").unlink()

            with pytest.raises(httpx.RemoteProtocolError):
                answer.read()

        assert is_problem(api.get("/mcp", headers=held), 401, "unauthorized")
