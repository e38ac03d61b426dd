"""R22: a copy that is made while others write is whole, and what it restores verifies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import writers
from tests.faults.audit import OWNER, audit, new_session
from tests.rig.commands import run_process
from tests.rig.nursery import Child, Nursery
from tests.rig.restoring import Backups, backups, mode_of, programs

__all__ = ["backups", "programs"]

pytestmark = pytest.mark.own_database

WRITERS, SESSIONS = 4, 3
BEFORE = 100  # events that are acknowledged before a copy begins


def test_a_backup_under_load_restores_whatever_was_acknowledged_before(
    nursery: Nursery,
    backups: Backups,
    database_url: str,
    disk_path: Path,
    scale: Callable[[int], int],
) -> None:
    """Of each writer the copy has the first events without a gap, whichever session they went to:
    nothing that was acknowledged before the copy began is missing.
    """
    threads = [[new_session(database_url) for _ in range(SESSIONS)] for _ in range(WRITERS)]
    children = [
        nursery.start(writers.append_in_turns, database_url, session_ids) for session_ids in threads
    ]
    acked = [list[str]() for _ in children]
    for number in range(scale(20)):
        file = disk_path / f"backup-{number}"
        for ids, child in zip(acked, children, strict=True):
            ids += _hear_at_least(child, BEFORE)
        made = backups.make(file)
        assert made.code == 0, made
        assert (made.document["bytes"], mode_of(file)) == (file.stat().st_size, 0o600)
        with backups.restored(file) as restored:
            for session_ids, ids in zip(threads, acked, strict=True):
                _check_copy(restored, session_ids, ids)
    for child in children:
        child.say("stop")
        child.hear_all()
        assert child.wait() == 0


def _hear_at_least(child: Child, count: int) -> list[str]:
    heard = [child.hear() for _ in range(count)]
    while child.has_more:
        heard.append(child.hear())
    return heard


def _check_copy(restored: str, session_ids: list[str], acked: list[str]) -> None:
    copied = [audit(restored, session_id) for session_id in session_ids]
    stored = {event.id for events in copied for event in events}
    assert set(acked) <= stored
    lengths = [len(events) for events in copied]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] - lengths[-1] <= 1
    verified = run_process(
        "session",
        "verify",
        session_ids[0],
        HOLDFAST_DATABASE=restored,
        HOLDFAST_DEVELOPER=OWNER.handle,
    )
    assert verified.code == 0, verified
