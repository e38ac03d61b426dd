"""Many processes at one repository's context files: R6 and R7, kill -9 in the middle, and every
failing system call.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.workstreams.document import from_bytes
from holdfast.workstreams.model import PHASES
from tests.faults import context_writers as writers
from tests.rig.nursery import Nursery, hear_as_it_comes, hear_from_all, say_to_all
from tests.workstreams.repos import Repo, with_code

Scale = Callable[[int], int]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


def decisions(repo: Repo, phase: str) -> list[str]:
    found = from_bytes((repo.folder / f"data/context/{phase}_context.json").read_bytes(), "file")
    assert found.problem is None
    return [entry.text for fields in found.contexts.values() for entry in fields.open_decisions]


@pytest.mark.parametrize("phase", PHASES)
def test_eight_writers_and_four_readers_lose_nothing(
    nursery: Nursery, repo: Repo, sqlite_url: str, phase: str, scale: Scale
):
    """R6: 8 × 50 decisions, each there at the end, each with a number of its own; no reader meets
    half a file.
    """
    each = scale(50)
    children = [
        nursery.start(writers.decide_many, str(repo.folder), sqlite_url, phase, n, each)
        for n in range(8)
    ]
    readers = [nursery.start(writers.read_until_stopped, str(repo.folder), phase) for _ in range(4)]
    assert hear_from_all([*children, *readers]) == ["open"] * 12
    say_to_all(children)

    acked = [value for _, value in hear_as_it_comes(children)]

    assert [child.wait() for child in children] == [0] * 8
    say_to_all(readers)
    assert (
        min(hear_from_all(readers)) > 0
    )  # how often each read; an unreadable file would have failed it
    assert [reader.wait() for reader in readers] == [0] * 4
    kept = decisions(repo, phase)
    assert sorted(kept) == sorted(acked)
    assert len(kept) == 8 * each
    found = from_bytes((repo.folder / f"data/context/{phase}_context.json").read_bytes(), "file")
    (fields,) = found.contexts.values()
    assert len({entry.id for entry in fields.open_decisions}) == 8 * each
    assert found.revision == 8 * each


def test_a_save_on_a_revision_that_others_have_replaced_is_refused(
    nursery: Nursery, repo: Repo, sqlite_url: str, scale: Scale
):
    """R7: read, wait until five others have written, save with the revision that was read: refused
    each time.
    """
    rounds = scale(50)
    slow = nursery.start(writers.save_what_was_read, str(repo.folder), sqlite_url)
    assert slow.hear() == "open"
    for number in range(rounds):
        slow.say("read")
        slow.hear()
        others = [
            nursery.start(
                writers.decide_many,
                str(repo.folder),
                sqlite_url,
                "implementation",
                5 * number + n,
                1,
            )
            for n in range(5)
        ]
        assert hear_from_all(others) == ["open"] * 5
        say_to_all(others)
        assert len(list(hear_as_it_comes(others))) == 5
        assert [child.wait() for child in others] == [0] * 5
        slow.say("save")
        assert slow.hear() == "context_changed"
        slow.say("again")
        assert slow.hear() == "saved"
        assert len(decisions(repo, "implementation")) == 5 * (number + 1)
    slow.say("end")
    assert slow.wait() == 0


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(
    nursery: Nursery, repo: Repo, sqlite_url: str, scale: Scale
):
    """Whatever was acknowledged is there, the file is whole, and the next writer is not kept
    waiting.
    """
    acked: list[str] = []
    for number in range(scale(100)):
        child = nursery.start(writers.decide_until_killed, str(repo.folder), sqlite_url, number)
        for _ in range(1 + number % 3):
            acked.append(child.hear())
        child.kill()
        while (value := child.hear()) is not None:
            acked.append(value)
        assert child.wait() == -signal.SIGKILL
        assert set(decisions(repo, "implementation")) >= set(acked)
    names = {
        path.name
        for path in (repo.folder / "data/context").iterdir()
        if not path.name.endswith(".tmp")
    }
    assert names == {".gitattributes", ".gitignore", "implementation_context.json"}


@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EACCES"])
def test_every_call_that_fails_leaves_the_old_file_or_the_new_one(
    repo: Repo, sqlite_url: str, error: str
):
    """F1 for the context files: the n-th call fails, for each n, until the write gets through."""
    path = repo.folder / "data/context/implementation_context.json"
    writers.decide(str(repo.folder), sqlite_url, "before")
    for number in range(1, 100):
        old = path.read_bytes()
        try:
            with writers.failing_at(number, error):
                writers.decide(str(repo.folder), sqlite_url, f"at {number}")
        except (HoldfastError, OSError):
            assert path.read_bytes() == old or f"at {number}" in decisions(repo, "implementation")
            assert json.loads(path.read_bytes())["schema_version"] == 1
        else:
            assert f"at {number}" in decisions(repo, "implementation")
            break
    else:
        raise AssertionError("it never got through")
    litter = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
    assert litter == []
