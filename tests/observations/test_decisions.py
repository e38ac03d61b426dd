"""What transcripts show to be decided by a person, and what only looks so."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients.opencode.transcript import StoredPart, _describe_call
from holdfast.observations.decisions import (
    LINE_CHARS,
    MOST_ANSWERS,
    PLAN_TOOLS,
    QUESTION_TOOLS,
    SeenDecision,
    find_decisions,
)
from tests.observations.logged import TRANSCRIPTS, VALUES, make_call, make_event, read_events

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). "
)
STOP = REFUSED + "STOP what you are doing and wait for the user to tell you how to proceed."
SAID = REFUSED + "To tell you how to proceed, the user said:\n"
MODEL = "Plan approved. Switching to {}.\n\nThe approved implementation plan is stored at: /p.md"
# As OpenCode 1.18.33 has stored it.
OPENCODE_PART = {
    "type": "tool",
    "tool": "bash",
    "callID": "call_9556398d764d4cc585d97801",
    "state": {
        "status": "error",
        "input": {"command": "touch denied.txt", "description": "d"},
        "error": "The user rejected permission to use this specific tool call.",
        "time": {"start": 1794771073238, "end": 1794771073308},
    },
}


def describe(decisions: list[SeenDecision]) -> list[tuple[str, str, str]]:
    return [(decision.kind, decision.about, decision.answer) for decision in decisions]


def decide(tool: object, given: Any, content: Any = "", **outcome: Any) -> list[Any]:
    return describe(find_decisions(make_call(tool, given, content, **outcome)))


def decide_all(name: str) -> list[Any]:
    return describe([each for event in read_events(name) for each in find_decisions(event)])


# --- real sessions --------------------------------------------------------------------------------


def test_a_denial_without_a_reason_may_be_a_key_that_stopped_claude():
    """Claude writes the same for both; the call itself is not in these transcripts."""
    assert decide_all("claude/denied-1") == [("stopped or denied", "a tool", "")]
    assert decide_all("claude/denied-5") == [("stopped or denied", "a tool", "")]


def test_what_claude_was_stopped_in_is_named_by_its_command():
    assert decide_all("claude/queued") == [("stopped or denied", "Bash sleep 6; echo SLOW", "")]


@pytest.mark.parametrize("name", ["claude/denied-2", "claude/denied-3", "claude/plan-2"])
def test_what_claude_denies_by_itself_is_not_decided_by_the_person(name: str):
    """Without a terminal, by a hook, and in plan mode."""
    assert decide_all(name) == []


def test_gemini_names_a_denial():
    assert decide_all("gemini/denied-2") == [("denied", "run_shell_command touch denied.txt", "")]


def test_a_plan_that_gemini_approves_by_itself_is_not_approved_by_the_person():
    assert decide_all("gemini/plan") == []


def test_a_denial_of_opencode_may_be_its_own():
    content, parts = _describe_call(StoredPart("prt_1", OPENCODE_PART))

    found = find_decisions(make_event(content, parts))

    assert describe(found) == [("stopped or denied", "bash touch denied.txt", "")]


def test_other_sessions_show_no_decision():
    shown = (
        *("claude/denied-1", "claude/denied-5", "claude/queued", "claude/said-again"),
        "gemini/denied-2",
    )
    paths = [path for path in TRANSCRIPTS.rglob("*.json") if not path.name.endswith(".meta.json")]
    names = [str(path.relative_to(TRANSCRIPTS).with_suffix("")) for path in paths]

    found = {name: decide_all(name) for name in names if name not in shown}

    assert len(found) > 40
    assert not any(found.values())


# --- plans ----------------------------------------------------------------------------------------


def test_a_plan_that_claude_was_allowed_to_carry_out():
    plan = "1. do this\n2. do that"
    approved = ("plan approved", "1. do this 2. do that", "")

    assert decide("ExitPlanMode", {"plan": plan}, "User has approved your plan. Go.") == [approved]
    assert decide("ExitPlanMode", {}, json.dumps({"plan": plan, "isAgent": False})) == [approved]


def test_a_plan_of_a_subagent_is_not_approved_by_the_person():
    answer = json.dumps({"plan": "p", "isAgent": True})

    assert decide("ExitPlanMode", {}, answer) == []
    assert decide("ExitPlanMode", {"plan": "p"}, "User has approved", agent_id="a1") == []


def test_a_plan_that_was_sent_back_keeps_the_words_of_the_person():
    note = "\n\nNote: The user's next message may contain a correction."

    found = decide("ExitPlanMode", {"plan": "p"}, f"{SAID}no Redis{note}", denied="user-rejected")

    assert found == [("plan rejected", "p", "no Redis")]


def test_a_plan_that_was_closed_without_a_word():
    found = decide("ExitPlanMode", {"plan": "p"}, STOP, denied="user-rejected")

    assert found == [("stopped or denied", "ExitPlanMode p", "")]


def test_gemini_asks_before_it_leaves_plan_mode():
    given = {"plan_filename": "plan.md"}
    approved = MODEL.format("Default mode (edits will require confirmation)")
    feedback = "Plan rejected. User feedback: use cents\n\nThe plan is stored at: /p.md"

    assert decide("exit_plan_mode", given, approved) == [("plan approved", "plan.md", "")]
    assert decide("exit_plan_mode", given, feedback) == [("plan rejected", "plan.md", "use cents")]
    silent = "Plan rejected. No feedback provided.\n\nThe plan is stored at: /p.md"
    assert decide("exit_plan_mode", given, silent) == [("plan rejected", "plan.md", "")]
    assert decide("exit_plan_mode", given, "User cancelled the plan approval dialog.") == []


# --- questions ------------------------------------------------------------------------------------


def test_claude_has_the_answers_by_their_questions():
    answers = {"Which store?": "Postgres", "Which formats?": ["csv", "json"], "And then?": ""}

    assert decide("AskUserQuestion", {}, json.dumps({"answers": answers})) == [
        ("answered", "Which store?", "Postgres"),
        ("answered", "Which formats?", "csv, json"),
    ]


def test_gemini_has_the_answers_by_their_place():
    given = {"questions": [{"question": "Which store?"}, {"question": "Which port?"}, 7]}
    answers = json.dumps({"answers": {"1": "8443", "2": "x", "9": "y"}})

    assert decide("ask_user", given, answers) == [("answered", "Which port?", "8443")]
    assert decide("ask_user", {}, answers) == []
    assert decide("ask_user", given, "User dismissed ask_user dialog without answering.") == []


def test_opencode_has_the_answers_in_a_sentence():
    text = (
        'User has answered your questions: "Which store?"="Postgres, the newest", "And now?"='
        '"Unanswered". You can now continue with the user\'s answers in mind.'
    )

    assert decide("question", {}, text) == [("answered", "Which store?", "Postgres, the newest")]


def test_a_question_that_was_put_aside_is_no_decision():
    clarify = SAID + "The user wants to clarify these questions."

    assert decide("AskUserQuestion", {}, clarify, denied="user-rejected") == []
    assert decide("Bash", {}, clarify, denied="user-rejected") == []


def test_answers_are_bounded():
    answers = {f"question {i}": "a" * 5000 for i in range(50)}

    found = decide("AskUserQuestion", {}, json.dumps({"answers": answers}))

    assert len(found) == MOST_ANSWERS
    assert all(len(answer) <= LINE_CHARS for _, _, answer in found)


# --- permissions ----------------------------------------------------------------------------------


def test_a_denial_with_a_reason_was_made_by_the_person():
    given = {"command": "rm -rf build"}

    found = decide("Bash", given, f"{SAID}keep the build", denied="user-rejected")

    assert found == [("denied", "Bash rm -rf build", "keep the build")]


def test_a_denied_edit_names_its_file():
    found = decide("Edit", {"file_path": "/r/a.py"}, STOP, denied="user-rejected")

    assert found == [("stopped or denied", "Edit /r/a.py", "")]


@pytest.mark.parametrize(
    ("content", "denied"),
    [
        ("[Operation Cancelled] Reason: Operation cancelled by user", "cancelled"),
        ("PreToolUse:Bash hook error", "permission-rule"),
        ("denied", {"by": "rule"}),
    ],
)
def test_what_was_stopped_or_denied_by_a_rule_is_no_decision(content: str, denied: object):
    assert decide("Bash", {"command": "ls"}, content, denied=denied) == []


@pytest.mark.parametrize("outcome", [{"is_error": True}, {"status": "stopped"}])
def test_a_tool_that_failed_shows_no_decision(outcome: dict[str, Any]):
    assert decide("ExitPlanMode", {"plan": "p"}, "User has approved", **outcome) == []


def test_a_decision_names_its_event():
    event = make_call("ExitPlanMode", {"plan": "p"}, "User has approved your plan.", sequence=5)

    (decision,) = find_decisions(event)

    assert (decision.sequence, decision.happened_at) == (5, event.happened_at)


def test_other_events_show_no_decision():
    assert decide("Bash", {"command": "ls"}, "User has approved") == []
    assert find_decisions(make_event("User has approved", kind="user_message")) == []


TOOLS = st.sampled_from([*PLAN_TOOLS, *QUESTION_TOOLS, "Bash", None])
CONTENTS = st.one_of(
    VALUES,
    VALUES.map(json.dumps),
    st.sampled_from(
        [STOP, SAID, MODEL, "User has approved", 'User has answered your questions: "']
    ),
)


@given(tool=TOOLS, value=VALUES, content=CONTENTS, denied=VALUES, parts=VALUES)
def test_no_input_is_too_odd(tool: Any, value: Any, content: Any, denied: Any, parts: Any):
    for given_parts in (parts, {"tool": tool, "input": value, "denied": denied}, {"tool": tool}):
        for decision in find_decisions(make_event(content, given_parts)):
            assert len(decision.about) <= LINE_CHARS
            assert len(decision.answer) <= LINE_CHARS
