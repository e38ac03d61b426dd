"""Which working tree a folder belongs to, and which branch is checked out there."""

import os
from pathlib import Path

import pytest

from holdfast.ground.worktree import OwnPaths, find_branch, find_worktree
from tests.workstreams.repos import Repo, with_code


def test_the_nearest_folder_with_git_in_it_is_the_working_tree(tmp_path: Path):
    (tmp_path / "outer" / ".git").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / ".git").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / "src").mkdir()

    assert find_worktree(str(tmp_path / "outer")) == str(tmp_path / "outer")
    assert find_worktree(str(tmp_path / "outer" / "inner" / "src")) == str(
        tmp_path / "outer" / "inner"
    )


def test_a_linked_worktree_has_a_file_instead_of_a_folder(tmp_path: Path):
    (tmp_path / "linked" / "src").mkdir(parents=True)
    (tmp_path / "linked" / ".git").write_text("gitdir: /somewhere/.git/worktrees/linked\n")

    assert find_worktree(str(tmp_path / "linked" / "src")) == str(tmp_path / "linked")


def test_outside_of_any_repository_a_folder_is_its_own(tmp_path: Path):
    assert find_worktree(str(tmp_path)) == str(tmp_path)
    assert find_worktree("/") == "/"


def test_links_are_resolved_so_that_one_tree_has_one_name(tmp_path: Path):
    (tmp_path / "real" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert find_worktree(str(tmp_path / "link")) == str(tmp_path / "real")


def test_a_folder_that_is_gone_still_has_a_name(tmp_path: Path):
    assert find_worktree(str(tmp_path / "gone" / "for good")) == str(tmp_path / "gone" / "for good")


def test_a_relative_folder_is_taken_from_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")

    assert find_worktree(".") == find_worktree("") == str(tmp_path / "repo")


# --- its branch -----------------------------------------------------------------------------------


def test_the_branch_is_the_one_that_git_names(tmp_path: Path):
    """Before the first commit, in a linked worktree, in a submodule, and with a name of several
    parts.
    """
    young, repo = Repo(tmp_path / "young"), with_code(tmp_path / "repo")
    repo.git("checkout", "-qb", "feat/webhook-rücklauf")
    repo.git("worktree", "add", "-q", "-b", "fix", str(tmp_path / "linked"))
    repo.git("submodule", "add", "-q", str(tmp_path / "repo"), "inner")

    found = {
        folder: find_branch(str(tmp_path / folder))
        for folder in ("young", "repo", "linked", "repo/inner")
    }

    assert found == {
        "young": "main",
        "repo": "feat/webhook-rücklauf",
        "linked": "fix",
        "repo/inner": found["repo"],
    }
    assert young.git("symbolic-ref", "--short", "HEAD") == "main"


def test_a_detached_head_or_no_repository_gives_no_branch(tmp_path: Path):
    repo = with_code(tmp_path / "repo")
    repo.git("checkout", "-q", "--detach")

    assert find_branch(str(repo.folder)) is None
    assert find_branch(str(tmp_path)) is None


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"ref:", b"ref: refs/heads/", b"ref: refs/tags/x", b"ref: refs/heads/.invalid"),
        *(b"\xff", b"\0", b"x" * 10_000, b"ref: refs/heads/" + b"x" * 10_000, b"../../etc/passwd"),
    ],
)
def test_a_head_file_without_a_branch_gives_no_branch(tmp_path: Path, head: bytes):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(head)

    assert find_branch(str(tmp_path)) is None


@pytest.mark.parametrize(
    "pointer", [b"gitdir:", b"gitdir: /nowhere", b"gitdir: a\0b", b"gitdir: .", b"\xff"]
)
def test_a_git_file_that_points_nowhere_gives_no_branch(tmp_path: Path, pointer: bytes):
    (tmp_path / ".git").write_bytes(pointer)

    assert find_branch(str(tmp_path)) is None


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    (tmp_path / "a" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "a" / ".git" / "HEAD")
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / ".git")

    assert find_branch(str(tmp_path / "a")) is None
    assert find_branch(str(tmp_path / "b")) is None


def test_a_path_is_of_the_nearest_repository_above_it(tmp_path: Path):
    for folder in ("plain", "checkout/.git", "bare/objects", "bare/refs", "half/refs", "linked"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "linked" / ".git").write_text("gitdir: /missing")
    (tmp_path / "bare" / "HEAD").write_text("ref: refs/heads/main")
    (tmp_path / "half" / "HEAD").write_text("x")
    own = OwnPaths(str(tmp_path))

    of_others = [
        "checkout",
        "checkout/",
        "checkout/a/b",
        "bare/x",
        "linked/x",
        ".git/x",
        "a/.GIT/x",
    ]
    assert list(filter(own.has, of_others)) == []
    assert own.has("plain/x")
    assert own.has("half/x")
    assert own.has("missing/" * 2_000 + "x")
