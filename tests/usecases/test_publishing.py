"""What is drafted of a publication, in real repositories and from real logs."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import git, git_listing
from holdfast.ground.settings import load_settings
from holdfast.sessions.model import Session
from holdfast.team.drafting import NO_TITLE, Given
from holdfast.team.model import Publication
from holdfast.team.publishing_rules import check_publication
from holdfast.usecases.exchange_place import find_place
from holdfast.usecases.publishing import NEW_FILES, Draft, draft_publication
from tests.ground.repositories import Work, clone, make, make_filled
from tests.rig.git_starts import started

__all__ = ["started"]

REMOTE = "https://me:secret@github.com/acme/payouts.git"
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
COMMAND = "pytest -q tests/test_retry.py"
FAILED = "FAILED tests/test_retry.py::test_waits - assert 1 == 2\n1 failed in 0.1s"


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(load_settings({**os.environ, "HOLDFAST_DATABASE": database_url})) as opened:
        yield opened


@pytest.fixture
def work(tmp_path: Path) -> Work:
    filled = make_filled(tmp_path / "payouts")
    filled.git("config", "user.email", "b@example.org")
    return filled


def branch_off(work: Work) -> None:
    work.git("remote", "add", "origin", REMOTE)
    work.git("switch", "--quiet", "--create", "feat/webhook-retry")
    work.write("src/retry.py", "retry = 1\n")
    work.commit("Retry webhooks (PAY-7)")
    work.write("src/schedule.py", "schedule = 1\n")
    work.commit("Add a schedule, #12")


async def draft(app: App, work: Work, given: Given | None = None, **more: Any) -> Draft:
    """One that has a title can be published as it is."""
    made = await draft_publication(app, str(work.root), given=given or Given(), **more)
    if made.publication.title:
        assert check_publication(**made.publication.__dict__) == made.publication
    return made


async def drafted(app: App, work: Work, **more: Any) -> Publication:
    return (await draft(app, work, **more)).publication


async def start(app: App, work: Work, branch: str = "feat/webhook-retry") -> Session:
    return await app.scope.sessions.create_session(
        "coder", "u1", client="claude", worktree=str(work.root), git_branch=branch
    )


async def call(app: App, session: Session, tool: str, given: object, **more: Any) -> None:
    content = more.pop("content", "ok")
    parts = {"tool": tool, "input": given, **more}
    await app.scope.sessions.append_event(session.id, "tool_result", "tool", content, parts)


async def note_todos(app: App, session: Session, *todos: tuple[str, str]) -> None:
    entries = [{"content": text, "status": status} for text, status in todos]
    await call(app, session, "TodoWrite", {"todos": entries})


# --- git ------------------------------------------------------------------------------------------


async def test_a_branch_with_commits_and_edits_is_described(app: App, work: Work):
    branch_off(work)
    work.write("src/retry.py", "retry = 2\n")
    work.write("notes.md", "new\n")

    found = await drafted(app, work)

    assert found.title == "webhook retry"
    assert found.summary == (
        "On feat/webhook-retry, 2 commits ahead of main: Add a schedule, #12;"
        " Retry webhooks (PAY-7). 2 files uncommitted."
    )
    assert set(found.files_touched[:2]) == {"src/retry.py", "notes.md"}
    assert found.files_touched[2:] == ("src/schedule.py",)
    assert found.task_ids == ("#12", "PAY-7")
    assert (found.repo, found.branch) == ("github.com/acme/payouts", "feat/webhook-retry")
    assert found.basis is not None
    assert found.basis.head == work.git("rev-parse", "HEAD")
    assert list(found.basis.files) == list(found.files_touched)
    assert found.basis.files["src/retry.py"] == work.git("hash-object", "src/retry.py")


async def test_a_deleted_file_is_named_and_has_no_id(app: App, work: Work):
    branch_off(work)
    (work.root / "docs/plan.md").unlink()

    found = await drafted(app, work)

    assert "docs/plan.md" in found.files_touched
    assert found.basis is not None
    assert found.basis.files["docs/plan.md"] is None


async def test_commits_of_a_merged_base_are_not_counted_as_own(app: App, work: Work):
    branch_off(work)
    work.git("switch", "--quiet", "main")
    work.commit("On main")
    work.git("switch", "--quiet", "-")
    work.git("merge", "--quiet", "--no-edit", "main")

    assert "2 commits ahead of main" in (await drafted(app, work)).summary


async def test_commits_of_the_local_main_branch_that_are_not_pushed_are_not_the_branchs(
    app: App, work: Work, tmp_path: Path
):
    mine = clone(work, tmp_path / "mine")
    mine.commit("On the local main")
    mine.git("switch", "--quiet", "--create", "feat/a")
    mine.commit("On the branch")

    assert (await drafted(app, mine)).summary == "On feat/a, 1 commit ahead of main: On the branch."


async def test_in_the_middle_of_a_merge_the_files_in_conflict_are_uncommitted(app: App, work: Work):
    branch_off(work)
    work.git("switch", "--quiet", "main")
    work.write("src/retry.py", "other = 1\n")
    work.commit("Another retry")
    work.git("switch", "--quiet", "-")
    work.git("merge", "--quiet", "main", check=False)

    found = await drafted(app, work)

    assert found.files_touched[0] == "src/retry.py"
    assert "1 file uncommitted." in found.summary


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
async def test_in_the_middle_of_a_rebase_the_work_is_that_of_the_branch(
    app: App, work: Work, backend: str
):
    branch_off(work)
    before = await drafted(app, work)
    work.git("switch", "--quiet", "main")
    work.write("src/retry.py", "retry = 3\n")
    work.commit("Something on main")
    work.git("switch", "--quiet", "feat/webhook-retry")
    work.git("rebase", backend, "main", check=False)
    assert work.found().branch == git.DETACHED

    found = await drafted(app, work)

    assert (found.branch, found.title) == (before.branch, before.title)
    assert found.task_ids == before.task_ids
    assert set(before.files_touched) <= set(found.files_touched)
    place = find_place(str(work.root))
    assert place is not None
    assert place.branch == "feat/webhook-retry"


@pytest.mark.parametrize("name", ["detached HEAD", "refs/heads/../x", "refs/heads/a b", "x", ""])
async def test_a_rebase_of_no_branch_has_no_branch(app: App, work: Work, name: str):
    """Also one whose name git would not make a branch of."""
    branch_off(work)
    work.git("switch", "--quiet", "--detach")
    folder = work.root / ".git" / "rebase-merge"
    folder.mkdir()
    (folder / "head-name").write_text(f"{name}\n")

    assert (await drafted(app, work)).branch is None


async def test_very_many_new_files_are_counted_and_thirty_named(app: App, work: Work):
    for number in range(NEW_FILES + 200):
        (work.root / f"new-{number}.txt").touch()

    made = await draft(app, work)

    assert "1,200 files uncommitted." in made.publication.summary
    assert "more than" not in made.publication.summary.casefold()
    assert "1,170 more files not named" in made.notes


async def test_of_more_new_files_than_git_can_name_it_says_that_there_are_more(
    app: App, work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(git_listing, "MOST_BYTES", 1_000)
    for number in range(200):
        (work.root / f"new-{number:07}.txt").touch()

    made = await draft(app, work)

    assert "More than 55 files uncommitted." in made.publication.summary
    assert "more than 25 more files not named" in made.notes


async def test_on_the_main_branch_what_is_not_pushed_is_the_work(
    app: App, work: Work, tmp_path: Path
):
    mine = clone(work, tmp_path / "mine")
    mine.commit("Retry webhooks")

    found = await drafted(app, mine)

    assert found.title == "Retry webhooks"
    assert found.summary == "On main, 1 commit ahead of what was pushed: Retry webhooks."


async def test_on_a_main_branch_without_a_remote_the_newest_own_commit_is_the_title(
    app: App, work: Work
):
    work.commit("Mine")
    work.git("commit", "--allow-empty", "-qm", "Theirs", GIT_AUTHOR_EMAIL="other@example.org")

    found = await drafted(app, work)

    assert (found.title, found.summary) == ("Mine", "On main.")
    work.git("config", "user.email", "nobody@example.org")
    assert (await drafted(app, work)).title == "work on payouts"


async def test_without_a_commit_the_new_files_are_named(app: App, tmp_path: Path):
    work = make(tmp_path / "fresh")
    work.write("a.py", "a = 1\n")

    found = await drafted(app, work)

    assert (found.title, found.repo, found.branch) == ("work on fresh", "fresh", "main")
    assert found.summary == "On main, no commit yet. 1 file uncommitted."
    assert found.files_touched == ("a.py",)
    assert found.basis is not None
    assert found.basis.head is None


async def test_a_detached_head_has_no_branch(app: App, work: Work):
    branch_off(work)
    work.git("switch", "--quiet", "--detach")

    found = await drafted(app, work)

    assert (found.title, found.branch) == ("Add a schedule, #12", None)
    assert found.summary.startswith("On no branch, 2 commits ahead of main: ")


async def test_without_git_the_person_gives_the_title(app: App, tmp_path: Path):
    found = await draft(app, Work(tmp_path))

    assert found.notes == (NO_TITLE,)
    assert (found.publication.title, found.publication.repo) == ("", None)
    assert found.publication.files_touched == ()


async def test_a_repository_that_git_refuses_is_as_none(app: App, tmp_path: Path):
    (tmp_path / "broken/.git").mkdir(parents=True)
    (tmp_path / "broken/.git/HEAD").write_text("nonsense\n")

    assert (await draft(app, Work(tmp_path / "broken"))).publication.repo is None


async def test_a_repository_without_a_remote_is_named_by_its_first_commit(app: App, work: Work):
    """As in its notes: two folders of the same name are two repositories."""
    found = await drafted(app, work)

    assert found.repo == work.git("rev-list", "--max-parents=0", "HEAD")


async def test_a_linked_worktree_is_a_checkout_of_its_own(app: App, work: Work, tmp_path: Path):
    work.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "fix/clock-drift")
    linked = Work(tmp_path / "linked")
    linked.write("src/app.py", "print('two')\n")

    found = await drafted(app, linked)

    assert (found.title, found.branch) == ("clock drift", "fix/clock-drift")
    assert found.files_touched == ("src/app.py",)
    assert found.repo == (await drafted(app, work)).repo


async def test_a_shallow_clone_without_a_common_commit_counts_none(
    app: App, work: Work, tmp_path: Path
):
    branch_off(work)
    for number in range(3):
        work.commit(f"later {number}")
    work.git("switch", "--quiet", "main")
    options = ("--depth=1", "--no-single-branch", "--branch=feat/webhook-retry")
    shallow = clone(work, tmp_path / "shallow", *options)

    found = await drafted(app, shallow)

    assert found.title == "webhook retry"
    assert found.summary == "On feat/webhook-retry."
    assert found.files_touched == ()


async def test_names_in_any_script_and_of_any_length_are_drafted(app: App, work: Work):
    name = "feat/" + "ü" * 100
    work.git("switch", "--quiet", "--create", name)
    work.write("src/größe 日本.py", "a = 1\n")
    work.commit("Größe 日本")

    found = await drafted(app, work)

    assert (found.title, found.branch) == ("ü" * 100, name)
    assert found.files_touched == ("src/größe 日本.py",)
    assert "Größe 日本" in found.summary
    longest = "feat/" + "/".join(["long-name-" * 6] * 4)[:245]
    work.git("switch", "--quiet", "--create", longest)
    assert len((await drafted(app, work)).title) <= 200


async def test_file_names_that_cannot_be_shown_are_left_out_and_counted(app: App, work: Work):
    work.write(b"src/\xff.py", "a = 1\n")
    work.write("src/a\nb.py", "a = 1\n")
    work.write("src/good.py", "a = 1\n")
    work.write("-n", "a = 1\n")

    found = await draft(app, work)

    assert set(found.publication.files_touched) == {"src/good.py", "-n"}
    assert found.notes == ("2 files left out: 2 × a name that cannot be shown",)


@pytest.mark.unmeasured
async def test_ten_thousand_changed_files_are_counted_and_thirty_named(
    app: App, work: Work, started: list[str]
):
    for number in range(10_000):
        work.write(f"many/{number % 100}/{number}.txt", f"{number}\n")
    work.commit("Add many")
    work.git("switch", "--quiet", "--create", "feat/many")
    for number in range(10_000):
        work.write(f"many/{number % 100}/{number}.txt", f"{number} more\n")

    made = await draft(app, work)

    found = made.publication
    assert found.summary.endswith("10,000 files uncommitted.")
    assert len(found.files_touched) == 30
    assert "9,970 more files not named" in made.notes
    assert len(started) < 20


async def test_hostile_settings_of_a_repository_run_nothing(app: App, work: Work, tmp_path: Path):
    trace = tmp_path / "ran"
    branch_off(work)
    work.write(".gitattributes", "*.py filter=evil diff=evil\n")
    for key in ("filter.evil.clean", "diff.evil.textconv", "core.fsmonitor", "core.pager"):
        work.git("config", key, f"touch {trace}")
    work.write("src/retry.py", "retry = 3\n")

    found = await drafted(app, work)

    assert "src/retry.py" in found.files_touched
    assert not trace.exists()


async def test_git_is_started_a_bounded_number_of_times(app: App, work: Work, started: list[str]):
    branch_off(work)
    for number in range(30):
        work.commit(f"Step {number}")

    await draft(app, work)

    assert len(started) <= 12, started


# --- sessions and notes ---------------------------------------------------------------------------


async def test_open_todos_are_the_next_actions_in_their_order(app: App, work: Work):
    branch_off(work)
    session = await start(app, work)
    await note_todos(
        app,
        session,
        ("Write the schedule", "completed"),
        ("Retry on 429", "in_progress"),
        ("Ask about the limit", "blocked"),
        ("Document it", "pending"),
    )
    await app.scope.sessions.update_state(
        session.id,
        {
            "current_task": "the retry schedule",
            "next_steps": ["Document it", "Remove the flag"],
            "blockers": ["No test account"],
        },
    )

    found = await drafted(app, work)

    assert found.next_actions == ("Retry on 429", "Document it", "Remove the flag")
    assert found.blockers == ("No test account", "Ask about the limit")
    assert "Working on: the retry schedule." in found.summary
    assert found.session_id is None


async def test_the_session_that_publishes_is_named_and_comes_first(app: App, work: Work):
    branch_off(work)
    own, other = await start(app, work), await start(app, work)
    await app.scope.sessions.update_state(own.id, {"current_task": "mine"})
    await app.scope.sessions.update_state(other.id, {"current_task": "another"})

    found = await drafted(app, work, session_id=own.id)

    assert found.session_id == own.id
    assert "Working on: mine." in found.summary


async def test_what_a_session_noted_on_another_branch_is_not_of_this_one(app: App, work: Work):
    branch_off(work)
    session = await start(app, work, branch="feat/other")
    await app.scope.sessions.update_state(session.id, {"blockers": ["No test account"]})
    await note_todos(app, session, ("Retry on 429", "pending"))

    found = await drafted(app, work)

    assert (found.next_actions, found.blockers) == ((), ())


async def test_a_failed_run_is_named_by_its_tests(app: App, work: Work):
    branch_off(work)
    session = await start(app, work)
    given = {"command": COMMAND}
    await call(app, session, "Bash", given, exit_code=1, content=FAILED)

    found = await drafted(app, work)

    assert found.summary.endswith("The last test run failed: tests/test_retry.py::test_waits.")
    assert "pytest" not in found.summary
    await call(app, session, "Bash", given, exit_code=0, content="1 passed in 0.1s")
    assert (await drafted(app, work)).summary.endswith("The last check passed.")


async def test_prompts_commands_code_and_secrets_stay_here(app: App, work: Work):
    branch_off(work)
    session = await start(app, work)
    prompt = "Make the webhook client wait twice as long after each failed attempt"
    await app.scope.sessions.append_event(session.id, "user_message", "user", prompt)
    await note_todos(
        app,
        session,
        (prompt, "pending"),
        (f"Run {COMMAND}", "pending"),
        (f"Put {KEY} there", "pending"),
        (f"Read {work.root}/src/retry.py", "pending"),
        ("Retry on 429", "pending"),
    )
    await app.scope.sessions.update_state(session.id, {"current_task": prompt})

    found = await draft(app, work)

    published = str(found.publication)
    assert found.publication.next_actions == ("Retry on 429",)
    for private in (prompt, COMMAND, KEY, str(work.root), "me:secret"):
        assert private not in published
    assert "1 current task left out: words of a prompt" in found.notes
    assert any(note.startswith("4 next actions left out: ") for note in found.notes)


async def test_decisions_and_steps_of_the_workstream_are_drafted(
    app: App, work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    branch_off(work)
    work.write("notes.md", "To do\n")
    noted = app.workstreams(str(work.root))
    await noted.decide("Back off by two", status="accepted")
    await noted.decide("Redis queue", status="rejected", because="one more service.")
    await noted.decide("Jitter?", phase="planning")
    await noted.set_checklist(["Remove the flag", "blocked: no test account"])

    found = await drafted(app, work)

    assert found.summary.endswith(
        "Accepted: Back off by two. Rejected: Redis queue: one more service. Open: Jitter?."
    )
    assert found.next_actions == ("Remove the flag",)
    assert found.blockers == ("blocked: no test account",)
    assert not any(path.startswith("data/context") for path in found.files_touched)
    assert "1 file uncommitted." in found.summary


async def test_decisions_of_others_are_not_published_as_ones_own(
    app: App, work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    branch_off(work)
    await app.workstreams(str(work.root)).decide("Back off by two", status="accepted")
    work.commit("Note a decision")
    other = clone(work, tmp_path / "other")
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "another machine"))

    async with App() as theirs:
        assert "Back off by two" not in (await drafted(theirs, other)).summary


# --- given ----------------------------------------------------------------------------------------


async def test_what_is_given_counts_and_the_rest_is_drafted(app: App, work: Work):
    branch_off(work)

    found = await drafted(app, work, given=Given(title="Mine", files_touched=["README.md"]))

    assert found.title == "Mine"
    assert found.branch == "feat/webhook-retry"
    assert found.basis is not None
    assert found.basis.files == {"README.md": work.git("rev-parse", "HEAD:README.md")}


async def test_for_another_repository_this_checkout_is_no_basis(app: App, work: Work):
    branch_off(work)

    assert (await drafted(app, work, given=Given(repo="acme/other"))).basis is None
    assert (await drafted(app, work, given=Given(repo="acme/payouts"))).basis is not None


async def test_from_a_folder_below_the_whole_checkout_is_drafted(app: App, work: Work):
    branch_off(work)
    await start(app, work)

    found = await draft_publication(app, str(work.root / "src"))

    assert found.publication == await drafted(app, work)


def test_nothing_of_publishing_is_loaded_by_the_package_itself():
    code = "import sys, holdfast.app, holdfast.surfaces.hook; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = done.stdout.split()
    assert "holdfast.surfaces.hook" in loaded
    assert not [name for name in loaded if "publishing" in name or "holdfast.team" in name]
