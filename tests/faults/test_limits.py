"""The store without space, without rights and without descriptors: R16."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import StoreFullError
from tests.faults import writers
from tests.faults.audit import audit, new_session, with_sessions
from tests.faults.disks import MEGABYTE, NOBODY, fill, remount
from tests.rig.nursery import Nursery

Scale = Callable[[int], int]


# --- no space -------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_loop", [False, True], ids=["inline", "with a loop"])
def test_a_full_disk_refuses_what_does_not_fit_and_keeps_what_was_acknowledged(
    nursery: Nursery, small_disk: Path, scale: Scale, with_loop: bool
) -> None:
    """R16: the disk fills up under an open store; when there is space again, the same open store
    goes on.
    """
    url, ballast = f"sqlite:///{small_disk / 'test.db'}", small_disk / "ballast"
    ballast.write_bytes(bytes(MEGABYTE))
    session_id = new_session(url)
    child = nursery.start(writers.append_until_full, url, session_id, scale(100), with_loop, None)
    acked, refused = outcomes_until_full(child)
    ballast.unlink()
    child.say("there is space again")
    acked += child.hear_all()
    assert child.wait() == 0

    check_full(url, session_id, acked, refused)


@pytest.mark.parametrize("with_loop", [False, True], ids=["inline", "with a loop"])
def test_a_file_that_may_not_grow_refuses_what_does_not_fit_and_keeps_what_was_acknowledged(
    nursery: Nursery, sqlite_url: str, scale: Scale, with_loop: bool
) -> None:
    """R16: the same with a limit on the size of files, which needs no rights."""
    session_id = new_session(sqlite_url)
    child = nursery.start(
        writers.append_until_full, sqlite_url, session_id, scale(100), with_loop, MEGABYTE
    )
    acked, refused = outcomes_until_full(child)
    child.say("there is space again")
    acked += child.hear_all()
    assert child.wait() == 0

    check_full(sqlite_url, session_id, acked, refused)


def outcomes_until_full(child: Any) -> tuple[list[str], list[str]]:
    """Ids that were acknowledged, and codes of errors."""
    outcomes = child.hear()
    return outcomes["acked"], outcomes["refused"]


def check_full(url: str, session_id: str, acked: list[str], refused: list[str]) -> None:
    stored = [event.id for event in audit(url, session_id, acked)]
    assert stored == acked
    assert len(acked) > 10
    assert set(refused) == {"store_full"}
    print(f"R16: {len(acked)} acknowledged, {len(refused)} refused")


def test_a_store_on_a_disk_without_any_space_says_so_when_it_is_opened(small_disk: Path) -> None:
    """R16: not even the log can be made; nothing is harmed."""
    url, ballast = f"sqlite:///{small_disk / 'test.db'}", small_disk / "ballast"
    session_id = new_session(url)
    fill(ballast)

    with pytest.raises(StoreFullError):
        new_session(url)
    with pytest.raises(StoreFullError):
        new_session(f"sqlite:///{small_disk / 'new' / 'test.db'}")

    ballast.unlink()
    assert audit(url, session_id) == []
    new_session(f"sqlite:///{small_disk / 'new' / 'test.db'}")


# --- no rights ------------------------------------------------------------------------------------


def forbid_file(folder: Path) -> None:
    (folder / "test.db").chmod(0o400)


def forbid_folder(folder: Path) -> None:
    folder.chmod(0o500)


def forbid_both(folder: Path) -> None:
    forbid_file(folder)
    forbid_folder(folder)


def hide_file(folder: Path) -> None:
    (folder / "test.db").chmod(0o000)


@pytest.mark.parametrize("forbid", [forbid_file, forbid_folder, forbid_both, hide_file])
def test_a_store_without_the_right_to_write_says_so_and_stays_as_it_was(
    nursery: Nursery, open_folder: Path, scale: Scale, forbid: Callable[[Path], None]
) -> None:
    """R16: as another user where we are root, since root may write everywhere."""
    folder = open_folder / "data"
    url, tries = f"sqlite:///{folder / 'test.db'}", scale(100)
    maker = nursery.start(writers.append_as, NOBODY, url, 1)
    [made] = maker.hear()
    assert maker.wait() == 0
    forbid(folder)

    child = nursery.start(writers.append_as, NOBODY, url, tries)

    assert set(child.hear()) == {"store_read_only"}
    assert child.wait() == 0
    folder.chmod(0o700)
    (folder / "test.db").chmod(0o600)
    again = nursery.start(writers.append_as, NOBODY, url, tries)
    assert len(set(again.hear()) - {made}) == tries
    assert again.wait() == 0


@pytest.mark.parametrize("forbid", [forbid_file, forbid_folder])
def test_removing_permissions_from_an_open_store_loses_no_acknowledged_event(
    nursery: Nursery, open_folder: Path, forbid: Callable[[Path], None]
) -> None:
    """R16: what is open stays open; each append is stored or refused, never between."""
    folder = open_folder / "data"
    url = f"sqlite:///{folder / 'test.db'}"
    child = nursery.start(writers.append_twice_as, NOBODY, url)
    session_id, first = child.hear()
    forbid(folder)
    child.say("go on")
    second = child.hear()
    assert child.wait() == 0
    folder.chmod(0o700)
    (folder / "test.db").chmod(0o600)

    acked = [first, *(answer for answer in [second] if answer != "store_read_only")]
    assert [event.id for event in audit(url, session_id)] == acked


def test_a_folder_in_which_nothing_can_be_made_says_so(nursery: Nursery, open_folder: Path) -> None:
    """R16: there is no store yet, and there cannot be one."""
    forbid_folder(open_folder)

    for path in ("test.db", "new/folder/test.db"):
        child = nursery.start(writers.append_as, NOBODY, f"sqlite:///{open_folder / path}", 1)
        assert child.hear() == ["store_read_only"]
        assert child.wait() == 0


def test_a_disk_that_was_mounted_for_reading_says_so(small_disk: Path) -> None:
    """R16: as root too."""
    url = f"sqlite:///{small_disk / 'test.db'}"
    session_id = new_session(url)
    remount(small_disk, "ro")
    with pytest.raises(Exception) as raised:
        new_session(url)
    remount(small_disk, "rw")

    assert getattr(raised.value, "code", raised.value) == "store_read_only"
    assert audit(url, session_id) == []


# --- no descriptors -------------------------------------------------------------------------------


@pytest.mark.parametrize("with_loop", [False, True], ids=["inline", "with a loop"])
def test_a_process_without_descriptors_is_refused_and_loses_nothing(
    nursery: Nursery, sqlite_url: str, scale: Scale, with_loop: bool
) -> None:
    """R16: 32 descriptors, of which none to five are left; opens, appends and closes 100 times."""
    session_id = new_session(sqlite_url)
    child = nursery.start(
        writers.append_with_few_descriptors, sqlite_url, session_id, scale(100), with_loop
    )
    outcomes = child.hear()
    assert child.wait() == 0

    assert [event.id for event in audit(sqlite_url, session_id)] == outcomes["acked"]
    assert outcomes["acked"]
    assert set(outcomes["refused"]) == {"store_unreachable: too many open files"}


def test_an_open_store_goes_on_when_descriptors_run_out(
    nursery: Nursery, sqlite_url: str, scale: Scale
) -> None:
    """R16: what it needs it has; a first read with a loop may need one more, and says so."""
    session_id = new_session(sqlite_url)
    child = nursery.start(writers.append_without_descriptors, sqlite_url, session_id, scale(100))
    acked = child.hear()
    assert child.wait() == 0

    assert [event.id for event in audit(sqlite_url, session_id)] == acked
    assert with_sessions(
        sqlite_url, lambda sessions: sessions.get_session(session_id)
    ).last_sequence == len(acked)
