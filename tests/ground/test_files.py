"""Safe files: private folders, one writer at a time, whole files, and nothing that blocks."""

import errno
import fcntl
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import (
    InvalidValueError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from holdfast.ground import files


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def with_umask(umask: int, act: Callable[[], None]) -> None:
    before = os.umask(umask)
    try:
        act()
    finally:
        os.umask(before)


# --- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_a_folder_and_its_parents_are_private_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    folder = tmp_path / "a" / "b"

    with_umask(umask, lambda: files.private_folder(folder))

    assert [mode_of(folder.parent), mode_of(folder)] == [0o700, 0o700]


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    folder.chmod(0o750)

    files.private_folder(folder)

    assert mode_of(folder) == 0o750


def test_a_relative_folder_is_made_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    files.private_folder("x/y")

    assert (tmp_path / "x" / "y").is_dir()


def test_a_folder_under_a_file_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StoreUnreachableError, match="file exists"):
        files.private_folder(tmp_path / "file" / "folder")


def test_a_file_in_the_place_of_a_folder_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")

    with pytest.raises(StoreUnreachableError, match="file exists"):
        files.private_folder(tmp_path / "file")

    assert (tmp_path / "file").read_bytes() == b"mine"


def test_two_processes_may_make_the_same_folder_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is played by a mkdir that finds its work done."""
    real = os.mkdir

    def other_was_first(path: str, mode: int) -> None:
        real(path, mode)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", other_was_first)

    files.private_folder(tmp_path / "shared")

    assert (tmp_path / "shared").is_dir()


# --- lock -----------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_then_gives_up(tmp_path: Path) -> None:
    path = tmp_path / "data"

    with (
        files.Lock(path),
        pytest.raises(StoreBusyError) as busy,
        files.Lock(path, timeout_seconds=0.05),
    ):
        pass

    assert busy.value.where == str(path)


def test_a_lock_is_free_after_the_block_even_when_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "data"

    with pytest.raises(ZeroDivisionError), files.Lock(path):
        _ = 1 / 0

    with files.Lock(path, timeout_seconds=0):
        pass


def test_a_waiting_writer_goes_on_when_the_first_is_done(tmp_path: Path) -> None:
    path, order = tmp_path / "data", []

    def second() -> None:
        with files.Lock(path, timeout_seconds=60):
            order.append("second")

    waiting = threading.Thread(target=second)
    with files.Lock(path):
        waiting.start()
        order.append("first")
    waiting.join()

    assert order == ["first", "second"]


def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    def lock_once() -> None:
        with files.Lock(tmp_path / "data"):
            pass

    with_umask(0o000, lock_once)

    assert mode_of(tmp_path / "data.lock") == 0o600


def test_a_lock_file_that_was_removed_while_locking_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two holders would be the result: one of the removed file, one of the file
    that came after it.
    """
    path, real = tmp_path / "data", fcntl.flock
    removed: list[int] = []

    def flock_after_removal(fd: int, operation: int) -> None:
        if not removed:
            os.unlink(f"{path}.lock")
            removed.append(fd)
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_removal)

    with files.Lock(path), pytest.raises(StoreBusyError), files.Lock(path, timeout_seconds=0):
        pass

    assert removed


def test_a_lock_file_that_was_replaced_while_locking_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "data", fcntl.flock
    replaced: list[int] = []

    def flock_after_replacement(fd: int, operation: int) -> None:
        if not replaced:
            os.unlink(f"{path}.lock")
            Path(f"{path}.lock").touch()
            replaced.append(fd)
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_replacement)

    with files.Lock(path), pytest.raises(StoreBusyError), files.Lock(path, timeout_seconds=0):
        pass

    assert replaced


def test_a_link_in_the_place_of_the_lock_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.lock").symlink_to(tmp_path / "elsewhere")

    with (
        pytest.raises(InvalidValueError, match="is a symbolic link"),
        files.Lock(tmp_path / "data"),
    ):
        pass

    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_in_a_missing_folder_cannot_be_reached(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreUnreachableError, match="no such file"),
        files.Lock(tmp_path / "gone" / "data"),
    ):
        pass


# --- writing --------------------------------------------------------------------------------------


def test_a_written_file_is_private_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"

    with_umask(0o000, lambda: files.write_atomic(path, b"{}"))

    assert (path.read_bytes(), mode_of(path)) == (b"{}", 0o600)


def test_a_mode_that_was_asked_for_is_given_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "shared.json"

    with_umask(0o077, lambda: files.write_atomic(path, b"{}", mode=0o644))

    assert mode_of(path) == 0o644


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    files.write_atomic(folder / "data", b"a long old text")

    files.write_atomic(folder / "data", b"new")

    assert (folder / "data").read_bytes() == b"new"
    assert os.listdir(folder) == ["data"]


def test_a_relative_name_is_written_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    files.write_atomic("data", b"here")

    assert (tmp_path / "data").read_bytes() == b"here"


def test_a_link_is_replaced_and_its_target_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"foreign")
    (tmp_path / "data").symlink_to(tmp_path / "target")

    files.write_atomic(tmp_path / "data", b"ours")

    assert (tmp_path / "target").read_bytes() == b"foreign"
    assert not (tmp_path / "data").is_symlink()


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    files.write_atomic(folder / "data", b"old")

    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomic(folder / "data", b"new")

    assert (folder / "data").read_bytes() == b"old"
    assert os.listdir(folder) == ["data"]


def test_a_file_is_synced_before_it_gets_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, real_fsync, real_rename = [], os.fsync, os.rename

    def fsync(fd: int) -> None:
        steps.append(
            "sync folder"
            if stat.S_ISDIR(os.fstat(fd).st_mode)
            else f"sync {os.fstat(fd).st_size} bytes"
        )
        real_fsync(fd)

    def rename(*args: Any, **kwargs: Any) -> None:
        steps.append("rename")
        real_rename(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    files.write_atomic(tmp_path / "data", b"12345")

    assert steps == ["sync 5 bytes", "rename", "sync folder"]


def test_a_file_system_that_cannot_sync_folders_can_still_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(fd)

    monkeypatch.setattr(os, "fsync", only_files)

    files.write_atomic(tmp_path / "data", b"new")

    assert (tmp_path / "data").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EDQUOT, StoreFullError),
        (errno.EFBIG, StoreFullError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.EACCES, StoreReadOnlyError),
        (errno.EPERM, StoreReadOnlyError),
        (errno.EIO, StoreUnreachableError),
        (errno.EMFILE, StoreUnreachableError),
    ],
)
def test_a_system_error_becomes_our_error_with_the_file_named(
    number: int, kind: type[Exception]
) -> None:
    error = files.translate(OSError(number, os.strerror(number)), Path("/some/file"))

    assert type(error) is kind
    assert "/some/file" in str(error)


# --- reading --------------------------------------------------------------------------------------


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"12345")

    assert files.read_bytes(tmp_path / "data", max_bytes=5) == b"12345"
    with pytest.raises(InvalidValueError, match="larger than 4 bytes"):
        files.read_bytes(tmp_path / "data", max_bytes=4)


def test_a_file_that_grows_while_it_is_read_is_refused_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(b"1234")
    real = os.read

    def read_while_growing(fd: int, size: int) -> bytes:
        with (tmp_path / "data").open("ab") as other:
            other.write(b"56789")
        return real(fd, size)

    monkeypatch.setattr(os, "read", read_while_growing)

    with pytest.raises(InvalidValueError, match="larger than 5 bytes"):
        files.read_bytes(tmp_path / "data", max_bytes=5)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (make_fifo, "is not a regular file"),
        (make_link, "is a symbolic link"),
        (make_socket, "is not a regular file"),
        (Path.mkdir, "is not a regular file"),
    ],
)
def test_a_path_that_is_not_a_file_is_refused_without_waiting(
    tmp_path: Path, make: Callable[[Path], None], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    make(Path("thing"))

    with pytest.raises(InvalidValueError, match=problem):
        files.read_bytes("thing", max_bytes=100)


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="is not a regular file"):
        files.read_bytes("/dev/zero", max_bytes=100)


def test_a_sparse_giant_is_refused_by_its_size_alone(tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(2 << 30)

    with pytest.raises(InvalidValueError, match="larger than"):
        files.read_bytes(tmp_path / "giant", max_bytes=1 << 20)


def test_a_refused_file_is_not_left_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir("/dev/fd"))

    for _ in range(3):
        with pytest.raises(InvalidValueError):
            files.read_bytes(tmp_path / "pipe", max_bytes=100)

    assert sorted(os.listdir("/dev/fd")) == before


def test_finding_a_missing_file_gives_none_and_reading_it_raises(tmp_path: Path) -> None:
    assert files.find_bytes(tmp_path / "gone", max_bytes=10) is None
    with pytest.raises(StoreUnreachableError, match="does not exist"):
        files.read_bytes(tmp_path / "gone", max_bytes=10)


def test_a_file_below_a_file_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StoreUnreachableError, match="not a directory"):
        files.find_bytes(tmp_path / "file" / "child", max_bytes=10)


# --- cost -----------------------------------------------------------------------------------------


def test_a_hook_that_imports_these_files_pays_for_no_heavy_module() -> None:
    source = str(Path(files.__file__).parents[2])
    code = (
        "import sys; import holdfast.ground.files, holdfast.ground.log, holdfast.ground.text; "
        "print(*sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": source},
    )

    assert not {"asyncio", "uuid", "logging", "tempfile", "pathlib", "shutil", "sqlite3"} & set(
        done.stdout.split()
    )
