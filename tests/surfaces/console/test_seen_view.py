"""What code has seen, as the card has it: chosen, ordered, and never better than it was."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.ground.confined import ConfinedRoot
from holdfast.observations.digest import Digest, fold
from holdfast.sessions.model import Session, SessionEvent
from holdfast.surfaces.console.seen_view import SeenView, ShownRun, make_seen_view
from tests.surfaces.console.story import (
    EventFields,
    make_edit,
    make_request,
    make_result,
    make_run,
    make_todos,
)

AT = datetime(2026, 11, 16, 9, tzinfo=UTC)


def look(*events: EventFields, worktree: str | None = None, root: str = "/r") -> SeenView:
    logged = [
        SessionEvent(
            id=f"e{number}",
            session_id="s1",
            sequence=number,
            created_at=AT + timedelta(minutes=number),
            **{"parts": None, **event},
        )
        for number, event in enumerate(events, 1)
    ]
    digest = fold(Digest(), logged, lambda event: True)
    session = Session("s1", "u1", "c", None, None, None, AT, None, {}, worktree=worktree)
    return make_seen_view(session, digest, [ConfinedRoot(root)])


def mark(runs: tuple[ShownRun, ...]) -> list[tuple[str, str, int]]:
    return [(each.run.verdict, each.run.command, each.run.source.sequence) for each in runs]


def test_nothing_is_shown_of_a_session_in_which_nothing_was_seen():
    assert look(make_request("hello"), make_run("ls", "a.py")).is_empty
    assert look().is_empty


def test_a_failing_check_is_shown_with_the_lines_that_say_why():
    why = "FAILED tests/a.py::test_gives_up - assert 9 == 8"
    seen = look(
        make_run("pytest -q tests/a.py", f"{why}\n1 failed in 0.2s", 1),
        make_run("ruff check src", "All checks passed!"),
    )

    [failing] = seen.failing
    assert failing.why == (why,)
    assert mark(seen.failing) == [("failed", "pytest -q tests/a.py", 1)]
    assert mark(seen.others) == [("passed", "ruff check src", 2)]


def test_a_check_that_passed_later_is_not_failing_any_more():
    seen = look(make_run("pytest -q", "1 failed", 1), make_run("pytest -q", "1 passed"))

    assert seen.failing == ()
    assert mark(seen.others) == [("passed", "pytest -q", 2)]


@pytest.mark.parametrize(
    "hidden", ["pytest -q | tail -3", "pytest -q || true", "pytest -q; echo ok"]
)
def test_a_check_of_unknown_end_is_never_shown_as_passed(hidden: str):
    seen = look(make_run(hidden, "12 passed"))

    assert mark(seen.others) == [("unknown", hidden, 1)]
    assert seen.others[0].changed is None


def test_the_last_pass_says_which_edited_files_changed_since(tmp_path: Path):
    """As they are now on the disk: what was restored to an earlier time has not changed."""
    names = ["a.py", "b.py", "gone.py"]
    for name in names[:2]:
        (tmp_path / name).write_text(name)
    events = [make_edit(str(tmp_path / name)) for name in names]
    os.utime(tmp_path / "a.py", (AT.timestamp(), AT.timestamp()))

    seen = look(
        *events, make_run("pytest -q", "1 passed"), worktree=str(tmp_path), root=str(tmp_path)
    )

    assert seen.others[0].changed == ("gone.py", "b.py")


def test_where_the_checkout_is_not_shown_the_log_says_what_was_edited_since(tmp_path: Path):
    """Not whether its files exist."""
    (tmp_path / "a.py").write_text("a")
    before, after = make_edit(f"{tmp_path}/a.py"), make_edit(f"{tmp_path}/b.py")
    passed = make_run("pytest -q", "1 passed")

    later = look(before, passed, after, worktree=str(tmp_path))
    never = look(before, passed, worktree=str(tmp_path))

    assert later.others[0].changed == ("b.py",)
    assert never.others[0].changed is None
    assert {file.item.note for file in later.files} == {"outside the folders shown here"}


def test_words_of_the_user_are_quoted_newest_first_with_what_they_answer():
    answers = json.dumps({"answers": {"Which port?": "8080"}})
    seen = look(
        make_request("No Redis: ops will not run another one."),
        make_result("AskUserQuestion", {}, answers),
        make_request("8 attempts over 24 hours"),
    )

    quotes = [(each.about, each.text, each.part, each.source.sequence) for each in seen.said]
    assert quotes == [
        ("", "8 attempts over 24 hours", "turn", 3),
        ("asked: Which port?", "8080", "step", 2),
        ("", "No Redis: ops will not run another one.", "turn", 1),
    ]


def test_open_todos_come_in_order_with_the_one_in_work_first():
    seen = look(make_todos(one="completed", two="pending", three="in_progress", four="blocked"))

    assert [task.text for task in seen.tasks] == ["three", "two", "four"]
    assert (seen.tasks_done, seen.more_tasks, seen.has_tasks) == (1, 0, True)
    done = look(make_todos(one="completed"))
    assert (done.tasks, done.tasks_done, done.is_empty) == ((), 1, False)


def test_edited_files_and_commits_come_newest_first():
    seen = look(
        make_edit("/r/a.py"),
        make_run("git commit -m one", "[main 1111111] one"),
        make_edit("/r/b.py"),
        make_run("git commit -m two", "[main 2222222] two"),
        worktree="/r",
    )

    assert [file.item.text for file in seen.files] == ["b.py", "a.py"]
    assert [made.commit.subject for made in seen.commits] == ["two", "one"]
    assert [made.source.sequence for made in seen.commits] == [4, 2]
