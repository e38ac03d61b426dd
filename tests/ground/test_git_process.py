"""How git is started: what it is given, what it cannot be given, and that it always ends."""

import os
from pathlib import Path

import pytest

from holdfast.errors import Unavailable
from holdfast.ground import git_process
from holdfast.ground.errors import GitFailedError, GitMissingError
from holdfast.ground.git_process import (
    Git,
    blank_filters,
    clean_environment,
    find_git,
    make_environment,
)
from holdfast.ground.git_settings import MARK, GitSettings
from tests.ground.repositories import Work, make_filled


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def stand_in(folder: Path, script: str) -> None:
    """Another program that is called git."""
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)


def test_our_environment_does_not_change_where_git_looks(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_EXTERNAL_DIFF",
        "GIT_CONFIG_PARAMETERS",
    ):
        monkeypatch.setenv(name, "/nowhere")

    assert Git(str(work.root)).ask("rev-parse", "--is-inside-work-tree") == b"true\n"
    kept = clean_environment(os.environ)
    assert {name for name in kept if name.startswith("GIT_")} == set(git_process.ENVIRONMENT) - {
        "LC_ALL"
    }
    assert kept["HOME"] == os.environ["HOME"]


def test_a_search_path_that_depends_on_the_folder_does_not_count(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch
):
    stand_in(work.root, f"touch {tmp_path}/canary")
    monkeypatch.chdir(work.root)
    monkeypatch.setenv("PATH", f"::.:{os.environ['PATH']}")

    assert Git(".").run("status").code == 128, (
        "the folder itself is not looked up in the repository either"
    )
    assert Git(str(work.root)).run("rev-parse", "HEAD").code == 0
    assert not (tmp_path / "canary").exists()
    assert clean_environment(os.environ)["PATH"] == os.environ["PATH"].removeprefix("::.:")


def test_a_missing_git_is_refused_with_the_advice_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "git").mkdir()  # a folder of that name is not a program
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitMissingError, match="Install git") as caught:
        Git("/").run("version")

    assert isinstance(caught.value, Unavailable)
    assert caught.value.exit_code == 6


def test_a_git_that_does_not_read_its_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An old one would answer as if nothing were wrong, with every filter in place."""
    stand_in(tmp_path / "bin", r"printf 'global\0file:x\0user.name\nme\0'")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")

    with pytest.raises(GitMissingError, match=r"older than 2\.31"):
        Git("/").read_settings()


def test_settings_in_the_environment_outrank_every_file(work: Work):
    work.git("config", "core.fsmonitor", "/bin/false")
    work.git("config", "filter.a.clean", "cat")
    git = Git(str(work.root), GitSettings(filters=("a", "b=c", "")))

    assert git.ask("config", "core.fsmonitor") == b"false\n"
    assert git.ask("config", "filter.a.clean") == b"\n"
    assert git.ask("config", "filter.b=c.required") == b"false\n"
    assert git.ask("config", "filter..process") == b"\n"
    assert git.ask("config", MARK[0]) == b"1\n"


def test_a_filter_is_blanked_in_all_its_forms():
    names = [name for name, _ in blank_filters(["x"])]

    assert names == ["filter.x.clean", "filter.x.smudge", "filter.x.process", "filter.x.required"]
    assert make_environment([("a", "b")]) == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a",
        "GIT_CONFIG_VALUE_0": "b",
    }


def test_an_answer_is_cut_where_it_is_long_enough(work: Work):
    work.write("long", b"x" * 5_000_000)
    work.commit()

    answer = Git(str(work.root)).run("cat-file", "blob", "HEAD:long", most_bytes=70_000)

    assert (answer.is_cut, len(answer.out), answer.code) == (True, 70_000, 0)


def test_a_command_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stand_in(tmp_path / "bin", f"{find_sleep()} 600 & echo $! > {tmp_path}/child; wait")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setattr(git_process, "SECONDS", 0.5)

    with pytest.raises(GitFailedError, match="in time"):
        Git("/").run("version")

    with pytest.raises(ProcessLookupError):
        wait_for_end(int((tmp_path / "child").read_text()))


def find_sleep() -> str:
    return next(path for path in ("/bin/sleep", "/usr/bin/sleep") if os.path.exists(path))


def wait_for_end(pid: int) -> None:
    """Whatever git started ended with it; an orphan is gone once its parent has collected it."""
    while True:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError


def test_reading_from_a_git_process_that_exited_raises_its_error(work: Work):
    git = Git(str(work.root))

    with git.start("cat-file", "--no-such-option", talks=True) as talk:
        talk.say(b"HEAD\n")
        with pytest.raises(GitFailedError, match="no-such-option"):
            talk.hear_line()


def test_git_has_nothing_to_read_and_no_terminal(work: Work):
    assert (
        Git(str(work.root)).run("hash-object", "--stdin").out
        == b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
    )


@pytest.mark.parametrize(
    ("complaint", "line"),
    [
        (b"warning: x\nfatal: y\n", "fatal: y"),
        (b"hint: x\n", "hint: x"),
        (b"", ""),
        (b"error: \xff\n", "error: \ufffd"),
    ],
)
def test_the_line_with_the_cause_is_taken_from_an_error_output(complaint: bytes, line: str):
    assert git_process.find_message(complaint) == line


def test_find_git_takes_the_first_program_of_that_name(tmp_path: Path):
    stand_in(tmp_path / "one", "")
    stand_in(tmp_path / "two", "")
    (tmp_path / "one" / "git").chmod(0o644)

    assert (
        find_git({"PATH": f"{tmp_path}/none:{tmp_path}/two:{tmp_path}/one"})
        == f"{tmp_path}/two/git"
    )
