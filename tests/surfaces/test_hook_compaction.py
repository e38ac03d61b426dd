"""Hooks as real processes after a compaction: what the window lost comes back, once."""

import json
import shutil
from pathlib import Path

import pytest

from tests.rig.claude_program import SECOND, Claude
from tests.rig.codex_program import Codex
from tests.rig.commands import Answer, run_process
from tests.rig.opencode_program import Database

pytestmark = pytest.mark.measures_processes

RECORDED = Path(__file__).parents[1] / "clients" / "transcripts"
FAILED = "FAILED test_gives_up - assert 9 == 8"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.fixture
def claude(home: Path, project: Path) -> Claude:
    return Claude(home, project)


def handed(answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    text: str = json.loads(answer.out)["hookSpecificOutput"]["additionalContext"]
    return text


def compact(claude: Claude, prompt_id: str = "p2") -> str:
    return handed(claude.fire("SessionStart", source="compact", prompt_id=prompt_id))


def write_boundary(claude: Claude, kept: str) -> None:
    metadata = {"trigger": "auto", "preservedMessages": {"uuids": [kept]}}
    boundary = {
        "parentUuid": None,
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": metadata,
        "uuid": "boundary",
    }
    with claude.path.open("a") as file:
        file.write(json.dumps(boundary, separators=(",", ":")) + "\n")


def run_check(claude: Claude, prompt_id: str) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}
    claude.write("assistant", [call])
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    output = f"Exit code 1\n{FAILED}"
    claude.write("user", [{**result, "content": output}], toolUseResult=f"Error: {output}")
    claude.fire(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input=call["input"],
        tool_use_id="t1",
        error=output,
        prompt_id=prompt_id,
    )


def test_the_last_message_that_claude_keeps_is_not_told_and_why_says_so(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.turn("And log each try.", "Logged in retry.py.", "p2")

    text = compact(claude)

    assert "> And log each try." in text
    assert "Logged in retry.py." not in text
    why = run_process("why", cwd=claude.project).out
    assert "Logged in retry.py." in why
    assert "still in the window" in why


def test_a_boundary_that_is_written_down_says_what_was_kept(claude: Claude):
    """Two compactions in a row, and no answer between them: the first one's record is there."""
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.turn("And log each try.", "Logged.", "p2")
    kept = claude.ask("Name the file.", "p3")
    claude.answer("It is retry.py.")
    write_boundary(claude, kept)
    claude.write("user", "He wants us to log each try.", isCompactSummary=True)
    claude.fire("Stop", prompt_id="p3", last_assistant_message="It is retry.py.")

    text = compact(claude)

    assert "Name the file." not in text
    assert "It is retry.py." in text


def test_a_check_that_failed_before_a_compaction_in_a_turn_comes_back(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("UserPromptSubmit", prompt="Make it pass.", prompt_id="p2")
    claude.ask("Make it pass.", "p2")
    run_check(claude, "p2")
    still_there = compact(claude)
    claude.answer("I look at the loop.")
    claude.fire("Stop", prompt_id="p2", last_assistant_message="I look at the loop.")

    lost = compact(claude, "p3")

    assert "> Make it pass." in still_there
    assert FAILED not in still_there
    assert "make test → " in lost
    assert FAILED in lost


def test_each_compaction_brings_one_document_and_a_resume_brings_none(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.turn("And log each try.", "Logged.", "p2")

    assert "> And log each try." in compact(claude)
    assert not handed(claude.fire("SessionStart", source="resume"))
    claude.turn("Name the file.", "It is retry.py.", "p3")
    assert "> Name the file." in compact(claude, "p3")
    assert not handed(claude.fire("SessionStart", source="resume"))


def test_a_cleared_session_begins_with_all_of_the_last_one(home: Path, claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.turn("And log each try.", "Logged.", "p2")
    compact(claude)
    claude.fire("SessionEnd", reason="clear")

    text = handed(Claude(home, claude.project, SECOND).fire("SessionStart", source="clear"))

    assert "> And log each try." in text
    assert "| Logged." in text


def test_requests_that_codex_keeps_are_not_told_and_the_rest_is(home: Path, project: Path):
    codex = Codex(home, project)
    codex.ask("Retry at most 8 times.", "t1")
    codex.complete(
        "CommandExecution",
        "t1",
        command=["/bin/bash", "-lc", "make test"],
        aggregated_output=FAILED,
        exit_code=1,
        status="failed",
    )
    codex.say("One check still fails.", "t1")
    codex.fire("Stop", turn_id="t1", last_assistant_message="One check still fails.")
    message = {"type": "message", "role": "user", "content": [{"text": "Retry at most 8 times."}]}
    retained = {"assistant_messages": [{"text": "One check still fails."}]}
    payload = {"message": "", "replacement_history": [message], "retained_context": retained}
    codex.write("compacted", payload)

    text = handed(codex.fire("SessionStart", source="compact"))

    assert "This session, before its compaction." in text
    assert "Retry at most 8 times." not in text
    assert "LAST ANSWER (agent said" in text
    assert "| One check still fails." in text
    assert FAILED in text


def test_what_gemini_keeps_behind_its_summary_is_not_told(tmp_path: Path, project: Path):
    path = tmp_path / "chats" / "session-2026-11-15T19-32-88b778b3.jsonl"
    path.parent.mkdir()
    shutil.copy(RECORDED / "gemini" / "compress.jsonl", path)
    session_id = json.loads(path.read_text().partition("\n")[0])["sessionId"]
    texts = []
    for event in ("AfterAgent", "BeforeAgent", "BeforeAgent"):
        payload = {
            "session_id": session_id,
            "transcript_path": str(path),
            "cwd": str(project),
            "hook_event_name": event,
            "prompt": "Where were we.",
        }
        answer = run_process("hook", "gemini", event, stdin=json.dumps(payload))
        texts.append(handed(answer))

    _, text, again = texts
    assert "T-ONE" in text
    assert not [word for word in ("T-THREE", "T-FOUR", "T-FIVE", "T-INT") if word in text]
    assert not again


def test_what_opencode_keeps_is_not_told_also_when_it_begins_anew(home: Path, project: Path):
    """Its plugin puts our text into requests, so that a session which is resumed has none."""
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    database = Database(folder / "opencode.db")
    database.add_session("s", directory=str(project))
    compaction = {"type": "compaction", "auto": True, "tail_start_id": "m3"}
    rows = [
        ("m1", {"role": "user"}, {"type": "text", "text": "Retry at most 8 times."}),
        ("m2", {"role": "assistant"}, {"type": "text", "text": "Done.", "time": {"end": 1}}),
        ("m3", {"role": "user"}, {"type": "text", "text": "And log each try."}),
        ("m4", {"role": "assistant"}, {"type": "text", "text": "Logged.", "time": {"end": 1}}),
        ("m5", {"role": "user"}, compaction),
        (
            "m6",
            {"role": "assistant", "parentID": "m5", "summary": True},
            {"type": "text", "text": "Tries."},
        ),
    ]
    for number, (id_, message, part) in enumerate(rows):
        moment = 2000 + number
        if message["role"] == "assistant":
            message = {**message, "finish": "stop", "time": {"completed": moment}}
        database.add_message("s", id_, moment, message)
        database.add_part("s", id_, f"p{number}", part)

    def fire(event: str, **fields: str) -> str:
        payload = {
            "session_id": "s",
            "transcript_path": str(database.path),
            "cwd": str(project),
            "hook_event_name": event,
            **fields,
        }
        answer = run_process("hook", "opencode", event, stdin=json.dumps(payload))
        return str(json.loads(answer.out)["text"]) if answer.out else ""

    fire("session.idle")
    text = fire("session.compacted", source="compact")
    database.run("update session set time_updated = 3000")
    anew = fire("chat.message", source="startup", prompt="Go on.", prompt_id="m7")
    database.connection.close()

    for each in (text, anew):
        assert "Retry at most 8 times." in each
        assert "And log each try." not in each
        assert "Logged." not in each
