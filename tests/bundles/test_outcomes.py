"""What became of the last request, by how a log ends."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.bundles.outcomes import Outcome, judge_outcome

NOW = datetime(2026, 11, 17, 19, 14, tzinfo=UTC)


def event(kind: str, content: str = "", **parts: Any) -> Any:
    return SimpleNamespace(type=kind, content=content, parts=parts or None, happened_at=NOW)


ASKED = event("user_message", "Make it pass.")
SAID = event("model_message", "Done.")
RESULT = event("tool_result", "1 passed", tool="Bash")

LOGS = {
    "a request alone": ([ASKED], Outcome("cut off")),
    "an answer": ([ASKED, SAID], Outcome("answered")),
    "a result": ([ASKED, SAID, RESULT], Outcome("cut off")),
    "what ran": (
        [
            ASKED,
            SAID,
            event("tool_call", tool="Bash", input={"command": "pytest"}, status="running"),
        ],
        Outcome("running", "Bash pytest"),
    ),
    "what a client says itself": (
        [ASKED, event("model_message", "API Error (429)", origin="client")],
        Outcome("failed", "API Error (429)"),
    ),
    "how a turn ended": (
        [ASKED, SAID, event("system_event", "limit", turn="failed")],
        Outcome("failed", "limit"),
    ),
    "an answer before a compaction": (
        [ASKED, SAID, event("system_event", "summary", compaction="auto")],
        Outcome("answered"),
    ),
    "an answer before a command": (
        [ASKED, SAID, event("user_message", "/exit", origin="command")],
        Outcome("answered"),
    ),
    "an answer before what a subagent says": (
        [ASKED, SAID, event("tool_result", "x", agent_id="a")],
        Outcome("answered"),
    ),
    "words of a subagent only": (
        [ASKED, event("model_message", "Found.", agent_id="a")],
        Outcome("cut off"),
    ),
    "a word that is unknown here": (
        [ASKED, SAID, event("system_event", turn="soon")],
        Outcome("answered"),
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_ends_with(name: str):
    events, expected = LOGS[name]

    assert judge_outcome(events) == expected


def test_a_program_that_runs_may_still_come_to_an_answer():
    running = Outcome("running", "Bash pytest")

    assert running.describe(is_live=True, is_ended=False) == ""
    assert running.describe(is_live=False, is_ended=False) == " while running"
    assert (
        running.describe(is_live=False, is_ended=True) == ", last request unanswered while running"
    )


def test_a_failure_is_told_of_a_program_that_still_runs():
    failed = Outcome("failed", "usage limit")

    assert failed.describe(is_live=True, is_ended=False) == ", last request unanswered:"
    assert Outcome("answered").describe(is_live=False, is_ended=True) == ""


def test_an_answer_that_was_stored_before_the_work_is_an_answer():
    earlier = SimpleNamespace(**{**vars(RESULT), "happened_at": NOW - timedelta(seconds=1)})

    assert judge_outcome([ASKED, SAID, earlier]) == Outcome("answered")
