"""Which session each running program is in, as far as its hooks have said it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.ground import process_tree
from holdfast.storage.processes import (
    CALL_FILES,
    LEFT,
    LEFT_SECONDS,
    OLDEST_SECONDS,
    Processes,
)

ROW = {"client": "claude", "native_id": "n-1"}


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(str(tmp_path / "home"))


@pytest.fixture
def own() -> str:
    found = process_tree.find_own_process()
    assert found is not None
    return found


def names(processes: Processes) -> list[str]:
    return sorted(os.listdir(processes.folder))


def test_the_last_that_was_said_is_known(processes: Processes, own: str):
    assert processes.find(own) is None
    processes.register(own, ROW)
    processes.register(own, {**ROW, "native_id": "n-2"})

    assert processes.find(own) == {**ROW, "native_id": "n-2"}
    assert processes.list_running() == [{**ROW, "native_id": "n-2"}]
    assert names(processes) == [own]
    assert os.stat(processes.folder).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(processes.folder, own)).st_mode & 0o777 == 0o600


def test_saying_the_same_again_writes_nothing(processes: Processes, own: str):
    processes.register(own, ROW)
    before = os.stat(os.path.join(processes.folder, own)).st_ino

    processes.register(own, dict(ROW))

    assert os.stat(os.path.join(processes.folder, own)).st_ino == before


def test_ended_processes_leave_no_files(processes: Processes, own: str):
    """Whoever says something new, or asks for all, puts them aside; later they are removed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        machine = own.rsplit(".", 2)[0]
        found = process_tree._read_stat(child.pid)
        assert found is not None
        running = f"{machine}.{child.pid}.{found[2]}"
        processes.register(running, ROW)
        assert processes.list_running() == [ROW]
    another_start = f"{own.rpartition('.')[0]}.1"
    another_boot = f"another_1.{os.getpid()}.1"
    for ended in (another_start, another_boot, "nonsense"):
        processes._write(ended, ROW)

    processes.register(own, {**ROW, "native_id": "n-2"})

    ended = [name for name in names(processes) if name != own]
    assert all(name.startswith(LEFT) for name in ended)
    assert processes.list_left() == [ROW] * 4
    assert processes.list_running() == [{**ROW, "native_id": "n-2"}]

    for name in ended:
        path = os.path.join(processes.folder, name)
        old = os.stat(path).st_mtime - LEFT_SECONDS - 1
        os.utime(path, (old, old))

    assert len(processes.list_running()) == 1
    assert names(processes) == [own]


def test_a_process_of_another_namespace_is_kept_for_a_week(processes: Processes, own: str):
    """Whether it runs is not seen from here."""
    boot = own.partition("_")[0]
    other = f"{boot}_1.20.5"
    processes.register(other, ROW)
    assert processes.list_running() == [ROW]

    path = os.path.join(processes.folder, other)
    old = os.stat(path).st_mtime - OLDEST_SECONDS - 1
    os.utime(path, (old, old))

    assert processes.list_running() == []


def test_calls_are_kept_in_a_fixed_number_of_files(processes: Processes):
    for number in range(3 * CALL_FILES):
        processes.record_call(f"toolu_{number:05}", ROW)

    assert processes.find_call(f"toolu_{3 * CALL_FILES - 1:05}") == {
        **ROW,
        "call_id": f"toolu_{3 * CALL_FILES - 1:05}",
    }
    assert processes.find_call("toolu_unknown") is None
    assert len(names(processes)) <= CALL_FILES
    assert processes.list_running() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 10_000])
def test_a_damaged_file_says_nothing(content: bytes, processes: Processes, own: str):
    processes.register(own, ROW)
    Path(processes.folder, own).write_bytes(content)

    assert processes.find(own) is None
    processes.register(own, ROW)
    assert processes.find(own) == ROW


def test_where_nothing_can_be_written_nothing_is_known(tmp_path: Path, own: str):
    (tmp_path / "file").write_text("")
    processes = Processes(str(tmp_path / "file"))

    processes.register(own, ROW)
    processes.record_call("toolu_1", ROW)

    assert (processes.find(own), processes.find_call("toolu_1")) == (None, None)
    assert processes.list_running() == []


def test_a_row_that_is_too_long_is_not_kept(processes: Processes, own: str):
    processes.register(own, {**ROW, "native_id": "n" * 20_000})

    assert processes.find(own) is None
