"""The reserve and the refuges: files that are changed in place when the disk takes nothing more."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import HoldfastError, StoreBusyError, StoreFullError
from holdfast.ground import files
from holdfast.storage import reserve as module
from holdfast.storage.database import drive
from holdfast.storage.errors import EventDroppedError
from holdfast.storage.reserve import HEADER_BYTES, RESERVE_BYTES, Reserve, locate_reserve
from holdfast.storage.spool import Spool, keep_without_home

LINE = b'{"event":{"id":"e1"}}\n'


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An own runtime folder, and none for temporary files."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))


@pytest.fixture
def reserve(tmp_path: Path) -> Reserve:
    made = Reserve(str(tmp_path / "data" / "spool.reserve"))
    made.prepare()
    return made


@pytest.fixture
def spool(tmp_path: Path, reserve: Reserve) -> Spool:
    return Spool(str(tmp_path / "data"), lock_seconds=0)


def record(number: int) -> dict[str, Any]:
    return {"event": {"id": f"e{number}", "content": f"text {number}"}}


def drain(spool: Spool, limit: int | None = None) -> list[str]:
    stored = []

    async def store(spooled: dict[str, Any]) -> None:
        stored.append(spooled["event"]["id"])

    drive(spool.drain(store, limit))
    return stored


def refuse_spool(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOSPC) -> None:
    """Neither a new file nor a longer one, as the system reports it."""

    def refuse(path: Any, *_: object, **__: object) -> None:
        raise files.translate(OSError(number, os.strerror(number)), path)

    monkeypatch.setattr("holdfast.storage.spool.jsonl.append_records", refuse)
    monkeypatch.setattr("holdfast.storage.spool.files.write_atomic", refuse)


def refuse_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line can be written; a counter, which is shorter, can."""
    refuse_spool(monkeypatch)

    def refuse(self: Reserve, line: bytes) -> None:
        raise StoreFullError(self.path)

    monkeypatch.setattr(Reserve, "keep", refuse)


# --- the file -------------------------------------------------------------------------------------


def test_it_is_written_in_full_and_only_its_owner_can_read_it(reserve: Reserve):
    found = os.stat(reserve.path)

    assert (found.st_size, found.st_mode & 0o777) == (RESERVE_BYTES, 0o600)
    assert found.st_blocks * 512 >= RESERVE_BYTES
    assert reserve.is_empty()


def test_using_it_and_freeing_it_changes_neither_its_size_nor_its_blocks(reserve: Reserve):
    before = os.stat(reserve.path)
    poured: list[bytes] = []
    for _ in range(3):
        reserve.keep(LINE)
    assert (reserve.count_lines(), reserve.is_empty()) == (3, False)

    reserve.pour(poured.append)

    after = os.stat(reserve.path)
    assert (before.st_size, before.st_blocks) == (after.st_size, after.st_blocks)
    assert (poured, reserve.count_lines(), reserve.is_empty()) == ([3 * LINE], 0, True)
    assert Path(reserve.path).read_bytes()[HEADER_BYTES:].strip(b"\n") == b""


def test_a_full_reserve_refuses_and_keeps_what_it_has(reserve: Reserve):
    large = b"x" * (RESERVE_BYTES // 3) + b"\n"
    for _ in range(2):
        reserve.keep(large)

    with pytest.raises(StoreFullError):
        reserve.keep(large)

    assert reserve.count_lines() == 2


@pytest.mark.parametrize("size", [None, 0, 100, HEADER_BYTES, HEADER_BYTES + len(LINE) + 5])
def test_a_removed_or_cut_reserve_is_written_again_with_what_is_left(
    reserve: Reserve, size: int | None
):
    for _ in range(2):
        reserve.keep(LINE)
    if size is None:
        os.unlink(reserve.path)
    else:
        os.truncate(reserve.path, size)

    reserve.prepare()

    left = []
    if size is not None:
        whole = Path(reserve.path).read_bytes()[HEADER_BYTES:].split(b"\n")
        left = [line for line in whole if line]
    assert os.stat(reserve.path).st_size == RESERVE_BYTES
    assert left == [line for line in [LINE.strip(), LINE[:5]] if size and size > HEADER_BYTES]
    reserve.keep(LINE)
    assert reserve.count_lines() == len(left) + 1


def test_a_disk_without_room_for_a_reserve_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def write_half(fd: int, data: bytes, offset: int) -> int:
        if offset:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, data[:4096], offset)

    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", write_half)

    module.prepare_reserve(str(tmp_path))

    assert os.stat(tmp_path / "spool.reserve").st_size == 0


def test_a_process_that_holds_it_is_not_waited_for_without_end(reserve: Reserve):
    with module._LockedFile(reserve.path), pytest.raises(StoreBusyError):
        reserve.keep(LINE)


@pytest.mark.parametrize("replace", [os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_something_else_in_its_place_is_refused_and_listed(
    reserve: Reserve, spool: Spool, replace: Callable[[str], None]
):
    os.unlink(reserve.path)
    replace(reserve.path)

    with pytest.raises(HoldfastError):
        reserve.keep(LINE)
    module.prepare_reserve(spool.home)

    assert [unreadable.path for unreadable in spool.list_unreadable()] == [reserve.path]
    assert (reserve.is_empty(), reserve.count_lines(), spool.is_empty()) == (True, 0, True)


# --- kills ----------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def test_a_kill_at_any_write_of_pouring_loses_nothing_and_leaves_no_half_line(
    spool: Spool, reserve: Reserve, monkeypatch: pytest.MonkeyPatch
):
    """Each write of the file is the last one, and only a half of it, in turn."""
    real = os.pwrite
    for number in range(1, 4):
        for line in (1, 2, 3):
            reserve.keep(b'{"event":{"id":"e%d"}}\n' % line)
        writes: list[int] = []

        def kill(
            fd: int, data: bytes, offset: int, *, writes: list[int] = writes, last: int = number
        ) -> int:
            writes.append(offset)
            if len(writes) == last:
                if offset:
                    real(fd, data[: len(data) // 2], offset)
                raise Killed
            return real(fd, data, offset)

        monkeypatch.setattr(os, "pwrite", kill)
        with pytest.raises(Killed):
            drain(spool)
        monkeypatch.setattr(os, "pwrite", real)

        assert list(dict.fromkeys(drain(spool))) == ["e1", "e2", "e3"]
        assert (spool.count_rejected(), spool.is_empty(), spool.count_spooled()) == (0, True, 0)


def test_a_half_line_of_a_killed_writer_is_rejected_and_spoils_no_other(
    spool: Spool, reserve: Reserve
):
    with open(reserve.path, "r+b") as file:
        file.seek(HEADER_BYTES)
        file.write(b'{"event":{"id"')
    reserve.keep(LINE)

    assert drain(spool) == ["e1"]
    assert (spool.count_rejected(), spool.is_empty()) == (1, True)


# --- the order of places --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_what_the_spool_cannot_take_waits_in_the_reserve_and_is_stored_in_order_once(
    spool: Spool, reserve: Reserve, monkeypatch: pytest.MonkeyPatch, number: int
):
    spool.add(record(1))
    with monkeypatch.context() as full:
        refuse_spool(full, number)
        for event in (2, 3):
            spool.add(record(event))
        assert (reserve.count_lines(), spool.count_spooled(), spool.is_empty()) == (2, 3, False)
    spool.add(record(4))
    assert reserve.count_lines() == 3

    assert drain(spool) == ["e1", "e2", "e3", "e4"]

    assert (spool.is_empty(), spool.count_spooled(), drain(spool)) == (True, 0, [])
    spool.add(record(5))
    assert reserve.is_empty()


def test_a_limit_leaves_the_rest_of_the_reserve_for_the_next(spool: Spool, reserve: Reserve):
    for number in (1, 2, 3):
        reserve.keep(json.dumps(record(number)).encode() + b"\n")

    assert (drain(spool, limit=2), drain(spool)) == (["e1", "e2"], ["e3"])


def test_without_a_reserve_a_record_goes_to_the_runtime_folder_and_is_at_risk(
    spool: Spool, reserve: Reserve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with monkeypatch.context() as full:
        refuse_spool(full)
        reserve.keep(b"x" * (RESERVE_BYTES - 2 * HEADER_BYTES) + b"\n")
        large = {"event": {"id": "e1", "content": "y" * 2 * HEADER_BYTES}}
        spool.add(large)
        waiting = spool.count_waiting()
        assert (waiting.spooled, waiting.at_risk, waiting.dropped) == (2, 1, 0)
    [refuge] = (tmp_path / "runtime" / "holdfast").iterdir()

    assert (drain(spool), spool.count_rejected()) == (["e1"], 1)
    assert Reserve(str(refuge)).is_empty()
    assert spool.count_waiting().at_risk == 0


def test_a_record_that_fits_nowhere_is_counted_with_its_time(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as full:
        refuse_everywhere(full)
        for number in (1, 2):
            with pytest.raises(EventDroppedError, match="No space is left"):
                spool.add(record(number))

    waiting = spool.count_waiting()
    assert (waiting.spooled, waiting.dropped) == (0, 2)
    assert waiting.first_dropped_at < waiting.last_dropped_at  # type: ignore[operator]
    spool.add(record(3))
    assert (drain(spool), spool.count_waiting().dropped) == (["e3"], 2)


def test_a_count_that_the_reserve_cannot_take_is_in_the_runtime_folder(
    spool: Spool, reserve: Reserve, monkeypatch: pytest.MonkeyPatch
):
    os.unlink(reserve.path)
    os.mkdir(reserve.path)
    refuse_everywhere(monkeypatch)

    with pytest.raises(EventDroppedError):
        spool.add(record(1))

    assert spool.count_waiting().dropped == 1
    [counter] = spool.list_counters()
    assert "/runtime/holdfast/" in counter


DAMAGED_HEADERS = [
    (b'{"dropped": 3}', 3),
    (b'{"dropped": "many"}', 0),
    (b'{"dropped": true, "first_at": [], "last_at": null}', 0),
    (b'{"dropped": -1, "poured": 99999999999}', 0),
    (b'{"dropped": 2, "first_at": "' + b"x" * 400 + b'", "last_at": "2026"}', 2),
    (b"[" * HEADER_BYTES, 0),
    (b"\xff\x00" * (HEADER_BYTES // 2), 0),
    (b"3", 0),
]


@pytest.mark.parametrize(("header", "dropped"), DAMAGED_HEADERS)
def test_a_damaged_header_is_reported_and_costs_no_event(
    spool: Spool, reserve: Reserve, header: bytes, dropped: int
):
    reserve.keep(LINE)
    with open(reserve.path, "r+b") as file:
        file.write(header.ljust(HEADER_BYTES, b"\n"))

    waiting = spool.count_waiting()
    assert (waiting.spooled, waiting.dropped) == (1, dropped)
    for _ in range(2):
        reserve.count_drop()
        reserve.keep(LINE)
    assert drain(spool) == ["e1", "e1", "e1"]

    assert spool.count_waiting().dropped == dropped + 2
    damaged = [found for found in spool.list_unreadable() if "damaged header" in found.problem]
    assert [found.path for found in damaged] == [reserve.path]
    kept = reserve.read_header()["damaged"]
    assert kept == ascii(header.strip())[2:-1][:100]


def test_what_has_no_data_folder_waits_for_any_of_the_same_user(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
):
    place = keep_without_home(record(1), "HOME is wrong.", lock_seconds=0)

    assert module.is_any_used(spool.home)
    assert (spool.is_empty(), spool.list_places()) == (False, [place])
    waiting = spool.count_waiting()
    assert (waiting.spooled, waiting.at_risk, waiting.dropped) == (1, 1, 0)
    assert spool.places_with_text("text 1") == [place]
    assert (drain(spool), spool.is_empty(), spool.list_places()) == (["e1"], True, [])
    spool.add(record(2))
    assert spool.list_places() == [spool.folder]
    refuse_everywhere(monkeypatch)
    with pytest.raises(EventDroppedError, match="HOME is wrong"):
        keep_without_home(record(3), "HOME is wrong.", lock_seconds=0)
    assert (spool.count_waiting().dropped, spool.list_counters()) == (1, [place])


def test_the_text_of_a_waiting_event_is_found_in_the_reserve(spool: Spool, reserve: Reserve):
    reserve.keep(json.dumps(record(1)).encode() + b"\n")

    assert spool.places_with_text("text 1") == [reserve.path]
    drain(spool)
    assert spool.places_with_text("text 1") == []


# --- the runtime folder ---------------------------------------------------------------------------


def test_the_folder_is_made_for_us_only_and_only_when_it_is_needed(spool: Spool, tmp_path: Path):
    spool.add(record(1))
    assert list((tmp_path / "runtime").iterdir()) == []

    [path, *_] = module.list_refuges(spool.home, make=True)

    folder = os.path.dirname(path)
    assert folder == str(tmp_path / "runtime" / "holdfast")
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_without_a_runtime_folder_it_is_a_private_one_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    [path] = module.list_refuges("/data", make=True)

    assert os.path.dirname(path) == str(tmp_path / f"holdfast-{os.geteuid()}")


def make_open(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.chmod(0o755)


def make_link(folder: Path) -> None:
    (folder.parent / "theirs").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "theirs")


def make_file(folder: Path) -> None:
    folder.write_text("in the way")


def make_foreign(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)


def open_parent(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)


@pytest.mark.parametrize("prepare", [make_open, make_link, make_file, make_foreign, open_parent])
def test_a_folder_that_others_can_use_is_refused(prepare: Callable[[Path], None], tmp_path: Path):
    prepare(tmp_path / "runtime" / "holdfast")

    assert list(module.list_refuges("/data", make=True)) == []
    assert list(module.list_refuges("/data")) == []


def test_the_runtime_folder_comes_before_one_for_temporary_files_that_is_there(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"holdfast-{os.geteuid()}").mkdir(mode=0o700)
    os.unlink(locate_reserve(spool.home))
    os.mkdir(locate_reserve(spool.home))
    refuse_spool(monkeypatch)

    spool.add(record(1))

    assert len(list((tmp_path / "runtime" / "holdfast").iterdir())) == 1


def test_two_data_folders_have_two_refuges(tmp_path: Path):
    [first, *_] = module.list_refuges(str(tmp_path / "a"), make=True)
    [second, *_] = module.list_refuges(str(tmp_path / "b"))

    assert first != second
