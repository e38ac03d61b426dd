"""The session that a call means, through the door."""

from pathlib import Path

from mcp import Client

from holdfast.app import App
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

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


async def test_a_client_without_a_native_id_reads_what_was_last_written_in_its_worktree(
    project: Path, store: str
):
    """The next process is shown what the last one wrote; one in another folder is not."""
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


async def test_what_a_server_starts_is_meant_by_its_later_calls(project: Path, store: str):
    """Also one that it resumes; the last of several, and never another server's."""
    async with doors.inside(project) as client, doors.inside(project) as other:
        first = (await data(client, "session", operation="start", chatmode="a"))["session"]["id"]
        second = (await data(client, "session", operation="start", chatmode="b"))["session"]["id"]
        in_second = await data(client, "session", operation="append", **MESSAGE)
        await call(client, "session", operation="start", session_id=first)
        in_first = await data(client, "session", operation="append", **MESSAGE)
        elsewhere = await data(other, "session", operation="append", **MESSAGE)

    assert (in_second["event"]["session_id"], in_first["event"]["session_id"]) == (second, first)
    assert elsewhere["event"]["session_id"] not in (first, second)


async def test_a_resumed_session_of_another_client_continues_as_the_callers(
    project: Path, store: str
):
    """In the session of its native id, which its later calls mean: there is no third one."""
    async with App() as app:
        theirs = await app.scope.sessions.create_session("gemini", "me", client="gemini")
        await app.scope.sessions.end_session(theirs.id)
    env = {"CLAUDE_CODE_SESSION_ID": "n-1"}
    async with doors.inside(project, name="claude-code", environment=env) as client:
        resumed = await call(client, "session", operation="start", session_id=theirs.id)
        written = await data(client, "session", operation="append", **MESSAGE)

    session = resumed["data"]["session"]
    assert (session["client"], session["chatmode"]) == ("claude", "claude")
    assert (session["resumed_from"], resumed["warnings"]) == (theirs.id, [])
    assert written["event"]["session_id"] == session["id"]


async def test_a_client_that_is_in_a_session_is_handed_the_document_of_another(
    project: Path, store: str
):
    """Nothing is started, and its calls go on meaning its own."""
    async with App() as app:
        theirs = await app.scope.sessions.create_session("gemini", "me", client="gemini")
        await app.scope.sessions.append_event(theirs.id, "user_message", "user", "Count to three")
        mine = await app.scope.sessions.create_session(
            "codex", "me", client="codex", native_id="c-1"
        )
    arguments = {"operation": "start", "session_id": theirs.id}
    async with doors.inside(project, name="codex-mcp-client") as client:
        answer = await client.call_tool("session", arguments, meta=CODEX)
    async with App() as app:
        count = len(await app.scope.sessions.list_sessions())

    handed = answer.structured_content
    assert (handed["data"]["session"]["id"], count) == (mine.id, 2)
    assert "> Count to three" in handed["data"]["resume_text"]
    assert handed["warnings"] == [
        (
            f"Your calls without session_id mean session {mine.id} of your client, as before: "
            "none was started, and this is what there is to know about the other."
        )
    ]


async def test_over_http_a_connection_has_the_session_that_it_opened(project: Path, store: str):
    """A request without a connection has none: its write is refused, and says what to do."""
    async with (
        doors.hosted(folder=str(project)) as url,
        Client(url, mode=doors.HANDSHAKE, client_info=doors.introduce("a")) as one,
        Client(url, mode=doors.HANDSHAKE, client_info=doors.introduce("a")) as two,
        Client(url, mode=doors.STATELESS, client_info=doors.introduce("a")) as without,
    ):
        found = [
            (await data(client, "session", operation="append", **MESSAGE))["event"]["session_id"]
            for client in (one, two, one, two)
        ]
        refused = await call_refused(without, "session", operation="append", **MESSAGE)
        read = await call(without, "session", operation="recent")
        started = await data(without, "session", operation="start", chatmode="debug")
        named = {**MESSAGE, "session_id": started["session"]["id"]}
        await call(without, "session", operation="append", **named)

    assert found[0] == found[2] != found[1] == found[3]
    assert refused["code"] == "session_not_named"
    assert read["warnings"][0].endswith(" A write needs a session_id.")
    assert refused["next_actions"] == [
        "session operation=start chatmode=MODE, which answers with a session_id"
    ]


async def test_over_http_a_call_that_names_its_session_needs_no_connection(store: str):
    meta = {"sessionId": "c-1"}
    async with doors.over_http(name="codex-mcp-client") as client:
        arguments = {"operation": "append", **MESSAGE}
        answer = await client.call_tool("session", arguments, meta=meta)

    async with App() as app:
        [session] = await app.scope.sessions.list_sessions()
    event = answer.structured_content["data"]["event"]
    assert (session.client, session.native_id) == ("codex", "c-1")
    assert event["session_id"] == session.id
