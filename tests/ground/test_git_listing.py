"""Which paths git is told to ignore, of files that may not exist yet."""

from pathlib import Path

import pytest

from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_listing import list_not_ignored
from tests.ground.repositories import make_filled

ODD = ['a "b".md', "a\nb.md", "ä.md", "*.md", ":(top)x.md", "-x.md", "\udcff.md"]


def test_names_of_all_kinds_are_ignored_where_a_rule_says_so(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    work.write(".gitignore", "/out/\n")
    ignored = [f"out/{name}" for name in ODD]

    found = list_not_ignored(work.found(), [*ODD, *ignored, "new/folder/x.py"])

    assert found == [*ODD, "new/folder/x.py"]


def test_a_file_that_git_tracks_is_not_ignored(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    work.write("kept.log", "1")
    work.git("add", "kept.log")
    work.write(".gitignore", "*.log\n")

    assert list_not_ignored(work.found(), ["kept.log", "other.log"]) == ["kept.log"]


def test_where_git_does_not_say_nothing_is_known(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    (tmp_path / "work" / "link").symlink_to(tmp_path)

    with pytest.raises(GitFailedError):
        list_not_ignored(work.found(), ["link/x.py"])
    assert list_not_ignored(work.found(), []) == []
    assert list_not_ignored(work.found(), ["x" * 40_000]) == []
