"""What the end of a transcript shows beyond its records: what was running, and why nothing came."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import clients
from holdfast.clients.transcript import TURN_BYTES, Record
from tests.clients.golden import FOLDER
from tests.rig.opencode_program import Database

AT = "2026-11-17T19:14:43.190Z"


def read_end(client_name: str, path: Path | str) -> list[Record]:
    client = clients.find_client(client_name)
    assert client is not None
    return clients.get_reader(client).read_end(str(path))


def describe(records: list[Record]) -> list[tuple[str, Any, str]]:
    """The tool or the word, and what was running or why it ended."""
    found = []
    for record in records:
        parts = record.parts or {}
        about = json.dumps(parts["input"]) if "input" in parts else record.content
        found.append((record.event_type, parts.get("tool") or parts.get("turn"), about))
    return found


def write_lines(path: Path, *entries: dict[str, Any]) -> Path:
    with path.open("a") as file:
        file.writelines(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
    return path


# --- lines of JSON --------------------------------------------------------------------------------


def claude_line(kind: str, content: object, uuid: str, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, "stop_reason": fields.pop("stop_reason", None)}
    return {"type": kind, "message": message, "uuid": uuid, "timestamp": AT, **fields}


def use_tool(call_id: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call_id, "name": "Bash", "input": given}]


ASKED = claude_line("user", "Make it pass.", "u1", promptId="p1", promptSource="typed")
SAID = claude_line("assistant", [{"type": "text", "text": "I run it."}], "u2")
CALLED = claude_line("assistant", use_tool("t1", command="pytest"), "u3", stop_reason="tool_use")
RESULT = claude_line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}], "u4")
DONE = claude_line("assistant", [{"type": "text", "text": "Done."}], "u5", stop_reason="end_turn")
STOPPED = claude_line("user", "[Request interrupted by user for tool use]", "u6")

CLAUDE = {
    "a call without a result": ([ASKED, SAID, CALLED], [("tool_call", "Bash", "pytest")]),
    "a result and no answer": ([ASKED, SAID, CALLED, RESULT], []),
    "an answer": ([ASKED, SAID, CALLED, RESULT, DONE], []),
    "an answer after a call that was left alone": ([ASKED, CALLED, DONE], []),
    "words before a call that was not written": (
        [ASKED, {**SAID, "message": {**SAID["message"], "stop_reason": "tool_use"}}],
        [("system_event", "cut off", "")],
    ),
    "words of which nothing is known": ([ASKED, SAID], [("system_event", "unknown", "")]),
    "an interruption": (
        [ASKED, SAID, CALLED, RESULT, STOPPED],
        [("system_event", "interrupted", "")],
    ),
    "a new request": ([ASKED, SAID, CALLED, ASKED], []),
    "a call of a subagent": ([ASKED, DONE, {**CALLED, "isSidechain": True}], []),
}


@pytest.mark.parametrize("name", CLAUDE)
def test_a_transcript_of_claude_ends_with(name: str, tmp_path: Path):
    lines, expected = CLAUDE[name]

    found = describe(read_end("claude", write_lines(tmp_path / "t.jsonl", *lines)))

    assert [(kind, word) for kind, word, _ in found] == [(kind, word) for kind, word, _ in expected]
    assert [about for *_, about in expected if about] == [
        json.loads(about)["command"] for *_, about in found if about
    ]


def codex_event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": "event_msg", "payload": {"type": kind, **fields}}


def codex_item(kind: str, id_: str) -> dict[str, Any]:
    return codex_event("item_completed", turn_id="t", item={"type": kind, "id": id_})


def codex_call(call_id: str) -> dict[str, Any]:
    given = json.dumps({"cmd": "pytest"})
    payload = {"type": "function_call", "name": "exec_command", "arguments": given}
    return {"timestamp": AT, "type": "response_item", "payload": {**payload, "call_id": call_id}}


LIMIT = {"message": json.dumps({"error": {"message": "usage limit, resets 18:00"}})}
BEGUN = [codex_event("task_started", turn_id="t"), codex_item("AgentMessage", "m1")]
CODEX = {
    "a call without a result": (
        [*BEGUN, codex_call("c1")],
        [("tool_call", "Bash", '{"command": "pytest"}')],
    ),
    "a result and no answer": (
        [*BEGUN, codex_call("c1"), codex_item("CommandExecution", "c1")],
        [],
    ),
    "words and no end": (BEGUN, [("system_event", "cut off", "")]),
    "an answer": ([*BEGUN, codex_event("task_complete", turn_id="t")], []),
    "an error": (
        [*BEGUN, codex_event("task_complete", turn_id="t", error=LIMIT)],
        [("system_event", "failed", "usage limit, resets 18:00")],
    ),
    "an interruption": (
        [*BEGUN, codex_call("c1"), codex_event("turn_aborted", turn_id="t")],
        [("system_event", "interrupted", "")],
    ),
}


@pytest.mark.parametrize("name", CODEX)
def test_a_transcript_of_codex_ends_with(name: str, tmp_path: Path):
    lines, expected = CODEX[name]

    assert describe(read_end("codex", write_lines(tmp_path / "t.jsonl", *lines))) == expected


def gemini_line(kind: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"{kind}-1", "timestamp": AT, "type": kind, "content": text, **fields}


GEMINI = {
    "words that may be an answer": ([gemini_line("gemini", "Next.")], "unknown"),
    "a call that has ended": ([gemini_line("gemini", "Next.", toolCalls=[{"id": "c"}])], None),
    "an error": ([gemini_line("error", "quota")], "failed"),
    "an interruption": ([gemini_line("info", "Request cancelled.")], "interrupted"),
}


@pytest.mark.parametrize("name", GEMINI)
def test_a_transcript_of_gemini_ends_with(name: str, tmp_path: Path):
    lines, expected = GEMINI[name]
    path = write_lines(tmp_path / "t.jsonl", gemini_line("user", "Go."), *lines)

    words = [word for _, word, _ in describe(read_end("gemini", path))]
    assert words == ([expected] if expected else [])


def test_only_the_end_of_a_long_transcript_is_parsed(tmp_path: Path):
    long = {**DONE, "padding": "x" * TURN_BYTES}

    path = write_lines(tmp_path / "t.jsonl", long, ASKED, CALLED)

    assert [record.key for record in read_end("claude", path)] == ["call:t1"]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.jsonl")), ids=lambda path: path.stem)
def test_a_real_transcript_is_read_to_its_end_at_any_place(path: Path, tmp_path: Path):
    """A client may be killed after any line, and in the middle of one."""
    data = path.read_bytes()
    client_name = path.relative_to(FOLDER).parts[0]
    copy = tmp_path / "t.jsonl"
    for size in range(0, len(data), max(1, len(data) // 40)):
        copy.write_bytes(data[:size])
        for record in read_end(client_name, copy):
            assert record.event_type in ("tool_call", "system_event")


@pytest.mark.parametrize("client_name", clients.CLIENTS)
def test_a_transcript_that_is_gone_ends_with_nothing(client_name: str, tmp_path: Path):
    assert read_end(client_name, tmp_path / "gone") == []


# --- OpenCode -------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(tmp_path / "opencode.db")
    database.add_session("s")
    database.ask("m1", 1001, "Make it pass.")
    return database


TEXT = {"type": "text", "text": "I run it.", "time": {"end": 1}}
CALL = {"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "x"}}}


def test_a_call_that_runs_in_opencode_is_known(database: Database):
    database.answer("m2", 1002, TEXT, CALL, is_finished=False)

    found = describe(read_end("opencode", f"{database.path}#s"))

    assert found == [("tool_call", "bash", '{"command": "x"}')]


def test_words_that_opencode_did_not_finish_are_no_answer(database: Database):
    database.answer("m2", 1002, TEXT, is_finished=False)

    assert describe(read_end("opencode", f"{database.path}#s")) == [("system_event", "cut off", "")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MessageAbortedError", ("system_event", "interrupted", "")),
        ("APIError", ("system_event", "failed", "usage limit")),
    ],
)
def test_an_error_of_opencode_is_told_in_its_words(database: Database, name: str, expected: Any):
    error = {"name": name, "data": {"message": "usage limit"}}
    database.add_message("s", "m2", 1002, {"role": "assistant", "error": error})

    found = describe(read_end("opencode", f"{database.path}#s"))

    assert found == [expected]


def test_an_answer_of_opencode_ends_with_nothing(database: Database):
    database.answer("m2", 1002, TEXT)

    assert read_end("opencode", f"{database.path}#s") == []
