"""What code has seen by itself, in the document: graded, dated, branch-true, looked at again."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.bundles.model import LOST
from holdfast.bundles.seen import choose_seen
from holdfast.bundles.service import BundleService
from holdfast.ground.frozen import replace
from holdfast.observations.changes import KnownFile
from holdfast.observations.digest import Digest, fold
from holdfast.sessions.model import SessionEvent
from holdfast.storage.journal import Journal
from holdfast.usecases.observing import observe
from tests.bundles.situations import NOW
from tests.bundles.test_service import refuse
from tests.workstreams.repos import Repo, with_code

START = datetime(2026, 11, 16, 9, tzinfo=UTC)
FAILED = "FAILED tests/test_retry.py::test_gives_up - assert 9 == 8"


def make_event(sequence: int, kind: str, content: str = "", **parts: Any) -> SessionEvent:
    at = START + timedelta(seconds=sequence)
    return SessionEvent(f"e{sequence}", "s", sequence, kind, "tool", content, parts or None, at)


def look(*events: SessionEvent, branch: str = "main") -> Digest:
    return fold(Digest(branch=branch), events, lambda event: True)


def name(files: Sequence[KnownFile]) -> list[str]:
    return [file.path for file in files]


def said(sequence: int, text: str) -> SessionEvent:
    return make_event(sequence, "user_message", text)


def edited(sequence: int, path: str) -> SessionEvent:
    return make_event(sequence, "tool_result", tool="Edit", input={"file_path": path})


def ran(sequence: int, command: str, code: int, output: str = "") -> SessionEvent:
    given = {"command": command}
    return make_event(sequence, "tool_result", output, tool="Bash", input=given, exit_code=code)


def todos(sequence: int, *texts: str) -> SessionEvent:
    entries = [{"content": text, "status": "pending"} for text in texts]
    return make_event(sequence, "tool_result", tool="TodoWrite", input={"todos": entries})


def committed(sequence: int, commit: str) -> SessionEvent:
    return ran(sequence, "git commit -m x", 0, f"[feat {commit[:7]}] x")


# --- branches -------------------------------------------------------------------------------------


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "repo")


def test_what_was_learned_on_a_branch_shows_there(repo: Repo):
    digest = look(said(1, "No Redis."), edited(2, "a.py"), todos(3, "next"), branch="feat")

    there = choose_seen([digest], str(repo.folder), "feat")
    elsewhere = choose_seen([digest], str(repo.folder), "main")

    assert (len(there.said), name(there.files), len(there.tasks)) == (1, ["a.py"], 1)
    assert (elsewhere.said, elsewhere.files, elsewhere.tasks) == ((), (), ())


def test_it_shows_elsewhere_once_its_commit_is_in_the_history(repo: Repo):
    repo.git("checkout", "-q", "-b", "feat")
    commit = repo.commit("work")
    before = [said(1, "No Redis."), ran(2, "pytest -q", 1, FAILED)]
    digest = look(*before, committed(3, commit), said(4, "Use 8 workers."), branch="feat")

    repo.git("checkout", "-q", "main")
    apart = choose_seen([digest], str(repo.folder), "main")
    repo.git("merge", "-q", "feat")
    merged = choose_seen([digest], str(repo.folder), "main")

    assert apart.said == ()
    assert [each.saying.text for each in merged.said] == ["No Redis."]
    assert [run.command for run in merged.failing] == ["pytest -q"]


def test_what_is_not_committed_on_a_merged_branch_stays_there(repo: Repo):
    """Also where an earlier commit of that branch was merged."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("first")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-edit", "other")
    later = timedelta(days=9_000)
    events = [said(1, "Use 77 threads, never Kafka."), ran(2, "pytest", 1, FAILED), todos(3, "x")]
    unmerged = look(*(replace(each, created_at=START + later) for each in events), branch="other")
    earlier = look(*events, branch="other")

    apart = choose_seen([unmerged], str(repo.folder), "main")
    merged = choose_seen([earlier], str(repo.folder), "main")

    assert (apart.said, apart.failing, apart.tasks) == ((), (), ())
    assert [run.command for run in merged.failing] == ["pytest"]


def test_a_commit_vouches_for_its_own_branch_only(repo: Repo):
    commit = repo.commit("on main")
    digest = look(said(1, "No Redis."), todos(2, "next"), branch="feat")
    moved = {"id": commit, "branch": "main", "before": {"id": "0" * 40, "branch": "feat"}}
    left = [said(3, "Go."), make_event(4, "system_event", head=moved), said(5, "Commit it.")]
    printed = ran(6, "git commit -m x", 0, f"[main {commit[:7]}] x")
    digest = fold(digest, [*left, printed], lambda event: True)

    seen = choose_seen([digest], str(repo.folder), "main")

    assert (seen.said, seen.tasks) == ((), ())


def test_a_branch_that_begins_at_main_begins_with_what_main_has(repo: Repo):
    digest = look(said(1, "No Redis."), branch="main")
    repo.git("checkout", "-q", "-b", "feat")
    at_the_same = choose_seen([digest], str(repo.folder), "feat")
    repo.commit("work")
    behind = choose_seen([digest], str(repo.folder), "feat")

    assert len(at_the_same.said) == len(behind.said) == 1


def test_a_detached_head_shows_what_is_in_its_history(repo: Repo):
    repo.git("checkout", "-q", "-b", "wip")
    repo.commit("work")
    digest = look(said(1, "No Redis."), branch="wip")
    repo.git("checkout", "-q", "--detach", "main")

    assert choose_seen([digest], str(repo.folder), "").said == ()
    repo.git("checkout", "-q", "--detach", "wip")
    main = look(said(1, "No Redis."), branch="main")
    assert len(choose_seen([main], str(repo.folder), "").said) == 1


@pytest.mark.parametrize("branch", ["", "feat"])
def test_without_a_branch_or_a_repository_nothing_is_left_out(tmp_path: Path, branch: str):
    digest = look(said(1, "No Redis."), branch=branch)

    assert len(choose_seen([digest], str(tmp_path), "").said) == 1
    assert len(choose_seen([digest], None, "main").said) == 1


# --- looked at again ------------------------------------------------------------------------------


def test_a_pass_names_the_files_that_changed_after_it(tmp_path: Path):
    files = [tmp_path / name for name in ("old.py", "new.py")]
    for file in files:
        file.write_text("x")
    os.utime(files[0], (0, 0))
    gone = edited(3, str(tmp_path / "gone.py"))
    digest = look(
        *(edited(n, str(file)) for n, file in enumerate(files, 1)), gone, ran(4, "pytest", 0)
    )

    seen = choose_seen([digest], str(tmp_path), "main")

    assert seen.changed_since == ("gone.py", "new.py")


def test_files_are_named_from_the_checkout_and_others_are_left_out(tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    paths = [tmp_path / "src" / "a.py", "/etc/passwd", "../other.py", "b.py", link / "c.py"]
    digest = look(*(edited(n, str(path)) for n, path in enumerate(paths, start=1)))

    named = ["c.py", "b.py", "src/a.py"]
    assert name(choose_seen([digest], str(tmp_path), "main").files) == named
    assert name(choose_seen([digest], str(link), "main").files) == named
    assert name(choose_seen([digest], None, "main").files) == ["b.py"]


@pytest.mark.parametrize(
    "path", ["src/../../x.py", "~/.ssh/id_rsa", "c:/shadow", ".git/config", "out/x", "."]
)
def test_what_leads_out_of_the_checkout_is_not_named(tmp_path: Path, path: str):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "out").symlink_to("/etc")

    assert choose_seen([look(edited(1, path))], str(checkout), "main").files == ()


def test_a_check_of_unknown_end_is_told_only_where_it_was_the_last():
    unclear = ran(2, "pytest | tail", 0, "3 passed")

    assert choose_seen([look(ran(1, "pytest", 0), unclear)], None, "").unclear is not None
    assert choose_seen([look(unclear, ran(3, "pytest", 0))], None, "").unclear is None


# --- in the document ------------------------------------------------------------------------------


@pytest.fixture
def bundles(sessions) -> BundleService:
    journal = Journal(sessions.db, sessions.owner)
    return BundleService(journal, sessions, load=refuse, now=lambda: NOW, observe=observe)


async def store(sessions, *events: SessionEvent, worktree: str = "/w", **more: Any):
    session = await sessions.create_session("claude", "u1", worktree=worktree, **more)
    for each in events:
        role = "user" if each.type == "user_message" else "tool"
        await sessions.append_event(session.id, each.type, role, each.content, each.parts)
    return session


async def read(bundles, **about: Any) -> str:
    bundle = await bundles.build("implementation", worktree="/w", **about)
    return str(bundle.text)


async def test_the_document_has_what_no_agent_has_noted(bundles, sessions):
    await store(
        sessions,
        said(1, "Give up after 8 attempts. No Redis, ops won't run another one."),
        edited(2, "/w/src/retry.py"),
        ran(3, "pytest -q", 0),
        ran(4, "pytest -q tests/test_retry.py", 1, f"{FAILED}\n1 failed, 3 passed in 0.1s"),
        todos(5, "off by one", "409 is success"),
        said(6, "Count the first delivery as attempt 1."),
    )

    text = await read(bundles)

    failing = "pytest -q tests/test_retry.py → exit 1; changed since: retry.py"
    assert f"{failing}\n  > FAILED tests/test_retry.py" in text
    assert "1 failed, 3 passed" not in text
    assert "NEXT 1. off by one (todos of " in text
    assert "  2. 409 is success\n" in text
    assert '- "Give up after 8 attempts." (' in text
    assert '- "No Redis, ops won\'t run another one." (' in text
    assert '"Count the first' not in text  # the last request is quoted whole
    assert "FILES src/retry.py (missing)" in text
    assert "WORKS HERE pytest -q (1 of 1)" in text
    assert "LAST PASS" in text


async def test_a_todo_that_was_begun_comes_first_and_says_so(bundles, sessions):
    entries = [
        {"content": "409 is success", "status": "pending"},
        {"content": "off by one", "status": "in_progress"},
    ]
    written = make_event(2, "tool_result", tool="TodoWrite", input={"todos": entries})
    await store(sessions, said(1, "go"), written)

    text = await read(bundles)

    assert "NEXT 1. off by one [begun] (todos of " in text
    assert "  2. 409 is success\n" in text


async def test_a_check_that_passed_after_another_failed_was_the_last_run(bundles, sessions):
    failed = ran(2, "pytest -q tests/a.py", 1, f"E   assert 9 == 8\n{FAILED}")
    await store(sessions, said(1, "Run both."), failed, ran(3, "ruff check", 0))

    text = await read(bundles)

    assert re.search(r"^LAST RUN \S+ \S+ ruff check → passed, no edited file", text, re.MULTILINE)
    failing = r"^NOT PASSED SINCE \S+ \S+ pytest -q tests/a\.py → exit 1\n  > E assert 9 == 8$"
    assert re.search(failing, text, re.MULTILINE)
    assert "LAST PASS" not in text


async def test_a_check_that_failed_on_another_day_is_dated(bundles, sessions):
    await store(sessions, ran(1, "make lint", 1), ran(2, "pytest -q", 1, FAILED))
    bundles.gatherer = replace(bundles.gatherer, now=lambda: NOW.replace(year=2200))

    text = await read(bundles)

    assert re.search(r"\nFAILS \d{4}-\d\d-\d\d make lint → exit 1\nLAST RUN ", text)


async def test_an_unknown_end_never_reads_as_passed(bundles, sessions):
    await store(sessions, said(1, "go"), ran(2, "pytest | tail -3", 0, "3 passed in 1s"))

    text = await read(bundles)

    assert "pytest | tail -3 → unknown (exit 0, but not of every program in the line)" in text
    assert "WORKS HERE" not in text
    assert "LAST PASS" not in text


async def test_what_a_report_says_is_no_exit_code(bundles, sessions):
    await store(sessions, said(1, "go"), ran(2, "pytest || true", 0, "1 failed in 1s"))

    assert "pytest || true → failed (its output says so)\n  > 1 failed in 1s" in await read(bundles)


async def test_no_part_of_a_quotation_says_the_opposite_however_little_room_there_is(
    bundles, sessions
):
    never = "Kunden mit offenem Widerspruch dürfen auf keiner Stufe gemahnt werden, nie"
    listed = (
        "Remove the old rows of every customer whom nobody has written to, and of those in Lyon"
    )
    await store(
        sessions,
        said(1, f"{never}. Three levels: 7, 14 and 28 days after the due date."),
        said(
            2,
            f"{listed} whose name begins with a letter between A and M, and their {'x ' * 60}"
            "but never those of March.",
        ),
        said(3, "Now look at the queue of the letters and at what its tests say."),
    )

    for limit in range(450, 1_000, 7):
        text = await read(bundles, limit=limit)
        assert "Widerspruch" not in text or never in text
        assert "Remove the old rows" not in text


async def test_the_later_one_of_two_numbers_of_a_prompt_stands_first(bundles, sessions):
    await store(
        sessions,
        said(1, "Give up after 8 attempts. No, make it 9 at the gateway of the bank."),
        said(2, "Let the first letter go out after ten."),
        said(3, "Now look at the queue of the letters and at what its tests say."),
    )

    quoted = re.findall(r'^- "(.*)" \(', await read(bundles), re.MULTILINE)

    assert [text.split()[0] for text in quoted] == ["Let", "No,", "Give"]


async def test_a_refusal_stands_before_files_are_listed(bundles, sessions):
    refusal = "No, not Redis, ops won't run another service for us."
    numbers = [
        f"Level {n} goes out {n * 7} days after the due date, for the {n}th part."
        for n in range(1, 6)
    ]
    files = [
        edited(number, f"/w/src/a_rather_long_name_of_a_file_{number}.py")
        for number in range(10, 40)
    ]
    await store(
        sessions, said(1, refusal), said(2, " ".join(numbers)), *files, said(50, "go on now")
    )

    text = await read(bundles, limit=900)

    assert refusal in text
    assert "FILES" in text


async def test_requests_whose_sentences_are_all_quoted_are_not_told_again(bundles, sessions):
    await store(sessions, said(1, "No Redis."), said(2, "Look at the queue."), said(3, "go on now"))

    text = await read(bundles)

    assert text.count("No Redis.") == 1
    assert "Look at the queue." in text


async def test_what_was_taken_back_is_not_quoted(bundles, sessions):
    session = await store(sessions, said(1, "No Redis."), said(2, "Go on with it please."))
    [first, _] = await sessions.list_events(session.id)
    await sessions.replace_metadata(session.id, {"rewound": [first.id]})

    assert '"No Redis."' not in await read(bundles)


async def test_a_session_that_lost_its_window_is_told_what_it_has_seen_itself(bundles, sessions):
    own = await store(sessions, said(1, "No Redis."), said(2, "Go on with the queue."))

    text = await read(bundles, session_id=own.id, continues=own.id, window=LOST)

    assert '- "No Redis."' in text


async def test_what_is_done_in_a_session_now_is_not_its_past(bundles, sessions):
    await store(sessions, said(1, "No Redis."))
    own = await store(sessions, said(1, "No Kafka."))

    text = await read(bundles, session_id=own.id)

    assert "No Redis." in text
    assert "No Kafka." not in text
