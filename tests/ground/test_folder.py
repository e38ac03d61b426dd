"""A folder in a user's repository: opened step by step, never through a link, and locked by the
open folder.
"""

import os
import threading
from pathlib import Path

import pytest

from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.ground import files
from holdfast.ground.errors import PathOutsideError
from holdfast.ground.folder import Folder, open_folder

PLACE = "data/context"


def open_place(root: Path) -> Folder:
    folder = open_folder(str(root), PLACE, create=True)
    assert folder is not None
    return folder


def test_a_missing_folder_is_created_only_on_request(tmp_path: Path):
    assert open_folder(str(tmp_path), PLACE) is None
    assert not (tmp_path / "data").exists()

    with open_place(tmp_path) as folder:
        assert folder.find("a.json", max_bytes=10) is None
        folder.replace("a.json", b"one")
        folder.replace("a.json", b"two")
        assert folder.find("a.json", max_bytes=10) == b"two"

    assert [path.name for path in (tmp_path / PLACE).iterdir()] == ["a.json"]
    assert (tmp_path / PLACE / "a.json").stat().st_mode & 0o777 == 0o644


def test_a_replaced_file_keeps_the_mode_that_a_user_set(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.replace("a", b"one")
        (tmp_path / PLACE / "a").chmod(0o600)
        folder.replace("a", b"two")

    assert (tmp_path / PLACE / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("step", ["data", "data/context"])
def test_a_link_on_the_way_is_never_followed(tmp_path: Path, step: str):
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "context").mkdir(parents=True)
    (root / step).parent.mkdir(parents=True)
    (root / step).symlink_to(outside)

    for create in (False, True):
        with pytest.raises(PathOutsideError, match="symbolic link"):
            open_folder(str(root), PLACE, create=create)
    assert [path.name for path in outside.rglob("*")] == ["context"]


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "data").write_text("x")

    with pytest.raises(PathOutsideError):
        open_folder(str(tmp_path), PLACE, create=True)


@pytest.mark.parametrize("name", ["link", "pipe", "folder"])
def test_a_path_that_is_not_a_regular_file_is_refused_without_waiting(tmp_path: Path, name: str):
    with open_place(tmp_path) as folder:
        place = tmp_path / PLACE
        (tmp_path / "secret").write_text("secret")
        (place / "link").symlink_to(tmp_path / "secret")
        os.mkfifo(place / "pipe")
        (place / "folder").mkdir()

        with pytest.raises(PathOutsideError):
            folder.find(name, max_bytes=100)
        with pytest.raises(PathOutsideError):
            folder.replace(name, b"x")

    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_too_large_is_refused(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.replace("a", b"12345")
        with pytest.raises(InvalidValueError, match="larger than 4 bytes"):
            folder.find("a", max_bytes=4)


@pytest.mark.parametrize("path", ["../x", "a/../../b", "", "a/"])
def test_a_path_that_leads_outside_is_refused(tmp_path: Path, path: str):
    with pytest.raises(PathOutsideError):
        open_folder(str(tmp_path), path, create=True)


def test_a_full_disk_says_so_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with open_place(tmp_path) as folder:
        folder.replace("a", b"old")
        monkeypatch.setattr(files, "write_all", _no_space)
        with pytest.raises(files.StoreFullError):
            folder.replace("a", b"new")
        assert folder.find("a", max_bytes=10) == b"old"
    assert [path.name for path in (tmp_path / PLACE).iterdir()] == ["a"]


def _no_space(fd: int, data: bytes) -> None:
    raise OSError(28, "No space left on device")


def test_a_second_writer_waits_and_then_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.0)
    with open_place(tmp_path) as one, open_place(tmp_path) as two:
        with one.locked(), pytest.raises(StoreBusyError), two.locked():
            pass
        with two.locked():
            pass


def test_writers_one_after_the_other_lose_nothing_and_leave_no_lock_file(tmp_path: Path):
    def add(number: int) -> None:
        with open_place(tmp_path) as folder, folder.locked():
            known = folder.find("a", max_bytes=10_000) or b""
            folder.replace("a", known + b"%d\n" % number)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len((tmp_path / PLACE / "a").read_text().splitlines()) == 40
    assert [path.name for path in (tmp_path / PLACE).iterdir()] == ["a"]


def test_what_is_made_in_a_private_folder_is_for_this_user_alone(tmp_path: Path):
    opened = open_folder(str(tmp_path), PLACE, create=True, is_private=True)
    assert opened is not None
    with opened as folder:
        folder.replace("a", b"one")
        folder.make_folder("inner")

    made = [tmp_path / "data", *sorted((tmp_path / "data").rglob("*"))]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700, 0o600, 0o700]


def test_of_a_long_file_the_beginning_can_be_read(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.replace("a", b"12345")
        (tmp_path / PLACE / "link").symlink_to("a")

        assert folder.find_beginning("a", max_bytes=4) == b"1234"
        assert folder.find_beginning("b", max_bytes=4) is None
        with pytest.raises(PathOutsideError):
            folder.find_beginning("link", max_bytes=4)


def test_a_folder_is_made_once_and_listed(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.make_folder("a")
        with pytest.raises(FileExistsError):
            folder.make_folder("a")

        assert folder.list_names() == ["a"]


def test_a_folder_is_moved_and_never_over_another(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.make_folder("a")
        folder.make_folder("b")
        other = open_folder(str(tmp_path), "other", create=True)
        assert other is not None
        with other:
            other.make_folder("b")
            folder.move("a", other)
            with pytest.raises(PathOutsideError, match="is taken already"):
                folder.move("b", other)

            assert (folder.list_names(), sorted(other.list_names())) == (["b"], ["a", "b"])


def test_a_file_is_removed_also_where_it_is_missing(tmp_path: Path):
    with open_place(tmp_path) as folder:
        folder.replace("a", b"one")
        folder.make_folder("inner")
        folder.remove("a")
        folder.remove("a")
        with pytest.raises(PathOutsideError):
            folder.remove("inner")

        assert folder.list_names() == ["inner"]


def test_below_a_root_that_is_missing_no_folder_is_found(tmp_path: Path):
    assert open_folder(str(tmp_path / "gone"), "data") is None
