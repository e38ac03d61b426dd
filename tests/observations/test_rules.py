"""How commands and gates of several clients are graded: each has words of its own for it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.observations.rules import grade_command, grade_gate, is_cut_off
from holdfast.sessions.model import SessionEvent

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


def event(content: str = "", parts: Any = None) -> SessionEvent:
    return SessionEvent("e1", "s", 1, "tool_result", "tool", content, parts, NOW)


@pytest.mark.parametrize(
    "key", ["exit_code", "exitCode", "returncode", "return_code", "exit_status", "code"]
)
def test_an_exit_code_is_found_by_the_name_that_a_client_gives_it(key: str):
    assert grade_command("make", event(json.dumps({key: 0}))) == ("passed", "exit 0")
    assert grade_command("make", event(parts={key: 3})) == ("failed", "exit 3")


@pytest.mark.parametrize("key", ["result", "output", "response", "metadata"])
def test_an_exit_code_is_found_inside_of_a_result(key: str):
    assert grade_command("make", event(parts={key: {"exit_code": 1}})) == ("failed", "exit 1")


@pytest.mark.parametrize("key", ["is_error", "isError", "interrupted", "error", "failed"])
def test_a_command_without_an_exit_code_has_failed_where_the_client_reports_an_error(key: str):
    reported = ("failed", "the client reported an error")

    assert grade_command("make", event(json.dumps({key: True}))) == reported
    assert grade_command("make", event(parts={key: "no such file"})) == reported


@pytest.mark.parametrize("empty", [None, False, "", 0, [], {}])
def test_an_empty_error_is_not_a_failure(empty: Any):
    unknown = ("unknown", "no exit code is in the log")

    assert grade_command("make", event(parts={"error": empty})) == unknown


@pytest.mark.parametrize(
    ("lines_before", "expected"),
    [(0, "failed"), (3, "failed"), (4, "unknown")],
)
def test_an_exit_code_in_text_is_on_one_of_the_first_or_last_four_lines(
    lines_before: int, expected: str
):
    lines = ["line"] * lines_before + ["exit code: 1"] + ["line"] * 10

    assert grade_command("make", event("\n".join(lines)))[0] == expected
    assert grade_command("make", event("\n".join(reversed(lines))))[0] == expected


@pytest.mark.parametrize(
    "command", ["make | tail", "make || true", "make || echo no", "make; true", "make; exit 0"]
)
def test_an_exit_code_of_another_program_in_the_line_does_not_show_success(command: str):
    because = "exit 0, but of the last program in the line only"

    assert grade_command(command, event('{"exit_code": 0}')) == ("unknown", because)
    assert grade_command(command, event('{"exit_code": 2}')) == ("failed", "exit 2")


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
