"""F1 for SQLite: the file system below it fails, or the process dies, at the nth call of every kind
of write.
"""

import asyncio
import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from holdfast.errors import Unavailable
from holdfast.sessions.service import SessionService
from holdfast.storage import migrate as storage_migrate
from holdfast.storage.migrate import backups
from tests.faults import writers
from tests.faults.audit import audit, audit_open, new_session, with_sessions
from tests.faults.faulty_vfs import FAULTS, Faults, faulty_file_system
from tests.faults.operations import (
    OPERATIONS,
    Operation,
    copy,
    nothing,
    prepare,
    prepare_newer_program,
    prepare_older,
    with_store,
)
from tests.rig.nursery import Nursery

Scale = Callable[[int], int]

ERRORS = [fault for fault in FAULTS if not fault.startswith("kill")]
KILLS = [fault for fault in FAULTS if fault.startswith("kill")]


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> Operation:
    return OPERATIONS[request.param]


@pytest.mark.parametrize("fault", ERRORS)
def test_a_failure_at_any_call_leaves_the_old_or_the_new_state(
    tmp_path: Path, scale: Scale, operation: Operation, fault: str
) -> None:
    """F1: open, write and close with a call that fails, or with all that follow it as well."""
    session_id = prepare(tmp_path / "start")
    for number, folder in attempts(
        tmp_path, scale, fault, lambda folder: attempt(folder, operation, session_id)
    ):
        descriptors = len(os.listdir("/dev/fd"))
        with faulty_file_system(fault, number) as faults:
            done = attempt(folder, operation, session_id, faults)

        assert len(os.listdir("/dev/fd")) == descriptors
        check(folder, operation, session_id, done)


def attempts(
    tmp_path: Path, scale: Scale, fault: str, act: Callable[[Path], object]
) -> Iterator[tuple[int, Path]]:
    """Each call that can fail, or a share of them, with a fresh copy of the store."""
    with faulty_file_system(fault, 0) as faults:
        act(copy(tmp_path / "start", tmp_path / "counted"))
    seed = random.randrange(1 << 32)
    print(f"F1: {faults.count} calls, seed {seed}")
    for number in sorted(
        random.Random(seed).sample(range(1, faults.count + 1), scale(faults.count))
    ):
        folder = copy(tmp_path / "start", tmp_path / str(number))
        yield number, folder
        shutil.rmtree(folder)


def attempt(
    folder: Path, operation: Operation, session_id: str, faults: Faults | None = None
) -> bool:
    """Whether it was acknowledged. If the disk is well again before the close, the same open store
    takes more.
    """
    done = False

    async def verb(sessions: SessionService) -> None:
        nonlocal done
        try:
            await operation.do(sessions, session_id)
            done = True
        except Unavailable:
            assert faults
        if faults and faults.number % 2 and faults.count >= faults.number:
            faults.end()
            seen = await operation.see(sessions, session_id)
            assert seen == operation.new if done else seen in (operation.old, operation.new)
            await sessions.create_session("next", "u2")

    try:
        with_store(folder, verb)
    except Unavailable:
        assert faults
        assert not done
    return done


def check(folder: Path, operation: Operation, session_id: str, done: bool) -> None:
    """Old or new, whole; new if it was acknowledged; and the next write works."""

    async def verb(sessions: SessionService) -> None:
        seen = await operation.see(sessions, session_id)
        assert seen == operation.new if done else seen in (operation.old, operation.new)
        await audit_open(sessions, session_id)
        await operation.do(sessions, session_id)
        assert await operation.see(sessions, session_id) == operation.new
        await audit_open(sessions, session_id)

    with_store(folder, verb)


@pytest.mark.parametrize("fault", ERRORS)
def test_a_failure_at_any_call_of_a_group_loses_no_acknowledged_append(
    tmp_path: Path, scale: Scale, fault: str
) -> None:
    """F1 with a loop: eight tasks append in groups through the writer's thread; an acknowledged
    append is in the store.
    """
    session_id = prepare(tmp_path / "start")
    for number, folder in attempts(
        tmp_path, scale, fault, lambda folder: append_together(folder, session_id)
    ):
        with faulty_file_system(fault, number):
            acked = append_together(folder, session_id)

        stored = {event.content: event.sequence for event in audit(url_in(folder), session_id)}
        assert {name: stored.get(name) for name in acked} == acked


def append_together(folder: Path, session_id: str) -> dict[str, int]:
    """The content and the number of what was acknowledged."""
    acked: dict[str, int] = {}

    async def append(sessions: SessionService, task: int) -> None:
        for number in range(3):
            with contextlib.suppress(Unavailable):
                event = await sessions.append_event(
                    session_id, "user_message", "user", f"{task}.{number}"
                )
                acked[event.content] = event.sequence

    async def verb(sessions: SessionService) -> None:
        await asyncio.gather(*(append(sessions, task) for task in range(8)))

    with contextlib.suppress(Unavailable):
        with_sessions(url_in(folder), verb)
    return acked


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder / 'test.db'}"


# --- migrations -----------------------------------------------------------------------------------


def prepare_nothing(folder: Path) -> None:
    folder.mkdir()


STARTS = [prepare_nothing, prepare_older]


@pytest.mark.parametrize("fault", ERRORS)
@pytest.mark.parametrize("start", STARTS)
def test_a_failure_at_any_call_of_a_migration_leaves_a_store_that_can_be_migrated(
    tmp_path: Path,
    scale: Scale,
    fault: str,
    start: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F1 for the migrations, from nothing and from an older store, which also keeps a whole copy of
    itself.
    """
    start(tmp_path / "start")
    monkeypatch.setattr(storage_migrate, "FOLDER", prepare_newer_program(tmp_path / "migrations"))
    for number, folder in attempts(tmp_path, scale, fault, migrate):
        descriptors = len(os.listdir("/dev/fd"))
        with faulty_file_system(fault, number):
            migrate(folder)

        assert len(os.listdir("/dev/fd")) == descriptors
        check_migration(folder, start)


def migrate(folder: Path) -> None:
    with contextlib.suppress(Unavailable):
        with_store(folder, nothing)


def check_migration(folder: Path, start: Callable[[Path], None]) -> None:
    assert audit(url_in(folder), new_session(url_in(folder))) == []
    if start is prepare_older:
        check_older(folder / "test.db")
        [backup] = backups(str(folder / "test.db"))
        check_older(Path(backup))
        assert {path.name for path in folder.iterdir()} == {
            "test.db",
            "test.db.lock",
            "test.db.turn",
            os.path.basename(backup),
        }


def check_older(path: Path) -> None:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    assert connection.execute("select topic from outbox where developer_id = 'd'").fetchall() == [
        ("old",)
    ]
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    connection.close()


# --- kills ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", KILLS)
def test_a_kill_at_any_call_leaves_the_old_or_the_new_state(
    nursery: Nursery, tmp_path: Path, scale: Scale, operation: Operation, fault: str
) -> None:
    """F1 with kills: before the call, or after half of it."""
    session_id = prepare(tmp_path / "start")
    name = next(name for name, known in OPERATIONS.items() if known is operation)
    for number, folder in attempts(
        tmp_path, scale, fault, lambda folder: attempt(folder, operation, session_id)
    ):
        child = nursery.start(writers.do_and_die, str(folder), session_id, name, fault, number)
        said = child.hear_all()
        assert child.wait() == -9

        check(folder, operation, session_id, said == ["done"])


@pytest.mark.parametrize("fault", KILLS)
@pytest.mark.parametrize("start", STARTS)
def test_a_kill_at_any_call_of_a_migration_leaves_a_store_that_can_be_migrated(
    nursery: Nursery,
    tmp_path: Path,
    scale: Scale,
    fault: str,
    start: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F1 with kills for the migrations."""
    start(tmp_path / "start")
    newer = prepare_newer_program(tmp_path / "migrations")
    monkeypatch.setattr(storage_migrate, "FOLDER", newer)
    for number, folder in attempts(tmp_path, scale, fault, migrate):
        child = nursery.start(writers.migrate_and_die, str(folder), newer, fault, number)
        assert child.hear_all() in ([], ["done"])
        assert child.wait() == -9

        check_migration(folder, start)
