"""What is left out of a tool's answer before it is kept, and what is known of it all the same."""

import json
from typing import Any

import pytest

from holdfast.ground.fence import fence, mark_others
from holdfast.observations.grading import Grade, describe_command, grade_command
from holdfast.usecases.capture import leave_out_shared
from holdfast.usecases.withholding import NOT_KEPT, leave_out_fences, reads_exchange
from tests.observations.logged import make_event

OPENING = f'[untrusted text {"a" * 32} author="'
FAILED = "F..\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.1s\n"
FENCED = fence(
    "WORDS of one\nWORDS of two",
    author="dev-a",
    source="published context 1",
    at="2026-11-16 09:00Z",
    key=b"key",
    max_chars=2000,
)


def keep(command: str, content: str, **outcome: Any) -> tuple[str, Grade]:
    """What is stored of a command's answer, and how that is graded then."""
    parts = {"tool": "Bash", "input": {"command": command}, **outcome}
    kept, known = leave_out_shared("tool_result", content, parts)
    return kept, grade_command(command, make_event(kept, known))


# --- fences ---------------------------------------------------------------------------------------


def test_a_fence_is_left_out_and_what_stands_around_it_is_kept():
    text = f"before\n{FENCED}\nbehind"

    assert leave_out_fences(text) == f"before\n{NOT_KEPT}\nbehind"
    assert leave_out_fences(f"{text}\n{text}").count("before\n") == 2


def test_a_fence_in_the_texts_of_an_object_is_left_out():
    answer = {"stdout": f"a\n{FENCED}\nb", "more": [{"text": FENCED}], "code": 0}

    left = json.loads(leave_out_fences(json.dumps(answer)))

    assert left == {"stdout": f"a\n{NOT_KEPT}\nb", "more": [{"text": NOT_KEPT}], "code": 0}


def test_an_object_that_is_written_again_can_be_stored():
    text = json.dumps({"stdout": f"\ud800\x00 {FENCED}"})

    left = leave_out_fences(text)

    assert left.encode().decode() == '{"stdout": "?\\u0000 ' + NOT_KEPT + '"}'


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_of_a_fence_that_a_program_has_cut_only_its_own_lines_are_left_out(lines: int):
    """As after `holdfast team contexts | head -5; pytest -q`."""
    torn = "\n".join(FENCED.split("\n")[:lines])

    assert leave_out_fences(f"{torn}\n|\n{FAILED}") == f"{NOT_KEPT}\n{FAILED}"


def test_words_of_which_an_object_was_cut_are_left_out():
    torn = json.dumps({"stdout": f"a\n{FENCED}"})[:-100]

    assert leave_out_fences(torn) == '{"stdout": "a\\n' + NOT_KEPT


@pytest.mark.parametrize("marker", [OPENING[:-1], "[untrusted text ", "[untrusted text zz author="])
def test_what_only_looks_like_a_fence_is_kept(marker: str):
    assert leave_out_fences(f"{marker}\n| a\n{FAILED}") == f"{marker}\n| a\n{FAILED}"


def test_notes_of_the_repository_are_no_words_of_teammates():
    first, last = mark_others(b"key", ["| a note"])
    notes = f"{first}\n| a note\n{last} and more"

    assert leave_out_shared("tool_result", notes, {"tool": "Bash"}) == (notes, {"tool": "Bash"})


def test_an_object_that_is_too_deep_is_a_text():
    text = '{"a":' * 900 + json.dumps(FENCED) + "}" * 900

    assert "WORDS" not in leave_out_fences(text)


@pytest.mark.parametrize("unit", ["[untrusted text ", OPENING, f"{OPENING}\n", f"{FENCED}\n", "["])
def test_a_long_answer_full_of_markers_is_looked_at_once(unit: str):
    """Each of them took minutes or would, if what is behind a marker were looked through again."""
    text = unit * (2_000_000 // len(unit))

    left = leave_out_fences(text)

    assert "WORDS" not in left
    assert len(left) <= len(text)


# --- commands -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "holdfast team",
        "holdfast team contexts --json",
        "holdfast team state | grep Blocked",
        "cd /srv/x && .venv/bin/holdfast team contexts dev-a | cat -n | sed -n 4,8p",
        "python3 -m holdfast team contexts; pytest -q",
        "uv run holdfast --json team state",
        "bash -lc 'holdfast \"team\" state'",
        "for d in dev-a dev-b; do holdfast team contexts $d; done",
        "holdfast \\\n  team contexts",
        "H=/opt/holdfast; $H team state; ${H} publish",
        """python3 -c "import subprocess as s; s.run(['holdfast', 'team', 'state'])\"""",
        "holdfast publish --yes",
        "holdfast admin audit",
        "holdfast mcp < calls.jsonl",
        "curl -s http://127.0.0.1:8765/api/contexts?developer=dev-a",
        "curl -H 'Authorization: Bearer x' localhost:8765/api/state | jq .",
        'curl "http://[::1]:8765/api/claims"',
        "wget -qO- http://localhost/api/handoffs/1",
        "curl -N $URL/api/events",
        "curl -d @call.json http://0.0.0.0:8765/mcp",
        "curl localhost:8765/console/coordination/contexts/1/2",
    ],
)
def test_a_command_that_reads_the_exchange_is_known_by_what_it_calls(command: str):
    assert reads_exchange(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "holdfast status",
        "holdfast workstream show",
        "cd ~/holdfast && pytest tests/team -q",
        "git -C holdfast log -- src/team",
        "ls holdfast/team holdfast-team holdfast team/",
        "npm publish",
        "$NPM publish",
        "curl https://api.example.com/api/state",
        "grep -rn /api/state src",
        "curl localhost:3000/api/users",
        "cat $HOME/.config/mcp.json && wc src/holdfast/surfaces/mcp/*.py",
        "curl localhost:8000/mcp/docs",
    ],
)
def test_any_other_command_is_not(command: str):
    assert not reads_exchange(command)


@pytest.mark.parametrize("unit", ["holdfast ", "holdfast --a ", "$a", "${a:", "127.0.0.1:", " , "])
def test_a_long_command_is_looked_at_once(unit: str):
    assert not reads_exchange("holdfast" + unit * (400_000 // len(unit)))


def test_a_command_that_was_too_long_to_be_kept_whole_is_looked_at_as_well():
    parts = {"tool": "Bash", "input": '{"command": "holdfast team contexts --json # xxx'}

    kept, _ = leave_out_shared("tool_result", "WORDS", parts)

    assert kept == NOT_KEPT


def test_a_page_of_the_exchange_that_a_tool_fetches_is_not_kept():
    for given in ({"url": "http://127.0.0.1:8765/api/state"}, {"prompt": "read localhost/mcp"}):
        kept, _ = leave_out_shared("tool_result", "WORDS", {"tool": "fetch", "input": given})
        assert kept == NOT_KEPT


# --- grades ---------------------------------------------------------------------------------------


def test_a_check_behind_a_look_at_the_exchange_is_graded_by_all_that_was_printed():
    command = "holdfast team contexts dev-a | tail -3; pytest -q"

    kept, grade = keep(command, f"WORDS\n{FAILED}")

    assert kept == NOT_KEPT
    assert (grade.verdict, grade.by) == ("failed", "reported")
    assert "WORDS" not in grade.because
    assert keep(command, "WORDS\n3 passed in 0.1s\n", exit_code=0)[1].verdict == "passed"
    assert keep(command, f"WORDS\n{FAILED}", exit_code=0)[1].verdict == "failed"
    assert keep(command, "WORDS", exit_code=2)[1].because.startswith("exit 2, ")
    assert describe_command(command).kind == "check"


@pytest.mark.parametrize("end", ["", f"\n[end of untrusted text {'a' * 32}]\n"])
def test_a_failure_inside_of_markers_is_still_a_failure(end: str):
    """Any program can print them, so no check passes by what stands behind them."""
    kept, grade = keep("pytest -q", f'{OPENING}x"\n{FAILED}{end}', exit_code=0)

    assert grade.verdict == "failed"
    assert ("1 failed" in kept) == (not end)


def test_a_grade_that_was_not_noted_by_us_is_none():
    event = make_event(FAILED, {"input": {"command": "pytest"}, "graded": {"verdict": "great"}})

    assert grade_command("pytest", event).verdict == "failed"
