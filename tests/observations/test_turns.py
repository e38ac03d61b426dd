"""Turns out of events: what was asked, touched, run and answered, and nothing that the log does not
hold.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.observations.grading import grade_command
from holdfast.observations.model import SessionTurn
from holdfast.observations.parts import get_command
from holdfast.observations.rules import grade_gate
from holdfast.observations.turns import gather_turns, title_tool
from holdfast.sessions import rules
from holdfast.sessions.model import SessionEvent

PAYLOADS = Path(__file__).parents[1] / "clients" / "payloads"
START = datetime(2026, 11, 16, 9, tzinfo=UTC)


def event(sequence: int, kind: str, content: str = "", parts: Any = None) -> SessionEvent:
    at = START + timedelta(seconds=sequence)
    return SessionEvent(f"e{sequence}", "s", sequence, kind, "tool", content, parts, at)


def tool(
    sequence: int, name: str, content: str = "", kind: str = "tool_result", **given: Any
) -> SessionEvent:
    return event(sequence, kind, content, {"tool": name, "input": given})


def only(*events: SessionEvent) -> SessionTurn:
    [turn] = gather_turns(events)
    return turn


def test_a_turn_begins_at_each_request():
    turns = gather_turns(
        [
            event(1, "system_event"),
            event(2, "user_message", "a"),
            event(3, "model_message"),
            event(4, "user_message", "b"),
        ]
    )

    assert [(turn.first, turn.last) for turn in turns] == [(1, 1), (2, 3), (4, 4)]
    assert [turn.request.content if turn.request else None for turn in turns] == [None, "a", "b"]
    assert gather_turns([]) == []


def test_answers_stand_apart_from_the_steps_between():
    turn = only(
        event(1, "user_message"),
        tool(2, "Read"),
        event(3, "model_message", "first"),
        event(4, "model_message"),
    )

    assert [answer.sequence for answer in turn.answers] == [3, 4]
    assert [step.event.sequence for step in turn.steps] == [2]
    assert turn.events == 4


def test_files_are_named_once_and_an_edited_one_stays_edited():
    turn = only(
        tool(1, "Read", file_path="/r/a.py"),
        tool(2, "Edit", file_path="/r/a.py"),
        tool(3, "Read", file_path="/r/a.py"),
        tool(4, "read_file", absolute_path="/r/b.py"),
        tool(5, "Grep", path="/r"),
        tool(
            6,
            "apply_patch",
            patch="*** Begin Patch\n*** Update File: c.py\n@@\n*** Add File: d.py\n",
        ),
    )

    assert [file.path for file in turn.edited] == ["/r/a.py", "c.py", "d.py"]
    assert [file.path for file in turn.read] == ["/r/b.py"]


def test_a_tool_that_failed_or_was_denied_has_touched_no_file():
    edit = {"tool": "Edit", "input": {"file_path": "/r/a.py"}}
    turn = only(
        event(1, "tool_result", "String to replace not found", {**edit, "is_error": True}),
        event(2, "tool_result", "rejected", {**edit, "denied": "user-rejected"}),
        tool(3, "Edit", file_path="/r/b.py"),
    )

    assert [file.path for file in turn.files] == ["/r/b.py"]


def test_a_call_and_its_result_are_one_step_where_an_id_says_so():
    turn = only(
        event(1, "tool_call", parts={"name": "Bash", "id": "x", "arguments": {"command": "make"}}),
        event(2, "tool_call", parts={"name": "Bash", "id": "y", "arguments": {"command": "ls"}}),
        event(3, "tool_result", '{"exit_code": 0}', {"tool_call_id": "y"}),
        event(4, "tool_result", '{"exit_code": 2}', {"tool_call_id": "x"}),
        event(5, "tool_result", "nobody asked", {"tool_call_id": "z"}),
    )

    assert [(command.text, command.verdict) for command in turn.commands] == [
        ("make", "failed"),
        ("ls", "passed"),
    ]
    assert len(turn.steps) == 3


def test_a_result_without_an_id_belongs_to_the_call_before_it():
    turn = only(
        tool(1, "shell", kind="tool_call", command=["bash", "-lc", "pytest -q"]),
        event(2, "tool_result", "exit code: 1\n"),
    )

    assert [(command.text, command.verdict) for command in turn.commands] == [
        ("pytest -q", "failed")
    ]
    assert len(turn.steps) == 1


def test_a_call_without_a_result_is_not_known():
    [command] = only(tool(1, "Bash", kind="tool_call", command="make")).commands

    assert (command.verdict, command.because) == ("unknown", "no result is in the log")


@pytest.mark.parametrize(
    ("command", "content", "expected"),
    [
        ("make", '{"exit_code": 0}', "passed"),
        ("make", '{"exitCode": 2, "stdout": ""}', "failed"),
        ("make", "Exit code: 0\nok", "unknown"),
        ("make", "long output\nProcess exited with code 137", "failed"),
        ("make", json.dumps({"llmContent": "Output: x\nExit Code: 1\n"}), "failed"),
        ("make", "\n".join(["line"] * 10 + ["exit code: 0"] + ["line"] * 10), "unknown"),
        ("make", '{"stdout": "fine", "interrupted": false}', "unknown"),
        ("make", '{"stdout": "", "interrupted": true}', "unknown"),
        ("make", '{"is_error": true}', "failed"),
        ("make", '{"exit_code": true}', "unknown"),
        ("make", "14 passed", "unknown"),
        ("make", "", "unknown"),
        ("make", "{not json", "unknown"),
        ("pytest | tail", '{"exit_code": 0}', "unknown"),
        ("pytest | tail", '{"exit_code": 1}', "failed"),
        ("set -o pipefail; pytest | tail", '{"exit_code": 0}', "passed"),
        ("pytest || true", '{"exit_code": 0}', "unknown"),
        ("a || b", '{"exit_code": 0}', "unknown"),
        ("sleep 9 &", '{"exit_code": 0}', "unknown"),
    ],
)
def test_a_command_worked_only_if_the_log_says_so(command: str, content: str, expected: str):
    grade = grade_command(command, event(1, "tool_result", content))

    assert grade.verdict == expected
    assert grade.because


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"passed": True}, "passed"),
        ({"ok": False}, "failed"),
        ({"status": "PASS"}, "passed"),
        ({"status": "rejected"}, "failed"),
        ({"status": "maybe"}, "unknown"),
        (None, "unknown"),
    ],
)
def test_a_gate_says_whether_it_was_passed(parts: Any, expected: str):
    gate = event(1, "validation_gate", "Gate 1", parts)

    assert grade_gate(gate) == expected
    assert only(gate).steps[0].verdict == expected


def test_a_command_may_be_a_list_of_words():
    assert get_command({"command": ["git", "status", 3]}) == "git status"
    assert get_command({"cmd": " ls "}) == "ls"
    assert get_command({"command": 7}) == get_command("ls") == get_command(None) == ""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"tool": "Bash", "input": {"command": "make"}}, "Bash make"),
        ({"tool": "Edit", "input": {"file_path": "/a"}}, "Edit /a"),
        ({"tool": "WebSearch", "input": {"query": "htmx sse"}}, "WebSearch htmx sse"),
        ({"tool": "Odd", "input": "some words"}, "Odd some words"),
        ({"tool": "Json", "input": '{"command": "ls"}'}, "Json ls"),
        ({"tool": ["x"]}, "tool"),
        (None, "tool"),
    ],
)
def test_the_title_of_a_step_is_its_most_important_argument(parts: Any, expected: str):
    assert title_tool(event(1, "tool_result", "", parts)) == expected


@pytest.mark.parametrize("client", sorted(path.name for path in PAYLOADS.iterdir()))
def test_the_recorded_hooks_of_each_client_form_one_turn(client: str):
    """The captured payloads of the real programs."""
    expected = json.loads((PAYLOADS / client / "expected.json").read_text())
    order = {"user_message": 0, "tool_result": 1, "model_message": 2}
    kept = sorted(
        (given for given in expected.values() if given),
        key=lambda given: order[given["event_type"]],
    )
    turn = only(
        *(
            event(n, given["event_type"], given["content"], given["parts"])
            for n, given in enumerate(kept, 1)
        )
    )

    results = [given for given in kept if given["event_type"] == "tool_result"]
    assert turn.request
    assert len(turn.commands) == len(results) >= 1
    assert len(turn.answers) == 1


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["tool", "name", "input", "command", "path", "id", "exit_code", "x"]),
            inner,
        ),
    ),
    max_leaves=12,
)


@given(
    st.lists(st.tuples(st.sampled_from(rules.EVENT_TYPES), st.text(max_size=30), JSON), max_size=12)
)
def test_every_event_is_in_exactly_one_turn_for_any_parts(told: list[tuple[str, str, Any]]):
    events = [
        event(number, kind, content, parts if isinstance(parts, dict) else None)
        for number, (kind, content, parts) in enumerate(told, 1)
    ]
    turns = gather_turns(events)

    shown = [
        shown_event.sequence
        for turn in turns
        for shown_event in [
            turn.request,
            *turn.answers,
            *(e for step in turn.steps for e in (step.event, step.result)),
        ]
        if shown_event
    ]
    assert sorted(shown) == list(range(1, len(events) + 1))


# --- what clients' own logs have beside -----------------------------------------------------------


def test_what_a_subagent_does_belongs_to_the_turn_that_started_it():
    """What it is told is not asked by a person, and what it answers is not the answer."""
    agent = {"agent_id": "a1", "agent": "Explore"}
    turn = only(
        event(1, "user_message", "find the callers"),
        event(2, "system_event", "look in src", agent),
        event(3, "tool_result", "", {"tool": "Bash", "input": {"command": "grep"}, **agent}),
        event(4, "tool_result", "", {"tool": "Edit", "input": {"file_path": "/a.py"}, **agent}),
        event(5, "model_message", "one caller", agent),
        event(6, "model_message", "One caller, in src."),
    )

    assert turn.request
    assert turn.request.content == "find the callers"
    assert [answer.content for answer in turn.answers] == ["One caller, in src."]
    assert [(step.kind, step.agent) for step in turn.steps] == [
        ("told", "Explore"),
        ("tool", "Explore"),
        ("tool", "Explore"),
        ("answered", "Explore"),
    ]
    assert [command.agent for command in turn.commands] == ["Explore"]
    assert [file.agent for file in turn.edited] == ["Explore"]


def test_subagents_of_one_name_are_told_apart_by_a_number():
    told = [("a1", "Explore"), ("a2", "Explore"), ("a3", "Plan"), ("a1", "Explore")]
    turn = only(
        event(1, "user_message"),
        *(
            event(number, "system_event", "look", {"agent_id": agent_id, "agent": name})
            for number, (agent_id, name) in enumerate(told, start=2)
        ),
    )

    assert [step.agent for step in turn.steps] == ["Explore", "Explore 2", "Plan", "Explore"]


def test_a_subagent_without_a_name_is_called_by_its_id():
    turn = only(event(1, "user_message"), event(2, "user_message", "go", {"agent_id": "a1"}))

    assert [step.agent for step in turn.steps] == ["a1"]


def test_a_compaction_and_a_rewind_are_named_as_such():
    turn = only(
        event(1, "user_message"),
        event(2, "system_event", "Summary: …", {"compaction": "auto"}),
        event(3, "system_event", "", {"rewound": ["e1", "e0"]}),
        event(4, "system_event", "something else", {"compaction": None, "rewound": "?"}),
    )

    assert [(step.kind, step.title) for step in turn.steps] == [
        ("compaction", "auto"),
        ("rewind", "2 requests taken back"),
        ("system_event", "something else"),
    ]
    assert [step.event.sequence for step in turn.compactions] == [2]
    assert [step.event.sequence for step in turn.work] == [3, 4]
