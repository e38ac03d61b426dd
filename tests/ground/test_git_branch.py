"""What a branch has on top of its base."""

from pathlib import Path

import pytest

from holdfast.ground import git_branch
from holdfast.ground.git_branch import find_base, find_own_subject, list_branch_commits
from holdfast.ground.git_repository import Branch
from tests.ground.repositories import Work, make, make_filled


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def list_commits(work: Work) -> list[tuple[str, list[str]]]:
    repository = work.found()
    base = find_base(repository)
    assert base
    found = list_branch_commits(repository, base)
    return [(commit.subject, list(commit.files)) for commit in found]


def test_each_commit_has_its_subject_and_its_files_the_newest_first(work: Work):
    work.git("switch", "--quiet", "--create", "feat/a")
    work.write("a b.py", "a = 1\n")
    work.write("ä\nb.py", "b = 1\n")
    work.commit("Add two\n\nwith a body")
    work.commit("Nothing")
    work.write("src/app.py", "print('two')\n")
    work.commit("Änder eins")

    assert list_commits(work) == [
        ("Änder eins", ["src/app.py"]),
        ("Nothing", []),
        ("Add two", ["a b.py", "ä\nb.py"]),
    ]


def test_a_renamed_file_is_there_under_both_names(work: Work):
    work.git("switch", "--quiet", "--create", "feat/a")
    work.git("mv", "README.md", "READ.md")
    work.commit("Rename")

    assert list_commits(work) == [("Rename", ["READ.md", "README.md"])]


def test_a_very_long_log_ends_early(work: Work, monkeypatch: pytest.MonkeyPatch):
    work.git("switch", "--quiet", "--create", "feat/a")
    work.write("first.py", "a = 1\n")
    work.write("second.py", "a = 1\n")
    work.commit("Add two")
    monkeypatch.setattr(git_branch, "LOG_BYTES", 65)

    assert list_commits(work) == [("Add two", ["first.py"])]


def test_no_more_commits_are_read_than_counted(work: Work, monkeypatch: pytest.MonkeyPatch):
    work.git("switch", "--quiet", "--create", "feat/a")
    for number in range(3):
        work.commit(f"Step {number}")
    monkeypatch.setattr(git_branch, "COMMITS_READ", 2)

    assert list_commits(work) == [("Step 2", []), ("Step 1", [])]


def test_a_branch_without_a_common_commit_has_no_base(work: Work):
    work.git("switch", "--quiet", "--orphan", "alone")
    work.commit("Alone")

    assert find_base(work.found()) is None


def test_without_a_default_branch_there_is_no_base(tmp_path: Path):
    work = make(tmp_path / "work")
    work.git("switch", "--quiet", "--create", "topic")
    work.commit("first")

    assert find_base(work.found()) is None


def test_a_base_that_is_gone_has_no_commits_on_top(work: Work):
    assert list_branch_commits(work.found(), Branch("main", "a" * 40)) == []


def test_the_newest_own_commit_is_found_by_the_persons_address(work: Work):
    assert find_own_subject(work.found()) == ""
    work.git("config", "user.email", "b@example.org")
    work.commit("Mine")
    work.git("commit", "--allow-empty", "-qm", "b@example.org", GIT_AUTHOR_EMAIL="b@example.org.x")

    assert find_own_subject(work.found()) == "Mine"
