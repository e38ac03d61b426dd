"""Live, idle since, ended: one rule for every door."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.sessions.model import Session
from holdfast.sessions.status import judge_status

AT = datetime(2026, 11, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ended", "minutes", "has_process", "words"),
    [
        (False, 9, False, "live"),
        (False, 10, False, "idle since 2026-11-16 09:00Z"),
        (False, 600, True, "live"),
        (True, 1, False, "ended 2026-11-16 09:00Z"),
        (True, 1, True, "ended 2026-11-16 09:00Z"),
    ],
)
def test_a_session_is_live_idle_or_ended(ended: bool, minutes: int, has_process: bool, words: str):
    session = Session("s", "u", "m", None, None, None, AT, AT if ended else None, {})
    now = AT + timedelta(minutes=minutes)

    status = judge_status(session, AT, now, has_process=has_process)

    assert status.describe() == words
    assert status.to_dict() == {
        "status": words.split()[0],
        "idle_since": "2026-11-16T09:00:00.000000Z" if words.startswith("idle") else None,
    }
