"""Commands are graded as a careful person would, from what each client's log has of them.

The table was written before the rule, but for its second round: that was written to break the rule,
and found 15 commands that it graded too well. A third round, of 205 commands, found 12 more, and
one of them is left. A grade that is too good is worse than none, because what it calls passed is
handed to the next session as proven.
"""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.clients import claude, gemini
from holdfast.observations import reports
from holdfast.observations.grading import (
    CommandUse,
    Grade,
    describe_command,
    grade_command,
)
from holdfast.sessions.model import SessionEvent

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
TABLE = Path(__file__).parent / "commands.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text().splitlines()]


def event(content: str = "", parts: Any = None) -> SessionEvent:
    return SessionEvent("e1", "s", 1, "tool_result", "tool", content, parts, NOW)


def shape(case: dict[str, Any]) -> SessionEvent:
    """The result as the client's reader, or its hook, hands it over."""
    output = case["output"] * case.get("repeat", 1)
    make = {"claude": of_claude, "codex": of_codex, "gemini": of_gemini, "opencode": of_opencode}
    content, tool, outcome = make[case["client"]](output, case["code"], case.get("ended"))
    return event(content, {"tool": tool, "input": {"command": case["command"]}, **outcome})


def of_claude(output: str, code: int | None, ended: str | None) -> tuple[str, str, Any]:
    if ended == "denied":
        return output, "Bash", {"denied": "user-rejected"}
    if ended == "error":
        return output, "Bash", {"is_error": True}
    if code:
        return f"Exit code {code}\n{output}", "Bash", {"is_error": True}
    answer = {"stdout": output, "stderr": "", "interrupted": ended == "interrupted"}
    if ended == "background":
        answer |= {"backgroundTaskId": "bvb3856b1", "timedOutAfterMs": 2000}
    if ended == "interpreted":
        answer |= {"returnCodeInterpretation": "No matches found"}
    return json.dumps(answer), "Bash", claude.describe_outcome("Bash", answer)


def of_codex(output: str, code: int | None, ended: str | None) -> tuple[str, str, Any]:
    if ended == "stopped":
        return output, "Bash", {"status": "failed"}
    if ended == "silent":  # its hook knows no code
        return output, "Bash", {}
    return output, "Bash", {"exit_code": code}


def of_gemini(output: str, code: int | None, ended: str | None) -> tuple[str, str, Any]:
    if ended == "denied":
        return output, gemini.SHELL, {"denied": "cancelled"}
    if ended == "error":
        return output, gemini.SHELL, {"is_error": True}
    text = f"Output: {output}\n"
    if ended == "timeout":
        text = f"Command was automatically cancelled because it exceeded the timeout\n{output}\n"
    if code:
        text += f"Exit Code: {code}\n"
    content = f"<untrusted_context>\n{text}Process Group PGID: 72\n</untrusted_context>"
    return content, gemini.SHELL, gemini.describe_outcome(gemini.SHELL, content)


def of_opencode(output: str, code: int | None, ended: str | None) -> tuple[str, str, Any]:
    if ended == "hook":
        answer = {"title": "x", "output": output, "metadata": {"exit": code, "truncated": False}}
        return json.dumps(answer), "bash", {}
    outcomes: dict[str | None, dict[str, Any]] = {
        "denied": {"denied": "rejected"},
        "error": {"is_error": True},
        "stopped": {"status": "stopped"},
        "timeout": {},
    }
    return output, "bash", outcomes.get(ended, {"exit_code": code})


# --- the table ------------------------------------------------------------------------------------


def name_case(case: dict[str, Any]) -> str:
    return f"{case['group']}-{case['client']}-{case['command'][:30]}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_a_command_is_graded_as_the_table_says(case: dict[str, Any]):
    grade = grade_command(case["command"], shape(case))

    assert (grade.verdict, grade.by) == (case["verdict"], case["by"]), grade
    assert grade.because


def test_nothing_that_is_unknown_or_failed_is_graded_passed():
    graded = [(case, grade_command(case["command"], shape(case))) for case in CASES]
    too_good = [
        case["command"]
        for case, grade in graded
        if grade.verdict == "passed" and case["verdict"] != "passed"
    ]

    assert too_good == []
    assert len(CASES) >= 160
    assert min(Counter(case["client"] for case in CASES).values()) >= 40


# --- what a client says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["exit_code", "exitCode", "returncode", "return_code", "exit_status"]
)
def test_an_exit_code_is_found_by_the_name_that_a_client_gives_it(key: str):
    passed = Grade("passed", "exit", "exit 0", 0)

    assert grade_command("make", event(json.dumps({key: 0}))) == passed
    assert grade_command("make", event(parts={key: 3})) == Grade("failed", "exit", "exit 3", 3)


@pytest.mark.parametrize("key", ["result", "output", "response", "metadata"])
def test_an_exit_code_is_found_inside_of_a_result(key: str):
    inside = event(parts={key: {"code": 1}})

    assert grade_command("make", inside) == Grade("failed", "exit", "exit 1", 1)


@pytest.mark.parametrize("content", ['{"code": 0}', '{"exit_code": 0, "id": 7}', "Exit code: 0"])
def test_a_code_of_zero_that_a_program_may_have_printed_is_not_a_pass(content: str):
    assert grade_command("make", event(content)).verdict == "unknown"


@pytest.mark.parametrize("key", ["is_error", "isError", "error", "failed"])
def test_a_command_without_an_exit_code_has_failed_where_the_client_reports_an_error(key: str):
    reported = Grade("failed", "reported", "the client reported an error")

    assert grade_command("make", event(parts={key: "no such file"})) == reported


@pytest.mark.parametrize("empty", [None, False, "", 0, [], {}])
def test_an_empty_error_is_not_a_failure(empty: Any):
    unknown = Grade("unknown", "unknown", "no exit code is in the log")

    assert grade_command("make", event(parts={"error": empty})) == unknown


@pytest.mark.parametrize(
    ("lines_before", "expected"), [(0, "failed"), (3, "failed"), (4, "unknown")]
)
def test_an_exit_code_in_text_is_on_one_of_the_first_or_last_four_lines(
    lines_before: int, expected: str
):
    lines = ["line"] * lines_before + ["exit code: 1"] + ["line"] * 10

    assert grade_command("make", event("\n".join(lines))).verdict == expected
    assert grade_command("make", event("\n".join(reversed(lines)))).verdict == expected


def test_a_command_that_was_started_in_the_background_has_not_ended():
    given = {"command": "pytest", "run_in_background": True}
    started = event("", {"tool": "Bash", "input": given, "exit_code": 0})

    assert grade_command("pytest", started).verdict == "unknown"


@pytest.mark.parametrize(
    ("command", "output", "because"),
    [
        ("pytest | tail", "", "exit 0, but not of every program in the line"),
        ("pytest 'x", "", "exit 0, but the line is not understood"),
        ("npm run dev", "", "exit 0, but it runs until it is stopped"),
        ("make -n", "", "exit 0, but it was asked to prove nothing"),
        ("X=1", "", "exit 0, but no program is named"),
        ("pytest", "no tests ran in 0.1s", "exit 0, but nothing was tried: no tests ran in 0.1s"),
        ("pytest", "1 failed in 0.1s", "its output says: 1 failed in 0.1s"),
        ("pytest; echo rc $?", "rc 3", "its output says: exit 3 is printed"),
        ("pytest || pytest", "1 failed\n1 passed", "exit 0, but one attempt reported failures"),
    ],
)
def test_a_grade_says_why_it_is_not_better(command: str, output: str, because: str):
    assert grade_command(command, event(output, {"exit_code": 0})).because == because


@pytest.mark.parametrize(
    ("command", "code", "because"),
    [
        ("! pytest", 1, "exit 1, which `!` has turned round"),
        ("grep -q a b", 1, "exit 1, which may be an answer, not a failure"),
        ("npm start", 143, "exit 143, by which it was stopped"),
        ("pytest -k x", 5, "exit 5, with which pytest says that it found no tests"),
    ],
)
def test_a_grade_says_why_a_code_is_not_a_failure(command: str, code: int, because: str):
    grade = grade_command(command, event("", {"exit_code": code}))

    assert grade == Grade("unknown", "unknown", because, code)


def test_a_line_that_is_not_understood_has_failed_where_its_code_says_so():
    not_understood = grade_command("pytest 'x", event("", {"exit_code": 2}))
    hidden = grade_command("pytest | tail", event("1 failed in 0.1s", {"exit_code": 1}))
    own = grade_command("pytest", event("1 failed in 0.1s", {"exit_code": 1}))

    assert not_understood == Grade("failed", "exit", "exit 2", 2)
    assert hidden == Grade("failed", "reported", "exit 1", 1)
    assert own == Grade("failed", "exit", "exit 1", 1)


# --- what holds for any command -------------------------------------------------------------------

PASSED = sorted({case["command"] for case in CASES if case["verdict"] == "passed"})
ENDS = [" | cat", " || true", "; true", " &"]
PIECES = [
    *(
        "pytest",
        "npm test",
        "ls",
        "echo hi",
        "cd x",
        "make",
        "grep a b",
        "X=1 make",
        "(ls)",
        "true",
    ),
    *("timeout 9 pytest", "bash -c 'pytest'", "{ ls; }", "! ls", "[ -f x ]", "false", "exit 1"),
]
JOINS = [" && ", " || ", "; ", " | ", "\n", " & "]
LINES = st.builds(
    lambda first, rest: first + "".join(join + piece for join, piece in rest),
    st.sampled_from(PIECES),
    st.lists(st.tuples(st.sampled_from(JOINS), st.sampled_from(PIECES)), max_size=4),
)
SHELL_TEXT = st.text(st.sampled_from("ab \n;|&()<>{}$`'\"\\!=#-éif"), max_size=40)


def grade_zero(command: str, output: str = "") -> str:
    return grade_command(command, event(output, {"exit_code": 0})).verdict


@given(st.one_of(st.sampled_from(PASSED), LINES, SHELL_TEXT), st.sampled_from(ENDS))
def test_no_command_has_passed_once_its_end_hides_it(command: str, end: str):
    """With `set -e` the end of a line is the end of its last command only, and with `pipefail` a
    pipe hides nothing.
    """
    assume(not any(sign in command for sign in ("#", "set -e", "errexit", "pipefail")))
    assume({*command.split()} - {"true", ":"})  # which pass, whatever follows

    verdicts = [grade_zero(command.rstrip()), grade_zero(command.rstrip() + end)]
    assert verdicts != ["passed", "passed"]


@given(st.one_of(st.sampled_from(PASSED), LINES, SHELL_TEXT), st.sampled_from(ENDS))
def test_no_group_of_commands_has_passed_once_its_end_hides_it(command: str, end: str):
    assume(command.strip() != "true")  # it cannot fail, so nothing hides that
    verdicts = [grade_zero(command), grade_zero(f"(\n{command}\n){end}")]
    assert verdicts != ["passed", "passed"]


@given(st.one_of(st.text(), SHELL_TEXT), st.text(), st.sampled_from([None, 0, 1, -1, 255, 10**9]))
def test_no_text_is_too_odd_to_be_graded(command: str, output: str, code: int | None):
    grade = grade_command(command, event(output, {"exit_code": code}))

    assert grade.because
    assert (grade.verdict == "unknown") == (grade.by == "unknown")
    assert describe_command(command, output).kind in ("check", "commit", "other")
    assert describe_command(command).program is not None


@given(st.one_of(LINES, SHELL_TEXT), st.text())
def test_output_never_makes_a_pass(command: str, output: str):
    assert grade_command(command, event(output)).verdict != "passed"
    assert grade_zero(command, output) != "passed" or grade_zero(command) == "passed"


@pytest.mark.parametrize(
    "command",
    [
        "(" * 100_000,
        "$(" * 100_000,
        "`" * 100_001,
        '"' * 100_001,
        "${" * 100_000,
        "a && " * 40_000 + "a",
        "a;" * 100_000,
        "a;" * 1_100,
        "a|" * 50_000 + "b",
        "if a; then " * 10_000,
        "cat <<E\n" + "x\n" * 90_000,
        "a" * 300_000,
        "$((" * 60_000,
        "bash -c " * 20_000,
        "timeout 1 " * 20_000 + "pytest",
        "x=(" * 60_000,
        "\\\n" * 90_000,
    ],
    ids=lambda command: f"{command[:8]}-{len(command)}",
)
def test_a_hostile_line_is_graded_at_once_and_not_too_well(command: str):
    """Bounded by the limit of a test, which a quadratic rule would break."""
    assert grade_zero(command) in ("unknown", "passed")


def test_of_a_huge_output_only_its_ends_are_looked_at():
    middle = "x\n" * 5_000_000
    hidden = f"{middle}1 failed in 0.1s\n{middle}"

    assert grade_zero("pytest", hidden) == "passed"
    assert grade_zero("pytest", f"{middle}1 failed in 0.1s\n") == "failed"
    assert grade_zero("pytest", "1 failed, " * 1_000_000) == "failed"
    assert grade_zero("pytest", "\x1b[" * 1_000_000) == "passed"


# --- what it is for -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        *((command, "check") for command in ("pytest", "npm test", "npm run build", "make")),
        *(
            (command, "check")
            for command in ("cargo clippy", "go vet ./...", "tsc -p .", "./ci.sh")
        ),
        *((command, "check") for command in ("cd a && mypy src", "node --test", "bash -n run.sh")),
        *((command, "check") for command in ("just lint", "pixi run test", "docker run i pytest")),
        *((command, "check") for command in ("pytest | tail", "scripts/run_tests.py", "php -l a")),
        *((command, "other") for command in ("ls", "npm install", "make clean", "cargo run")),
        *((command, "other") for command in ("pytest --version", "echo pytest", "", "a 'b")),
        *((command, "other") for command in ("git commit --dry-run", "git log", "node a.js")),
        *((command, "commit") for command in ("git commit -m x", "git -C a add . && git commit")),
    ],
)
def test_a_command_is_of_one_kind(command: str, kind: str):
    assert describe_command(command).kind == kind


@pytest.mark.parametrize(
    ("output", "commit_id", "subject"),
    [
        ("[main abc1234] Add x\n 1 file changed\n", "abc1234", "Add x"),
        ("[main (root-commit) 0123abc] Begin\n", "0123abc", "Begin"),
        ("hook: ok\n[fix/a-b 89abcdef0] Say why: [x]\n", "89abcdef0", "Say why: [x]"),
        ("[detached HEAD abc1234] Try\n", "abc1234", "Try"),
        ("\x1b[32m[main abc1234]\x1b[0m Add x", "abc1234", "Add x"),
        ("", "", ""),
        ("[INFO] abc1234 no commit\n", "", ""),
    ],
)
def test_a_commit_is_known_by_what_git_prints(output: str, commit_id: str, subject: str):
    found = describe_command("git add -A && git commit -m x", output)

    assert found == CommandUse("commit", "git commit", commit_id=commit_id, subject=subject)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest -q", "pytest"),
        ("cd app && CI=1 timeout 60 uv run --extra dev python -m pytest -x | tail", "pytest"),
        (".venv/bin/python3.12 -W error -m pytest", "pytest"),
        ("node_modules/.bin/jest --ci", "jest"),
        ("npm run test -- --ci", "npm test"),
        ("npm t", "npm test"),
        ("npm --prefix web run build", "npm build"),
        ("npm run-script lint", "npm lint"),
        ("cargo +nightly test --release", "cargo test"),
        ("make -C build -j 8 check V=1", "make check"),
        ("./gradlew test --info", "gradle test"),
        ("docker compose -f a.yml up -d", "docker compose up"),
        ("docker compose exec -T web pytest", "pytest"),
        ("git -C /x commit -m y", "git commit"),
        ("hatch run test", "hatch run test"),
        ("bash -lc 'cd x && go test ./...'", "go test"),
        ("python manage.py test app", "manage.py test"),
        ("python tool.py", "tool.py"),
        ("python -c 'print(1)'", "python"),
        ("sudo -u ci env A=b nice -n 5 make", "make"),
        ("C:\\\\Python\\\\python.exe -m pytest", "pytest"),
        ("find . -exec ruff check {} +", "ruff check"),
        ("command -v uv", "command"),
        ("ls 'x", ""),
        ("", ""),
    ],
)
def test_the_same_program_has_the_same_name(command: str, name: str):
    assert describe_command(command).program == name


def test_what_a_client_writes_around_an_output_says_nothing_about_it():
    framed = (
        "<untrusted_context>\nOutput: one\nassert 9 == 8\nExit Code: 1\n"
        "Process Group PGID: 92\n</untrusted_context>"
    )

    assert reports.list_telling(reports.clean_output(framed), 6) == ["one", "assert 9 == 8"]
