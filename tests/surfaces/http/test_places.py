"""Where the store of a server is, is never told over HTTP: T12."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.errors import StoreFullError
from holdfast.surfaces.http import health
from tests.rig import postgres as rig
from tests.surfaces.http.callers import FORM, Served, serve_in_process

ROUTES = (
    *("GET /api/me", "GET /api/state", "GET /api/health", "GET /api/sessions", "GET /api/contexts"),
    *("GET /api/events", "GET /api/memories", "GET /api/team/near", "GET /api/sessions/1/events"),
    *("GET /login/device?user_code=ABCD-EFGH", "POST /api/contexts", "DELETE /api/contexts/1"),
    *("POST /api/sessions", "DELETE /api/me/token", "PUT /api/team/visibility"),
)
BODIES = {
    "POST /api/contexts": {"title": "t", "summary": "s"},
    "POST /api/sessions": {"chatmode": "coder"},
    "PUT /api/team/visibility": {"visibility": "public"},
    "POST /api/logins": {"agent": "claude", "machine": "laptop"},
    "POST /api/logins/token": {"device_code": "x" * 43},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MCP = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
}
MCP_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/call", {"name": "session", "arguments": {"operation": "start", "chatmode": "m"}}),
    ("tools/call", {"name": "covibe_team", "arguments": {"operation": "state"}}),
    ("resources/read", {"uri": "holdfast://contexts"}),
    ("prompts/get", {"name": "workspace-resume", "arguments": {}}),
)


@pytest.fixture
async def served(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with serve_in_process(sqlite_url, "acme", tmp_path / "holdfast") as running:
        yield running


async def ask(client: httpx.AsyncClient, route: str) -> httpx.Response:
    method, path = route.split()
    return await client.request(method, path, json=BODIES.get(route))


async def ask_mcp(client: httpx.AsyncClient, method: str, params: dict[str, Any]) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    name = params.get("name") or params["uri"]
    headers = {**MCP, "Mcp-Method": method, "Mcp-Name": name}
    return await client.post("/mcp", json=message, headers=headers)


async def ask_everything(served: Served, tokens: list[str]) -> list[httpx.Response]:
    stranger = await served.open(None)
    answers = [await ask(stranger, route) for route in ("POST /api/logins", *ROUTES)]
    answers.append(await ask(stranger, "POST /api/logins/token"))
    form = {"token": tokens[0]}
    answers.append(await stranger.post("/login", data=form, headers=FORM))
    for token in tokens:
        client = await served.open(token)
        answers += [await ask(client, route) for route in ROUTES]
        answers += [await ask_mcp(client, *call) for call in MCP_CALLS]
    return answers


async def test_no_answer_names_a_store_that_is_down(
    own_postgres: rig.Server, own_postgres_url: str, tmp_path: Path
):
    """Neither to a laptop nor to a caller without a token, nor to the operator."""
    home = tmp_path / "holdfast"
    async with serve_in_process(own_postgres_url, "acme", home) as served:
        ana = (await served.add("ana")).text
        for client in (await served.open(ana), await served.as_owner()):
            assert (await ask_mcp(client, *MCP_CALLS[0])).status_code == 200
        own_postgres.stop(immediate=True)
        answers = await ask_everything(served, [ana, served.key])

    port = str(httpx.URL(own_postgres_url).port)
    told = {"postgresql", "holdfast_app", "holdfast_test", "127.0.0.1:" + port, port, str(tmp_path)}
    for answer in answers:
        text = answer.text
        assert not [word for word in told if word in text], (answer.url, text)
    unreachable = [answer for answer in answers if answer.status_code == 503]
    assert len(unreachable) > len(ROUTES)
    assert all(
        "The store of this server cannot be reached now" in each.text for each in unreachable
    )


async def test_the_token_of_the_data_folder_reads_metrics_while_the_store_is_down(
    own_postgres: rig.Server, own_postgres_url: str, tmp_path: Path
):
    """One of a developer is looked up in the store, so it is answered with 503."""
    async with serve_in_process(own_postgres_url, "acme", tmp_path / "holdfast") as served:
        ana, owner = await served.as_("ana", "context:read"), await served.as_owner()
        up = [(await client.get("/metrics")).text for client in (ana, owner)]
        own_postgres.stop(immediate=True)
        refused, answered = [await client.get("/metrics") for client in (ana, owner)]

    assert all("\nholdfast_store_up 1\n" in text for text in up)
    assert (refused.status_code, answered.status_code) == (503, 200)
    assert "\nholdfast_store_up 0\n" in answered.text


async def test_no_answer_names_a_file_of_the_server(served: Served, tmp_path: Path):
    """A token file that others can read is refused, and so is each token that is none of ours."""
    client = await served.open("a guess")
    (tmp_path / "holdfast" / "token").chmod(0o644)

    answer = await client.get("/api/me")

    assert answer.status_code == 400
    assert str(tmp_path) not in answer.text


async def test_the_person_of_the_machine_reads_where_the_file_is(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    async def find_it_full(app: object) -> None:
        raise StoreFullError("/data/holdfast.db")

    monkeypatch.setattr(health, "examine", find_it_full)
    ana, owner = await served.as_("ana"), await served.as_owner()

    answers = [await client.get("/api/health") for client in (ana, owner)]

    assert ["/data/holdfast.db" in answer.text for answer in answers] == [False, True]
    assert [answer.json()["code"] for answer in answers] == ["store_full"] * 2
