"""A commit of certain paths with the person's own git: those and no others."""

from pathlib import Path

import pytest

from holdfast.ground.errors import CommitFailedError, GitMissingError
from holdfast.ground.git_commit import commit_paths
from tests.ground.repositories import PERSON, Work, make, make_filled


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)


def list_committed(work: Work) -> list[str]:
    return work.git("show", "--name-only", "--format=", "HEAD").splitlines()


def refuse_commits(work: Work) -> None:
    hook = work.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no commits on Fridays' >&2\nexit 1\n")
    hook.chmod(0o755)


def test_exactly_the_paths_are_committed_and_what_else_is_staged_stays_staged(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    work.write("talk/a.md", "a\n")
    work.write("talk/deep/b.md", "b\n")
    work.write("README.md", "staged\n")
    work.git("add", "README.md")
    work.write("src/app.py", "print('not staged')\n")
    work.write("new.txt", "untracked\n")

    commit = commit_paths(str(work.root), ["talk", "missing"], "Save the talk")

    assert commit == work.git("rev-parse", "HEAD")
    assert list_committed(work) == ["talk/a.md", "talk/deep/b.md"]
    assert work.git("log", "-1", "--format=%s / %an") == "Save the talk / dev-b"
    assert work.git("status", "--porcelain").splitlines() == [
        "M  README.md",
        " M src/app.py",
        "?? new.txt",
    ]


def test_nothing_new_makes_no_commit(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    before = work.git("rev-parse", "HEAD")
    work.write("new.txt", "untracked\n")

    assert commit_paths(str(work.root), ["docs"], "Save") is None
    assert commit_paths(str(work.root), ["missing"], "Save") is None
    assert commit_paths(str(work.root), [], "Save") is None
    assert work.git("rev-parse", "HEAD") == before


def test_the_first_commit_of_a_repository_can_be_one(tmp_path: Path):
    work = make(tmp_path / "work")
    work.write("talk/a.md", "a\n")
    work.write("other.md", "b\n")

    assert commit_paths(str(work.root), ["talk"], "Save")
    assert list_committed(work) == ["talk/a.md"]


def test_a_removed_file_of_a_folder_is_part_of_the_commit(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    (work.root / "src/app.py").unlink()

    assert commit_paths(str(work.root), ["src"], "Save")
    assert list_committed(work) == ["src/app.py"]


def test_a_hook_of_the_person_decides_and_its_words_are_reported(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    refuse_commits(work)
    before = work.git("rev-parse", "HEAD")
    work.write("talk/a.md", "a\n")

    with pytest.raises(CommitFailedError, match="no commits on Fridays") as caught:
        commit_paths(str(work.root), ["talk"], "Save")

    assert caught.value.code == "commit_failed"
    assert work.git("rev-parse", "HEAD") == before
    assert (work.root / "talk/a.md").read_text() == "a\n"


def test_a_path_that_git_ignores_is_reported(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    work.write(".gitignore", "talk/\n")
    work.write("talk/a.md", "a\n")

    with pytest.raises(CommitFailedError, match="ignored"):
        commit_paths(str(work.root), ["talk"], "Save")


def test_without_git_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = make_filled(tmp_path / "work")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitMissingError):
        commit_paths(str(work.root), ["docs"], "Save")
