"""How the checkout looks in a document where notes in the repository are not agreed to."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.bundles.local_state import read_local_state
from holdfast.bundles.model import LINE_CHARS
from holdfast.bundles.service import BundleService
from holdfast.storage.journal import Journal
from holdfast.usecases.observing import observe
from tests.bundles.test_service import refuse
from tests.ground.repositories import Work, make
from tests.rig.git_starts import started  # noqa: F401  # a fixture

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


@pytest.fixture
def work(tmp_path) -> Work:
    work = make(tmp_path / "payouts")
    work.write("src/b.py", "two\n")
    work.commit()
    return work


@pytest.fixture
def journal(sessions) -> Journal:
    return Journal(sessions.db, sessions.owner)


def test_head_changes_and_commits_since_are_read(work):
    work.write("src/b.py", "changed\n")
    work.write("untracked.py", "git does not know it\n")

    state = read_local_state(str(work.root), LONG_AGO)

    assert state is not None
    assert state.head == work.git("rev-parse", "HEAD")
    assert state.changed == ("src/b.py",)
    assert state.commits_since == int(work.git("rev-list", "--count", "HEAD"))
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    later = read_local_state(str(work.root), tomorrow)
    assert later is not None
    assert later.commits_since == 0


def test_a_folder_without_a_repository_and_a_broken_one_say_nothing(tmp_path, work):
    assert read_local_state(str(tmp_path), None) is None

    (work.root / ".git" / "HEAD").write_text("not a ref\n")

    assert read_local_state(str(work.root), None) is None


async def test_a_document_says_where_the_checkout_is_and_what_is_not_committed(
    journal, sessions, work
):
    bundles = BundleService(journal, sessions, load=refuse, may_look=lambda worktree: True)
    last = await sessions.create_session("codex", "u1", worktree=str(work.root))
    await sessions.append_event(last.id, "user_message", "user", "Count the first delivery")
    work.write("src/b.py", "changed\n")

    text = (await bundles.build(worktree=str(work.root))).text

    assert "\nFrom the log of this machine; the checkout wins. Last session: codex" in text
    assert re.search(r"\nREPO HEAD [0-9a-f]{7}; 1 uncommitted\.\nUNCOMMITTED src/b\.py\n", text)


def commit_later(work: Work) -> None:
    work.git("add", "--all")
    work.git("commit", "-qm", "work", GIT_COMMITTER_DATE="2090-01-01T00:00:00Z")


async def test_commits_since_name_the_files_that_sessions_worked_with(journal, sessions, work):
    bundles = BundleService(
        journal, sessions, load=refuse, may_look=lambda worktree: True, observe=observe
    )
    last = await sessions.create_session("codex", "u1", worktree=str(work.root))
    await sessions.append_event(last.id, "user_message", "user", "Count the first delivery")
    for name in ("src/b.py", "new.toml", *(f"src/long_name_of_a_file_{n}.py" for n in range(7))):
        parts = {"tool": "Edit", "input": {"file_path": str(work.root / name)}}
        await sessions.append_event(last.id, "tool_result", "tool", "", parts)
    work.write("new.toml", "of a colleague\n")
    work.write("unrelated.py", "of a colleague\n")
    work.write("src/b.py", "of a colleague\n")
    commit_later(work)

    text = (await bundles.build(worktree=str(work.root))).text

    assert re.search(
        r"\nREPO HEAD \w{7}, 1 commit since \S+( \S+)?, in new\.toml, src/b\.py; ", text
    )

    for number in range(7):
        work.write(f"src/long_name_of_a_file_{number}.py", "of a colleague\n")
    commit_later(work)
    text = (await bundles.build(worktree=str(work.root))).text

    [repo] = re.findall(r"\nREPO (.*)", text)
    assert re.search(r", in (src/long_name_of_a_file_\d\.py(, )?){3,5} \+[3-5] more; ", repo)
    assert len(f"REPO {repo}") <= LINE_CHARS


async def test_a_new_file_of_a_session_is_marked_and_counted(journal, sessions, work):
    bundles = BundleService(
        journal, sessions, load=refuse, may_look=lambda worktree: True, observe=observe
    )
    last = await sessions.create_session("codex", "u1", worktree=str(work.root))
    for name in ("src/b.py", "rates.toml"):
        parts = {"tool": "Write", "input": {"file_path": str(work.root / name)}}
        await sessions.append_event(last.id, "tool_result", "tool", "", parts)
        work.write(name, "changed\n")
    work.write("of_a_person.py", "no session has named it\n")

    text = (await bundles.build(worktree=str(work.root))).text

    assert re.search(
        r"\nREPO HEAD \w{7}; 1 uncommitted, 1 new\.\nUNCOMMITTED src/b\.py · rates", text
    )
    assert "\nFILES rates.toml (new) · src/b.py\n" in text


async def test_a_checkout_that_nobody_agreed_to_look_at_is_not(journal, sessions, work, started):  # noqa: F811
    bundles = BundleService(journal, sessions, load=refuse)

    text = (await bundles.build(worktree=str(work.root))).text

    assert "REPO" not in text
    assert not started


async def test_uncommitted_files_alone_are_nothing_to_continue_from(journal, sessions, work):
    bundles = BundleService(journal, sessions, load=refuse, may_look=lambda worktree: True)
    work.write("src/b.py", "changed\n")

    text = (await bundles.build(worktree=str(work.root), keeps_empty=False)).text

    assert "Nothing is recorded here yet." in text
