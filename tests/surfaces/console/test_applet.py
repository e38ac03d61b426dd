"""The file behind the editor: opened, replaced, or refused in words."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.errors import InvalidValueError, Refused
from holdfast.ground.confined import ConfinedRoot, hash_of
from holdfast.ground.errors import FileChangedError, PathOutsideError
from holdfast.surfaces.console import applet


@pytest.fixture
def roots(tmp_path: Path) -> list[ConfinedRoot]:
    (tmp_path / "root").mkdir()
    return [ConfinedRoot(str(tmp_path / "root"))]


def write_file(roots: list[ConfinedRoot], data: bytes) -> str:
    path = f"{roots[0].folder}/a.txt"
    Path(path).write_bytes(data)
    return path


def test_a_text_is_opened_with_its_version(roots: list[ConfinedRoot]):
    file = applet.open_file(roots, write_file(roots, b"one\r\ntwo\r\n"))

    assert file.text is not None
    assert file.text.text == "one\ntwo\n"
    assert (file.name, file.size, file.hash) == ("a.txt", 10, hash_of(b"one\r\ntwo\r\n"))


@pytest.mark.parametrize("mode", [0o640, 0o755, 0o602, 0o2775, 0o4711])
def test_saving_keeps_line_ends_and_mode(roots: list[ConfinedRoot], mode: int):
    path = write_file(roots, b"\xef\xbb\xbfone\r\ntwo\r\n")
    os.chmod(path, mode)
    base = applet.open_file(roots, path)

    copy = applet.save_file(roots, path, "one\nTWO\n", base.hash)

    assert Path(path).read_bytes() == copy.data == b"\xef\xbb\xbfone\r\nTWO\r\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == mode


def test_a_file_that_is_read_only_is_left_alone(roots: list[ConfinedRoot]):
    path = write_file(roots, b"one\n")
    os.chmod(path, 0o444)

    for given in (path, "a.txt"):
        with pytest.raises(Refused, match="is read-only"):
            applet.save_file(roots, given, "two\n", hash_of(b"one\n"))
    assert Path(path).read_bytes() == b"one\n"
    assert os.listdir(roots[0].folder) == ["a.txt"]


def test_a_file_of_two_names_is_left_alone(roots: list[ConfinedRoot]):
    path = write_file(roots, b"one\n")
    os.link(path, f"{roots[0].folder}/b.txt")

    with pytest.raises(Refused, match="2 names"):
        applet.save_file(roots, path, "two\n", hash_of(b"one\n"))
    assert Path(path).read_bytes() == b"one\n"
    assert os.stat(path).st_nlink == 2


def test_a_file_that_changed_meanwhile_is_not_overwritten(roots: list[ConfinedRoot]):
    path = write_file(roots, b"one")
    base = applet.open_file(roots, path)
    write_file(roots, b"theirs")

    with pytest.raises(FileChangedError):
        applet.save_file(roots, path, "mine", base.hash)
    assert applet.current_hash(roots, path) == hash_of(b"theirs")


def test_a_binary_file_is_neither_shown_nor_saved(roots: list[ConfinedRoot]):
    path = write_file(roots, b"\0\1")

    assert applet.open_file(roots, path).text is None
    with pytest.raises(InvalidValueError, match="not a text file"):
        applet.save_file(roots, path, "x", hash_of(b"\0\1"))


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_a_file_cannot_hold_is_not_saved(roots: list[ConfinedRoot], text: str):
    path = write_file(roots, b"one")

    with pytest.raises(InvalidValueError):
        applet.save_file(roots, path, text, hash_of(b"one"))
    assert Path(path).read_bytes() == b"one"


def test_too_much_is_neither_opened_nor_saved(roots: list[ConfinedRoot]):
    path = write_file(roots, b"x" * (applet.MOST_BYTES + 1))
    with pytest.raises(InvalidValueError, match="larger than"):
        applet.open_file(roots, path)

    path = write_file(roots, b"x")
    with pytest.raises(InvalidValueError, match="larger than"):
        applet.save_file(roots, path, "x" * (applet.MOST_BYTES + 1), hash_of(b"x"))


def test_without_a_folder_nothing_is_shown():
    with pytest.raises(PathOutsideError, match="no folder was named"):
        applet.open_file([], "/etc/passwd")


def test_files_of_git_are_shown_and_never_written(roots: list[ConfinedRoot]):
    (Path(roots[0].folder) / ".git").mkdir()
    path = f"{roots[0].folder}/.git/config"
    Path(path).write_bytes(b"[core]\n")
    base = applet.open_file(roots, path)

    with pytest.raises(PathOutsideError, match="belongs to git"):
        applet.save_file(roots, path, "[core]\nfsmonitor = evil\n", base.hash)
    assert Path(path).read_bytes() == b"[core]\n"


def test_only_one_of_several_concurrent_saves_succeeds(roots: list[ConfinedRoot]):
    """From the same version, again and again: never do both succeed."""
    for number in range(20):
        base = applet.open_file(roots, write_file(roots, f"{number}\n".encode()))
        with ThreadPoolExecutor(4) as threads:
            saves = [
                threads.submit(applet.save_file, roots, base.path, f"{name}\n", base.hash)
                for name in "abcd"
            ]
        refused = [save.exception() for save in saves if save.exception()]
        assert [type(error) for error in refused] == [FileChangedError] * 3
