"""MCP over HTTP: both eras on one URL, and the transport's own refusals."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp import Client

from holdfast.app import App
from holdfast.surfaces.mcp import http as door
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, data

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "some-agent", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    },
}


def modern(method: str, **params: Any) -> tuple[dict[str, str], dict[str, Any]]:
    headers = {**HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return headers, {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**params, "_meta": STATELESS},
    }


async def test_both_eras_are_served_on_one_url(store: str):
    """At the same time, on the same store: one writes, the other reads."""
    async with (
        doors.hosted() as url,
        Client(url, mode=doors.HANDSHAKE, client_info=doors.introduce("a")) as old,
        Client(url, mode=doors.STATELESS, client_info=doors.introduce("a")) as new,
    ):
        assert old.session.protocol_version == "2025-11-25"
        assert new.session.protocol_version == "2026-07-28"
        written = await data(old, "set_relevant_context", setName="ports", items=["1"])
        found = await data(new, "get_relevant_context", session_id=written["session_id"])

    assert found == {"context": {"ports": ["1"]}, "session_id": written["session_id"]}


async def test_the_store_is_the_one_that_the_host_has_open(store: str):
    """The door opens nothing of its own: what it is given serves every request."""
    async with doors.hosted() as url, Client(url, client_info=doors.introduce("a")) as client:
        await asyncio.gather(
            *(call(client, "session", operation="start", chatmode=f"c{n}") for n in range(10))
        )

    async with App() as app:
        assert len(await app.scope.sessions.list_sessions()) == 10


async def test_the_transport_refuses_what_the_protocol_forbids():
    """Header and body that differ, missing headers, unknown versions, other methods, batches, other
    types.
    """
    headers, body = modern("tools/call", name="get_relevant_context", arguments={})
    async with doors.hosted() as url, httpx.AsyncClient() as http:

        async def post(changed: dict[str, str], sent: Any = body) -> tuple[int, int | None]:
            content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
            answer = await http.post(url, headers={**headers, **changed}, content=content)
            is_json = answer.headers.get("content-type") == "application/json"
            return answer.status_code, answer.json().get("error", {}).get(
                "code"
            ) if is_json else None

        assert await post({}) == (200, None)
        assert await post({"mcp-name": "session"}) == (400, -32020)
        assert await post({"mcp-method": "tools/list"}) == (400, -32020)
        assert (await post({"mcp-protocol-version": "2099-01-01"}))[0] == 400
        assert await post({}, [body]) == (400, -32600)
        assert await post({}, b"{") == (400, -32700)
        assert await post({}, b"[" * 100_000) == (400, -32700)
        assert await post({"accept": "text/plain"}) == (406, None)
        assert await post({"content-type": "text/plain"}) == (400, None)
        assert await post({"mcp-session-id": "made-up"}) == (200, None)
        unknown = dict(
            body["params"]["_meta"], **{"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        )
        changed = {**body, "params": {**body["params"], "_meta": unknown}}
        assert await post({"mcp-protocol-version": "2099-01-01"}, changed) == (400, -32022)
        for method in ("GET", "DELETE"):
            answer = await http.request(method, url, headers=headers)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_broken_bodies_are_refused_in_the_handshake_era_too():
    """Not JSON, too deep, a batch, no message; and the session goes on."""
    async with doors.hosted() as url, httpx.AsyncClient() as http:
        opened = await http.post(url, headers=HEADERS, json=INITIALIZE)
        held = {
            **HEADERS,
            "mcp-session-id": opened.headers["mcp-session-id"],
            "mcp-protocol-version": "2025-11-25",
        }
        for body in (
            b"",
            b"{",
            b"\xff",
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"9" * 10_000,
            b"[]",
            b"5",
            b"{}",
        ):
            answer = await http.post(url, headers=held, content=body)
            assert answer.status_code == 400, body[:20]
        ping = await http.post(
            url, headers=held, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}
        )

    assert ping.json()["result"] == {}


async def test_a_body_that_is_too_large_is_refused_before_it_is_read():
    async with doors.hosted(body_bytes=1000) as url, httpx.AsyncClient() as http:
        answer = await http.post(url, headers=HEADERS, content=b"x" * 1001)

    assert answer.status_code == 413


async def test_foreign_hosts_and_origins_are_the_doors_business():
    """The allow-list in front is the only one; two that differ would lock a client out."""
    headers, body = modern("tools/list")
    async with doors.hosted() as url, httpx.AsyncClient() as http:
        strange = {**headers, "host": "holdfast.example:1", "origin": "https://holdfast.example"}
        answer = await http.post(url, headers=strange, json=body)

    assert answer.status_code == 200


async def test_a_transport_session_belongs_to_the_principal_that_opened_it():
    """To every other principal its id is unknown, for a call as for its end."""

    def principal_of(scope: Any) -> str:
        return dict(scope["headers"])[b"x-who"].decode()

    async with doors.hosted(principal_of=principal_of) as url, httpx.AsyncClient() as http:
        opened = await http.post(url, headers={**HEADERS, "x-who": "ada"}, json=INITIALIZE)
        held = {
            **HEADERS,
            "mcp-session-id": opened.headers["mcp-session-id"],
            "mcp-protocol-version": "2025-11-25",
        }
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answers = {
            who: await http.post(url, headers={**held, "x-who": who}, json=ping)
            for who in ("eve", "ada")
        }
        unknown = await http.post(
            url, headers={**held, "x-who": "eve", "mcp-session-id": "no"}, json=ping
        )
        ending = await http.delete(url, headers={**held, "x-who": "eve"})
        still = await http.post(url, headers={**held, "x-who": "ada"}, json=ping)

    assert (answers["eve"].status_code, answers["eve"].content) == (404, unknown.content)
    assert ending.status_code == 404
    assert answers["ada"].status_code == still.status_code == 200


async def test_a_team_server_does_not_check_files_on_its_own_disk():
    """A user's files are elsewhere, and its own are not for users."""
    async with doors.over_http(era=doors.HANDSHAKE) as client:
        await call(
            client,
            "set_relevant_context",
            setName="files",
            items=["/etc/passwd", "/etc/no-such-file"],
        )
    async with doors.over_http(era=doors.HANDSHAKE) as client:
        text = (await client.get_prompt("workspace-resume")).messages[0].content.text

    assert "- /etc/passwd\n- /etc/no-such-file\n" in text
    assert "not found" not in text


async def test_connections_above_the_limit_are_asked_to_wait(monkeypatch: pytest.MonkeyPatch):
    """The server is well: those who are connected go on, and who ends makes room."""
    monkeypatch.setattr(door, "MOST_CONNECTIONS", 2)
    async with doors.hosted() as url, httpx.AsyncClient() as http:
        first, second, third = [
            await http.post(url, headers=HEADERS, json=INITIALIZE) for _ in range(3)
        ]
        held = {
            **HEADERS,
            "mcp-session-id": first.headers["mcp-session-id"],
            "mcp-protocol-version": "2025-11-25",
        }
        ping = await http.post(
            url, headers=held, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}
        )
        await http.delete(url, headers=held)
        again = await http.post(url, headers=HEADERS, json=INITIALIZE)

    assert (third.status_code, third.headers["retry-after"]) == (429, "1")
    assert {answer.status_code for answer in (first, second, ping, again)} == {200}
