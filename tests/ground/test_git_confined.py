"""A repository that is reached by descriptor: the same answers, and no other repository's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.ground import git_confined
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_confined import OpenRepository
from tests.ground.repositories import Work, make_filled

NOWHERE = "1" * 40


@contextmanager
def opening(folder: Path, path: str) -> Iterator[OpenRepository | None]:
    root = ConfinedRoot(str(folder))
    steps = root.find_steps(path)
    with (
        root.open_folders(steps[:-1], path) as opened,
        git_confined.open_repository(root, steps, opened) as found,
    ):
        yield found


def is_found(folder: Path, path: str) -> bool:
    with opening(folder, path) as found:
        return found is not None


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def test_a_diff_is_given_whole_or_cut_at_a_line(work: Work):
    work.write("src/app.py", "".join(f"line {number}\n" for number in range(1000)))

    with opening(work.root, "src/app.py") as found:
        assert found
        copy = git_confined.find_copy(found.tree, found.inside)
        whole = git_confined.diff_text(found, found.base, copy, max_bytes=1_000_000)
        cut = git_confined.diff_text(found, found.base, copy, max_bytes=500)
        with pytest.raises(GitFailedError):
            git_confined.diff_text(found, NOWHERE, copy, max_bytes=500)

    assert not whole.is_cut
    assert whole.text.splitlines()[-1] == "+line 999"
    assert cut.is_cut
    assert len(cut.text) <= 500
    assert cut.text.endswith("\n")
    assert whole.text.startswith(cut.text)


def test_line_ends_that_an_attribute_names_are_no_difference(work: Work):
    """The attributes are read in each folder on the way, as git reads them."""
    work.write("src/.gitattributes", "*.txt text eol=crlf\n")
    work.write("src/deep/a.txt", "one\ntwo\n")
    work.commit()
    work.write("src/deep/a.txt", b"one\r\ntwo\r\n")

    with opening(work.root, "src/deep/a.txt") as found:
        assert found
        copy = git_confined.find_copy(found.tree, found.inside)
        assert git_confined.diff_text(found, found.base, copy, max_bytes=1_000).text == ""


def test_a_touched_file_is_not_counted_as_changed(work: Work):
    work.write("picture.bin", b"\0\1\2")
    work.write("README.md", "text\n")
    work.commit()
    for path in ("picture.bin", "README.md"):
        os.utime(work.place(path), (1, 1))
    work.write("src/app.py", "x\n")

    with opening(work.root, "src/app.py") as found:
        assert found
        whole = OpenRepository(found.git, found.tree, "", found.folder, found.head)
        changes = git_confined.list_changes(whole, found.base)
        counts = git_confined.count_changes(whole, found.base, changes)

    assert list(counts) == ["src/app.py"]


def test_a_linked_working_tree_and_a_submodule_are_found(work: Work, tmp_path: Path):
    """Their repository is outside the root, but says itself that it has this working tree."""
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    library = make_filled(tmp_path / "library")
    work.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(library.root), "sub")

    assert is_found(tmp_path / "linked", "src/app.py")
    assert is_found(work.root / "sub", "src/app.py")
    assert is_found(work.root, "sub/src/app.py")


@pytest.mark.parametrize("way", ["file", "link"])
def test_a_working_tree_that_only_points_at_a_repository_is_not_its_own(
    work: Work, tmp_path: Path, way: str
):
    """Otherwise a text in a shown folder would show any repository of the machine."""
    fake = tmp_path / "fake"
    (fake / "src").mkdir(parents=True)
    (fake / "src" / "app.py").write_text("x")
    if way == "file":
        (fake / ".git").write_text(f"gitdir: {work.root}/.git\n")
    else:
        (fake / ".git").symlink_to(work.root / ".git")

    assert not is_found(fake, "src/app.py")
    assert is_found(work.root, "src/app.py")


def test_a_folder_that_is_only_called_git_is_no_repository(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.txt").write_text("x")

    assert not is_found(tmp_path, "a.txt")
