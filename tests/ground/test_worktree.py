"""Which working tree a folder belongs to."""

from pathlib import Path

import pytest

from holdfast.ground.worktree import find_worktree


def test_the_nearest_folder_with_git_in_it_is_the_working_tree(tmp_path: Path):
    (tmp_path / "outer" / ".git").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / ".git").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / "src").mkdir()

    assert find_worktree(str(tmp_path / "outer")) == str(tmp_path / "outer")
    assert find_worktree(str(tmp_path / "outer" / "inner" / "src")) == str(tmp_path / "outer" / "inner")


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


def test_a_relative_folder_is_taken_from_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")

    assert find_worktree(".") == find_worktree("") == str(tmp_path / "repo")
