"""What hooks and commands show of what code has seen, through real processes and a real git."""

import json
from pathlib import Path

import pytest

from tests.rig.claude_program import FIRST, SECOND, Claude, stored
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


def test_what_was_forgotten_is_quoted_no_longer(claude: Claude, repo: Repo):
    claude.turn("Never use the word xyzzy.", "Done.", "p1")
    claude.turn("Go on with the other thing now.", "Done.", "p2")
    before = run_process("handoff", "show", cwd=repo.folder).out
    forgotten = run_process("forget", "--match", "xyzzy", "--yes", cwd=repo.folder)

    after = run_process("handoff", "show", cwd=repo.folder).out

    assert '- "Never use the word xyzzy."' in before
    assert forgotten.code == 0
    assert "xyzzy" not in after
