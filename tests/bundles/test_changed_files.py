"""Files that no edit tool has named: looked for in the checkout when a document is made."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.bundles.model import Seen
from holdfast.bundles.seen import FILES, Uncommitted, choose_seen
from holdfast.bundles.service import BundleService
from holdfast.observations.digest import Digest, fold
from holdfast.sessions.model import SessionEvent
from holdfast.storage.journal import Journal
from holdfast.usecases.observing import observe
from tests.bundles.test_seen import name
from tests.bundles.test_service import refuse
from tests.rig.git_starts import started  # noqa: F401  # a fixture
from tests.workstreams.repos import Repo, with_code

LONG_AGO = timedelta(hours=1)


def now() -> datetime:
    """While a test runs: files that it writes have the time of this moment."""
    return datetime.now(UTC)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "repo")


def event(sequence: int, ago: float, kind: str, content: str = "", **parts: Any) -> SessionEvent:
    at = now() - timedelta(seconds=ago)
    return SessionEvent(f"e{sequence}", "s", sequence, kind, "tool", content, parts or None, at)


def turn(command: str = "make", *, began: float = 60, ended: float = -60) -> list[SessionEvent]:
    """A request a minute ago, and a command whose turn goes on for a minute."""
    ran = event(2, ended, "tool_result", tool="Bash", input={"command": command}, exit_code=0)
    return [event(1, began, "user_message", "go"), ran]


def look(*events: SessionEvent, branch: str = "main") -> Digest:
    return fold(Digest(branch=branch), events, lambda each: True)


def choose(repo: Repo, *digests: Digest, changed: tuple[str, ...] = (), **more: Any) -> Seen:
    return choose_seen(digests, str(repo.folder), "main", Uncommitted(changed, **more))


def write(repo: Repo, path: str, text: str = "x\n", *, ago: timedelta | None = None) -> None:
    file = repo.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if ago is not None:
        moment = (now() - ago).timestamp()
        os.utime(file, (moment, moment))


# --- a shell --------------------------------------------------------------------------------------


def test_new_and_changed_files_are_of_the_turn_in_which_commands_ran(repo: Repo):
    write(repo, "new/made.py")
    write(repo, "src/retry.py")

    seen = choose(repo, look(*turn()), changed=("src/retry.py",))

    assert sorted(name(seen.files)) == ["new/made.py", "src/retry.py"]
    assert {file.source.event_id for file in seen.files} == {"e2"}


def test_what_the_person_changed_before_or_after_the_turn_is_not(repo: Repo):
    write(repo, "before.py", ago=LONG_AGO)
    write(repo, "future.py", ago=-LONG_AGO)

    assert choose(repo, look(*turn())).files == ()


def test_a_turn_without_a_command_changed_nothing_but_what_its_tools_named(
    repo: Repo,
    started: list[str],  # noqa: F811
):
    write(repo, "new.py")

    assert choose(repo, look(event(1, 60, "user_message", "go"))).files == ()
    assert started == []


def test_ignored_files_and_our_own_are_not_listed(repo: Repo):
    write(repo, ".gitignore", "build/\n", ago=LONG_AGO)
    write(repo, "build/x.o")
    write(repo, "data/context/planning_context.json")
    write(repo, "docs/context_summary.md")

    own = ("data/context", "docs/context_summary.md")

    assert choose(repo, look(*turn()), without=own).files == ()


def test_gone_files_links_and_names_that_no_line_holds_are_not_listed(repo: Repo):
    odd = ['a"b.py', "line\nbreak.py", "caf\udce9.py", "tab\t.py"]
    for path in odd:
        write(repo, path)
    (repo.folder / "link.py").symlink_to("/etc/passwd")
    (repo.folder / "out").symlink_to("/etc")

    seen = choose(repo, look(*turn()), changed=("gone.py",))

    assert name(seen.files) == ['a"b.py']


def test_ten_thousand_changed_files_are_a_bounded_list(repo: Repo):
    for number in range(10_000):
        write(repo, f"many/{number:05}.py")

    assert len(choose(repo, look(*turn())).files) == FILES


def test_what_was_changed_on_another_branch_is_not_of_this_one(repo: Repo):
    write(repo, "new.py")

    assert choose(repo, look(*turn(), branch="feat")).files == ()


def test_without_consent_a_repository_or_git_only_tools_are_heard(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    write(repo, "new.py")
    edit = event(3, 0, "tool_result", tool="Edit", input={"file_path": "a.py"})
    digest = look(*turn(), edit)

    assert name(choose_seen([digest], str(repo.folder), "main").files) == ["a.py"]
    nothing = Uncommitted(())
    assert name(choose_seen([digest], str(tmp_path / "gone"), "main", nothing).files) == ["a.py"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert name(choose_seen([digest], str(repo.folder), "main", nothing).files) == ["a.py"]


def test_an_edit_that_was_undone_is_no_longer_listed(repo: Repo):
    path = str(repo.folder / "src" / "retry.py")
    edit = event(2, -60, "tool_result", tool="Edit", input={"file_path": path})
    digest = look(event(1, 60, "user_message", "go"), edit)

    assert name(choose(repo, digest, changed=("src/retry.py",)).files) == ["src/retry.py"]
    assert choose(repo, digest).files == ()


# --- read -----------------------------------------------------------------------------------------


# --- after a check --------------------------------------------------------------------------------


def test_a_pass_is_older_than_what_a_person_has_changed_since(repo: Repo):
    write(repo, "src/retry.py")
    write(repo, "README.md", ago=LONG_AGO)
    passed = look(*turn("pytest -q", began=120, ended=60))

    seen = choose(repo, passed, changed=("README.md", "src/retry.py"))

    assert seen.changed_since == ("src/retry.py",)


def test_a_pass_is_older_than_commits_that_came_from_elsewhere(repo: Repo):
    """Not than the commit of what the check has tried."""
    passed = look(*turn("pytest -q", began=120, ended=60))
    set_back_head(repo)
    write(repo, "src/models.py", "tried\n", ago=LONG_AGO)
    repo.commit("tried")
    assert choose(repo, passed).changed_since == ()

    write(repo, "src/retry.py", "pulled\n")
    repo.commit("pulled")

    assert choose(repo, passed).changed_since == ("src/retry.py",)


def set_back_head(repo: Repo) -> None:
    """As if it had moved an hour ago."""
    log = repo.folder / ".git" / "logs" / "HEAD"
    before = int(log.read_text().split("\t")[0].split()[-2])
    log.write_text(log.read_text().replace(str(before), str(before - 3600)))


def test_a_failure_names_what_was_changed_since(repo: Repo):
    write(repo, "src/retry.py")
    ran = event(2, 60, "tool_result", tool="Bash", input={"command": "pytest -q"}, exit_code=1)

    seen = choose(repo, look(event(1, 120, "user_message", "go"), ran), changed=("src/retry.py",))

    assert seen.changed_since_failure == ("src/retry.py",)


def read_in(path: str, *, branch: str = "main") -> Digest:
    return look(event(1, 0, "tool_result", tool="Read", input={"file_path": path}), branch=branch)


def test_what_two_sessions_read_is_relevant_while_it_is_there(repo: Repo):
    paths = ["src/retry.py", "gone.py", "../out.py", ".git/config"]
    full = [str(repo.folder / path) for path in paths]
    twice = [read_in(path) for path in (*full, *full)]

    assert name(choose(repo, *twice).read) == ["src/retry.py"]
    assert choose(repo, read_in(full[0])).read == ()
    assert choose(repo, read_in(full[0]), read_in(full[0], branch="feat")).read == ()


# --- in the document ------------------------------------------------------------------------------


@pytest.fixture
def bundles(sessions) -> BundleService:
    journal = Journal(sessions.db, sessions.owner)
    return BundleService(
        journal, sessions, load=refuse, may_look=lambda place: True, observe=observe
    )


async def store(sessions, repo: Repo, *calls: tuple[str, dict[str, Any], str]):
    session = await sessions.create_session(
        "claude", "u1", worktree=str(repo.folder), git_branch="main"
    )
    await sessions.append_event(session.id, "user_message", "user", "go on with it")
    for tool, given, output in calls:
        parts = {"tool": tool, "input": given, "exit_code": 0}
        await sessions.append_event(session.id, "tool_result", "tool", output, parts)
    return session


async def test_the_document_lists_what_was_committed_made_and_read(
    bundles,
    sessions,
    repo: Repo,
    started: list[str],  # noqa: F811
):
    place = str(repo.folder)
    read = ("Read", {"file_path": f"{place}/README.md"}, "")
    await store(sessions, repo, read)
    write(repo, "committed.py")
    repo.git("add", "committed.py")
    commit = repo.commit("work")
    printed = f"[main {commit[:7]}] work"
    last = await store(sessions, repo, read, ("Bash", {"command": "git commit -m work"}, printed))
    started.clear()

    text = (await bundles.build(worktree=place)).text
    first = list(started)
    started.clear()
    again = await bundles.build(worktree=place)

    assert "FILES committed.py · README.md" in text
    assert first.count("log") == 1
    assert "log" not in started
    assert started.count("ls-files") == 1
    assert "cat-file" not in started
    events = await sessions.list_events(last.id)
    [files] = [section for section in again.sections if section.section.name == "files"]
    sources = [item.source for item in files.items]
    assert sources == [f"event {events[2].id}: committed", f"event {events[1].id}: read"]


async def test_a_set_of_files_comes_first_and_nothing_is_listed_twice(
    bundles, sessions, repo: Repo
):
    place = str(repo.folder)
    edit = ("Edit", {"file_path": f"{place}/other.py"}, "")
    session = await store(sessions, repo, ("Edit", {"file_path": f"{place}/set.py"}, ""), edit)
    await sessions.set_relevant_context(session.id, "files", [f"{place}/set.py"])
    write(repo, "set.py")
    write(repo, "other.py")

    text = (await bundles.build(worktree=place)).text

    assert f"FILES {place}/set.py · other.py" in text
    assert text.count("set.py") == 1
