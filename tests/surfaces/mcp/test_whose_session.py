"""Agent programs as processes, with hooks and servers of their own: no words in another's session.

The shapes of the processes are those of the four programs: a hook behind a shell or not, a server
below its program, one program in the shell of another.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from holdfast.app import App
from holdfast.ground.settings import load_settings, sqlite_path
from holdfast.sessions.model import Session
from holdfast.storage.off_sessions import OffSessions
from tests.rig.agents import Agent
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused

CLAUDE, CODEX, GEMINI = "claude-code", "codex-mcp-client", "gemini-cli-mcp-client"
Start = Callable[..., Agent]


@pytest.fixture
def start(project: Path, tmp_path: Path) -> Iterator[Start]:
    """`start("gemini-cli-mcp-client")`, or in the shell of another agent with `inside`."""
    agents: list[Agent] = []

    def start_agent(introduced_as: str, inside: Agent | None = None) -> Agent:
        agent = Agent(tmp_path / f"agent{len(agents)}", introduced_as)
        agents.append(agent)
        return agent.start_inside(inside) if inside else agent.start(project)

    yield start_agent
    for agent in reversed(agents):  # inner ones first, because the outer ones wait for them
        agent.leave()


def read_words() -> dict[str | None, list[str]]:
    """What each session holds, by the client's own id."""
    with App() as app:
        found = app.run(app.scope.sessions.list_all_sessions())
        return {
            session.native_id: [
                event.content for event in app.run(app.scope.sessions.get_recent_events(session.id))
            ]
            for session in found
        }


def list_sessions() -> list[Session]:
    """Oldest first."""
    with App() as app:
        return app.run(app.scope.sessions.list_all_sessions())[::-1]


def test_two_agents_of_one_program_and_a_third_are_three_sessions(start: Start, store: str):
    """All in one working tree, at the same time, one after the other in turn."""
    first, second, codex = start(GEMINI), start(GEMINI), start(CODEX)
    first.hook("gemini", "BeforeAgent", "g-1", prompt="asked first")
    second.hook("gemini", "BeforeAgent", "g-2", prompt="asked second")
    codex.hook("codex", "UserPromptSubmit", "c-1", prompt="asked codex")

    for number in ("1", "2"):
        first.write(f"first {number}")
        codex.write(f"codex {number}")
        second.write(f"second {number}")

    assert read_words() == {
        "g-1": ["asked first", "first 1", "first 2"],
        "g-2": ["asked second", "second 1", "second 2"],
        "c-1": ["asked codex", "codex 1", "codex 2"],
    }


@pytest.mark.parametrize("name", [CLAUDE, GEMINI])
def test_an_agent_in_the_shell_of_another_has_a_session_of_its_own(
    name: str, start: Start, store: str, monkeypatch: pytest.MonkeyPatch
):
    """It inherits the environment of the outer one, and its processes are above it."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "outer")
    outer = start(CLAUDE)
    outer.hook("claude", "UserPromptSubmit", "outer", prompt="asked outer")
    inner = start(name, inside=outer)
    client, event = ("claude", "UserPromptSubmit")
    if name == GEMINI:
        client, event = ("gemini", "BeforeAgent")
    inner.hook(client, event, "inner", prompt="asked inner")

    inner.write("inner")
    outer.write("outer")

    assert read_words() == {"outer": ["asked outer", "outer"], "inner": ["asked inner", "inner"]}


def test_an_agent_without_hooks_in_the_shell_of_another_opens_its_own(start: Start, store: str):
    outer = start(CLAUDE)
    outer.hook("claude", "UserPromptSubmit", "outer", prompt="asked outer")
    inner = start("opencode", inside=outer)

    inner.write("inner")
    outer.write("outer")

    assert read_words() == {"outer": ["asked outer", "outer"], None: ["inner"]}


def test_a_server_follows_its_agent_to_another_session(start: Start, store: str):
    """As after `/clear`, or another conversation that was chosen in a menu: the server stays."""
    agent = start(GEMINI)
    for native_id in ("g-1", "g-2", "g-1"):
        agent.hook("gemini", "BeforeAgent", native_id, prompt=f"asked {native_id}")
        agent.write(f"wrote {native_id}")

    assert read_words() == {
        "g-1": ["asked g-1", "wrote g-1"] * 2,
        "g-2": ["asked g-2", "wrote g-2"],
    }


def test_sessions_that_share_a_process_are_told_apart_by_what_a_call_says(start: Start, store: str):
    """As with a daemon of Codex; of Claude the hook before the call says whose it is."""
    codex = start(CODEX)
    codex.hook("codex", "UserPromptSubmit", "c-1", prompt="asked c-1")
    codex.hook("codex", "UserPromptSubmit", "c-2", prompt="asked c-2")
    message = {"operation": "append", "event_type": "user_message", "role": "user"}
    codex.call("session", {"sessionId": "c-1"}, content="wrote c-1", **message)
    claude = start(CLAUDE)
    tool = {"tool_name": "mcp__holdfast__session", "tool_input": {}}
    claude.hook("claude", "PreToolUse", "n-1", tool_use_id="toolu_1", **tool)
    claude.hook("claude", "PreToolUse", "n-2", tool_use_id="toolu_2", **tool)
    called = {"claudecode/toolUseId": "toolu_1"}
    claude.call("session", called, content="wrote n-1", **message)

    assert read_words() == {
        "c-1": ["asked c-1", "wrote c-1"],
        "c-2": ["asked c-2"],
        "n-1": ["wrote n-1"],
    }


def test_words_of_a_busy_store_come_to_the_same_session(start: Start):
    """A hook that had to spool its event has said all the same whose agent it is."""
    agent = start(GEMINI)
    agent.hook("gemini", "BeforeAgent", "g-1", prompt="asked first")
    path = sqlite_path(load_settings().database)
    assert path is not None
    other_writer = apsw.Connection(path)
    other_writer.execute("begin immediate")
    agent.hook("gemini", "BeforeAgent", "g-2", prompt="asked second")
    other_writer.close()

    agent.write("wrote second")

    assert read_words() == {"g-1": ["asked first"], "g-2": ["asked second", "wrote second"]}


def test_the_end_of_a_server_ends_what_it_opened_and_nothing_else(
    project: Path, tmp_path: Path, store: str
):
    """A write opened one, `start` another, and hooks a third."""
    hooked = Agent(tmp_path / "hooked", GEMINI).start(project)
    hooked.hook("gemini", "BeforeAgent", "g-1", prompt="asked")
    hooked.write("wrote")
    alone = Agent(tmp_path / "alone", "opencode").start(project)
    first = alone.write("wrote alone")
    started = alone.call("session", operation="start", chatmode="debug")["data"]["session"]["id"]
    second = alone.write("in what was started")
    before = [session.ended_at for session in list_sessions()]

    hooked.leave()
    alone.leave()

    ended = {session.id: session.ended_at is not None for session in list_sessions()}
    assert (before, second) == ([None] * 3, started)
    assert ended == {list_sessions()[0].id: False, first: True, started: True}


def test_what_a_server_resumes_is_meant_by_its_later_calls(start: Start, store: str):
    """Of an ended one a new one begins, which is its own; an open one stays its owner's."""
    agent = start("opencode")
    first = agent.write("first")
    agent.call("session", operation="end")
    resumed = agent.call("session", operation="start", session_id=first)["data"]["session"]

    assert (agent.write("again"), resumed["resumed_from"]) == (resumed["id"], first)


def test_an_agent_that_continues_the_open_session_of_another_writes_into_its_own(
    start: Start, store: str
):
    """Of another program or of another process of the same; a name stays where it was."""
    gemini = start(GEMINI)
    theirs = gemini.write("asked gemini")
    for agent in (start("opencode"), start(GEMINI)):
        resumed = agent.call("session", operation="start", session_id=theirs)
        session = resumed["data"]["session"]
        agent.call("session", operation="update_state", scratchpad={"current_task": "mine"})

        assert session["resumed_from"] == theirs
        assert agent.write("wrote it") == session["id"] != theirs
        assert resumed["warnings"] == [
            (
                f"Session {theirs} is open and belongs to gemini, so it was left as it is: this "
                "new one continues it, and your calls mean this one."
            )
        ]

    assert gemini.call("session", operation="start", session_id=theirs)["warnings"] == []
    assert gemini.call("session", operation="state")["data"]["state"]["scratchpad"] == {}
    assert gemini.write("again") == theirs


def test_the_end_that_a_client_reports_ends_its_session_once(start: Start, store: str):
    """Gemini reports it three times; an end of a session that never was begins none."""
    agent = start(GEMINI)
    agent.hook("gemini", "SessionEnd", "never")
    agent.hook("gemini", "BeforeAgent", "g-1", prompt="asked")
    for _ in range(3):
        agent.hook("gemini", "SessionEnd", "g-1", reason="exit")

    [session] = list_sessions()
    assert session.ended_at is not None


def test_a_conversation_that_is_resumed_continues_its_session(start: Start, store: str):
    """An ended one in a new session; listeners hear of both, without being asked for it."""
    agent = start(CLAUDE)
    agent.hook("claude", "SessionStart", "unknown", source="resume")
    agent.hook("claude", "UserPromptSubmit", "n-1", prompt="asked")
    agent.call("set_relevant_context", setName="ports", items=["8080"])
    agent.hook("claude", "SessionStart", "n-1", source="resume")
    agent.hook("claude", "SessionEnd", "n-1", reason="other")
    agent.hook("claude", "SessionStart", "n-1", source="resume")
    agent.hook("claude", "UserPromptSubmit", "n-1", prompt="again")

    first, second = list_sessions()
    assert (second.resumed_from, second.context) == (first.id, {"ports": ["8080"]})
    assert list_resumed() == [first.id, second.id]


def test_a_session_that_is_chosen_in_a_menu_is_resumed(start: Start, store: str):
    """Gemini fires no hook for it: the first one of its old id says so. A new id is no resume."""
    agent, neighbour = start(GEMINI), start(CODEX)
    for native_id in ("g-1", "g-2", "g-1", "g-1"):
        agent.hook("gemini", "BeforeAgent", native_id, prompt=f"asked {native_id}")
    for native_id in ("c-1", "c-2", "c-1"):  # as with a daemon, whose sessions take turns
        neighbour.hook("codex", "UserPromptSubmit", native_id, prompt="asked codex")

    first = list_sessions()[0]
    assert first.native_id == "g-1"
    assert list_resumed() == [first.id]


def test_an_agent_that_is_in_a_session_of_its_own_resumes_another(start: Start, store: str):
    """By `start` and by the prompt: listeners hear of it, and its sets are those that it reads."""
    gemini, codex, claude = start(GEMINI), start(CODEX), start(CLAUDE)
    gemini.hook("gemini", "BeforeAgent", "g-1", prompt="asked gemini")
    gemini.call("set_relevant_context", setName="ports", items=["8080"])
    [left] = list_sessions()
    codex.hook("codex", "UserPromptSubmit", "c-1", prompt="continue it")
    claude.hook("claude", "UserPromptSubmit", "n-1", prompt="continue it")
    _, own, third = list_sessions()

    handed = codex.call("session", operation="start", session_id=left.id)
    prompted = claude.prompt("workspace-resume", session_id=left.id)

    assert handed["data"]["session"]["id"] == own.id
    assert "> asked gemini" in handed["data"]["resume_text"]
    assert "> asked gemini" in prompted
    assert list_resumed() == [own.id, third.id]
    for agent in (codex, claude):
        assert agent.call("get_relevant_context")["data"]["context"] == {"ports": ["8080"]}
    assert len(list_sessions()) == 3


def list_resumed() -> list[str]:
    """The sessions of which listeners heard that they were resumed."""
    with App() as app:
        messages = app.run(app.scope.outbox.read())
    return [
        message.data["session_id"]
        for message in messages
        if message.topic == "caco.context" and message.data["reason"] == "resume"
    ]


def test_a_session_that_has_just_begun_is_read_and_the_one_before_it_is_named(
    start: Start, store: str
):
    """A hook has kept its first request; as soon as it has gone on, the other is not named."""
    other, codex = start(GEMINI), start(CODEX)
    other.hook("gemini", "BeforeAgent", "g-1", prompt="asked gemini")
    other.call("session", operation="update_state", scratchpad={"current_task": "count"})
    codex.hook("codex", "UserPromptSubmit", "c-1", prompt="asked codex")
    before, own = list_sessions()

    recent = codex.call("session", operation="recent")
    state = codex.call("session", operation="state")
    sets = codex.call("get_relevant_context")
    named = codex.call("session", operation="recent", session_id=own.id)
    codex.write("gone on")
    later = codex.call("session", operation="recent")

    assert [event["content"] for event in recent["data"]["events"]] == ["asked codex"]
    assert state["data"]["state"]["scratchpad"] == {}
    assert sets["data"] == {"context": {}, "session_id": own.id}
    assert recent["warnings"] == state["warnings"] == sets["warnings"]
    assert recent["warnings"] == [
        (
            f"Your session has just begun. Before it was {before.id} of gemini, live: "
            f"session operation=recent session_id={before.id}"
        )
    ]
    assert named["warnings"] == []
    assert (later["data"]["session_id"], later["warnings"]) == (own.id, [])


def test_an_agent_that_began_later_is_not_the_past_of_one_in_its_first_turn(
    start: Start, store: str
):
    first, second = start(GEMINI), start(GEMINI)
    first.hook("gemini", "BeforeAgent", "g-1", prompt="asked the first")
    second.hook("gemini", "BeforeAgent", "g-2", prompt="asked the second")
    second.call("session", operation="update_state", scratchpad={"current_task": "banana"})
    second.call("set_relevant_context", setName="ports", items=["8080"])
    own, _ = list_sessions()

    reads = [
        first.call("session", operation="recent"),
        first.call("session", operation="state"),
        first.call("get_relevant_context"),
    ]
    bundle = first.call("repo_context", operation="bundle")["data"]["bundle"]["text"]

    for answer in reads:
        assert own.id in str(answer["data"])
        assert answer["warnings"] == []
    assert "> asked the first" in bundle
    for foreign in ("asked the second", "banana", "8080", "Last session"):
        assert foreign not in bundle


def test_a_write_into_a_live_session_of_another_client_says_so_and_its_end_is_refused(
    start: Start, store: str
):
    gemini, second, codex = start(GEMINI), start(GEMINI), start(CODEX)
    second.hook("gemini", "BeforeAgent", "g-2", prompt="asked the second")
    codex.hook("codex", "UserPromptSubmit", "c-1", prompt="asked codex")
    gemini.hook("gemini", "BeforeAgent", "g-1", prompt="asked the first")
    *others, own = list_sessions()
    message = {"event_type": "model_message", "role": "assistant", "content": "Hello"}
    writes = [
        ("session", {"operation": "append", **message}),
        ("session", {"operation": "update_state", "scratchpad": {"current_task": "count"}}),
        ("set_relevant_context", {"setName": "ports", "items": ["8080"]}),
    ]

    for tool, arguments in writes:
        for other in others:
            answer = gemini.call(tool, **arguments, session_id=other.id)
            assert answer["warnings"] == [
                f"This was written into a live session of {other.client}, not into yours."
            ]
            assert answer["next_actions"] == [f"session operation=start session_id={other.id}"]
        named = gemini.call(tool, **arguments, session_id=own.id)
        assert (named["status"], named["next_actions"]) == ("ok", [])
    for other in others:
        refused = gemini.call("session", operation="end", session_id=other.id)
        assert refused["code"] == "session_in_use"
        assert refused["next_actions"] == [f"session operation=start session_id={other.id}"]
    ended = gemini.call("session", operation="end", session_id=own.id)
    assert ended["data"]["session"]["ended_at"]


def test_a_read_of_an_agent_without_a_session_says_whose_it_is(start: Start, store: str):
    """And its first write begins one of its own."""
    other, reader = start(GEMINI), start("opencode")
    other.hook("gemini", "BeforeAgent", "g-1", prompt="asked")
    other.call("set_relevant_context", setName="ports", items=["8080"])
    [session] = list_sessions()

    for tool, arguments in (
        ("get_relevant_context", {}),
        ("session", {"operation": "recent"}),
        ("session", {"operation": "state"}),
    ):
        answer = reader.call(tool, **arguments)
        assert answer["warnings"] == [
            (
                f"You have no session here. This is {session.id} of gemini, live: the newest in "
                "this working tree. A write begins one of your own."
            )
        ]

    assert reader.call("get_relevant_context")["data"]["context"] == {"ports": ["8080"]}
    assert reader.write("mine") != session.id
    assert reader.call("get_relevant_context") == {
        "status": "ok",
        "data": {"context": {}, "session_id": list_sessions()[1].id},
        "warnings": [],
        "next_actions": [],
    }


async def test_nothing_of_a_session_that_is_off_is_stored_by_a_tool(project: Path):
    with App() as app:
        OffSessions(app.settings.home).add("claude", "private-1")
    environment = {"CLAUDE_CODE_SESSION_ID": "private-1"}
    words = {"event_type": "model_message", "role": "assistant", "content": "private"}
    async with doors.inside(project, name=CLAUDE, environment=environment) as client:
        refused = [
            await call_refused(client, "session", operation="append", **words),
            await call_refused(client, "session", operation="start", chatmode="x"),
            await call_refused(client, "set_relevant_context", setName="ports", items=["80"]),
            await call_refused(client, "memory", operation="remember", content="private"),
        ]
        read = await call(client, "session", operation="recent")

    assert {answer["code"] for answer in refused} == {"session_off"}
    assert "holdfast on" in refused[0]["next_actions"][0]
    assert read["data"]["events"] == []
    assert list_sessions() == []


async def test_another_agent_writes_nothing_into_a_session_that_is_off(project: Path):
    async with App() as app:
        sessions = app.scope.sessions
        session = await sessions.create_session("claude", "u1", client="claude", native_id="n-1")
        OffSessions(app.settings.home).add("claude", "n-1")
        async with doors.on_app(app, project, name=CODEX) as client:
            refused = await call_refused(
                client, "set_relevant_context", setName="ports", items=["80"], session_id=session.id
            )
        known = await sessions.get_session(session.id)

    assert (refused["code"], known.context) == ("session_off", {})
