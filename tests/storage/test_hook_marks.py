"""Marks of hooks: what they count, and that leaving one replaces no file."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.storage.hook_marks import HookMarks


@pytest.fixture
def marks(tmp_path: Path) -> HookMarks:
    return HookMarks(str(tmp_path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hooks" / "claude.Stop.json"


def test_a_mark_adds_up_what_its_hook_cost(marks: HookMarks):
    marks.record("claude", "Stop", 1.5, 10)
    marks.record("claude", "Stop", 2.5, 20)

    [mark] = marks.list_marks()

    assert (mark["client"], mark["event"], mark["count"]) == ("claude", "Stop", 2)
    assert (mark["milliseconds"], mark["chars"], mark["handed"]) == (4.0, 30, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when a process began")
def test_the_age_of_a_process_has_the_start_of_its_interpreter():
    """It was begun before the first line of this program was run."""
    code = (
        "import time; began = time.monotonic(); "
        "from holdfast.storage.hook_marks import measure_age; "
        "print(measure_age(0.0) > time.monotonic() - began, measure_age(1e6))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "True 1000000.0\n"


def test_a_check_keeps_what_was_counted(marks: HookMarks):
    marks.record("claude", "Stop", 1.5, 10)
    marks.record_check("claude", "Stop")

    [mark] = marks.list_marks()

    assert mark["count"] == 1
    assert mark["checked_at"] >= mark["fired_at"]


def test_a_mark_is_changed_in_its_place(marks: HookMarks, file: Path):
    """A file that takes the place of another makes some file systems write it to the disk."""
    marks.record("claude", "Stop", 1.5, 10)
    before = file.stat().st_ino
    marks.record("claude", "Stop", 1.5, 10)

    assert file.stat().st_ino == before
    assert list(file.parent.iterdir()) == [file]


def test_a_shorter_mark_leaves_nothing_of_a_longer_one(marks: HookMarks):
    marks.record("claude", "Stop", 0.123456789, 10)
    marks.record("claude", "Stop", 1 - 0.123456789, 10)

    [mark] = marks.list_marks()

    assert mark["count"] == 2


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_mark_that_cannot_be_read_begins_anew(marks: HookMarks, file: Path, size: int):
    file.parent.mkdir()
    file.write_text("{" * size)

    marks.record("claude", "Stop", 1.5, 10)

    [mark] = marks.list_marks()
    assert mark["count"] == 1


def test_a_mark_that_cannot_be_written_is_left_out(marks: HookMarks, file: Path):
    file.mkdir(parents=True)

    marks.record("claude", "Stop", 1.5, 10)

    assert marks.list_marks() == []
