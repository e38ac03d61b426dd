"""What hooks and commands show of what code has seen, through real processes and a real git."""

import json
import os
import time
from pathlib import Path

import pytest

from holdfast.ground.settings import load_settings
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.hook_marks import HookMarks
from tests.rig.claude_program import FIRST, SECOND, Claude, stored
from tests.rig.codex_program import THREAD, Codex
from tests.rig.commands import run_process
from tests.workstreams.repos import Repo, with_code

pytestmark = pytest.mark.measures_processes


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "project")


@pytest.fixture
def claude(home: Path, repo: Repo) -> Claude:
    return Claude(home, repo.folder)


def list_moves(native_id: str) -> list[tuple[str, str]]:
    moves = [(event.parts or {}).get("head") for event in stored(native_id)]
    return [(move["id"], move["branch"]) for move in moves if move]


def test_a_commit_during_a_turn_is_noted_at_its_end(claude: Claude, repo: Repo):
    claude.fire("SessionStart", source="startup")
    claude.turn("Look.", "Looked.", "p1")
    assert list_moves(FIRST) == []

    commit = repo.commit("work")
    claude.turn("Commit it.", "Committed.", "p2")
    claude.turn("Thanks.", "Welcome.", "p3")
    repo.git("checkout", "-q", "-b", "feat")
    claude.turn("On a branch.", "Done.", "p4")

    assert list_moves(FIRST) == [(commit, "main"), (commit, "feat")]


def test_a_commit_of_the_first_turn_is_noted_where_its_start_was_seen(claude: Claude, repo: Repo):
    claude.fire("SessionStart", source="startup")
    commit = repo.commit("work")
    claude.turn("Commit it.", "Committed.", "p1")

    assert list_moves(FIRST) == [(commit, "main")]


def test_a_folder_without_a_repository_has_no_head(home: Path, tmp_path: Path):
    claude = Claude(home, tmp_path)
    claude.fire("SessionStart", source="startup")
    claude.turn("Look.", "Looked.", "p1")

    assert len(stored(FIRST)) == 2


# --- handoff --------------------------------------------------------------------------------------


def test_nothing_is_handed_over_where_nothing_is_known(repo: Repo):
    answer = run_process("handoff", "show", cwd=repo.folder)

    assert (answer.code, answer.out) == (0, "Nothing is recorded here yet.\n")


def test_the_handoff_is_what_the_next_session_is_told(claude: Claude, repo: Repo, home: Path):
    claude.turn("Give up after 8 attempts. No Redis.", "Done.", "p1")
    claude.fire("SessionEnd", reason="other")
    shown = run_process("handoff", "show", cwd=repo.folder).out
    told = Claude(home, repo.folder, SECOND).fire("SessionStart", source="startup").out
    handed = json.loads(told)["hookSpecificOutput"]["additionalContext"]

    def leave_out_head(text: str) -> list[str]:
        return text.strip().splitlines()[1:]

    assert leave_out_head(shown) == leave_out_head(handed)
    assert "> Give up after 8 attempts. No Redis." in shown


def test_it_has_the_last_message_of_a_client_that_was_killed(claude: Claude, repo: Repo):
    """No hook has told of it: the transcript alone has it."""
    claude.fire("SessionStart", source="startup")
    claude.turn("Look at the queue.", "Looked.", "p1")
    claude.ask("Now use 3 workers.", "p2")
    claude.answer("I begin with the second worker.")

    answer = run_process("handoff", "show", "--json", cwd=repo.folder)
    text = json.loads(answer.out)["text"]

    assert "> Now use 3 workers." in text
    assert "I begin with the second worker." in text


def test_what_only_the_transcript_of_a_killed_client_has_can_be_resumed(claude: Claude, repo: Repo):
    claude.fire("SessionStart", source="startup")
    claude.turn("Look at the queue.", "Looked.", "p1")
    claude.ask("Now use 3 workers.", "p2")
    claude.answer("I begin with the second worker.")

    text = run_process("resume", "workers", "--print", cwd=repo.folder).out

    assert "Now use 3 workers." in text
    assert "I begin with the second worker." in text


def test_a_line_that_is_too_long_makes_no_session_the_last_one(
    claude: Claude, repo: Repo, home: Path
):
    """That it was left out is noted when it is read, after another session has gone on."""
    HookMarks(load_settings().home).record_check("claude", "Stop")
    claude.turn("Look at the queue.", "Looked.", "p1")
    claude.write("assistant", [{"type": "text", "text": "x" * (5 << 20)}])
    Claude(home, repo.folder, SECOND).turn("Now use 3 workers.", "Used.", "p2")

    text = run_process("handoff", "show", cwd=repo.folder).out

    assert [event.type for event in stored(FIRST)][-1] == "system_event"
    assert "> Now use 3 workers." in text


def test_what_was_forgotten_is_quoted_no_longer(claude: Claude, repo: Repo):
    claude.turn("Never use the word xyzzy.", "Done.", "p1")
    claude.turn("Go on with the other thing now.", "Done.", "p2")
    before = run_process("handoff", "show", cwd=repo.folder).out
    forgotten = run_process("forget", "--match", "xyzzy", "--yes", cwd=repo.folder)

    after = run_process("handoff", "show", cwd=repo.folder).out

    assert '- "Never use the word xyzzy."' in before
    assert forgotten.code == 0
    assert "xyzzy" not in after


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def agreed(repo: Repo) -> None:
    """That the checkout is looked at, as `init` asks."""
    Enrolment(load_settings().home).add(str(repo.folder))


def hand_over(home: Path, repo: Repo) -> str:
    told = Claude(home, repo.folder, SECOND).fire("SessionStart", source="startup").out
    text: str = json.loads(told)["hookSpecificOutput"]["additionalContext"]
    return text


def find_files(text: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith("FILES ")]
    return sorted(line.removeprefix("FILES ").split(" · "))


def change_by_hand(repo: Repo, path: str) -> None:
    """As a person did an hour ago."""
    (repo.folder / path).write_text("by hand\n")
    an_hour_ago = time.time() - 3600
    os.utime(repo.folder / path, (an_hour_ago, an_hour_ago))


@pytest.mark.usefixtures("agreed")
def test_claude_changes_files_through_its_shell(claude: Claude, repo: Repo, home: Path):
    change_by_hand(repo, "person.py")
    claude.fire("SessionStart", source="startup")
    claude.fire("UserPromptSubmit", prompt="Rename it.", prompt_id="p1")
    claude.ask("Rename it.", "p1")
    command = "sed -i s/x/y/ src/retry.py; cat > 'new file.py'"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
    claude.write("assistant", [call])
    (repo.folder / "src" / "retry.py").write_text("def renamed(): ...\n")
    (repo.folder / "new file.py").write_text("new\n")
    claude.write("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": ""}])
    claude.answer("Renamed.")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="Renamed.")

    text = hand_over(home, repo)

    assert find_files(text) == ["new file.py (new)", "src/retry.py"]
    why = run_process("why", cwd=repo.folder).out
    [ran] = [event for event in stored(FIRST) if event.type == "tool_result"]
    assert f"event {ran.id}: changed while commands ran" in why


@pytest.mark.usefixtures("agreed")
def test_codex_edits_through_the_shell_and_says_what_a_command_reads(repo: Repo, home: Path):
    change_by_hand(repo, "person.py")
    for number, thread in enumerate((THREAD, THREAD.replace("01a1eb02", "01a1eb03"))):
        codex = Codex(home, repo.folder, thread)
        codex.fire("SessionStart", source="startup")
        codex.ask("Look at it.", f"t{number}")
        read = [{"type": "read", "cmd": "cat README.md", "name": "README.md", "path": "README.md"}]
        words = ["/bin/bash", "-lc", "cat README.md && touch made.py"]
        (repo.folder / f"made_{number}.py").write_text("new\n")
        codex.complete(
            "CommandExecution", f"t{number}", command=words, parsed_cmd=read, exit_code=0
        )
        codex.say("Looked.", f"t{number}")
        codex.fire("Stop", turn_id=f"t{number}", last_assistant_message="Looked.")

    files = ["README.md", "made_0.py (new)", "made_1.py (new)"]
    assert find_files(hand_over(home, repo)) == files


@pytest.mark.usefixtures("agreed")
def test_the_files_of_a_commit_are_those_of_the_session(claude: Claude, repo: Repo, home: Path):
    claude.fire("SessionStart", source="startup")
    (repo.folder / "src" / "retry.py").write_text("def renamed(): ...\n")
    repo.git("add", "-A")
    repo.commit("work")
    claude.turn("Commit it.", "Committed.", "p1")

    assert find_files(hand_over(home, repo)) == ["src/retry.py"]
