"""What a session has shown, folded: the same however often and in which pieces it is looked at."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.frozen import replace
from holdfast.observations.digest import (
    MOST_FILES,
    MOST_RUNS,
    MOST_SAID,
    Digest,
    fold,
    from_dict,
    merge,
    to_dict,
)
from holdfast.sessions.model import SessionEvent

START = datetime(2026, 11, 16, 9, tzinfo=UTC)


def event(sequence: int, kind: str, content: str = "", parts: Any = None) -> SessionEvent:
    at = START + timedelta(seconds=sequence)
    return SessionEvent(f"e{sequence}", "s", sequence, kind, "tool", content, parts, at)


def run(sequence: int, command: str, code: int | None, output: str = "") -> SessionEvent:
    parts = {"tool": "Bash", "input": {"command": command}, "exit_code": code}
    return event(sequence, "tool_result", output, parts)


def edit(sequence: int, path: str, **outcome: Any) -> SessionEvent:
    return event(sequence, "tool_result", "", {"tool": "Edit", "input": {"path": path}, **outcome})


def asked(sequence: int, text: str, **parts: Any) -> SessionEvent:
    return event(sequence, "user_message", text, parts or None)


def moved(sequence: int, head: str, branch: str, was_on: str) -> SessionEvent:
    before = {"id": "0" * 40, "branch": was_on}
    return event(
        sequence, "system_event", "", {"head": {"id": head, "branch": branch, "before": before}}
    )


def is_request(each: Any) -> bool:
    return not (each.parts or {}).get("origin")


def look(*events: SessionEvent, since: Digest | None = None) -> Digest:
    return fold(since or Digest(), events, is_request)


# --- runs -----------------------------------------------------------------------------------------


def test_the_newest_run_of_each_command_counts():
    seen = look(run(1, "pytest -q", 1, "1 failed in 1s"), run(2, "ls", 0), run(3, "pytest -q", 0))

    [checked] = [each for each in seen.runs if each.is_check]
    assert (checked.verdict, checked.count, checked.passed) == ("passed", 2, 1)
    assert checked.source.event_id == "e3"
    assert seen.list_failing() == []


@pytest.mark.parametrize(
    ("failed", "passed", "is_cured"),
    [
        ("pytest tests/a.py", "pytest tests/a.py", True),
        ("pytest tests/a.py", "pytest -q", True),
        ("pytest tests/a.py", "python -m pytest -q --tb=short", True),
        (".venv/bin/pytest -q tests/a.py", "pytest -q", True),
        ("pytest tests/a.py", ".venv/bin/python -m pytest", True),
        ("uv run pytest tests/a.py", "poetry run python3 -m pytest", True),
        ("mypy src", "uv run mypy src", True),
        (".tox/py311/bin/pytest", ".tox/py313/bin/pytest", False),
        ("/srv/other/.venv/bin/pytest", "pytest", False),
        ("uv run --python 3.11 pytest", "uv run pytest", False),
        (".venv/bin/python3.11 -m pytest", ".venv/bin/python -m pytest", False),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("pytest tests/a.py", "pytest -k easy", False),
        ("pytest", "pytest --deselect tests/a.py::test_hard", False),
        ("pytest", "pytest --ignore=tests/a.py", False),
        ("cd api && pytest", "cd web && pytest", False),
        ("cd api && pytest -q", "cd api && pytest", True),
        ("make test", "make lint", False),
        ("pytest", "ruff check .", False),
        ("go test ./...", "go test", False),
        ("go test -race ./...", "go test ./...", False),
        ("make -C backend test", "make test", False),
        ("npm --prefix web test", "npm test", False),
        ("cargo clippy -- -D warnings", "cargo clippy", False),
        ("mypy --strict src", "mypy src", False),
        ("DATABASE_URL=x pytest -q", "pytest -q", False),
        ("docker compose run api pytest", "docker compose run web pytest", False),
        ("python3.11 -m pytest", "python3.13 -m pytest", False),
    ],
)
def test_only_a_pass_that_leaves_nothing_out_cures_a_failure(failed, passed, is_cured):
    seen = look(run(1, failed, 1, "FAILED tests/a.py::test_hard"), run(2, passed, 0))

    assert [each.command for each in seen.list_failing()] == ([] if is_cured else [failed])


def test_a_pass_that_was_seen_counts_after_the_same_check_has_failed_for_something_else():
    part = run(1, "pytest -q tests/a.py", 1, "FAILED tests/a.py::test_hard")
    whole = [run(2, "pytest -q", 0), run(3, "pytest -q", 1, "FAILED tests/b.py::test_new")]

    seen = look(part, *whole)
    assert [each.command for each in seen.list_failing()] == ["pytest -q"]
    assert from_dict(json.loads(json.dumps(to_dict(seen)))) == seen
    in_sessions = merge([look(part), look(*whole)])
    assert [each.command for each in in_sessions.list_failing()] == ["pytest -q"]
    before = look(run(1, "pytest -q", 0), run(2, "pytest -q a.py", 1), run(3, "pytest -q", 1))
    assert len(before.list_failing()) == 2
    unread = event(3, "system_event", "", {"left_out": {"line": 1}})
    doubtful = look(part, run(2, "pytest -q", 0), unread, run(4, "pytest -q", 1))
    assert len(doubtful.list_failing()) == 2


def test_an_older_pass_and_an_unknown_end_cure_nothing():
    seen = look(run(1, "pytest", 0), run(2, "pytest -q", 1), run(3, "pytest | tail", 0))

    assert [each.command for each in seen.list_failing()] == ["pytest -q"]
    assert [each.command for each in seen.list_working()] == ["pytest"]
    assert seen.runs[-1].verdict == "unknown"


def test_a_line_that_only_shortens_its_output_is_cured_without_that():
    failed = run(1, "pytest -q a.py 2>&1 | tail -5", 0, "FAILED a.py::test_b - assert 1 == 2")

    assert look(failed, run(2, "pytest -q a.py", 0)).list_failing() == []
    assert look(failed, run(2, "pytest -q b.py", 0)).list_failing()


def test_what_could_not_even_be_started_is_no_failing_check_once_another_passed():
    unknown = run(1, "make test", 2, "make: *** No rule to make target 'test'.  Stop.")

    assert look(unknown).list_failing()
    assert look(unknown, run(2, "python -m unittest", 0, "Ran 3 tests")).list_failing() == []


def test_of_two_runs_the_later_one_counts_whichever_was_stored_first():
    def at(second: int, seen: SessionEvent) -> SessionEvent:
        return replace(seen, created_at=START + timedelta(seconds=second))

    failed_last = look(at(9, run(1, "pytest", 1)), at(5, run(2, "pytest", 0)))
    passed_last = look(at(9, run(1, "pytest", 0)), at(5, run(2, "pytest", 1)))

    assert [each.verdict for each in failed_last.runs] == ["failed"]
    assert [each.verdict for each in passed_last.runs] == ["passed"]


def test_after_something_that_cannot_be_read_nothing_is_known_to_pass():
    unread = event(2, "system_event", "", {"left_out": 1})
    seen = look(run(1, "pytest", 0, "3 passed"), unread)

    assert seen.list_working() == []
    assert seen.find_unclear() == seen.runs[0]
    assert look(run(1, "pytest", 1), unread).list_failing()
    assert look(run(1, "pytest", 0), unread, run(3, "pytest", 0)).list_working()


def test_what_failed_is_shown_with_its_message():
    pytest_says = (
        "E       AssertionError: assert 1238 == 1170\nFAILED a.py::test_b -…\n1 failed in 1s"
    )
    unittest_says = "FAIL: test_b (t.T)\nTraceback:\nAssertionError: 2 != 1\nFAILED (failures=1)"

    [first] = look(run(1, "pytest", 1, pytest_says)).list_failing()
    [second] = look(run(1, "python -m unittest", 1, unittest_says)).list_failing()

    assert first.output[0] == "E       AssertionError: assert 1238 == 1170"
    assert second.output[:2] == ("FAIL: test_b (t.T)", "AssertionError: 2 != 1")


def test_what_failed_is_shown_by_the_lines_that_name_it():
    output = "\n".join(["collecting", "FAILED tests/a.py::test_b - assert 9 == 8", "x", "1 failed"])
    [failing] = look(run(1, "pytest -q", 1, output)).list_failing()

    assert failing.output == ("FAILED tests/a.py::test_b - assert 9 == 8", "1 failed")
    assert look(run(1, "pytest", 0, output="3 passed")).runs[0].output == ()


def test_a_command_without_a_report_is_shown_by_its_last_lines():
    [failing] = look(run(1, "make test", 2, "a\n---\nno rule to make target\n")).list_failing()

    assert failing.output == ("a", "no rule to make target")


def test_a_way_to_run_it_that_worked_names_the_one_that_did_not_even_start():
    seen = look(run(1, "pytest -q", 127), run(2, ".venv/bin/pytest -q", 0))
    tried = look(run(1, "pytest -q a.py", 1), run(2, "pytest -q b.py", 0))

    assert seen.list_working()[0].instead_of == "pytest -q"
    assert tried.list_working()[0].instead_of == ""


def test_the_same_command_elsewhere_is_another_one():
    folders = look(
        run(1, "cd backend", 0),
        run(2, "npm test", 1),
        run(3, "cd ../web", 0),
        run(4, "npm test", 0),
    )
    start = "x" * 300
    long = look(run(1, f"{start} && pytest a.py", 1), run(2, f"{start} && pytest b.py", 0))

    assert [each.command for each in folders.list_failing()] == ["npm test"]
    assert len(long.runs) == 2


def test_a_pass_on_another_branch_leaves_the_failure_of_this_one():
    before = look(asked(1, "go"), run(2, "pytest -q", 1), since=Digest(branch="main"))
    seen = look(
        asked(3, "try"), run(4, "pytest -q", 0), moved(5, "f" * 40, "exp", "main"), since=before
    )

    assert [(each.source.branch, each.verdict) for each in seen.runs] == [
        ("main", "failed"),
        ("exp", "passed"),
    ]


def test_what_was_denied_or_has_no_known_end_hides_no_failure():
    denied = {"tool": "Bash", "input": {"command": "pytest -q"}, "denied": "user-rejected"}
    seen = look(
        run(1, "pytest -q", 1, "1 failed"),
        event(2, "tool_result", "", denied),
        run(3, "pytest -q", None),
    )

    [failing] = seen.list_failing()
    assert (failing.count, failing.output) == (2, ("1 failed",))


def test_a_failure_outlives_many_passes():
    passes = [run(number, f"pytest test_{number}.py", 0) for number in range(2, 2 * MOST_RUNS)]
    seen = look(run(1, "pytest -q", 1), *passes)

    assert [each.command for each in seen.list_failing()] == ["pytest -q"]


def test_a_turn_that_was_taken_back_shows_nothing():
    todos = {"tool": "TodoWrite", "input": {"todos": [{"content": "x", "status": "pending"}]}}
    events = [
        asked(1, "Use at most 5 retries."),
        asked(2, "Change it to 8 retries."),
        event(3, "tool_result", "", todos),
        edit(4, "a.py"),
        asked(5, "Go on."),
        edit(6, "b.py"),
    ]
    seen = fold(Digest(), events, is_request, ["e2"])

    assert [each.saying.text for each in seen.said] == ["Use at most 5 retries."]
    assert [file.path for file in seen.files] == ["b.py"]
    assert seen.tasks.open == ()


def test_checks_outlive_other_commands():
    others = [run(number, f"ls {number}", 0) for number in range(2, 2 * MOST_RUNS)]
    seen = look(run(1, "pytest", 1), *others)

    assert len(seen.runs) == MOST_RUNS
    assert seen.runs[0].command == "pytest"


def test_what_a_subagent_runs_is_not_the_agents_own_run():
    parts = {"tool": "Bash", "input": {"command": "pytest"}, "exit_code": 0, "agent_id": "a1"}
    seen = look(event(1, "tool_result", "", parts))

    assert seen.runs == ()


# --- files, words, todos --------------------------------------------------------------------------


def test_the_file_that_was_edited_last_comes_last_and_each_is_there_once():
    seen = look(edit(1, "a.py"), edit(2, "b.py"), edit(3, "a.py"), edit(4, "c.py", is_error=True))

    assert [file.path for file in seen.files] == ["b.py", "a.py"]


def test_of_each_kind_only_so_many_are_kept():
    files = [edit(number, f"{number}.py") for number in range(1, 2 * MOST_FILES)]
    said = [asked(number + 200, f"Never use version {number} of it.") for number in range(100)]
    seen = look(*files, *said)

    assert len(seen.files) == MOST_FILES
    assert len(seen.said) <= MOST_SAID


def test_what_the_user_said_is_quoted_and_a_later_number_takes_the_place_of_an_earlier():
    seen = look(
        asked(1, "Give up after 8 attempts. The page is nice."),
        asked(2, "Do not add Redis.", origin="notice"),
        asked(3, "No, give up after 5 attempts."),
    )

    assert [each.saying.text for each in seen.said] == ["No, give up after 5 attempts."]
    assert seen.said[0].source.event_id == "e3"


def test_todos_name_the_event_that_changed_them():
    todos = [{"content": "a", "status": "pending"}]
    parts = {"tool": "TodoWrite", "input": {"todos": todos}}
    seen = look(event(1, "tool_result", "", parts), edit(2, "a.py"))

    assert [task.text for task in seen.tasks.open] == ["a"]
    assert seen.tasks_source is not None
    assert seen.tasks_source.event_id == "e1"


def test_an_answer_of_the_person_is_a_decision():
    parts = {"tool": "AskUserQuestion", "input": {"questions": []}}
    said = 'User has answered your questions: "Table or queue?"="Table".'
    [decided] = look(event(1, "tool_result", said, parts)).decided

    assert (decided.decision.about, decided.decision.answer) == ("Table or queue?", "Table")


# --- commits and branches -------------------------------------------------------------------------


def test_a_commit_is_seen_once_by_what_git_printed_and_by_head():
    whole = "1a2b3c4" + "0" * 33
    seen = look(
        run(1, "git commit -m x", 0, "[main 1a2b3c4] Retry later"),
        moved(2, whole, "main", was_on="main"),
        moved(3, "f" * 40, "main", was_on="main"),
    )

    assert [(each.commit.id, each.commit.subject) for each in seen.commits] == [
        ("1a2b3c4", "Retry later"),
        ("f" * 40, ""),
    ]


def test_a_turn_belongs_to_the_branch_that_it_ended_on():
    before = look(asked(1, "No Redis."), since=Digest(branch="main"))
    seen = look(
        asked(2, "Work on a branch. Use 8 workers."),
        edit(3, "a.py"),
        moved(4, "f" * 40, "feat", was_on="main"),
        edit(5, "b.py"),
        since=before,
    )

    assert [each.source.branch for each in seen.said] == ["main", "feat"]
    assert [each.source.branch for each in seen.files] == ["feat", "feat"]
    assert seen.commits == ()


def test_todos_belong_to_the_branch_that_their_turn_ended_on():
    todos = {"tool": "TodoWrite", "input": {"todos": [{"content": "x", "status": "pending"}]}}
    seen = look(
        asked(1, "go"),
        event(2, "tool_result", "", todos),
        moved(3, "f" * 40, "feat", was_on="main"),
        since=Digest(branch="main"),
    )

    assert seen.tasks_source is not None
    assert seen.tasks_source.branch == "feat"


# --- several sessions -----------------------------------------------------------------------------


def test_sessions_are_merged_in_the_order_in_which_things_happened():
    first = look(run(1, "pytest", 1), edit(2, "a.py"), asked(3, "Use 8 workers."))
    second = look(run(10, "pytest", 0), edit(11, "b.py"), edit(12, "a.py"))
    merged = merge([second, first])

    assert merged.list_failing() == []
    assert merged.list_working()[0].count == 2
    assert [file.path for file in merged.files] == ["b.py", "a.py"]
    assert len(merged.said) == 1


def test_the_newest_todos_of_several_sessions_count():
    def write(sequence: int, text: str) -> Digest:
        todos = [{"content": text, "status": "pending"}]
        parts = {"tool": "TodoWrite", "input": {"todos": todos}}
        return look(event(sequence, "tool_result", "", parts))

    merged = merge([write(1, "old"), write(9, "new"), look(edit(10, "a.py"))])

    assert [task.text for task in merged.tasks.open] == ["new"]


# --- as it is stored ------------------------------------------------------------------------------

EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["pytest", "pytest -q", "ls", "git commit -m x", "npm test | tail"]).map(
            lambda command: ("run", command)
        ),
        st.sampled_from(["a.py", "b.py"]).map(lambda path: ("edit", path)),
        st.sampled_from(["No Redis.", "Use 8 workers.", "Use 9 workers.", "Hello"]).map(
            lambda text: ("asked", text)
        ),
        st.sampled_from(["main", "feat"]).map(lambda branch: ("moved", branch)),
    ),
    max_size=30,
)


def make_events(made: list[tuple[str, str]]) -> list[SessionEvent]:
    events = []
    for sequence, (kind, value) in enumerate(made, start=1):
        if kind == "run":
            events.append(run(sequence, value, sequence % 2, "1 failed" if sequence % 2 else ""))
        elif kind == "edit":
            events.append(edit(sequence, value))
        elif kind == "asked":
            events.append(asked(sequence, value))
        else:
            events.append(moved(sequence, f"{sequence:040}", value, was_on="main"))
    return events


@given(EVENTS, st.integers(0, 30))
def test_a_digest_does_not_depend_on_the_pieces_in_which_the_log_was_read(made, split):
    events = make_events(made)
    at_once = look(*events)
    kept = from_dict(json.loads(json.dumps(to_dict(look(*events[:split])))))
    in_pieces = look(*events[split:], since=kept)

    assert in_pieces == at_once
    assert look(*events, since=at_once) == at_once


@pytest.mark.parametrize("stored", [{}, {"rules": 0}, {"rules": "1", "sequence": 9}])
def test_what_was_emptied_or_made_by_other_rules_is_made_again(stored):
    assert from_dict(stored) == Digest()
