"""How gates of several clients are graded: each has words of its own for it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.observations.rules import grade_gate, is_cut_off
from holdfast.sessions.model import SessionEvent

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


def event(content: str = "", parts: Any = None) -> SessionEvent:
    return SessionEvent("e1", "s", 1, "tool_result", "tool", content, parts, NOW)


@pytest.mark.parametrize("key", ["passed", "ok", "success", "valid"])
def test_a_gate_is_graded_by_a_yes_or_no(key: str):
    assert grade_gate(event(parts={key: True})) == "passed"
    assert grade_gate(event(parts={key: False})) == "failed"


@pytest.mark.parametrize("key", ["status", "result", "verdict"])
def test_a_gate_is_graded_by_a_word(key: str):
    passed = [grade_gate(event(parts={key: word})) for word in ("passed", "Pass", "ok", "success")]
    failed = [
        grade_gate(event(parts={key: word})) for word in ("failed", "fail", "ERROR", "rejected")
    ]

    assert set(passed) == {"passed"}
    assert set(failed) == {"failed"}
    assert grade_gate(event(parts={key: "open"})) == "unknown"


@pytest.mark.parametrize("status", [None, "completed", "Success", "ok"])
def test_a_tool_that_has_ended_is_not_cut_off(status: object):
    assert not is_cut_off(event(parts={"status": status}))


@pytest.mark.parametrize("status", ["stopped", "running", "failed", 7, ["completed"]])
def test_a_tool_with_any_other_status_is_cut_off(status: object):
    assert is_cut_off(event(parts={"status": status}))
