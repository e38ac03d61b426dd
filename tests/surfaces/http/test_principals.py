"""Developers with tokens at one server: each sees what is theirs and what the team shows, through
the API, MCP and the console; a token does what its scopes allow.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from holdfast import __version__
from holdfast.ground.settings import owner_of
from holdfast.surfaces.http.scopes import CHANGES
from tests.rig.statements import record_statements
from tests.surfaces.http.callers import URL, Served, serve_in_process
from tests.surfaces.http.server import is_problem
from tests.workstreams.repos import with_code

CONTEXT = {"title": "Retry queue", "summary": "Jobs are retried with a delay.", "repo": "acme/pay"}
USUAL = "context:read context:publish events:write"
RPC = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
}


@pytest.fixture
async def served(database_url: str, workspace: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with serve_in_process(database_url, workspace, tmp_path / "data") as running:
        yield running


@pytest.fixture
async def at_home(workspace: str, tmp_path: Path) -> AsyncIterator[Served]:
    """A server with a checkout, as on a person's own machine."""
    repo = with_code(tmp_path / "payouts")
    url = f"sqlite:///{tmp_path / 'home.db'}"
    home = tmp_path / "data"
    async with serve_in_process(url, workspace, home, str(repo.folder)) as running:
        yield running


async def call_tool(client: httpx.AsyncClient, name: str, **arguments: Any) -> httpx.Response:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": meta},
    }
    headers = {**RPC, "Mcp-Method": "tools/call", "Mcp-Name": name}
    return await client.post("/mcp", content=json.dumps(message), headers=headers)


def data_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["result"]["structuredContent"]
    assert found["status"] != "error", found
    return found["data"]


# --- who one is -----------------------------------------------------------------------------------


async def test_each_caller_learns_who_it_is(served: Served, workspace: str):
    ana = await served.as_("ana", "context:read")
    owner = await served.as_owner()

    me, machine = (await ana.get("/api/me")).json(), (await owner.get("/api/me")).json()

    assert (me["workspace"], me["version"]) == (workspace, __version__)
    assert (me["developer"]["handle"], me["developer"]["visibility"]) == ("ana", "public")
    assert (me["token"]["agent"], me["token"]["scopes"]) == ("claude", ["context:read"])
    assert (machine["developer"]["handle"], machine["token"]) == ("owner", None)


async def test_a_token_ends_itself_and_that_of_the_machine_does_not(served: Served):
    ana, owner = await served.as_("ana", "context:read"), await served.as_owner()

    ended = (await ana.delete("/api/me/token")).json()

    assert ended["id"] == served.tokens["ana"].token.id
    assert is_problem(await ana.get("/api/me"), 401, "unauthorized")
    assert is_problem(await owner.delete("/api/me/token"), 422, "token_of_machine")
    assert (await owner.get("/api/me")).status_code == 200


# --- what one sees --------------------------------------------------------------------------------


async def test_sessions_belong_to_the_developer_of_the_token(served: Served):
    ana, bo, owner = await served.as_("ana"), await served.as_("bo"), await served.as_owner()
    session = (await ana.post("/api/sessions", json={"chatmode": "coder"})).json()
    again = await served.open((await served.make_token("ana")).text)

    for client, status in ((ana, 200), (again, 200), (bo, 404), (owner, 404)):
        answer = await client.get(f"/api/sessions/{session['id']}")
        assert answer.status_code == status
        listed = (await client.get("/api/sessions")).json()["sessions"]
        assert [each["id"] for each in listed] == ([session["id"]] if status == 200 else [])
    assert session["user_id"] == "ana"
    event = {"type": "user_message", "role": "user", "content": "hi"}
    for client in (bo, owner):
        path = f"/api/sessions/{session['id']}/events"
        assert is_problem(await client.post(path, json=event), 404)
        assert is_problem(await client.get(path), 404)


async def test_memories_belong_to_the_developer_of_the_token(served: Served):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    await ana.post("/api/memories", json={"content": "The port of staging is 6543"})

    found = [(await each.get("/api/memories")).json()["memories"] for each in (ana, bo)]

    assert [len(memories) for memories in found] == [1, 0]


async def test_what_is_published_is_seen_by_the_team_until_its_developer_is_private(
    served: Served,
):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    published = (await ana.post("/api/contexts", json=CONTEXT)).json()

    async def list_ids(client: httpx.AsyncClient) -> list[str]:
        listed = (await client.get("/api/contexts")).json()["contexts"]
        return [each["id"] for each in listed]

    assert await list_ids(bo) == await list_ids(ana) == [published["id"]]
    shown = data_of(await call_tool(bo, "covibe_session", operation="get_context"))
    assert [each["id"] for each in shown["contexts"]] == [published["id"]]
    await ana.put("/api/team/visibility", json={"visibility": "private"})
    assert await list_ids(bo) == []
    assert data_of(await call_tool(bo, "covibe_session", operation="get_context"))["contexts"] == []
    assert await list_ids(ana) == [published["id"]]
    asked = [await bo.get("/api/contexts", params={"developer": who}) for who in ("ana", "nobody")]
    assert asked[0].status_code == asked[1].status_code == 404
    assert asked[0].text.replace("ana", "nobody") == asked[1].text


async def test_a_developer_who_was_added_as_private_is_in_no_list(served: Served):
    await served.add("ana", visibility="private")
    bo = await served.as_("bo")

    state = (await bo.get("/api/state")).json()

    assert [each["handle"] for each in state["developers"]] == ["bo"]
    assert state["me"]["handle"] == "bo"


async def test_keys_of_requests_belong_to_the_developer_and_not_to_the_token(served: Served):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    other = await served.open((await served.make_token("ana")).text)
    key = {"Idempotency-Key": "k1"}

    first = (await ana.post("/api/contexts", json=CONTEXT, headers=key)).json()
    repeated = (await other.post("/api/contexts", json=CONTEXT, headers=key)).json()
    of_bo = (await bo.post("/api/contexts", json=CONTEXT, headers=key)).json()

    assert first["id"] == repeated["id"] != of_bo["id"]


async def test_agents_over_mcp_act_for_the_developer_of_their_token(served: Served):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    started = data_of(await call_tool(ana, "session", operation="start", chatmode="coder"))
    session_id = started["session"]["id"]

    own = await call_tool(ana, "session", operation="state", session_id=session_id)
    others = await call_tool(bo, "session", operation="state", session_id=session_id)

    assert data_of(own)
    assert others.json()["result"]["structuredContent"]["code"] == "session_not_found"
    claimed = {"operation": "claim", "paths": ["a.py"], "reason": "x", "repo": "acme/pay"}
    data_of(await call_tool(bo, "covibe_coordination", **claimed))
    [claim] = (await ana.get("/api/claims")).json()["claims"]
    assert claim["developer"]["handle"] == "bo"


async def test_a_connection_of_mcp_is_unknown_to_other_developers(served: Served):
    """An id is a name and not a right; a second token of the same developer may use it."""
    ana, bo = await served.as_("ana"), await served.as_("bo")
    again = await served.open((await served.make_token("ana")).text)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    headers = {"Accept": RPC["Accept"], "Content-Type": "application/json"}
    opened = await ana.post("/mcp", content=json.dumps(hello), headers=headers)
    held = {**headers, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})

    answers = [await each.post("/mcp", content=ping, headers=held) for each in (ana, again, bo)]

    assert [answer.status_code for answer in answers] == [200, 200, 404]
    owner = await served.as_owner()
    assert (await owner.post("/mcp", content=ping, headers=held)).status_code == 404


async def test_the_console_shows_each_developer_their_own(served: Served):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    owner = await served.as_owner()
    session = (await ana.post("/api/sessions", json={"chatmode": "coder", "name": "ANA"})).json()
    page = {"Accept": "text/html"}

    for client, handle in ((ana, "ana"), (bo, "bo"), (owner, "owner")):
        shown = await client.get("/sessions", headers=page)
        assert shown.status_code == 200
        assert f"{handle} in " in shown.text
        assert ("ANA" in shown.text) == (handle == "ana")
        detail = await client.get(f"/sessions/{session['id']}", headers=page)
        assert detail.status_code == (200 if handle == "ana" else 404)
        head = await client.get(f"/console/sessions/{session['id']}/head", headers=page)
        assert head.status_code == detail.status_code


# --- what is this machine's -----------------------------------------------------------------------


async def test_nothing_of_the_machine_is_offered_to_others(at_home: Served, tmp_path: Path):
    ana, owner = await at_home.as_("ana"), await at_home.as_owner()
    file = tmp_path / "payouts" / "README.md"
    file.write_text("what is private here")
    page = {"Accept": "text/html"}
    paths = ["/api/workstreams", "/api/bundle", "/api/conversations"]
    applet = f"/?applet=text-editor&path={file}"

    assert [(await owner.get(path)).status_code for path in paths] != [422] * 3
    for path in paths:
        assert is_problem(await ana.get(path), 422, "no_working_tree")
    assert "what is private here" in (await owner.get(applet, headers=page)).text
    assert "what is private here" not in (await ana.get(applet, headers=page)).text
    for path in ("/workstreams", "/conversations"):
        shown = await ana.get(path, headers=page)
        assert "No working tree here" in shown.text
        assert str(tmp_path) not in shown.text
    edit = {"path": str(file), "text": "x", "base_hash": "0" * 64}
    headers = {"Origin": URL}
    refused = await ana.put("/console/applet/file", json=edit, headers=headers)
    assert refused.status_code in (404, 422)
    for path, body in (
        ("/console/workstreams/proof", {"proof_id": "x"}),
        ("/console/workstreams/sharing", {"shared_context": True}),
    ):
        answer = await ana.post(path, json=body, headers=headers)
        assert is_problem(answer, 422, "no_working_tree")
    assert file.read_text() == "what is private here"
    for name, arguments in (
        ("repo_context", {"operation": "load"}),
        ("conversation", {"operation": "list"}),
    ):
        answer = await call_tool(ana, name, **arguments)
        assert answer.json()["result"]["structuredContent"]["code"] == "no_working_tree"


async def test_which_files_of_the_machine_exist_is_not_told_to_others(
    at_home: Served, tmp_path: Path
):
    ana, owner = await at_home.as_("ana"), await at_home.as_owner()
    names = [str(tmp_path / "payouts" / "gone.md")]
    for client, is_told in ((owner, True), (ana, False)):
        session = (await client.post("/api/sessions", json={"chatmode": "coder"})).json()
        change = {"setContext": {"setName": "files", "items": names}}
        path = f"/api/sessions/{session['id']}"
        await client.patch(path, json=change)
        resumed = (await client.get(path)).json()["resume"]
        assert ("not found" in resumed) == is_told


# --- what a token may do --------------------------------------------------------------------------


def list_routes(served: Served) -> list[APIRoute]:
    routes = served.door.app.router.routes
    return [route for route in routes if isinstance(route, APIRoute)]


PUBLIC = {
    *("POST /api/logins", "POST /api/logins/token", "GET /login", "POST /login"),
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
}


async def test_every_route_has_a_scope_and_asks_for_it(served: Served):
    """A token with another scope is refused everywhere, but for what concerns itself."""
    open_to_all = {name for name, scope in CHANGES.items() if scope is None} | PUBLIC
    publishing = await served.as_("ana", "context:publish")
    writing = await served.as_("ana", "events:write")
    asked = 0
    for route in list_routes(served):
        [method] = route.methods or ()
        name = f"{method} {route.path_format}"
        if name in open_to_all:
            continue
        needed = CHANGES.get(name, "context:read")
        client = writing if needed == "context:publish" else publishing
        path = route.path_format.replace("{sequence}", "1").replace("{", "").replace("}", "")
        headers = {"Origin": URL, "Accept": "text/html"}
        body = {} if method != "GET" else None
        answer = await client.request(method, path, headers=headers, json=body)
        assert answer.status_code == 403, (name, answer.status_code, answer.text[:300])
        challenge = answer.headers["www-authenticate"]
        assert f'error="insufficient_scope", scope="{needed}"' in challenge
        assert "resource_metadata=" in challenge
        asked += 1
    assert asked > 50
    assert (await publishing.get("/api/me")).status_code == 200


@pytest.mark.parametrize(
    ("tool", "arguments", "needed"),
    [
        ("session", {"operation": "start", "chatmode": "m"}, "events:write"),
        ("memory", {"operation": "remember", "content": "x"}, "events:write"),
        ("memory", {"operation": "recall", "query": "x"}, "context:read"),
        ("covibe_session", {"operation": "publish_context", **CONTEXT}, "context:publish"),
        ("covibe_session", {"operation": "get_context"}, "context:read"),
        ("covibe_team", {"operation": "state"}, "context:read"),
    ],
)
async def test_a_tool_needs_the_scope_of_what_it_does(
    served: Served, tool: str, arguments: dict[str, Any], needed: str
):
    others = [scope for scope in USUAL.split() if scope != needed]
    limited = await served.as_("ana", *others)
    allowed = await served.open((await served.make_token("ana", needed)).text)

    refused = await call_tool(limited, tool, **arguments)

    assert is_problem(refused, 403, "insufficient_scope")
    assert f'scope="{needed}"' in refused.headers["www-authenticate"]
    data_of(await call_tool(allowed, tool, **arguments))


async def test_an_administrator_s_token_may_do_everything(served: Served):
    admin = await served.as_("ana", "admin")

    assert (await admin.post("/api/contexts", json=CONTEXT)).status_code == 201
    assert (await admin.post("/api/sessions", json={"chatmode": "m"})).status_code == 201
    assert (await admin.get("/api/state")).status_code == 200


async def test_what_a_scope_refuses_is_counted_as_refused(served: Served):
    reader = await served.as_("ana", "context:read")

    assert (await reader.post("/api/contexts", json=CONTEXT)).status_code == 403

    app = served.app.acting_for(owner_of(served.app.settings.workspace, "ana"))
    usage = await app.scope.team.list_usage(10)
    assert [(each.operation, each.outcome) for each in usage] == [
        ("covibe_session.publish_context", "insufficient_scope")
    ]


# --- what it costs --------------------------------------------------------------------------------


async def test_a_token_costs_one_call_of_the_store_and_that_of_the_machine_none(
    database_url: str, workspace: str, tmp_path: Path
):
    with record_statements() as statements:
        async with serve_in_process(database_url, workspace, tmp_path / "data") as served:
            ana, owner = await served.as_("ana"), await served.as_owner()
            costs = []
            for client in (owner, ana):
                await client.get("/api/memories")
                statements.clear()
                await client.get("/api/memories")
                costs.append([each for each in statements if not each.startswith("pragma")])

    looks = [sum(map(is_look_at_token, each)) for each in costs]
    assert looks == [0, 1]
    if database_url.startswith("postgres"):
        of_owner, of_ana = map(len, costs)
        assert of_ana == of_owner + 1


def is_look_at_token(statement: str) -> bool:
    is_select = statement.startswith("select")
    return is_select and ("from tokens" in statement or "identity.authenticate" in statement)
