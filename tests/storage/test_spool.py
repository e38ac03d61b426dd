"""The spool: what was accepted while the store could not take it, until it can."""

import asyncio
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import (
    HoldfastError,
    InvalidValueError,
    StoreBusyError,
    StoreFullError,
    StoreUnreachableError,
)
from holdfast.ground import files, jsonl
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.storage import errors
from holdfast.storage.database import drive
from holdfast.storage.reserve import Reserve, list_refuges, locate_reserve
from holdfast.storage.spool import Spool


def record(number: int, **fields: Any) -> dict[str, Any]:
    return {"event": {"id": f"e{number}", "content": f"text {number}"}, **fields}


class Store:
    """Takes records, until it meets the number that it has an error for."""

    def __init__(self, **wrong: BaseException):
        self.wrong = wrong
        self.taken: list[str] = []

    async def __call__(self, spooled: dict[str, Any]) -> None:
        event_id = spooled["event"]["id"]
        if event_id in self.wrong:
            raise self.wrong[event_id]
        self.taken.append(event_id)


@pytest.fixture
def spool(disk_path: Path) -> Spool:
    """On a disk: its files are in the order of their times, which are too coarse in memory."""
    return Spool(str(disk_path / "data"))


def hurried(spool: Spool, **options: Any) -> Spool:
    """The same spool, for a caller that waits for no lock."""
    return Spool(os.path.dirname(spool.folder), lock_seconds=0, **options)


def fill(spool: Spool, *numbers: int) -> None:
    for number in numbers:
        spool.add(record(number))


def notes(spool: Spool) -> list[dict[str, Any]]:
    return list(jsonl.read_records(spool.rejected).records)


# --- adding and draining --------------------------------------------------------------------------


def test_an_empty_spool_costs_nothing_and_leaves_nothing(spool: Spool):
    assert drive(spool.drain(Store())) == 0

    assert (spool.is_empty(), spool.count_spooled(), spool.count_rejected()) == (True, 0, 0)
    assert not os.path.exists(spool.folder)


@pytest.mark.parametrize("place", ["spool", "reserve", "refuge"])
def test_an_untouched_spool_is_not_listed_again_and_a_new_record_is_seen_at_once(
    place: str, spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each call of a server asks. What was touched a moment ago is looked at in full."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    os.makedirs(spool.folder)
    reserve = Reserve(locate_reserve(spool.home))
    reserve.prepare()
    for touched in (spool.folder, reserve.path):
        os.utime(touched, (1, 1))
    listed: list[object] = []
    list_folder = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or list_folder(path))

    assert [spool.is_empty() for _ in range(3)] == [True] * 3
    assert listed == [spool.folder]
    if place == "spool":
        spool.add(record(1))
    elif place == "reserve":
        reserve.keep(b"{}\n")
    else:
        refuge = next(list_refuges(spool.home, make=True))
        Reserve(refuge).keep(b"{}\n")

    assert not spool.is_empty()
    assert not spool.is_empty()


def test_spooled_records_are_stored_in_order_and_then_removed(spool: Spool):
    fill(spool, 1, 2, 3)
    store = Store()

    assert (spool.is_empty(), spool.count_spooled()) == (False, 3)
    assert drive(spool.drain(store)) == 3

    assert store.taken == ["e1", "e2", "e3"]
    assert (spool.is_empty(), spool.count_spooled(), spool.count_rejected()) == (True, 0, 0)


def test_only_its_owner_can_read_it(spool: Spool):
    fill(spool, 1)
    spool.reject(record(2), InvalidValueError("event", "x", "is wrong"))

    modes = {path.name: path.stat().st_mode & 0o777 for path in Path(spool.folder).iterdir()}
    assert Path(spool.folder).stat().st_mode & 0o777 == 0o700
    assert set(modes.values()) == {0o600}


def test_a_limit_leaves_the_rest_for_the_next(spool: Spool):
    fill(spool, 1, 2, 3)
    store = Store()

    assert drive(spool.drain(store, 2)) == 2
    fill(spool, 4, 5)
    assert (store.taken, spool.count_spooled()) == (["e1", "e2"], 3)
    assert drive(spool.drain(store, 2)) == 2
    assert drive(spool.drain(store, 2)) == 1

    assert store.taken == ["e1", "e2", "e3", "e4", "e5"]
    assert spool.is_empty()


@pytest.mark.parametrize(
    "error",
    [
        StoreBusyError("x"),
        StoreUnreachableError("x", "down"),
        errors.NewerSchemaError("x", 9, 2),
        errors.PermissionRefusedError("x", "no", "Ask."),
        errors.NotADatabaseError("x"),
        SessionEndedError(
            "s1", datetime(2026, 1, 1, tzinfo=UTC)
        ),  # the next try finds another session
    ],
)
def test_a_store_in_trouble_ends_the_drain_quietly_and_keeps_the_rest(
    spool: Spool, error: HoldfastError
):
    """An error of the store is not the fault of a spooled record."""
    fill(spool, 1, 2, 3)
    store = Store(e2=error)

    assert drive(spool.drain(store)) == 1
    assert (spool.count_spooled(), spool.count_rejected()) == (2, 0)
    store.wrong.clear()
    assert drive(spool.drain(store)) == 2

    assert store.taken == ["e1", "e2", "e3"]


def test_a_drain_that_gets_nowhere_writes_nothing(spool: Spool):
    """A store that is down for hours is tried by every hook; none of them copies
    the whole spool.
    """
    fill(spool, 1, 2)
    store = Store(e1=StoreBusyError("x"))
    drive(spool.drain(store))
    before = os.stat(spool.draining)

    drive(spool.drain(store))

    assert os.path.samestat(os.stat(spool.draining), before)


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), KeyboardInterrupt(), RuntimeError("a bug")]
)
def test_an_interrupted_drain_keeps_what_it_has_not_done(spool: Spool, error: BaseException):
    """Otherwise a slow store and an impatient caller would begin again and again at the first
    record.
    """
    fill(spool, 1, 2, 3)
    store = Store(e3=error)

    with pytest.raises(type(error)):
        drive(spool.drain(store))

    assert (store.taken, spool.count_spooled()) == (["e1", "e2"], 1)
    store.wrong.clear()
    drive(spool.drain(store))
    assert store.taken == ["e1", "e2", "e3"]


def test_a_drain_that_was_killed_is_repeated_from_its_own_file(spool: Spool):
    """Killed after it had moved the file aside; meanwhile others have added."""
    fill(spool, 1, 2)
    os.rename(spool.pending, spool.draining)
    fill(spool, 3)
    store = Store()

    assert (spool.is_empty(), spool.count_spooled()) == (False, 3)
    assert drive(spool.drain(store)) == 3

    assert store.taken == ["e1", "e2", "e3"]


def test_an_empty_file_of_a_killed_drain_is_cleared_away(spool: Spool):
    fill(spool, 1)
    Path(spool.draining).touch(mode=0o600)
    store = Store()

    assert drive(spool.drain(store)) == 1
    assert spool.is_empty()


def test_a_drain_does_not_wait_for_another_one_when_hurried(spool: Spool):
    fill(spool, 1)

    with files.Lock(spool.draining), pytest.raises(StoreBusyError):
        drive(hurried(spool).drain(Store()))

    assert spool.count_spooled() == 1


async def test_two_concurrent_drains_store_each_record_once(spool: Spool):
    """While the first waits for the store, the second waits for the first, and then finds nothing
    left.
    """
    fill(spool, 1, 2)
    store, outcomes = Store(), list[object]()

    async def slow(spooled: dict[str, Any]) -> None:
        with pytest.raises(StoreBusyError):
            await hurried(spool).drain(store)
        await store(spooled)

    outcomes.append(await spool.drain(slow))
    outcomes.append(await spool.drain(store))

    assert (outcomes, store.taken) == ([2, 0], ["e1", "e2"])


# --- what can never be stored ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [InvalidValueError("role", "x", "is unknown"), EventConflictError("e2")]
)
def test_a_record_that_can_never_be_stored_is_rejected_with_the_reason(
    spool: Spool, error: HoldfastError
):
    fill(spool, 1, 2, 3)
    store = Store(e2=error)

    assert drive(spool.drain(store)) == 3

    assert store.taken == ["e1", "e3"]
    assert notes(spool) == [{"code": error.code, "message": error.message, "record": record(2)}]
    assert (spool.count_spooled(), spool.count_rejected()) == (0, 1)


def test_an_invalid_record_is_rejected_and_a_record_with_another_error_is_spooled(spool: Spool):
    spool.keep(record(1), StoreFullError("x"))
    spool.keep(record(2), InvalidValueError("x", "y", "is wrong"))
    spool.keep(record(3), RuntimeError("a bug"))
    spool.keep(record(4), SessionEndedError("s1", datetime(2026, 1, 1, tzinfo=UTC)))

    assert (spool.count_spooled(), spool.count_rejected()) == (3, 1)


def test_a_record_that_was_rejected_twice_counts_once(spool: Spool):
    for _ in range(2):
        spool.reject(record(1), InvalidValueError("x", "y", "is wrong"))
    spool.reject(record(2), InvalidValueError("x", "y", "is wrong"))

    assert spool.count_rejected() == 2


@pytest.mark.parametrize(
    "value",
    ["a\ud800", "a\x00", float("nan"), "x" * (5 << 20), 10**400],
    ids=["surrogate", "nul", "nan", "long", "huge"],
)
def test_a_rejected_record_that_is_not_json_is_counted_and_shown(spool: Spool, value: Any):
    for _ in range(2):
        spool.reject(record(1, odd=value), InvalidValueError("odd", "…", "is wrong"))

    note = notes(spool)[0]
    assert (note["code"], "text 1" in note["shown"], len(note["shown"]) <= 100_000) == (
        "invalid_value",
        True,
        True,
    )
    assert spool.count_rejected() == 1


def test_too_deep_a_record_is_counted_and_shown(spool: Spool):
    value: list[Any] = []
    for _ in range(100):
        value = [value]

    spool.reject(record(1, odd=value), InvalidValueError("odd", "…", "is wrong"))

    assert spool.count_rejected() == 1


# --- damage ---------------------------------------------------------------------------------------


def test_damaged_lines_are_rejected_and_the_others_stored(spool: Spool):
    fill(spool, 1)
    with open(spool.pending, "ab") as file:
        file.write(b"\xff\xfe\n" + json.dumps(record(2)).encode() + b"\n" + b'{"half": ')
    store = Store()

    assert spool.count_spooled() == 4
    assert drive(spool.drain(store)) == 2

    assert store.taken == ["e1", "e2"]
    assert [(note["code"], note["message"]) for note in notes(spool)] == [
        ("damaged_line", "not_utf8"),
        ("damaged_line", "torn"),
    ]
    assert [Path(note["kept"]).read_bytes() for note in notes(spool)] == [b"\xff\xfe", b'{"half": ']
    assert (spool.count_spooled(), spool.count_rejected()) == (0, 2)


def test_a_damaged_line_of_any_length_is_kept_apart_and_blocks_nothing(spool: Spool):
    raw = b'{"event": {"content": "' + b"x" * (5 << 20)
    fill(spool, 1)
    with open(spool.pending, "ab") as file:
        file.write(raw)
    store = Store()

    assert drive(spool.drain(store)) == 1
    fill(spool, 2)
    assert drive(spool.drain(store)) == 1

    [note] = notes(spool)
    assert (note["code"], note["message"], note["bytes"]) == ("damaged_line", "torn", len(raw))
    assert note["sha256"] == hashlib.sha256(raw).hexdigest()
    assert Path(note["kept"]).read_bytes() == raw
    assert Path(note["kept"]).parent == Path(spool.folder) / ".recovered"
    assert (store.taken, spool.is_empty(), spool.count_rejected(), spool.count_lost()) == (
        ["e1", "e2"],
        True,
        1,
        0,
    )


def test_a_torn_line_never_spoils_the_next_record(spool: Spool):
    fill(spool, 1)
    with open(spool.pending, "ab") as file:
        file.write(b'{"half": ')
    fill(spool, 2)
    store = Store()

    drive(spool.drain(store))

    assert store.taken == ["e1", "e2"]


def test_records_with_half_surrogate_pairs_survive_an_interrupted_drain(spool: Spool):
    """A half surrogate pair was written into the file, which our own writer would have refused."""
    files.private_folder(spool.folder)
    lines = [json.dumps(record(number, odd="\ud800")) for number in (1, 2)]
    Path(spool.pending).write_text("".join(f"{line}\n" for line in lines))
    store = Store(e2=StoreBusyError("x"))

    drive(spool.drain(store))
    store.wrong.clear()
    drive(spool.drain(store))

    assert store.taken == ["e1", "e2"]


def test_a_half_drain_leaves_no_more_bytes_than_it_found(spool: Spool):
    """Escapes would make it three times as long, and a file that is too long cannot be read."""
    fill(spool, 1)
    for number in (2, 3):
        spool.add(record(number, said="\U0001f600" * 1000))
    before = os.path.getsize(spool.pending)

    drive(spool.drain(Store(), 1))

    assert (os.path.getsize(spool.draining) < before, spool.count_spooled()) == (True, 2)


def test_records_for_another_store_are_split_into_files_below_the_limit(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
):
    """One more file is begun instead, and all of them are that store's, oldest first."""
    monkeypatch.setattr(jsonl, "MAX_FILE_BYTES", 1000)
    ours, theirs, store = hurried(spool, store="bbbb"), hurried(spool, store="aaaa"), Store()
    for number in range(9):
        ours.add(record(number, store="aaaa", said="\U0001f600" * 50))
        drive(ours.drain(store))

    aside = list(Path(spool.folder).glob("other-aaaa.*"))
    assert len(aside) > 1
    assert max(path.stat().st_size for path in aside) <= 1000
    assert (ours.is_empty(), ours.count_spooled(), ours.count_lost()) == (True, 9, 0)
    assert drive(theirs.drain(store)) == 9
    assert store.taken == [f"e{number}" for number in range(9)]


def folder(path: str) -> None:
    os.mkdir(path)


def link(path: str) -> None:
    os.symlink("nowhere", path)


def too_large(path: str) -> None:
    Path(path).write_bytes(b"x" * 2000)


@pytest.mark.parametrize("make", [folder, link, too_large])
@pytest.mark.parametrize(
    "name", ["pending.jsonl", "draining.jsonl", "other-aaaa.jsonl", "pending-1.jsonl"]
)
def test_an_unreadable_file_is_moved_away_and_blocks_no_drain(
    spool: Spool, name: str, make: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(jsonl, "MAX_FILE_BYTES", 1000)
    files.private_folder(spool.folder)
    make(os.path.join(spool.folder, name))
    fill(spool, 1)
    store = Store()

    assert drive(spool.drain(store)) == 1

    [aside] = spool.list_unreadable()
    assert (store.taken, spool.is_empty(), spool.count_spooled(), spool.count_lost()) == (
        ["e1"],
        True,
        0,
        0,
    )
    assert (os.path.lexists(aside.path), aside.put_aside, aside.problem[:3]) == (True, True, "is ")
    assert os.path.basename(aside.path).startswith("unreadable-")


def test_records_in_an_unreadable_file_are_not_counted_as_lost(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
):
    """Until a person has fixed it and moved it back."""
    fill(spool, 1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(jsonl, "MAX_FILE_BYTES", 50)
        assert (drive(spool.drain(Store())), spool.count_spooled(), spool.count_lost()) == (0, 2, 0)
    [aside] = spool.list_unreadable()
    assert (spool.count_spooled(), spool.count_lost(), aside.problem) == (2, 0, "")
    os.rename(aside.path, os.path.join(spool.folder, "pending-1.jsonl"))
    store = Store()

    drive(spool.drain(store))

    assert (store.taken, spool.list_unreadable(), spool.count_lost()) == (["e1", "e2"], [], 0)


def test_too_many_open_files_do_not_move_a_file_away(spool: Spool, monkeypatch: pytest.MonkeyPatch):
    """That is over in a moment, and then the file is as good as any."""
    fill(spool, 1)

    def none_left(*_: object, **__: object) -> None:
        raise StoreUnreachableError("x", "too many") from OSError(
            errno.EMFILE, "too many open files"
        )

    with monkeypatch.context() as patch:
        patch.setattr(files, "find_bytes", none_left)
        with pytest.raises(StoreUnreachableError):
            drive(spool.drain(Store()))

    assert (spool.list_unreadable(), spool.count_spooled()) == ([], 1)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EIO])
def test_a_file_that_only_a_person_can_make_readable_is_put_aside(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, number: int
):
    fill(spool, 1)

    def refuse(*_: object, **__: object) -> None:
        raise StoreUnreachableError("x", "refused") from OSError(number, "refused")

    with monkeypatch.context() as patch:
        patch.setattr(files, "find_bytes", refuse)
        assert drive(spool.drain(Store())) == 0

    assert [aside.put_aside for aside in spool.list_unreadable()] == [True]


@pytest.mark.parametrize("name", ["spool/rejected.jsonl", "spool/other-bbbb.jsonl", "spool.list"])
def test_an_obstacle_in_place_of_a_spool_file_is_reported_and_blocks_no_drain(
    spool: Spool, name: str
):
    files.private_folder(spool.folder)
    path = os.path.join(os.path.dirname(spool.folder), name)
    os.mkdir(path)
    mine, store = hurried(spool, store="aaaa"), Store()
    for number, mark in ((1, "aaaa"), (2, "bbbb"), (3, "aaaa")):
        mine.add(record(number, store=mark))

    drive(mine.drain(store))

    assert store.taken == ["e1", "e3"]
    assert (mine.count_spooled(), mine.count_rejected(), mine.count_lost()) == (1, 0, 0)
    assert [(unreadable.path, unreadable.put_aside) for unreadable in mine.list_unreadable()] == [
        (path, False)
    ]


def test_a_record_that_can_be_neither_stored_nor_rejected_stays_spooled(spool: Spool):
    fill(spool, 1, 2)
    os.mkdir(spool.rejected)
    store = Store(e2=EventConflictError("e2"))

    assert drive(spool.drain(store)) == 1
    assert spool.count_spooled() == 1
    os.rmdir(spool.rejected)
    assert drive(spool.drain(store)) == 1

    assert (spool.count_rejected(), spool.is_empty()) == (1, True)


def test_a_data_folder_that_cannot_be_made_costs_nothing(spool: Spool, disk_path: Path):
    (disk_path / "data").write_text("in the way")
    spool.add(record(1))
    (disk_path / "data").unlink()
    store = Store()

    assert (drive(spool.drain(store)), store.taken) == (1, ["e1"])


# --- locks that another process holds -------------------------------------------------------------


def test_a_record_that_cannot_wait_for_the_others_has_a_file_of_its_own(spool: Spool):
    """The file's lock is held by a process that was stopped; what comes meanwhile counts and is
    drained after it.
    """
    event = {"id": "01a1e0aa-0000-7000-8000-000000000001", "content": "text"}
    fill(spool, 1)
    with files.Lock(spool.pending):
        hurried(spool).add({"event": event})
        assert drive(hurried(spool).drain(Store())) == 0
        assert (spool.count_spooled(), spool.count_lost(), spool.is_empty()) == (2, 0, False)
    assert os.path.exists(os.path.join(spool.folder, f"pending-{event['id']}.jsonl"))
    store = Store()

    assert drive(spool.drain(store)) == 2

    assert store.taken == ["e1", event["id"]]
    assert (spool.is_empty(), spool.count_spooled(), spool.count_lost()) == (True, 0, 0)


def test_files_with_a_single_record_are_drained_oldest_first(spool: Spool):
    """Whatever their names are: a client's ids do not sort by time."""
    numbers = (3, 1, 4, 2)
    files.private_folder(spool.folder)
    with files.Lock(spool.pending):
        for moment, number in enumerate(numbers, start=1):
            event = {"id": f"01a1e0aa-0000-7000-8000-00000000000{number}", "content": "text"}
            hurried(spool).add({"event": event})
            os.utime(os.path.join(spool.folder, f"pending-{event['id']}.jsonl"), (moment, moment))
    store = Store()

    drive(spool.drain(store))

    assert [int(event_id[-1]) for event_id in store.taken] == list(numbers)


def test_a_record_is_kept_while_the_spool_folder_is_locked(spool: Spool):
    fill(spool, 1)
    with files.Lock(spool.folder):
        hurried(spool).add(record(2))
        assert (hurried(spool).count_spooled(), hurried(spool).count_lost()) == (2, 0)
    store = Store()

    drive(spool.drain(store))

    assert (store.taken, spool.count_lost()) == (["e1", "e2"], 0)


def test_a_lock_timeout_shortens_the_following_waits(spool: Spool):
    fill(spool, 1)
    patient = Spool(os.path.dirname(spool.folder), lock_seconds=0.2)

    with files.Lock(spool.draining), pytest.raises(StoreBusyError):
        drive(patient.drain(Store()))

    assert patient.lock_seconds == 0.1


def test_a_rejection_that_cannot_be_noted_waits(spool: Spool):
    fill(spool, 1)
    with files.Lock(spool.rejected):
        hurried(spool).keep(record(2), InvalidValueError("x", "y", "is wrong"))

    assert (spool.count_spooled(), spool.count_rejected()) == (2, 0)


# --- several stores -------------------------------------------------------------------------------


def test_a_record_waits_for_the_store_that_it_is_for(spool: Spool):
    """And blocks nothing: neither what is for this store nor what comes later."""
    for number, mark in ((1, "aaaa"), (2, "bbbb"), (3, None), (4, "aaaa")):
        spool.add(record(number, store=mark))
    ours, theirs, store = hurried(spool, store="bbbb"), hurried(spool, store="aaaa"), Store()

    assert drive(ours.drain(store)) == 2
    assert (store.taken, ours.is_empty(), theirs.is_empty()) == (["e2", "e3"], True, False)
    assert (ours.count_spooled(), ours.count_lost()) == (2, 0)
    ours.add(record(5, store="bbbb"))
    ours.add(record(6, store="aaaa"))
    assert drive(ours.drain(store)) == 1
    assert drive(theirs.drain(store)) == 3

    assert store.taken == ["e2", "e3", "e5", "e1", "e4", "e6"]
    assert (theirs.is_empty(), theirs.count_spooled(), theirs.count_lost()) == (True, 0, 0)


def test_records_for_another_store_are_listed_until_a_user_confirms_it_is_this_store(spool: Spool):
    for number, mark in ((1, "aaaa"), (2, "bbbb"), (3, "aaaa")):
        spool.add(record(number, store=mark))
    ours, store = hurried(spool, store="bbbb"), Store()
    drive(ours.drain(store))
    [waiting] = ours.list_elsewhere()
    path = os.path.join(spool.folder, "other-aaaa.jsonl")
    assert (waiting.path, waiting.events, store.taken) == (path, 2, ["e2"])

    Path(waiting.same).touch()
    ours.add(record(4, store="aaaa"))
    drive(ours.drain(store))

    assert (store.taken, ours.list_elsewhere(), ours.is_empty()) == (
        ["e2", "e1", "e3", "e4"],
        [],
        True,
    )
    assert hurried(spool, store="cccc")._is_ours(record(5, store="aaaa")) is False


def test_an_invalid_store_mark_never_becomes_a_file_name(spool: Spool):
    spool.add(record(1, store="../../x"))
    store = Store()

    drive(hurried(spool, store="aaaa").drain(store))

    assert (store.taken, spool.is_empty()) == (["e1"], True)


# --- losses ---------------------------------------------------------------------------------------


def test_records_removed_from_the_spool_are_counted_as_lost(spool: Spool):
    fill(spool, 1, 2)
    os.unlink(spool.pending)
    fill(spool, 3)

    drive(spool.drain(Store()))

    assert (spool.count_spooled(), spool.count_lost()) == (0, 2)


def test_the_whole_folder_may_vanish_and_is_missed(spool: Spool):
    fill(spool, 1, 2)
    shutil.rmtree(spool.folder)

    assert spool.count_lost() == 2


def test_a_kill_at_any_step_of_adding_or_draining_shows_no_loss(spool: Spool):
    """Each step that a kill may leave behind, made by hand."""
    fill(spool, 1, 2, 3)
    before = Path(spool.expected).read_bytes()
    Path(spool.expected).write_bytes(
        before[:-5]
    )  # killed while the list was written: the record is there already
    assert spool.count_lost() == 0
    fill(spool, 4)
    assert spool.count_lost() == 0
    whole = Path(spool.pending).read_bytes()
    drive(spool.drain(Store(), 2))
    Path(spool.draining).write_bytes(whole)  # killed after the list and before the file
    assert (spool.count_spooled(), spool.count_lost()) == (4, 0)
    drive(spool.drain(Store()))

    assert (spool.is_empty(), spool.count_lost()) == (True, 0)


def test_an_accepted_line_that_was_damaged_is_rejected_and_not_lost_as_well(spool: Spool):
    fill(spool, 1, 2)
    lines = Path(spool.pending).read_bytes().splitlines(keepends=True)
    Path(spool.pending).write_bytes(b"\xff" + lines[0] + lines[1])

    drive(spool.drain(Store()))

    assert (spool.count_rejected(), spool.count_lost()) == (1, 0)


# --- where a text is ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["hunter2", 'say "é\U0001f600"\n\\ twice', "\U0001f600"])
def test_a_text_is_found_wherever_it_waits_and_however_it_is_spelt(
    spool: Spool, text: str, tmp_path: Path
):
    odd = {"long": "x" * (5 << 20)}
    spool.reject({"event": {"id": "e1", "content": text}}, EventConflictError("e1"))
    shown = Spool(str(tmp_path / "shown"))
    shown.reject({"event": {"id": "e1", "content": text}, **odd}, EventConflictError("e1"))
    for number, mark in ((2, "aaaa"), (3, "bbbb")):
        spool.add(record(number, store=mark, said=text))
    drive(hurried(spool, store="bbbb").drain(Store(e3=StoreBusyError("x"))))
    spool.add(record(4, said=json.dumps({"a": text})))
    recovered = Path(spool.folder, ".recovered")
    recovered.mkdir()
    (recovered / "line.1").write_text(json.dumps({"half": text})[:-1])
    (recovered / "line.2").write_bytes(b"x" * (files.CHUNK_BYTES - 1) + text.encode())

    names = {os.path.relpath(path, spool.folder) for path in spool.places_with_text(text)}

    assert names == {
        *("rejected.jsonl", "other-aaaa.jsonl", "draining.jsonl", "pending.jsonl"),
        *(".recovered/line.1", ".recovered/line.2"),
    }
    assert shown.places_with_text(text) == [shown.rejected]
    assert spool.places_with_text("no such text") == spool.places_with_text("") == []


def test_links_and_missing_folders_hold_no_spooled_text(spool: Spool):
    fill(spool, 1)
    os.symlink("/etc/passwd", os.path.join(spool.folder, "link"))

    assert spool.places_with_text("root") == []
    assert Spool("/nowhere").places_with_text("root") == []
