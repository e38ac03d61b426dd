"""The session that a call means, through the door."""

from pathlib import Path

from holdfast.app import App
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, data

MESSAGE = {"event_type": "user_message", "role": "user", "content": "Hello"}
CODEX = {"x-codex-turn-metadata": {"session_id": "c-1", "thread_id": "c-1", "turn_id": "t-1"}}


async def test_claudes_calls_go_to_the_session_that_its_hooks_keep(
    project: Path, store: str, era: str
):
    """One session per native id, whichever caller met it first."""
    env = {"CLAUDE_CODE_SESSION_ID": "n-1", "CLAUDE_PROJECT_DIR": str(project)}
    async with App() as app:
        hooked = await app.scope.sessions.create_session(
            "claude", "me", client="claude", native_id="n-1"
        )

    async with doors.over_stdio(project.parent, era=era, name="claude-code", **env) as client:
        event = (await data(client, "session", operation="append", **MESSAGE))["event"]
        started = await call(client, "session", operation="start", chatmode="architect")

    assert event["session_id"] == hooked.id
    assert started["data"]["session"]["id"] == hooked.id
    assert started["warnings"][0].startswith(f"Session {hooked.id} of your client is open already")


async def test_a_native_id_that_is_new_gets_its_session_with_the_first_write(
    project: Path, store: str
):
    """Reading starts nothing; after its end the same native id begins another."""
    env = {"CLAUDE_CODE_SESSION_ID": "n-1"}
    async with doors.inside(project, name="claude-code", environment=env) as client:
        assert (await data(client, "get_relevant_context"))["session_id"] is None
        first = await data(client, "set_relevant_context", setName="ports", items=["1"])
        await call(client, "session", operation="end")
        second = await data(client, "session", operation="start", chatmode="architect")

    async with App() as app:
        newer, older = await app.scope.sessions.list_sessions()
    assert (older.id, older.client, older.native_id, older.chatmode) == (
        first["session_id"],
        "claude",
        "n-1",
        "claude",
    )
    assert (newer.id, newer.native_id, newer.chatmode) == (
        second["session"]["id"],
        "n-1",
        "architect",
    )
    assert newer.worktree == older.worktree == str(project)


async def test_codex_calls_go_to_the_session_that_each_call_names(
    project: Path, store: str, era: str
):
    """One process may serve several sessions of it."""
    async with doors.inside(project, era=era, name="codex-mcp-client") as client:
        found = []
        for native_id in ("c-1", "c-2", "c-1"):
            meta = {"x-codex-turn-metadata": {"session_id": native_id}}
            answer = await client.call_tool(
                "session", {"operation": "append", **MESSAGE}, meta=meta
            )
            found.append(answer.structured_content["data"]["event"]["session_id"])

    assert found[0] == found[2] != found[1]
    async with App() as app:
        kept = {session.native_id: session for session in await app.scope.sessions.list_sessions()}
    assert (kept["c-1"].id, kept["c-1"].client) == (found[0], "codex")


async def test_a_client_without_a_native_id_goes_on_in_its_worktree(project: Path, store: str):
    """The next process finds what the last one wrote; one in another folder does not."""
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    async with doors.inside(project, name="opencode") as client:
        written = await data(client, "set_relevant_context", setName="ports", items=["1"])
    async with doors.inside(project / ".git", name="opencode") as client:
        found = await data(client, "get_relevant_context")
    async with doors.inside(elsewhere, name="opencode") as client:
        other = await data(client, "get_relevant_context")

    assert found == {"context": {"ports": ["1"]}, "session_id": written["session_id"]}
    assert other == {"context": {}, "session_id": None}


async def test_a_session_is_of_the_branch_that_is_checked_out_when_it_starts(
    project: Path, store: str
):
    """The process may have been started long before."""
    head = project / ".git" / "HEAD"
    async with doors.inside(project, name="opencode") as client:
        head.write_text("ref: refs/heads/main\n")
        await call(client, "session", operation="append", **MESSAGE)
        head.write_text("ref: refs/heads/feat/x\n")
        started = await data(client, "session", operation="start", chatmode="debug")
        named = await data(
            client, "session", operation="start", chatmode="debug", git_branch="other"
        )

    async with App() as app:
        first = (await app.scope.sessions.list_sessions())[-1]
    assert first.git_branch == "main"
    assert (started["session"]["git_branch"], named["session"]["git_branch"]) == ("feat/x", "other")


async def test_a_client_that_says_nothing_of_itself_is_called_cli(project: Path, store: str):
    async with doors.inside(project, name=" ") as client:
        await call(client, "session", operation="append", **MESSAGE)

    async with App() as app:
        [session] = await app.scope.sessions.list_sessions()
    assert (session.chatmode, session.client) == ("cli", "cli")
