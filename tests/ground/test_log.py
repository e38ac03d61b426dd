"""The log: one line per event, no free text, and never an obstacle."""

import errno
import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import clock, log
from holdfast.ground.log import Log


def lines_of(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "holdfast.log").read_text().splitlines()]


def test_an_event_becomes_one_line_with_its_facts(tmp_path: Path) -> None:
    Log(tmp_path)(
        "store_busy", waited_ms=120, retried=True, session_id="s_01J", client="claude-code"
    )

    (line,) = lines_of(tmp_path)
    assert clock.from_text(line.pop("at")) <= clock.now()
    assert line == {
        "event": "store_busy",
        "pid": os.getpid(),
        "waited_ms": 120,
        "retried": True,
        "session_id": "s_01J",
        "client": "claude-code",
    }


@pytest.mark.parametrize(
    "value",
    [
        "two words",
        "",
        "x" * 65,
        "/home/me/secret",
        "a\nb",
        "naïve",
        1.5,
        None,
        b"bytes",
        ["list"],
        {"a": 1},
        1 << 70,
    ],
)
def test_a_fact_that_is_neither_a_number_nor_a_code_is_dropped(
    tmp_path: Path, value: object
) -> None:
    Log(tmp_path)("event", fact=value, kept=1)

    (line,) = lines_of(tmp_path)
    assert "fact" not in line
    assert line["kept"] == 1


def test_an_event_name_that_is_not_a_code_is_logged_as_unnamed(tmp_path: Path) -> None:
    Log(tmp_path)("what the user typed")

    assert lines_of(tmp_path)[0]["event"] == "unnamed"


def test_a_fact_cannot_take_the_place_of_the_event_or_carry_words_in_its_name(
    tmp_path: Path,
) -> None:
    Log(tmp_path)("real", **{"event": "fake", "at": 1, "pid": 0, "self": 2, "some words": 3})

    (line,) = lines_of(tmp_path)
    assert set(line) == {"at", "event", "pid", "self"}
    assert line["event"] == "real"
    assert line["pid"] == os.getpid()


@given(
    st.dictionaries(
        st.text(max_size=8), st.text(max_size=80) | st.integers() | st.floats() | st.none()
    )
)
def test_a_line_with_any_facts_is_json_without_free_text(
    tmp_path_factory: pytest.TempPathFactory, facts: dict[str, Any]
) -> None:
    home = tmp_path_factory.mktemp("log")

    Log(home)("event", **facts)

    (line,) = lines_of(home)
    assert all(
        isinstance(v, int) or (isinstance(v, str) and " " not in v and len(v) <= 64)
        for v in line.values()
    )


def test_the_log_and_a_home_that_was_missing_are_private(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"

    Log(home)("event")

    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "holdfast.log").stat().st_mode) == 0o600


def test_a_full_log_is_moved_aside_once_and_a_new_one_begins(tmp_path: Path) -> None:
    full = tmp_path / "holdfast.log"
    for number in range(2):
        full.write_bytes(bytes([65 + number]) * log.MAX_BYTES)
        Log(tmp_path)("event", number=number)

    assert [line["number"] for line in lines_of(tmp_path)] == [1]
    assert (tmp_path / "holdfast.log.1").read_bytes() == b"B" * log.MAX_BYTES
    assert sorted(p.name for p in tmp_path.glob("holdfast.log*")) == [
        "holdfast.log",
        "holdfast.log.1",
    ]


def test_a_log_that_another_process_is_moving_is_written_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "holdfast.log").write_bytes(b"A" * log.MAX_BYTES)

    with (tmp_path / "holdfast.log").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        Log(tmp_path)("event")

    assert (tmp_path / "holdfast.log").stat().st_size > log.MAX_BYTES
    assert not (tmp_path / "holdfast.log.1").exists()


def test_a_log_that_another_process_has_just_moved_is_not_moved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the second process would put its nearly empty file over the full one."""
    path, real = tmp_path / "holdfast.log", fcntl.flock
    path.write_bytes(b"A" * log.MAX_BYTES)

    def other_moves_first(fd: int, operation: int) -> None:
        path.rename(f"{path}.1")
        path.write_bytes(b'{"event":"other"}\n')
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", other_moves_first)
    Log(tmp_path)("event")

    assert [line["event"] for line in lines_of(tmp_path)] == ["other", "event"]
    assert (tmp_path / "holdfast.log.1").read_bytes() == b"A" * log.MAX_BYTES


def test_a_pipe_in_place_of_the_log_does_not_block_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "holdfast.log")

    Log(tmp_path)("event")


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "holdfast.log").symlink_to(tmp_path / "target")

    Log(tmp_path)("event")

    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("home", ["/dev/null/home", "a\x00b", ""])
def test_an_impossible_home_does_not_make_logging_fail(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    Log(home)("event")


def test_a_full_disk_does_not_make_logging_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", no_space)

    Log(tmp_path)("event")
