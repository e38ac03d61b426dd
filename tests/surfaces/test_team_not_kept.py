"""T4: what teammates share is kept nowhere but in the tables of the exchange, so that what they
withdraw is not brought back by a log, a bundle, a receipt or a spool.
"""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import CLIENTS, find_client, get_reader
from holdfast.clients.contract import START
from holdfast.sessions.service import SessionService
from holdfast.surfaces.mcp.resources import CONTEXTS
from holdfast.usecases import transcripts
from holdfast.usecases.withholding import NOT_KEPT
from tests.clients.golden import FOLDER
from tests.rig.commands import Call
from tests.rig.opencode_program import Database
from tests.surfaces.mcp.test_team import SESSION, TEAM, developers
from tests.surfaces.team import claim, make_repo, offer, publish
from tests.surfaces.test_hook import contents, find_hook, fire, payload
from tests.surfaces.test_hook_notices import EDITS, PROMPTS, describe_edit
from tests.workstreams.repos import Repo

ME = "dev-me"
AFTER = {
    "claude": "PostToolUse",
    "codex": "PostToolUse",
    "gemini": "AfterTool",
    "opencode": "tool.execute.after",
}
NAMES = {"claude": "mcp__holdfast__", "codex": "mcp__holdfast__", "gemini": "", "opencode": "x_"}


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


@pytest.fixture
def repo(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Of a developer with a teammate, on both engines."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    monkeypatch.setenv("HOLDFAST_DEVELOPER", ME)
    return make_repo(tmp_path / "payouts")


async def read_answers(folder: Path) -> dict[str, list[str]]:
    """What an agent gets of the exchange, in both forms, by the tool that answers."""
    async with developers(folder, ME) as [me]:
        asked = {SESSION: {"operation": "get_context"}, TEAM: {"operation": "state"}}
        answers = {tool: await me.call_tool(tool, given) for tool, given in asked.items()}
    found = {
        tool: [each.content[0].text, json.dumps(each.structured_content)]
        for tool, each in answers.items()
    }
    assert all("WORDS" in text for texts in found.values() for text in texts)
    return found


def fire_all(client: str, repo: Repo, answers: dict[str, list[str]], shell: list[str]) -> None:
    """A session with every hook that the exchange speaks in, and tools that read it."""
    common: dict[str, Any] = {"cwd": str(repo.folder), "session_id": "s1"}
    start, after = find_hook(client, START), AFTER[client]
    fire(client, start, payload(client, start, source="startup", **common))
    prompt = PROMPTS[client]
    fire(client, prompt, payload(client, prompt, prompt="Who works on retries?", **common))
    tools = [(NAMES[client] + tool, text) for tool, texts in answers.items() for text in texts]
    for number, (tool, text) in enumerate([*tools, *(("Bash", text) for text in shell)]):
        told = {"tool_name": tool, "tool_input": {"number": number}, "tool_response": text}
        given = payload(client, after, tool_use_id=f"t{number}", **told, **common)
        fire(client, after, given)
    edit = EDITS[client]
    described = describe_edit(client, repo.folder / "src/retry.py", "x = 1\n")
    fire(client, edit, payload(client, edit, **common, **described))


@pytest.mark.parametrize("client", CLIENTS)
def test_what_teammates_share_is_kept_in_no_log_and_in_no_file(client: str, repo: Repo, cli: Call):
    context_id = publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")
    offer("dev-a", to=ME)
    shown = cli("team", "contexts").out
    assert "WORDS" in shown

    fire_all(client, repo, asyncio.run(read_answers(repo.folder)), [f"before {shown} behind"])

    kept = contents()
    assert NOT_KEPT in kept
    assert any(text.startswith("before ") and text.endswith(" behind") for text in kept)
    assert [text for text in kept if "WORDS" in text] == []
    home = Path(os.environ["HOLDFAST_HOME"])
    files = [path for path in home.rglob("*") if path.is_file() and ".db" not in path.name]
    assert files
    traces = (b"WORDS", context_id.encode())
    held = [path.name for path in files if any(each in path.read_bytes() for each in traces)]
    assert held == []


READING = (
    ["team", "contexts", "--json"],
    ["team", "state"],
    ["team", "state", "--json"],
    ["team", "claim", "src/retry.py", "--reason", "mine"],
)
SHELLS = {"gemini": "run_shell_command", "opencode": "bash"}


def fire_shell(client: str, folder: Path, number: int, command: str, printed: str) -> None:
    """As the clients tell of a command; Claude Code in an object."""
    answer: object = printed
    if client == "claude":
        answer = {"stdout": printed, "stderr": "", "interrupted": False}
    told = {
        "tool_name": SHELLS.get(client, "Bash"),
        "tool_input": {"command": command},
        "tool_response": answer,
        "tool_use_id": f"t{number}",
    }
    common = {"cwd": str(folder), "session_id": "s1"}
    fire(client, AFTER[client], payload(client, AFTER[client], **told, **common))


@pytest.mark.parametrize("client", CLIENTS)
def test_no_way_of_reading_the_exchange_in_a_shell_leaves_it_in_the_log(
    client: str, repo: Repo, cli: Call
):
    """Without their markers: as JSON, in quotes, or by the lines that a pipe has let through."""
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")
    shown = {f"holdfast {' '.join(given)}": cli(*given).out for given in READING}
    text = cli("team", "contexts").out
    shown["holdfast team contexts | grep Blocked"] = text[text.index("| Blocked") :]
    shown["curl -s http://127.0.0.1:8765/api/contexts"] = shown["holdfast team contexts --json"]
    assert all("WORDS" in printed for printed in shown.values())

    for number, (command, printed) in enumerate(shown.items()):
        fire_shell(client, repo.folder, number, command, printed)

    assert contents() == [NOT_KEPT] * len(shown)


@pytest.mark.parametrize(
    ("client", "tool"), [("claude", "ReadMcpResourceTool"), ("codex", "read_mcp_resource")]
)
def test_the_resource_of_contexts_is_not_kept_either(client: str, tool: str, repo: Repo, cli: Call):
    """Not even who has published: that developer may become private."""
    publish("dev-a")
    told = {
        "tool_name": tool,
        "tool_input": {"server": "holdfast", "uri": CONTEXTS},
        "tool_response": cli("team", "contexts").out,
        "tool_use_id": "t1",
    }
    common = {"cwd": str(repo.folder), "session_id": "s1"}

    fire(client, AFTER[client], payload(client, AFTER[client], **told, **common))

    assert contents() == [NOT_KEPT]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_check_behind_a_look_at_the_exchange_is_handed_over_as_failed(
    client: str, repo: Repo, cli: Call
):
    title = "FAILED tests/test_retry.py::test_409 - WORDS of a title"
    command = "holdfast team contexts dev-a | tail -3; pytest -q"
    printed = f"{title}\nFAILED tests/test_a.py::test_b\n1 failed, 2 passed in 0.12s\n"

    fire_shell(client, repo.folder, 1, command, printed)

    assert contents() == [NOT_KEPT]
    handed = cli("handoff", "show").out
    assert "pytest -q" in handed
    assert "→ failed" in handed
    assert "WORDS" not in handed


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_transcript_leaves_it_out_as_well(
    client: str, tmp_path: Path, sessions: SessionService
):
    """A session of which no hook has told; the command stands in the call before its result."""
    read = "holdfast team contexts --json"
    session_id, path = "s", tmp_path / "transcript.jsonl"
    if client == "opencode":
        session_id, path = "s", tmp_path / "opencode.db#s"
        opened = Database(tmp_path / "opencode.db")
        opened.add_session("s")
        state = {"status": "completed", "input": {"command": read}, "output": "WORDS"}
        opened.answer("m1", 1000, {"type": "tool", "tool": "bash", "state": state})
        opened.connection.close()
    else:
        recorded = (FOLDER / client / "tools.jsonl").read_text()
        path.write_text(recorded.replace("echo OK-ZERO", read).replace("OK-ZERO", "WORDS"))

    await capture_all(client, session_id, path, tmp_path, sessions)

    [session] = await sessions.list_sessions()
    events = await sessions.get_recent_events(session.id, 1000)
    results = [event for event in events if event.type == "tool_result"]
    [reading] = [event for event in results if read in str(event.parts)]
    assert reading.content == NOT_KEPT
    assert [event.content for event in results if "WORDS" in event.content] == []


async def capture_all(
    name: str, native_id: str, path: Path, home: Path, sessions: SessionService
) -> None:
    client = find_client(name)
    assert client is not None
    fields = {
        "chatmode": name,
        "user_id": ME,
        "client": name,
        "native_id": native_id,
        "worktree": None,
        "git_branch": None,
    }
    reader = get_reader(client)
    session = transcripts.CapturedSession(client, reader, native_id, fields, str(home))
    until = time.monotonic() + 60
    await transcripts.capture_source(sessions.store, session, str(path), until)
