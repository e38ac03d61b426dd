"""R25: hooks on a disk that takes nothing more. Each event is stored later, or counted."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import jsonl
from holdfast.storage.reserve import RESERVE_BYTES, Reserve, locate_reserve, prepare_reserve
from holdfast.storage.spool import Spool
from tests.faults import writers
from tests.faults.disks import MEGABYTE, NOBODY, fill, remount
from tests.rig.claude_program import FIRST, SECOND, Claude, said
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer, run_process
from tests.rig.nursery import Line, Nursery
from tests.surfaces.http.server import run_server

AT_ONCE = 28
EVENT = "UserPromptSubmit"


@pytest.fixture
def data(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder on the small disk, with a store that is closed and one event in it."""
    monkeypatch.setenv("HOLDFAST_HOME", str(small_disk / "data"))
    assert fire(0) == Answer(0, "", "")
    assert read_status(0)["stored"] == 1
    return small_disk / "data"


@contextmanager
def full(disk: Path) -> Iterator[None]:
    fill(disk / "ballast")
    yield
    (disk / "ballast").unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    remount(disk, "ro")
    yield
    remount(disk, "rw")


@contextmanager
def without_inodes(disk: Path) -> Iterator[None]:
    """Files can grow, and none can be made."""
    remount(disk, "nr_inodes=100")
    folder = disk / "many"
    folder.mkdir()
    with suppress(OSError):
        for number in range(100):
            (folder / str(number)).touch()
    yield
    shutil.rmtree(folder)


Obstacle = Callable[[Path], Any]
OBSTACLES = [full, read_only, without_inodes]


def make_payload(number: int, size: int = 3000) -> str:
    """Larger than what is left of the last block of any file."""
    payload = {"hook_event_name": EVENT, "session_id": "s1", "cwd": "/home/dev/project"}
    content = f"hook {number} ".ljust(size, "x")
    return json.dumps({**payload, "prompt": content, "prompt_id": f"m{number}"})


def fire(number: int, size: int = 3000, **env: str) -> Answer:
    return run_process("hook", "claude", EVENT, stdin=make_payload(number, size), **env)


def fire_at_once(numbers: range) -> None:
    """All of them end with 0 and without a word."""
    pipe = subprocess.PIPE
    command = [*HOLDFAST, "hook", "claude", EVENT]
    hooks = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) for _ in numbers]
    for number, hook in zip(numbers, hooks, strict=True):
        assert hook.stdin is not None
        hook.stdin.write(make_payload(number).encode())
        hook.stdin.close()
        hook.stdin = None
    for hook in hooks:
        assert hook.communicate(timeout=PATIENCE_SECONDS) == (b"", b"")
        assert hook.returncode == 0


def stored_numbers() -> list[int]:
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        events = app.run(app.scope.sessions.get_recent_events(session.id, 1000))
    return [int(event.content.split()[1]) for event in events]


def read_status(code: int) -> dict[str, Any]:
    answer = run_process("status", "--json")
    assert answer.code == code, answer
    document: dict[str, Any] = answer.document
    return document


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_hooks_at_once_on_a_disk_that_takes_nothing_are_all_stored_when_it_does(
    small_disk: Path, data: Path, obstacle: Obstacle, scale: Callable[[int], int]
):
    count = max(AT_ONCE, scale(200))
    with obstacle(small_disk):
        for start in range(1, count + 1, AT_ONCE):
            fire_at_once(range(start, min(start + AT_ONCE, count + 1)))
        during = read_status(6)
        again = read_status(6)
        words = run_process("status").err
    remount(small_disk, f"size={32 * MEGABYTE}")  # room for the log of so many events
    after = read_status(0)

    assert (during["spooled"], during["dropped"]) == (count, 0)
    if obstacle is read_only:
        assert during["at_risk"] == count
        runtime = os.path.join(os.environ["XDG_RUNTIME_DIR"], "holdfast")
        assert f"{count} events wait in {runtime}/" in words
    if obstacle is full:
        assert during["next_actions"] == ["holdfast status"]
    assert again == during
    assert (after["stored"], after["spooled"], after["at_risk"]) == (count + 1, 0, 0)
    assert (after["lost"], after["rejected"], after["dropped"]) == (0, 0, 0)
    assert sorted(stored_numbers()) == list(range(count + 1))
    reserve = Reserve(locate_reserve(str(data)))
    assert (os.stat(reserve.path).st_size, reserve.is_empty()) == (RESERVE_BYTES, True)


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_hooks_one_after_the_other_keep_their_order(
    small_disk: Path, data: Path, obstacle: Obstacle
):
    """Some of them would fit on the disk, but not behind those that did not."""
    sizes = [3000, 10, 9000, 10, 3000]
    with obstacle(small_disk):
        for number, size in enumerate(sizes, start=1):
            assert fire(number, size) == Answer(0, "", "")
    assert fire(6) == Answer(0, "", "")

    assert stored_numbers() == list(range(7))


def test_what_no_disk_takes_is_reported_and_counted_until_a_person_removes_the_count(
    small_disk: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """The other folders are on the same disk, and the event is larger than the reserve."""
    runtime = small_disk / "runtime"
    runtime.mkdir(mode=0o700)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(runtime))
    with full(small_disk):
        answers = [fire(number, RESERVE_BYTES) for number in (1, 2)]
        during = read_status(6)
        words = run_process("status")
    after = read_status(5)

    for answer in answers:
        assert (answer.code, answer.out) == (0, "")
        assert answer.err.startswith("holdfast: An event could not be kept anywhere. No space")
    assert (during["code"], during["spooled"], during["dropped"]) == ("store_full", 0, 2)
    assert "dropped 2" in words.out
    assert f"2 events of hooks could not be kept from {during['first_dropped_at']}" in words.err
    for fact in ("dropped", "first_dropped_at", "last_dropped_at"):
        assert after[fact] == during[fact]
    Path(locate_reserve(str(data))).unlink()
    assert read_status(0)["dropped"] == 0
    assert stored_numbers() == [0]


def test_a_data_folder_that_vanished_costs_nothing(small_disk: Path, data: Path):
    """It cannot be made again; when it can, the events are stored in the new one."""
    shutil.rmtree(data)
    with read_only(small_disk):
        fire_at_once(range(1, 6))
        during = read_status(6)
    after = read_status(0)

    assert (during["spooled"], during["at_risk"], during["dropped"]) == (5, 5, 0)
    assert (after["stored"], after["spooled"], after["dropped"]) == (5, 0, 0)


def add_as(line: Line, user: int, home: str, runtime: str) -> None:
    """What a hook does with an event that the store did not take; sends what is known of it."""
    writers.become(user)
    os.environ["XDG_RUNTIME_DIR"] = runtime
    spool = Spool(home, lock_seconds=1)
    spool.add({"event": {"id": "e1"}})
    line.say(asdict(spool.count_waiting()))


def test_a_data_folder_without_the_right_to_write_costs_nothing(
    nursery: Nursery, open_folder: Path
):
    """As a user whom modes bind: neither the folder nor the reserve in it may be changed."""
    data, runtime = open_folder / "data", open_folder / "runtime"
    for folder in (data, runtime):
        folder.mkdir(mode=0o700)
    prepare_reserve(str(data))
    if os.geteuid() == 0:
        for path in (data, runtime, data / "spool.reserve"):
            os.chown(path, NOBODY, NOBODY)
    (data / "spool.reserve").chmod(0o400)
    data.chmod(0o500)

    child = nursery.start(add_as, NOBODY, str(data), str(runtime))
    waiting = child.hear()
    assert child.wait() == 0
    data.chmod(0o700)

    assert (waiting["spooled"], waiting["at_risk"], waiting["dropped"]) == (1, 1, 0)


def test_a_spool_file_at_its_limit_and_a_full_disk_lose_nothing(small_disk: Path, data: Path):
    spool = data / "spool"
    spool.mkdir()
    with full(small_disk):
        with open(spool / "pending.jsonl", "wb") as file:
            file.truncate(jsonl.MAX_FILE_BYTES)
        assert fire(1) == Answer(0, "", "")
        assert Reserve(locate_reserve(str(data))).count_lines() == 1
    (spool / "pending.jsonl").unlink()

    assert fire(2) == Answer(0, "", "")
    assert stored_numbers() == [0, 1, 2]


def test_a_store_without_a_reserve_gets_one_when_it_is_opened(small_disk: Path, data: Path):
    path = Path(locate_reserve(str(data)))
    path.unlink()

    assert fire(1) == Answer(0, "", "")

    assert path.stat().st_size == RESERVE_BYTES


def test_without_a_reserve_a_full_disk_costs_nothing(small_disk: Path, data: Path):
    Path(locate_reserve(str(data))).unlink()
    with full(small_disk):
        fire_at_once(range(1, 6))
        during = read_status(6)

    assert (during["spooled"], during["at_risk"]) == (5, 5)
    assert read_status(0)["stored"] == 6


def test_health_counts_what_waits_while_the_disk_is_full(small_disk: Path, data: Path):
    with run_server(data) as server, server.client() as api:
        assert api.get("/api/health").json()["dropped"] == 0
        with full(small_disk):
            fire_at_once(range(1, 4))
            sick = api.get("/api/health")
        well = api.get("/api/health")

    assert sick.status_code == 503
    assert (sick.json()["spooled"], sick.json()["dropped"]) == (3, 0)
    assert (well.status_code, well.json()["spooled"]) == (200, 0)
    assert read_status(0)["stored"] == 4


def test_health_is_not_green_after_events_could_not_be_kept(small_disk: Path, data: Path):
    Reserve(locate_reserve(str(data))).count_drop()
    with run_server(data) as server, server.client() as api:
        answer = api.get("/api/health")

    assert (answer.status_code, answer.json()["code"]) == (503, "events_dropped")
    assert answer.json()["dropped"] == 1
    assert answer.json()["last_dropped_at"] in answer.json()["detail"]


# --- with the client's own transcript -------------------------------------------------------------


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_turns_on_a_disk_that_takes_nothing_come_back_from_the_transcript(
    obstacle: Obstacle, small_disk: Path, data: Path, home: Path, tmp_path: Path
):
    """Whatever a hook could keep, and whatever it could not: each message is there once."""
    (tmp_path / ".git").mkdir()
    claude, next_claude = Claude(home, tmp_path), Claude(home, tmp_path, SECOND)
    expected = []
    with obstacle(small_disk):
        for number in range(5):
            request, answer = f"request {number}", f"answer {number}"
            claude.fire("UserPromptSubmit", prompt=request, prompt_id=f"p{number}")
            claude.ask(request, f"p{number}")
            claude.answer(answer)
            claude.fire("Stop", prompt_id=f"p{number}", last_assistant_message=answer)
            expected += [request, answer]

    next_claude.fire("SessionStart", source="startup")

    assert sorted(said(FIRST)) == sorted(expected)
