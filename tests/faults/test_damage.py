"""Files that are damaged, cut, removed or replaced, under an open store and between two: R20."""

import asyncio
import contextlib
import os
import random
import re
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.sessions import changing
from holdfast.sessions.model import SessionEvent, Verification
from holdfast.sessions.service import SessionService
from holdfast.sessions.store import SessionStore
from holdfast.storage import file_watch
from holdfast.storage.database import drive
from holdfast.storage.errors import NotADatabaseError, StoreDamagedError
from tests.faults.audit import MANY, OWNER, audit, new_session, with_sessions

Scale = Callable[[int], int]
Prepare = Callable[[SessionService, str], Awaitable[None]]

PAGE = 4096


async def append(sessions: SessionService, session_id: str, content: str = "…") -> SessionEvent:
    return await sessions.append_event(session_id, "user_message", "user", content)


# --- damage between two openings ------------------------------------------------------------------


def zero_page(data: bytearray, start: int, chance: random.Random) -> None:
    data[start : start + PAGE] = bytes(PAGE)


def fill_page(data: bytearray, start: int, chance: random.Random) -> None:
    data[start : start + PAGE] = chance.randbytes(PAGE)


def swap_page(data: bytearray, start: int, chance: random.Random) -> None:
    other = PAGE * chance.randrange(len(data) // PAGE)
    data[start : start + PAGE], data[other : other + PAGE] = (
        data[other : other + PAGE],
        data[start : start + PAGE],
    )


def flip_bit(data: bytearray, start: int, chance: random.Random) -> None:
    data[start + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)


def flip_header_bit(data: bytearray, start: int, chance: random.Random) -> None:
    data[start + chance.randrange(16)] ^= 1 << chance.randrange(8)


def cut_here(data: bytearray, start: int, chance: random.Random) -> None:
    del data[start + chance.randrange(PAGE) :]


@pytest.mark.parametrize(
    "damage", [zero_page, fill_page, swap_page, flip_bit, flip_header_bit, cut_here]
)
def test_a_damaged_page_is_named_or_harms_nothing(
    tmp_path: Path, scale: Scale, damage: Callable[..., None]
) -> None:
    """R20: each page of a store in turn. A caller that verifies, appends and reads gets an error,
    or finds all as it was.
    """
    session_id, whole = make_large_store(tmp_path / "start")
    original = (tmp_path / "start" / "test.db").read_bytes()
    seed = random.randrange(1 << 32)
    chance, pages, outcomes = random.Random(seed), len(original) // PAGE, dict[str, int]()
    for page in sorted(chance.sample(range(pages), scale(pages))):
        data = bytearray(original)
        damage(data, page * PAGE, chance)
        if data == original:
            continue
        folder = tmp_path / str(page)
        folder.mkdir()
        (folder / "test.db").write_bytes(data)
        outcome = look_and_append(f"sqlite:///{folder / 'test.db'}", session_id, whole)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        shutil.rmtree(folder)
    print(f"R20: {damage.__name__}, {pages} pages, seed {seed}: {outcomes}")


def make_large_store(folder: Path) -> tuple[str, list[SessionEvent]]:
    url = f"sqlite:///{folder / 'test.db'}"
    session_id = new_session(url)

    async def fill(sessions: SessionService) -> None:
        for number in range(60):
            await append(sessions, session_id, f"{number} " * (number * 20 + 1))
        await sessions.forget_events(
            [event.id for event in (await sessions.get_recent_events(session_id))[:2]]
        )
        await sessions.set_relevant_context(session_id, "files", ["/r/a", "/r/b"])

    with_sessions(url, fill)
    return session_id, audit(url, session_id)


# Loud as well, though not in our words: a row that no longer has the shape of one, a rule of the
# schema that changed.
RAW = (AttributeError, TypeError, ValueError, apsw.ConstraintError)


def look_and_append(url: str, session_id: str, whole: list[SessionEvent]) -> str:
    """The code of the error, or who found the damage, or that nothing is missing."""

    async def verb(sessions: SessionService) -> str:
        if not (await sessions.verify_session(session_id)).ok:
            return "found by verify"
        new = await append(sessions, session_id)
        if not (await sessions.verify_session(session_id)).ok:
            return "found by verify after an append"
        numbered, stored, *_ = await sessions.store.count_events(MANY, MANY)
        if not numbered == stored == len(whole) + 1:
            return "found by the accounts"
        found = [event async for event in sessions.read_events(session_id)]
        assert [comparable(event) for event in found] == [
            comparable(event) for event in [*whole, new]
        ]
        return "unharmed"

    try:
        outcome: str = with_sessions(url, verb)
    except HoldfastError as error:
        return error.code
    except RAW as error:
        return type(error).__name__
    return outcome


def comparable(event: SessionEvent) -> tuple[object, ...]:
    return id_bytes(event.id), event.sequence, event.type, event.role, event.content, event.parts


def id_bytes(event_id: str) -> bytes:
    """An id as the chain sees it; `verify` itself is stricter, see the test that follows."""
    return bytes.fromhex(event_id.replace("-", ""))


def test_verify_finds_an_id_with_a_flipped_bit(tmp_path: Path) -> None:
    """R20: found by flipping single bits; a dash became a carriage return, and no caller finds the
    event by its id.
    """
    session_id, whole = make_large_store(tmp_path)
    flip(tmp_path / "test.db", (whole[7].id + OWNER.developer_id).encode(), place=8, bit=0x20)

    assert not verify(tmp_path / "test.db", session_id).ok


def flip(path: Path, row: bytes, *, place: int, bit: int) -> None:
    """One bit, in each place of the file that looks like the row; an index looks different."""
    data = bytearray(path.read_bytes())
    found = [match.start() for match in re.finditer(row, data, re.DOTALL)]
    for start in found:
        data[start + place] ^= bit
    assert found
    path.write_bytes(data)


def verify(path: Path, session_id: str) -> Verification:
    found: Verification = with_sessions(
        f"sqlite:///{path}", lambda sessions: sessions.verify_session(session_id)
    )
    return found


def test_a_file_that_is_not_a_store_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    """R20: a text, another program's database, a folder, a header that was overwritten."""
    make_large_store(tmp_path / "start")
    whole = (tmp_path / "start" / "test.db").read_bytes()
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("create table notes (note)")
    other.close()
    (tmp_path / "text.db").write_text("not a database, and long enough to be looked at " * 100)
    (tmp_path / "header.db").write_bytes(bytes(100) + whole[100:])
    (tmp_path / "folder.db").mkdir()
    for name in ("text.db", "other.db", "header.db", "folder.db"):
        path = tmp_path / name
        before = path.read_bytes() if path.is_file() else None

        with pytest.raises((NotADatabaseError, StoreDamagedError)):
            new_session(f"sqlite:///{path}")

        assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("what", ["emptied", "removed"])
def test_a_log_whose_store_was_emptied_is_kept(tmp_path: Path, what: str) -> None:
    """R20: SQLite takes an empty file for a new one and deletes the log, which may be all that is
    left.
    """
    session_id, path = leave_log_behind(tmp_path)
    log, copy = (tmp_path / "test.db-wal").read_bytes(), path.read_bytes()
    path.unlink()
    if what == "emptied":
        path.touch()

    with pytest.raises(StoreDamagedError, match="write-ahead log is not"):
        new_session(f"sqlite:///{path}")

    assert (tmp_path / "test.db-wal").read_bytes() == log
    path.write_bytes(copy)
    assert len(audit(f"sqlite:///{path}", session_id)) == 5


def leave_log_behind(folder: Path) -> tuple[str, Path]:
    """A store as a killed process leaves it: what was written last is in the log only."""
    path = folder / "living" / "test.db"
    session_id = new_session(f"sqlite:///{path}")
    database = drive(holdfast.open_database(f"sqlite:///{path}").__aenter__())
    for _ in range(5):
        drive(append(SessionService(database, owner=OWNER), session_id))
    for name in ("test.db", "test.db-wal"):
        shutil.copy(path.with_name(name), folder / name)
    drive(database.close())
    return session_id, folder / "test.db"


@pytest.mark.parametrize("keep", ["all", "half", "nothing", "no log"])
def test_a_log_that_was_cut_gives_a_beginning_of_what_was_written(
    tmp_path: Path, scale: Scale, keep: str
) -> None:
    """R20: between two openings no process can know; but what is stored is whole, numbered and
    verified.
    """
    for attempt in range(scale(20)):
        (tmp_path / str(attempt)).mkdir()
        session_id, path = leave_log_behind(tmp_path / str(attempt))
        log = path.with_name("test.db-wal")
        if keep == "no log":
            log.unlink()
        elif keep != "all":
            os.truncate(log, random.randrange(log.stat().st_size) if keep == "half" else 0)

        found = len(audit(f"sqlite:///{path}", session_id))

        assert found == 5 if keep == "all" else 0 <= found <= 5


def test_a_store_that_was_switched_to_another_mode_is_switched_back(tmp_path: Path) -> None:
    """R20: some programs do that to every file they open; the log is what our promises rest on."""
    session_id, _ = make_large_store(tmp_path)
    outside = apsw.Connection(str(tmp_path / "test.db"))
    assert outside.execute("pragma journal_mode=delete").fetchall() == [("delete",)]
    outside.close()

    async def verb(sessions: SessionService) -> Any:
        await append(sessions, session_id)
        return sessions.db.connection.execute("pragma journal_mode").get  # type: ignore[attr-defined]

    assert with_sessions(f"sqlite:///{tmp_path / 'test.db'}", verb) == "wal"


# --- damage under an open store -------------------------------------------------------------------


def remove_log(path: Path) -> None:
    path.with_name("test.db-wal").unlink()


def replace_log(path: Path) -> None:
    log = path.with_name("test.db-wal")
    data = log.read_bytes()
    log.unlink()
    log.write_bytes(data)


def empty_log(path: Path) -> None:
    os.truncate(path.with_name("test.db-wal"), 0)


def cut_log(path: Path) -> None:
    log = path.with_name("test.db-wal")
    os.truncate(log, random.randrange(32, log.stat().st_size))


def remove_index(path: Path) -> None:
    path.with_name("test.db-shm").unlink()


def remove_store(path: Path) -> None:
    path.unlink()


def replace_store(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def remove_everything(path: Path) -> None:
    for name in os.listdir(path.parent):
        (path.parent / name).unlink()


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def replace_folder(path: Path) -> None:
    moved = path.parent.with_name("moved")
    path.parent.rename(moved)
    shutil.copytree(moved, path.parent)


def replace_folder_by_link(path: Path) -> None:
    moved, copy = path.parent.with_name("moved"), path.parent.with_name("copy")
    path.parent.rename(moved)
    shutil.copytree(moved, copy)
    path.parent.symlink_to(copy)


def move_folder_above(path: Path) -> None:
    above = path.parent.parent
    above.rename(above.with_name(f"{above.name} moved"))


def replace_store_and_set_times_back(path: Path) -> None:
    """As a program does that restores a copy together with its times."""
    before = path.parent.stat()
    replace_store(path)
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))


VANDALS_OF_NAMES = [
    remove_log,
    replace_log,
    remove_index,
    remove_store,
    replace_store,
    remove_everything,
    move_folder,
    replace_folder,
    replace_folder_by_link,
    move_folder_above,
    replace_store_and_set_times_back,
]
VANDALS = [*VANDALS_OF_NAMES, empty_log, cut_log]


@pytest.fixture(params=[False, True], ids=["inline", "with a loop"])
def run(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """How the store is used: as a hook does, or as a server does."""
    return asyncio.run if request.param else drive


class Looks:
    """Counts how often the name of the log is looked at, which is a part of each whole look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.count = 0
        self._readlink = os.readlink
        monkeypatch.setattr(os, "readlink", self.readlink)
        # Longer than a tick of the disks that tests run on, and no look for another reason.
        monkeypatch.setattr(file_watch, "SETTLED_NS", 20_000_000)
        monkeypatch.setattr(file_watch, "NAMES_LAST_NS", 3600 * 1_000_000_000)

    def readlink(self, name: Any, **where: Any) -> Any:
        self.count += 1
        return self._readlink(name, **where)

    async def append_until_none(self, sessions: SessionService, session_id: str) -> None:
        """Until an append takes the folder's times for an answer."""
        before = -1
        while self.count != before:
            before = self.count
            await append(sessions, session_id)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.mark.parametrize("vandal", VANDALS)
def test_no_write_is_acknowledged_after_the_files_were_removed(
    tmp_path: Path, scale: Scale, run: Callable[[Any], Any], vandal: Callable[[Path], None]
) -> None:
    """R20: SQLite itself would go on writing to a file that has no name any more; each try is
    refused, and says why.
    """
    for attempt in range(scale(30)):
        path = tmp_path / str(attempt) / "home" / "test.db"
        run(write_and_lose(path, partial(append_some, attempt % 3), vandal))


@pytest.mark.parametrize("vandal", VANDALS)
def test_a_look_at_the_folder_alone_shows_that_the_files_were_removed(
    tmp_path: Path,
    scale: Scale,
    run: Callable[[Any], Any],
    looks: Looks,
    vandal: Callable[[Path], None],
) -> None:
    """R20: once the folder has been at rest for a while, the names of the files are looked at only
    when its times have changed.
    """
    for attempt in range(scale(30)):
        path = tmp_path / str(attempt) / "home" / "test.db"
        run(write_and_lose(path, looks.append_until_none, vandal))


@pytest.mark.parametrize("vandal", VANDALS_OF_NAMES)
def test_a_commit_is_not_acknowledged_when_the_files_were_removed_just_before_it(
    tmp_path: Path, run: Callable[[Any], Any], looks: Looks, vandal: Callable[[Path], None]
) -> None:
    """R20: after the look before the write, so that only the look after the commit can tell."""
    path = tmp_path / "above" / "home" / "test.db"

    async def work() -> None:
        async with open_sessions(f"sqlite:///{path}") as sessions:
            session = await sessions.create_session("coder", "u1")
            await looks.append_until_none(sessions, session.id)

            async def remove_and_rename(store: SessionStore) -> None:
                vandal(path)
                await changing.update_metadata(store, session.id, {"name": "other"}, None)

            with pytest.raises(StoreDamagedError, match="may have been written"):
                await sessions.store.in_transaction(remove_and_rename)

    run(work())


async def write_and_lose(path: Path, prepare: Prepare, vandal: Callable[[Path], None]) -> None:
    url = f"sqlite:///{path}"
    async with open_sessions(url) as others:  # what they wrote is in the log only
        session = await others.create_session("coder", "u1")
        async with open_sessions(url) as sessions:
            await prepare(sessions, session.id)
            vandal(path)
            for _ in range(3):
                with pytest.raises(StoreDamagedError):
                    await append(sessions, session.id)


async def append_some(count: int, sessions: SessionService, session_id: str) -> None:
    for _ in range(count):
        await append(sessions, session_id)


def test_each_write_looks_at_the_names_while_the_times_of_the_folder_are_young(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: Looks
) -> None:
    """R20: two changes within one tick of a file system leave the same times."""
    monkeypatch.setattr(file_watch, "SETTLED_NS", 3600 * 1_000_000_000)

    async def verb(sessions: SessionService) -> int:
        session = await sessions.create_session("coder", "u1")
        before = looks.count
        for _ in range(5):
            await append(sessions, session.id)
        return looks.count - before

    assert with_sessions(f"sqlite:///{tmp_path / 'test.db'}", verb) == 5


@pytest.mark.parametrize("moved_seconds", [-3600, -1, 2, 3600])
def test_names_are_looked_at_again_after_a_second_and_when_the_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: Looks, moved_seconds: int
) -> None:
    """R20: a mount over a file, and a file system without times of folders, change no folder."""
    monkeypatch.setattr(file_watch, "NAMES_LAST_NS", 1_000_000_000)

    async def verb(sessions: SessionService) -> list[int]:
        session = await sessions.create_session("coder", "u1")
        await looks.append_until_none(sessions, session.id)
        clock = SimpleNamespace(time_ns=lambda: time.time_ns() + moved_seconds * 1_000_000_000)
        monkeypatch.setattr(file_watch, "time", clock)
        before = looks.count
        await append(sessions, session.id)
        return [before, looks.count]

    before, after = with_sessions(f"sqlite:///{tmp_path / 'test.db'}", verb)
    assert after > before


@pytest.mark.parametrize("mode", [apsw.SQLITE_CHECKPOINT_RESTART, apsw.SQLITE_CHECKPOINT_TRUNCATE])
def test_a_checkpoint_by_another_program_is_not_reported_as_damage(
    tmp_path: Path, scale: Scale, run: Callable[[Any], Any], mode: int
) -> None:
    """R20, the other way round: a backup program may cut the log, and other writers may fill it
    again before us.
    """
    path = tmp_path / "test.db"
    url = f"sqlite:///{path}"

    async def work() -> None:
        async with open_sessions(url) as ours, open_sessions(url) as others:
            session = await ours.create_session("coder", "u1")
            outside = apsw.Connection(str(path))
            outside.execute("select count(*) from sqlite_schema").fetchall()
            for number in range(scale(100)):
                for _ in range(number % 7):
                    await append(ours, session.id, "x" * 3_000)
                assert outside.wal_checkpoint(mode=mode) != (-1, -1)
                for _ in range(number % 4):
                    await append(others, session.id)
                await append(ours, session.id)
            outside.close()

    run(work())
    [session] = with_sessions(url, lambda sessions: sessions.list_sessions())
    audit(url, session.id)


@contextlib.asynccontextmanager
async def open_sessions(url: str) -> AsyncIterator[SessionService]:
    async with holdfast.open_database(url) as database:
        yield SessionService(database, owner=OWNER)
