"""The spool: what was accepted while the store could not take it, until it can."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast import errors
from holdfast.ground import files, jsonl
from holdfast.storage.database import drive
from holdfast.storage.spool import Spool


def record(number: int, **fields: Any) -> dict[str, Any]:
    return {"event": {"id": f"e{number}", "content": f"text {number}"}, **fields}


class Store:
    """Takes records, until it meets the number that it has an error for."""

    def __init__(self, **wrong: BaseException):
        self.wrong = wrong
        self.taken: list[str] = []

    async def __call__(self, one: dict[str, Any]) -> None:
        event_id = one["event"]["id"]
        if event_id in self.wrong:
            raise self.wrong[event_id]
        self.taken.append(event_id)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(str(tmp_path / "data"))


def fill(spool: Spool, *numbers: int) -> None:
    for number in numbers:
        spool.add(record(number))


def notes(spool: Spool) -> list[dict[str, Any]]:
    return list(jsonl.read_records(spool.rejected).records)


# --- adding and draining -----------------------------------------------------------------------------------


def test_an_empty_spool_costs_nothing_and_leaves_nothing(spool: Spool):
    assert drive(spool.drain(Store())) == 0

    assert (spool.is_empty(), spool.count_spooled(), spool.count_rejected()) == (True, 0, 0)
    assert not os.path.exists(spool.folder)


def test_what_waits_is_stored_in_order_and_then_gone(spool: Spool):
    fill(spool, 1, 2, 3)
    store = Store()

    assert (spool.is_empty(), spool.count_spooled()) == (False, 3)
    assert drive(spool.drain(store)) == 3

    assert store.taken == ["e1", "e2", "e3"]
    assert (spool.is_empty(), spool.count_spooled(), spool.count_rejected()) == (True, 0, 0)


def test_only_its_owner_can_read_it(spool: Spool):
    fill(spool, 1)
    spool.reject(record(2), errors.InvalidValueError("event", "x", "is wrong"))

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
        errors.StoreBusyError("x"),
        errors.StoreUnreachableError("x", "down"),
        errors.NewerSchemaError("x", 9, 2),
        errors.PermissionRefusedError("x", "no", "Ask."),
        errors.NotADatabaseError("x"),
    ],
)
def test_a_store_in_trouble_ends_the_drain_quietly_and_keeps_the_rest(spool: Spool, error: errors.HoldfastError):
    """Whatever is wrong with the store is no fault of what waits."""
    fill(spool, 1, 2, 3)
    store = Store(e2=error)

    assert drive(spool.drain(store)) == 1
    assert (spool.count_spooled(), spool.count_rejected()) == (2, 0)
    store.wrong.clear()
    assert drive(spool.drain(store)) == 2

    assert store.taken == ["e1", "e2", "e3"]


def test_a_drain_that_gets_nowhere_writes_nothing(spool: Spool):
    """A store that is down for hours is tried by every hook; none of them copies the whole spool."""
    fill(spool, 1, 2)
    store = Store(e1=errors.StoreBusyError("x"))
    drive(spool.drain(store))
    before = os.stat(spool.draining)

    drive(spool.drain(store))

    assert os.path.samestat(os.stat(spool.draining), before)


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyboardInterrupt(), RuntimeError("a bug")])
def test_an_interrupted_drain_keeps_what_it_has_not_done(spool: Spool, error: BaseException):
    """Otherwise a slow store and an impatient caller would begin again and again at the first record."""
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


def test_somebody_else_who_drains_is_not_waited_for(spool: Spool):
    fill(spool, 1)

    with files.Lock(spool.draining), pytest.raises(errors.StoreBusyError):
        drive(spool.drain(Store(), lock_seconds=0))

    assert spool.count_spooled() == 1


async def test_two_who_drain_at_once_take_each_record_once(spool: Spool):
    """While the first waits for the store, the second waits for the first, and then finds nothing left."""
    fill(spool, 1, 2)
    store, outcomes = Store(), list[object]()

    async def slow(one: dict[str, Any]) -> None:
        with pytest.raises(errors.StoreBusyError):
            await spool.drain(store, lock_seconds=0)
        await store(one)

    outcomes.append(await spool.drain(slow))
    outcomes.append(await spool.drain(store))

    assert (outcomes, store.taken) == ([2, 0], ["e1", "e2"])


# --- what can never be stored ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [errors.InvalidValueError("role", "x", "is unknown"), errors.EventConflictError("e2")]
)
def test_what_can_never_be_stored_is_kept_apart_with_the_reason(spool: Spool, error: errors.HoldfastError):
    fill(spool, 1, 2, 3)
    store = Store(e2=error)

    assert drive(spool.drain(store)) == 3

    assert store.taken == ["e1", "e3"]
    assert notes(spool) == [{"code": error.code, "message": error.message, "record": record(2)}]
    assert (spool.count_spooled(), spool.count_rejected()) == (0, 1)


def test_keeping_depends_on_what_went_wrong(spool: Spool):
    spool.keep(record(1), errors.StoreFullError("x"))
    spool.keep(record(2), errors.InvalidValueError("x", "y", "is wrong"))
    spool.keep(record(3), RuntimeError("a bug"))

    assert (spool.count_spooled(), spool.count_rejected()) == (2, 1)


def test_one_that_a_killed_drain_noted_twice_counts_once(spool: Spool):
    for _ in range(2):
        spool.reject(record(1), errors.InvalidValueError("x", "y", "is wrong"))
    spool.reject(record(2), errors.InvalidValueError("x", "y", "is wrong"))

    assert spool.count_rejected() == 2


@pytest.mark.parametrize(
    "value",
    ["a\ud800", "a\x00", float("nan"), "x" * (5 << 20), 10**400],
    ids=["surrogate", "nul", "nan", "long", "huge"],
)
def test_what_cannot_even_be_written_down_is_counted_and_shown(spool: Spool, value: Any):
    for _ in range(2):
        spool.reject(record(1, odd=value), errors.InvalidValueError("odd", "…", "is wrong"))

    note = notes(spool)[0]
    assert (note["code"], "text 1" in note["shown"], len(note["shown"]) <= 100_000) == ("invalid_value", True, True)
    assert spool.count_rejected() == 1


def test_too_deep_a_record_is_counted_and_shown(spool: Spool):
    value: list[Any] = []
    for _ in range(100):
        value = [value]

    spool.reject(record(1, odd=value), errors.InvalidValueError("odd", "…", "is wrong"))

    assert spool.count_rejected() == 1


# --- damage ------------------------------------------------------------------------------------------------


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
    assert bytes.fromhex(notes(spool)[1]["raw"]) == b'{"half": '
    assert (spool.count_spooled(), spool.count_rejected()) == (0, 2)


def test_a_torn_line_never_spoils_the_next_record(spool: Spool):
    fill(spool, 1)
    with open(spool.pending, "ab") as file:
        file.write(b'{"half": ')
    fill(spool, 2)
    store = Store()

    drive(spool.drain(store))

    assert store.taken == ["e1", "e2"]


def test_records_of_another_hand_survive_a_half_drain(spool: Spool):
    """Somebody wrote a half surrogate pair into the file, which our own writer would have refused."""
    files.private_folder(spool.folder)
    lines = [json.dumps(record(number, odd="\ud800")) for number in (1, 2)]
    Path(spool.pending).write_text("".join(f"{line}\n" for line in lines))
    store = Store(e2=errors.StoreBusyError("x"))

    drive(spool.drain(store))
    store.wrong.clear()
    drive(spool.drain(store))

    assert store.taken == ["e1", "e2"]


def test_a_full_disk_is_not_an_acceptance(spool: Spool, tmp_path: Path):
    (tmp_path / "data").write_text("in the way")

    with pytest.raises(errors.StoreUnreachableError):
        spool.add(record(1))
