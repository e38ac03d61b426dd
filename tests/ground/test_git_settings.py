"""Of a repository's settings we keep what we need, and notice when they change."""

import os
from pathlib import Path

import pytest

from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_process import Git
from holdfast.ground.git_settings import GitSettings, SettingLine, make_settings, parse_listing
from tests.ground.repositories import Work, make_filled


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def read(work: Work) -> GitSettings:
    return Git(str(work.root)).read_settings()


@pytest.mark.parametrize(
    "name", ["lfs", "a=b", "a.b", "UPPER", 'q"uote', "sp ace", "", "back\\slash", "größe", "\udcff"]
)
def test_a_filter_is_found_whatever_its_name(work: Work, name: str):
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogateescape")
    with open(work.root / ".git" / "config", "ab") as file:
        file.write(b'[FILTER "%b"]\n\tclean = touch canary\n' % escaped)

    assert read(work).filters == (name,)


def test_a_name_with_a_line_break_is_refused_by_git_itself(work: Work):
    with open(work.root / ".git" / "config", "a") as file:
        file.write('[filter "a\nb"]\n\tclean = x\n')

    with pytest.raises(GitFailedError, match="bad config"):
        read(work)


def test_filters_of_included_files_and_of_the_person_count_too(work: Work, home: Path):
    (home / ".gitconfig").write_text('[filter "mine"]\n\tclean = x\n')
    (work.root / "more").write_text('[filter "more"]\n\tprocess = x\n')
    work.git("config", "include.path", "../more")

    assert read(work).filters == ("mine", "more")


def test_settings_are_current_until_one_of_their_files_changes(work: Work, home: Path):
    (home / ".gitconfig").write_text("[user]\n\tname = me\n")
    config = work.root / ".git" / "config"
    settings = Git(str(work.root)).read_settings(own_files=[f"{work.root}/.git/config.worktree"])
    assert settings.is_current

    changes = (
        lambda: work.git("config", "filter.new.clean", "x"),
        lambda: (work.root / ".git" / "config.worktree").write_text(""),
        lambda: (home / ".gitconfig").unlink(),
        lambda: os.replace(config, work.root / "aside"),
    )
    for change in changes:
        settings = Git(str(work.root)).read_settings(
            own_files=[f"{work.root}/.git/config.worktree"]
        )
        change()
        assert not settings.is_current


def test_a_repository_that_names_other_files_is_read_every_time(work: Work, home: Path):
    (home / ".gitconfig").write_text('[includeIf "gitdir:/nowhere/"]\n\tpath = x\n')
    assert read(work).is_current, "the person's own files are trusted"

    work.git("config", "include.path", "not-there-yet")
    assert not read(work).is_current


def test_origin_comes_before_the_remote_that_is_named_first():
    lines = [
        SettingLine("local", "file:.git/config", f"remote.{name}.url", f"https://h/{name}")
        for name in ("up", "origin")
    ]

    assert make_settings(lines, "/r").remote_name == "h/origin"
    assert make_settings(lines[:1], "/r").remote == "up"
    assert make_settings([], "/r") == GitSettings()


def test_no_other_setting_is_kept(work: Work):
    """A password in an address or a header stays where it is."""
    work.git("remote", "add", "origin", "https://me:hunter2hunter2@example.org/x.git")
    work.git("config", "http.extraHeader", "Authorization: hunter2hunter2")

    settings = read(work)

    assert settings.remote_name == "example.org/x"
    assert "hunter2" not in repr(settings)


def test_a_listing_may_hold_values_with_line_breaks_and_keys_without_values():
    listing = b"local\0file:x\0a.b\none\ntwo\0command\0command line:\0c.d\0"

    assert parse_listing(listing) == [
        SettingLine("local", "file:x", "a.b", "one\ntwo"),
        SettingLine("command", "command line:", "c.d", ""),
    ]
    assert parse_listing(b"") == []
