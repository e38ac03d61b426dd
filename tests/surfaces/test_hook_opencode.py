"""Hooks of OpenCode as real processes over a real database: each thing is kept once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.app import App
from tests.rig.claude_program import said, stored
from tests.rig.commands import Answer
from tests.rig.opencode_program import Database, OpenCode

pytestmark = pytest.mark.measures_processes

NOTHING = Answer(0, "", "")


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    opened = Database(folder / "opencode.db")
    yield opened
    opened.connection.close()


@pytest.fixture
def opencode(database: Database, tmp_path: Path) -> OpenCode:
    return make_session(database, tmp_path, "ses_1")


def make_session(database: Database, tmp_path: Path, session_id: str) -> OpenCode:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/feat/x\n")
    return OpenCode(database, project, session_id, int(time.time() * 1000))


def handed(answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    text: str = json.loads(answer.out or '{"text": ""}')["text"]
    return text


def test_what_the_hook_and_the_database_tell_is_kept_once(opencode: OpenCode):
    assert opencode.ask("/fix 12", source="startup") == NOTHING
    opencode.database.run("update part set data = ?", '{"type":"text","text":"Fix the issue 12"}')
    call = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": "ok"}}
    opencode.write("msg_2", {"role": "assistant", "time": {"completed": 1}}, call)
    opencode.answer("Fixed.")
    opencode.fire("session.idle")
    opencode.fire("dispose")

    assert said("ses_1") == ["/fix 12", "ok", "Fixed."]
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
    assert session.ended_at is not None


def test_the_next_session_is_handed_the_last_request(opencode: OpenCode, tmp_path: Path):
    opencode.ask("Retry at most 8 times.", source="startup")
    opencode.answer("Done.")
    opencode.fire("dispose")
    another = make_session(opencode.database, tmp_path, "ses_2")
    another.fire("session.created", source="startup")

    assert "> Retry at most 8 times." in handed(another.ask("Rename parse().", source="startup"))
    assert not handed(another.ask("And on."))


def test_a_session_that_is_resumed_is_handed_the_same_bytes_again(
    opencode: OpenCode, tmp_path: Path
):
    """OpenCode has kept none of them, and a model's cache may still hold the conversation."""
    opencode.ask("Retry at most 8 times.", source="startup")
    opencode.answer("Done.")
    opencode.fire("dispose")
    another = make_session(opencode.database, tmp_path, "ses_2")
    another.fire("session.created", source="startup")
    text = handed(another.ask("Rename parse().", source="startup"))
    for number in range(2):
        another.answer("Renamed.")
        another.fire("session.idle")
        another.fire("dispose")

        again = handed(another.ask(f"Look once more, {number}.", source="startup"))

        assert "> Retry at most 8 times." in again
        assert again.splitlines()[1:] == text.splitlines()[1:]


def test_a_session_that_is_resumed_is_told_what_happened_elsewhere(
    opencode: OpenCode, tmp_path: Path
):
    opencode.ask("Rename parse().", source="startup")
    opencode.answer("Done.")
    opencode.fire("dispose")
    another = make_session(opencode.database, tmp_path, "ses_2")
    another.fire("session.created", source="startup")
    another.ask("We keep parse().", source="startup")

    assert "> We keep parse()." in handed(opencode.ask("Again.", source="startup"))


def test_after_a_compaction_the_session_is_reminded_of_its_own_request(
    opencode: OpenCode, tmp_path: Path
):
    other = make_session(opencode.database, tmp_path, "ses_0")
    opencode.ask("Retry at most 8 times.", source="startup")
    other.ask("Write the docs.", source="startup")
    other.answer("Written.")
    opencode.answer("Done.")
    opencode.ask("And log each try.")
    opencode.answer("Logged.")
    asked = {"type": "compaction", "auto": True}
    opencode.write("msg_7", {"role": "user"}, asked)
    opencode.answer("A summary.", summary=True, parentID="msg_7")

    text = handed(opencode.fire("session.compacted", source="compact"))

    assert "> And log each try." in text
    kept = [event.parts for event in stored("ses_1") if event.type == "system_event"]
    assert [part["compaction"] for part in kept] == ["auto"]


def test_what_a_crash_cut_off_is_stored_at_the_next_start(opencode: OpenCode, tmp_path: Path):
    opencode.ask("Retry at most 8 times.", source="startup")
    ended = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": "ok"}}
    running = {"type": "tool", "tool": "bash", "state": {"status": "running"}}
    opencode.write("msg_2", {"role": "assistant"}, ended, running)
    child = OpenCode(opencode.database, opencode.project, "ses_child", opencode.time)
    opencode.database.run("update session set parent_id = 'ses_1' where id = 'ses_child'")
    child.write("msg_3", {"role": "user"}, {"type": "text", "text": "Look around."})

    make_session(opencode.database, tmp_path, "ses_2").fire("session.created", source="startup")

    assert said("ses_1") == ["Retry at most 8 times.", "ok", "Look around.", ""]
    assert stored("ses_1")[-1].type == "tool_call"
    assert (stored("ses_1")[-2].parts or {})["agent_id"] == "ses_child"
