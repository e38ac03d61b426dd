"""A working day over HTTP: seed 002 through this door, seen by a person, a command, an agent and a
listener at once.
"""

import json

import httpx

from tests.rig.commands import run_process
from tests.surfaces.http.server import environment, run_server

MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


def test_a_session_is_set_up_by_one_door_seen_at_another_and_resumed_with_its_context(tmp_path):
    """serve → link → console and API; a command changes the context → a listener hears it → resume
    tells of it.
    """
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    (project / "spec.md").write_text("# Spec\n")
    with (
        run_server(home, None, "--root", str(project)) as server,
        httpx.Client(base_url=server.url) as browser,
    ):
        # A person opens the link that was printed.
        assert browser.get(server.started["login_url"]).headers["location"] == "/"
        assert browser.get("/", headers={"Accept": "text/html"}).status_code == 200
        own_page = {"Origin": server.url}

        # The console starts a session; a program listens.
        session = browser.post(
            "/api/sessions", json={"chatmode": "architect", "name": "Ticket"}, headers=own_page
        ).json()
        with server.client() as program, program.stream("GET", "/api/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 1000"

            # A person types a command in a terminal: another process, the same store.
            command = [
                "context",
                "set",
                "files",
                str(project / "spec.md"),
                str(project / "gone.md"),
                "--session",
                session["id"],
            ]
            done = run_process(*command, "--json", cwd=project, **environment(home))
            assert done.code == 0, done.err

            data = next(line for line in lines if line.startswith("data: "))
            told = json.loads(data.removeprefix("data: "))
            assert told["reason"] == "changed"
            assert told["files"] == [str(project / "spec.md"), str(project / "gone.md")]

            # The console captures its applet when the person leaves the page.
            applet = {"setContext": {"setName": "applet", "items": ["text-editor", "path=spec.md"]}}
            assert (
                browser.patch(
                    f"/api/sessions/{session['id']}", json=applet, headers=own_page
                ).status_code
                == 200
            )

            # The session ends, and goes on weeks later.
            browser.post(f"/api/sessions/{session['id']}/end", json={}, headers=own_page)
            resumed = program.post(f"/api/sessions/{session['id']}/resume", json={}).json()
            topics = []
            for line in lines:
                topics += [line.removeprefix("event: ")] if line.startswith("event: ") else []
                if (
                    line.startswith("data: ")
                    and json.loads(line.removeprefix("data: ")).get("reason") == "resume"
                ):
                    break
            assert topics[-4:] == [
                "caco.context",
                "session.ended",
                "session.started",
                "caco.context",
            ]

        assert resumed["resumed_from"] == session["id"]
        assert f"Relevant files:\n- {project / 'spec.md'}\n(1 file not found)" in resumed["resume"]
        assert "Last applet: text-editor (path=spec.md)." in resumed["resume"]

        # An agent reaches the same session through MCP, behind the same wall.
        call = {"name": "get_relevant_context", "arguments": {"session_id": resumed["id"]}}
        first = open_mcp(server)
        answer = httpx.post(
            f"{server.url}/mcp",
            json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
            headers={**server.bearer, **MCP_HEADERS, **first},
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"]["structuredContent"]["data"]["context"] == resumed["context"]

    # The server is gone; the command line has it all.
    shown = run_process(
        "session", "show", resumed["id"], "--json", cwd=project, **environment(home)
    )
    assert shown.document["metadata"]["context"] == resumed["context"]


def open_mcp(server) -> dict[str, str]:
    """The handshake of the older era; its answer names the transport's session."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "walk", "version": "1"},
    }
    answer = httpx.post(
        f"{server.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        headers={**server.bearer, **MCP_HEADERS},
    )
    assert answer.status_code == 200, answer.text
    found = answer.headers.get("mcp-session-id")
    return {"Mcp-Session-Id": found} if found else {}


def test_the_guard_protects_mcp_too(tmp_path):
    """TS10, as far as the door in front of it decides: no token, a foreign name, a foreign page, a
    body too large.
    """
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    with run_server(tmp_path) as server:
        url = f"{server.url}/mcp"
        assert httpx.post(url, json=hello, headers=MCP_HEADERS).status_code == 401
        for foreign in (
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            answer = httpx.post(
                url, json=hello, headers={**MCP_HEADERS, **server.bearer, **foreign}
            )
            assert answer.status_code == 403
        large = httpx.post(url, json=["x" * (1 << 20)], headers={**MCP_HEADERS, **server.bearer})
        assert large.status_code == 413
