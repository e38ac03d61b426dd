"""Workstreams on real repositories: what is noted is judged on the checkout as it is now."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from holdfast.app import App
from holdfast.errors import (
    HoldfastError,
    Invalid,
    InvalidValueError,
    KeyReusedError,
    NotFound,
    Refused,
)
from holdfast.ground import clock, git
from holdfast.ground.errors import PathOutsideError
from holdfast.surfaces.cli import workstream_wording as wording
from holdfast.workstreams import document, errors, finding
from holdfast.workstreams.entries import Pointer
from holdfast.workstreams.model import JudgedContext
from holdfast.workstreams.service import WorkstreamService
from tests.workstreams.repos import RETRY, Repo, service_in, with_code

CONTEXT = "data/context/implementation_context.json"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def work(repo: Repo, database: Any) -> WorkstreamService:
    return service_in(repo, database)


def list_changed(judged: JudgedContext) -> list[tuple[str, str]]:
    return [(change.path, change.what) for change in judged.staleness.changed]


async def is_on(work: WorkstreamService) -> bool:
    try:
        await work.load("implementation")
    except (errors.SharedContextOffError, errors.NoRepositoryError):
        return False
    return True


async def save_claims(work: WorkstreamService, *claims: tuple[str, str]) -> None:
    for text, shown in claims or (("schedule() doubles the pause", "src/retry.py#schedule"),):
        await work.claim(text, [shown])
    await work.save("Goal: failed webhooks are retried.", by_hand=True)


# --- fresh and stale ------------------------------------------------------------------------------


async def test_saving_and_committing_the_context_leaves_it_fresh(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    assert not (await work.load("implementation")).staleness.stale

    repo.commit("the context itself")
    judged = await work.load("implementation")

    assert not judged.staleness.stale
    assert (judged.staleness.commits, judged.staleness.uncommitted) == (1, 0)


async def test_an_edit_names_the_file_and_doubts_only_its_own_claims(
    repo: Repo, work: WorkstreamService
):
    await save_claims(
        work,
        ("schedule() doubles the pause", "src/retry.py#schedule"),
        ("Attempts have a number", "src/models.py#Attempt"),
    )
    repo.write("src/retry.py", RETRY.replace("30", "60"))

    judged = await work.load("implementation")

    assert judged.staleness.stale
    assert list_changed(judged) == [("src/retry.py", "changed")]
    assert (judged.staleness.changed[0].added, judged.staleness.changed[0].removed) == (1, 1)
    assert judged.staleness.others == 0
    assert [claim.verdict for claim in judged.claims] == ["changed", "ok"]
    assert judged.to_dict()["working_summary"]["stale"] is True


async def test_a_changed_file_that_is_not_noted_makes_the_context_stale_and_is_counted(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    repo.write("README.md", "other\n")

    judged = await work.load("implementation")

    assert judged.staleness.stale
    assert (list_changed(judged), judged.staleness.others) == ([], 1)
    assert [claim.verdict for claim in judged.claims] == ["ok"]


async def test_writing_other_entries_does_not_make_a_stale_context_fresh(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    repo.write("src/retry.py", RETRY + "# later\n")

    await work.decide("use a table")
    await work.claim("models have attempts", ["src/models.py"])
    await work.set_checklist(["next"])
    await work.point(["README.md"])
    await work.fail(step="test", error="boom", next_action="look")
    await work.keep_client_session("codex", "n-1", phase="implementation")

    assert (await work.load("implementation")).staleness.stale


async def test_a_new_head_with_the_same_contents_is_not_stale(repo: Repo, work: WorkstreamService):
    await save_claims(work)
    repo.git("commit", "-q", "--allow-empty", "-m", "nothing")
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "still nothing")

    assert not (await work.load("implementation")).staleness.stale


async def test_uncommitted_edits_at_the_checkpoint_are_part_of_it(
    repo: Repo, work: WorkstreamService
):
    repo.write("src/retry.py", RETRY.replace("30", "45"))
    await save_claims(work)
    assert not (await work.load("implementation")).staleness.stale

    repo.commit("what was uncommitted")
    assert not (await work.load("implementation")).staleness.stale

    repo.write("src/retry.py", RETRY)
    judged = await work.load("implementation")
    assert judged.staleness.stale
    assert list_changed(judged) == [("src/retry.py", "changed")]


async def test_commits_are_counted_since_notes_without_a_summary(
    repo: Repo, work: WorkstreamService
):
    await work.decide("use a table")
    repo.write("README.md", "other\n")
    repo.commit("a colleague's")

    judged = await work.load("implementation")

    assert (judged.staleness.commits, judged.staleness.stale) == (1, False)


async def test_a_new_file_is_uncommitted_until_it_is_committed(repo: Repo, work: WorkstreamService):
    repo.write("src/later.py", "x\n")
    await work.point(["src/later.py"])
    (repo.folder / "src" / "later.py").unlink()
    await save_claims(work)
    repo.write("src/later.py", "x\n")
    untracked = (await work.load("implementation")).staleness.changed
    repo.commit("later")
    committed = (await work.load("implementation")).staleness.changed

    assert [(change.what, change.is_committed) for change in untracked] == [("new", False)]
    assert [(change.what, change.is_committed) for change in committed] == [("new", True)]


async def test_a_reverted_edit_is_seen_as_a_change(repo: Repo, work: WorkstreamService):
    repo.write("README.md", "edited\n")
    await save_claims(work)
    repo.git("checkout", "README.md")

    judged = await work.load("implementation")

    assert judged.staleness.stale
    assert judged.staleness.others == 1


async def test_reverting_an_edit_makes_the_context_fresh_again(repo: Repo, work: WorkstreamService):
    await save_claims(work)
    repo.write("src/retry.py", "x")
    assert (await work.load("implementation")).staleness.stale
    repo.write("src/retry.py", RETRY)

    assert not (await work.load("implementation")).staleness.stale


async def test_a_summary_that_was_edited_by_hand_is_stale(repo: Repo, work: WorkstreamService):
    await save_claims(work)
    file = repo.folder / "data/context/implementation_context.json"
    file.write_text(file.read_text().replace("are retried", "are never retried"))

    judged = await work.load("implementation")

    assert judged.staleness.reasons == ("summary",)


async def test_the_commit_and_author_of_a_changed_file_are_named(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    commit = repo.commit("slower")

    (change,) = (await work.load("implementation")).staleness.changed

    assert (change.commit, change.author, change.is_committed) == (commit[:7], "Ana", True)


async def test_rebase_merge_switch_and_rename(repo: Repo, work: WorkstreamService):
    """Contents decide, however they came about."""
    await save_claims(work)
    repo.commit("context")
    repo.git("checkout", "-q", "-b", "feat")
    repo.write("src/new.py", "x = 1\n")
    repo.commit("on a branch")
    repo.git("checkout", "-q", "main")
    assert not (await work.load("implementation", "main")).staleness.stale

    repo.write("README.md", "main moved\n")
    repo.commit("on main")
    repo.git("checkout", "-q", "feat")
    repo.git("rebase", "-q", "main")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "feat")
    judged = await work.load("implementation")
    assert judged.staleness.stale
    assert (list_changed(judged), judged.staleness.others) == ([], 2)

    repo.git("mv", "src/retry.py", "src/again.py")
    judged = await work.load("implementation")
    assert list_changed(judged) == [("src/retry.py", "gone")]
    assert judged.claims[0].verdict == "gone"


async def test_a_branch_has_a_context_of_its_own(repo: Repo, work: WorkstreamService):
    await save_claims(work)
    repo.git("checkout", "-q", "-b", "feat")

    assert (await work.load("implementation")).context.summary is None
    await work.save("on the branch", by_hand=True)
    repo.git("checkout", "-q", "main")

    judged = await work.load("implementation")
    assert judged.context.summary is not None
    assert "retried" in judged.context.summary.text
    listed = {
        workstream.key.branch: workstream.judged is not None
        for workstream in await work.list_judged()
    }
    assert listed == {"main": True, "feat": False}


async def test_a_checkpoint_whose_commit_is_gone_is_stale_without_a_count(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    file = repo.folder / "data/context/implementation_context.json"
    file.write_text(file.read_text().replace(repo.git("rev-parse", "HEAD"), "0" * 40))
    repo.write("src/retry.py", "x")

    judged = await work.load("implementation")

    assert judged.staleness.stale
    assert (judged.staleness.others, judged.staleness.commits) == (None, None)
    assert list_changed(judged) == [("src/retry.py", "changed")]


async def test_a_context_survives_the_first_commit_of_a_repository_without_a_remote(
    tmp_path: Path, database: Any
):
    repo = Repo(tmp_path / "new")
    repo.write("a.py", "x = 1\n")
    work = service_in(repo, database)
    await work.point(["a.py"])
    await work.save("Just begun.", by_hand=True)
    assert not (await work.load("implementation")).staleness.stale

    repo.commit("first")
    judged = await work.load("implementation")

    assert judged.context.summary is not None, (
        "the key changed from a place to the first commit, the context did not"
    )
    assert judged.staleness.stale  # the file was untracked, and is tracked now
    await work.decide("goes on under the new key")
    assert len(await work.list_judged()) == 1


async def test_two_clones_share_the_key_and_judge_on_their_own_checkout(
    repo: Repo, work: WorkstreamService, database: Any, tmp_path: Path
):
    await save_claims(work)
    repo.commit("context")
    other = Repo(tmp_path / "clone", begin=False)
    repo.git("clone", "-q", str(repo.folder), str(other.folder))
    theirs = service_in(other, database)
    here, there = await work.load("implementation"), await theirs.load("implementation")
    assert here.context.key == there.context.key
    assert not there.staleness.stale

    other.write("src/retry.py", "x")

    assert (await theirs.load("implementation")).staleness.stale
    assert not (await work.load("implementation")).staleness.stale
    assert (
        str(repo.folder)
        not in (other.folder / "data/context/implementation_context.json").read_text()
    )


async def test_crlf_in_a_checkout_changes_nothing(
    repo: Repo, work: WorkstreamService, database: Any, tmp_path: Path
):
    repo.write(".gitattributes", "* text=auto\n")
    repo.commit("attributes")
    await save_claims(work)
    repo.commit("context")
    windows = Repo(tmp_path / "windows", begin=False)
    repo.git("clone", "-q", "-c", "core.autocrlf=true", str(repo.folder), str(windows.folder))
    assert b"\r\n" in (windows.folder / "src/retry.py").read_bytes()

    judged = await service_in(windows, database).load("implementation")

    assert not judged.staleness.stale
    assert judged.claims[0].verdict == "ok"


async def test_a_shallow_clone_a_submodule_and_odd_names(
    repo: Repo, work: WorkstreamService, database: Any, tmp_path: Path
):
    inner = with_code(tmp_path / "inner")
    repo.git("submodule", "add", "-q", str(inner.folder), "lib")
    os.makedirs(os.fsencode(repo.folder) + b"/\xff")
    with open(os.fsencode(repo.folder) + b"/\xff/\n.txt", "wb") as file:
        file.write(b"x")
    repo.commit("odd")
    await save_claims(work)
    assert not (await work.load("implementation")).staleness.stale
    repo.commit("context")

    shallow = Repo(tmp_path / "shallow", begin=False)
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.folder}", str(shallow.folder))
    judged = await service_in(shallow, database).load("implementation", "main")
    assert judged.head is not None

    inner.write("more.py", "y = 2\n")
    inner.commit("more")
    Repo(repo.folder / "lib", begin=False).git("pull", "-q")
    judged = await work.load("implementation")
    assert judged.staleness.stale
    assert judged.staleness.others == 1


async def test_a_removed_worktree_loses_nothing(
    repo: Repo, work: WorkstreamService, database: Any, tmp_path: Path
):
    repo.git("worktree", "add", "-q", "-b", "feat", str(tmp_path / "tree"))
    tree = Repo(tmp_path / "tree", begin=False)
    await service_in(tree, database).decide("keep the queue", status="accepted")
    repo.git("worktree", "remove", "--force", str(tree.folder))
    repo.git("checkout", "-q", "feat")

    judged = await work.load("implementation")

    assert [decision.decision.text for decision in judged.decisions] == ["keep the queue"]
    assert "from the log" in judged.context.notes[0]
    await work.decide("and go on")
    judged = await work.load("implementation")
    assert [decision.decision.text for decision in judged.decisions] == [
        "keep the queue",
        "and go on",
    ]
    assert judged.context.notes == ()


# --- what is written ------------------------------------------------------------------------------


async def test_done_needs_something_that_shows_it(repo: Repo, work: WorkstreamService):
    with pytest.raises(errors.EvidenceMissingError) as refused:
        await work.claim("The retry is done.")
    assert refused.value.next_actions
    with pytest.raises(errors.EvidenceMissingError):
        await work.claim("Attempts", kind="completion")
    assert not (repo.folder / "data").exists()

    claim = await work.claim("The retry is done.", ["src/retry.py:1-2"])
    assert (claim.verdict, claim.kind) == ("ok", "completion")
    assert (await work.claim("The retry is not done yet.")).verdict == "said"


@pytest.mark.parametrize(
    "shown",
    [
        "src/gone.py",
        "src/retry.py:1-99",
        "src/retry.py#nothing",
        "README.md#name",
        "../x",
        "/etc/passwd",
        "",
    ],
)
async def test_a_claim_with_missing_evidence_is_refused(
    repo: Repo, work: WorkstreamService, shown: str
):
    with pytest.raises((Refused, Invalid, NotFound)):
        await work.claim("It is done.", [shown])
    assert not (repo.folder / "data").exists()


async def test_a_link_out_of_the_repository_shows_nothing(
    repo: Repo, work: WorkstreamService, tmp_path: Path
):
    (tmp_path / "secret").write_text("x\n")
    (repo.folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(repo.folder / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(HoldfastError):
            await work.claim("It is done.", [name])


async def test_a_proof_is_evidence_on_its_own_tree_only(repo: Repo, work: WorkstreamService):
    proof = await work.prove(["python3", "-c", "print('ok')"])
    assert proof.passed
    assert "ok" in proof.output_tail
    claim = await work.claim("It works now.", [f"proof:{proof.id}"])
    assert claim.verdict == "ok"

    repo.write("src/retry.py", "x")

    judged = await work.load("implementation")
    assert judged.claims[0].verdict == "changed"
    assert judged.proofs[0].id == proof.id
    again = await work.prove([], again=proof.id)
    assert (again.command, again.tree) == (proof.command, judged.tree)


async def test_a_failing_command_proves_nothing_and_its_code_is_kept(
    repo: Repo, work: WorkstreamService
):
    proof = await work.prove(["python3", "-c", "raise SystemExit(3)"])
    assert (proof.exit_code, proof.passed) == (3, False)
    with pytest.raises(errors.ProofFailedError, match="exit code 3"):
        await work.claim("It is done.", [f"proof:{proof.id}", "src/retry.py#schedule"])
    judged = await work.claim("The check ends with 3.", [f"proof:{proof.id}"])
    assert (judged.verdict, judged.evidence[0].why) == ("changed", "it failed")
    assert (await work.prove(["./no-such-command"])).exit_code == 127
    assert (await work.prove(["./README.md"])).exit_code == 126
    with pytest.raises(InvalidValueError):
        await work.prove([])
    with pytest.raises(errors.ProofNotFoundError):
        await work.prove([], again="nothing")


async def test_a_command_that_changes_tracked_files_is_bound_to_no_tree(
    repo: Repo, work: WorkstreamService
):
    proof = await work.prove(["python3", "-c", "open('README.md', 'a').write('x')"])

    assert (proof.exit_code, proof.tree, proof.passed) == (0, None, False)


async def test_an_agent_saves_only_what_was_verified(repo: Repo, work: WorkstreamService):
    await work.save("Everything is committed.")
    repo.write("src/retry.py", RETRY + "# more\n")
    with pytest.raises(errors.NotVerifiedError):
        await work.save("Not verified.")
    judged = await work.load("implementation")
    assert judged.context.summary is not None
    assert judged.context.summary.text == "Everything is committed."

    proof = await work.prove(["true"])
    context = await work.save("Proven.")
    assert context.summary is not None
    assert context.summary.verified_by == f"proof {proof.id}"


async def test_a_failed_run_changes_nothing_else(repo: Repo, work: WorkstreamService):
    await save_claims(work)
    before = (await work.load("implementation")).context.fields

    for number in range(12):
        await work.fail(
            step="pytest", error=f"assert {number} == 8", next_action="look at next_attempt()"
        )

    after = (await work.load("implementation")).context.fields
    assert after.last_run.failed_step == "pytest"
    assert len(after.last_errors) == 10
    told = {"last_run": None, "last_errors": None, "updated_at": None}
    assert replace(after, **told) == replace(before, **told)
    await work.save("Works.", by_hand=True)
    assert (await work.load("implementation")).context.fields.last_run.status == "ok"


async def test_decisions_have_numbers_reasons_and_a_history(work: WorkstreamService):
    first = await work.decide("retry in a table or in the queue?")
    await work.decide("Redis streams", status="rejected", because="ops won't run another Redis")
    changed_ = await work.decide("retry in a table", decision_id=first.id, status="accepted")

    assert (changed_.id, changed_.status, changed_.history[0].status) == ("D1", "accepted", "open")
    judged = await work.load("implementation")
    assert [decision.decision.id for decision in judged.decisions] == ["D1", "D2"]
    with pytest.raises(InvalidValueError, match="because"):
        await work.decide("x", status="rejected")
    with pytest.raises(InvalidValueError, match="is unknown"):
        await work.decide("x", status="maybe")
    with pytest.raises(InvalidValueError, match="D1, D2"):
        await work.decide("x", decision_id="X1")


async def test_one_phase_shows_the_others_decisions_as_its_file_has_them(
    repo: Repo, work: WorkstreamService
):
    """Not as this machine has saved them: another branch may be checked out."""
    await work.decide("integer cents", phase="planning", status="accepted")

    judged = await work.load("implementation")

    assert judged.decisions == ()
    assert [decision.decision.text for decision in judged.shared_decisions] == ["integer cents"]
    os.remove(repo.folder / "data/context/planning_context.json")
    assert (await work.load("implementation")).shared_decisions == ()


@pytest.mark.parametrize(
    "arguments",
    [["ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"], ["--password", "ghp_a1B2"]],
)
async def test_no_secret_in_a_command_that_was_run_leaves_the_log(
    repo: Repo, work: WorkstreamService, arguments: list[str]
):
    proof = await work.prove(["false", *arguments])
    told = [proof, await work.get_proof(proof.id)]
    with pytest.raises(errors.NotVerifiedError) as refusal:
        await work.save("Where it stands.")
    saved = await work.save("Where it stands.", by_hand=True)
    told.append(await work.withdraw(proof.id))

    file = (repo.folder / "data/context/implementation_context.json").read_text()
    for text in (str(told), str(refusal.value), str(saved), file):
        assert "ghp_" not in text
    assert len(proof.command) == 1 + len(arguments)


async def test_a_save_while_a_command_fails_keeps_the_noted_failure_and_its_next_action(
    work: WorkstreamService,
):
    await work.fail(step="pytest", error="assert 7 == 8", next_action="sort the chunks")
    proof = await work.prove(["false"])

    saved = await work.save("Where it stands.", by_hand=True)
    await work.withdraw(proof.id)
    later = await work.save("Where it stands now.", by_hand=True)

    assert saved.failed_run is not None
    assert saved.failed_run.next_action == "sort the chunks"
    assert later.failed_run is None


async def test_what_is_run_again_is_what_was_run(work: WorkstreamService):
    token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    shown: list[bytes] = []
    proof = await work.prove(["sh", "-c", f"printf %s {token}"])
    await work.prove([], again=proof.id, show=shown.append)

    assert b"".join(shown) == token.encode()


async def test_secrets_are_not_committed(repo: Repo, work: WorkstreamService):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await work.fail(step="push", error=f"denied for {token}", next_action="renew it")
    await work.decide(f"use {token}")
    await work.save(f"token is {token}", by_hand=True, feature_request=f"use {token}")
    proof = await work.prove(["true", token])
    assert token not in json.dumps((await work.load("implementation")).to_dict())
    await work.claim("It is done", [f"proof:{proof.id}"])
    with pytest.raises(InvalidValueError, match="looks like a secret"):
        await work.decide("x", workstream_id=token)

    for path in (repo.folder / "data/context").iterdir():
        assert token not in path.read_text(), path


async def test_client_sessions_stay_on_this_machine(repo: Repo, work: WorkstreamService):
    await work.keep_client_session("codex", "n-1", phase="planning", local_path="/home/ana/x.jsonl")
    await work.keep_client_session("gemini", "n-2", phase="planning")

    assert await work.list_client_sessions("planning") == {
        "codex": {"id": "n-1", "local_path": "/home/ana/x.jsonl"},
        "gemini": {"id": "n-2"},
    }
    assert await work.list_client_sessions("implementation") == {}
    repo.git("add", "-A")
    assert "local.json" not in repo.git("status", "--porcelain")
    (repo.folder / "data/context/planning_sessions.local.json").write_text("{broken")
    assert await work.list_client_sessions("planning") == {}


async def test_the_dashboard_is_for_people_and_out_of_git(repo: Repo, work: WorkstreamService):
    await work.decide("use `tables` <b>")
    await save_claims(work)

    page = (repo.folder / "docs/context_summary.md").read_text()
    assert "failed webhooks are retried" in page
    assert "<b>" not in page.replace("\\<b\\>", "")
    assert "context_summary" not in repo.git("status", "--porcelain", "--untracked-files=all")
    repo.git("add", "-f", "docs/context_summary.md")
    repo.git("commit", "-qm", "asked for")
    repo.write("docs/context_summary.md", "anything")
    await work.save("again", by_hand=True)
    assert "again" in (repo.folder / "docs/context_summary.md").read_text()
    assert not (await work.load("implementation")).staleness.stale


async def test_a_save_on_an_older_revision_is_refused(work: WorkstreamService):
    revision = (await work.load("implementation")).context.revision
    await work.decide("meanwhile")

    with pytest.raises(errors.ContextChangedError):
        await work.save("late", by_hand=True, expected_revision=revision)
    await work.save("now", by_hand=True, expected_revision=revision + 1)
    for wrong in ("1", -1, True, 1.5):
        with pytest.raises(InvalidValueError, match="expected_revision"):
            await work.save("x", by_hand=True, expected_revision=wrong)  # type: ignore[arg-type]


async def test_evidence_is_named_relative_to_the_folder_or_to_the_repository(
    repo: Repo, database: Any
):
    inside = service_in(repo, database, folder="src")
    for given in (
        "retry.py#schedule",
        "src/retry.py#schedule",
        "./retry.py#schedule",
        "../src/retry.py:1-2",
    ):
        [shown] = (await inside.claim("It is done", [given])).evidence
        assert (shown.path, shown.verdict) == ("src/retry.py", "ok")
    pointers = (await inside.point(["src/models.py", "retry.py"])).pointers
    assert [str(pointer) for pointer in pointers] == ["src/models.py", "src/retry.py"]
    with pytest.raises(PathOutsideError):
        await inside.claim("x", ["../../retry.py"])


@pytest.mark.parametrize("how", ["--assume-unchanged", "--skip-worktree"])
async def test_a_noted_file_that_git_skips_is_still_compared(
    repo: Repo, work: WorkstreamService, how: str
):
    await save_claims(work)
    repo.git("update-index", how, "src/retry.py")
    repo.write("src/retry.py", RETRY.replace("30", "60"))

    judged = await work.load("implementation")

    assert judged.staleness.stale
    assert list_changed(judged) == [("src/retry.py", "changed")]


async def test_a_changed_mode_or_line_end_marks_a_noted_file_as_changed(
    repo: Repo, work: WorkstreamService
):
    """A mode and line ends are not part of what a claim rests on, but the file is another one."""
    await save_claims(work)
    (repo.folder / "src/retry.py").chmod(0o755)
    judged = await work.load("implementation")
    assert (judged.staleness.stale, list_changed(judged)) == (True, [("src/retry.py", "changed")])
    assert [claim.verdict for claim in judged.claims] == ["ok"]

    (repo.folder / "src/retry.py").chmod(0o644)
    repo.write("src/retry.py", RETRY.removesuffix("\n"))
    assert list_changed(await work.load("implementation")) == [("src/retry.py", "changed")]


async def test_an_invalid_decision_number_in_the_file_does_not_break_numbering(
    repo: Repo, work: WorkstreamService
):
    await work.decide("first")
    file = repo.folder / CONTEXT
    for number in ("9" * 5_000, "٣", "-7", "1e3"):
        whole = json.loads(file.read_text())
        whole["contexts"][0]["open_decisions"][0]["id"] = f"D{number}"
        file.write_text(json.dumps(whole))
        assert (await work.decide(f"after {number[:3]}")).id.removeprefix("D").isdecimal()


# --- a hostile look -------------------------------------------------------------------------------

DODGES = [
    "The retry is done",
    "The retry is d\u200bone",
    "The retry is do\u00adne",
    "The retry is ｄｏｎｅ",
    "The retry is 𝐝𝐨𝐧𝐞",
    "The retry is done\u202e",
    '"The retry is done"',
    "“The retry is done”",
    "`The retry is done`",
    "\"'The retry is done'\"",
    "**The retry is done**",
    "✅ retry",
]


@pytest.mark.parametrize("text", DODGES)
async def test_every_spelling_of_done_needs_evidence(work: WorkstreamService, text: str):
    for shown in ([], ["README.md"]):  # a file alone shows that there is a file
        with pytest.raises(errors.EvidenceMissingError):
            await work.claim(text, shown)
    assert (await work.claim(text, ["README.md:1"])).kind == "completion"


async def test_a_claim_that_is_made_again_has_the_newer_evidence(
    repo: Repo, work: WorkstreamService
):
    await work.claim("The retry is done.", ["src/retry.py#schedule"])
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    assert [claim.verdict for claim in (await work.load("implementation")).claims] == ["changed"]

    await work.claim("The retry is done.", ["src/retry.py#schedule"])

    assert [claim.verdict for claim in (await work.load("implementation")).claims] == ["ok"]


async def test_where_nothing_is_noted_other_branches_are_named(repo: Repo, work: WorkstreamService):
    await work.decide("on main")
    repo.git("checkout", "-q", "-b", "feat")

    notes = (await work.load("implementation")).context.notes

    assert notes == ("Nothing is noted for this branch; there are notes for main.",)


async def test_a_quotation_inside_a_claim_is_still_one(work: WorkstreamService):
    assert (await work.claim('The log says "done" for every row')).kind == "statement"
    assert (await work.claim('"done" is what the log calls "sent"')).kind == "statement"


async def test_evidence_with_hashes_or_exit_codes_from_the_caller_is_refused(
    repo: Repo, work: WorkstreamService
):
    """Hashes, exit codes and trees are ours to note: a caller who brings them is refused, not
    believed.
    """
    tree = (await work.prove(["false"])).tree
    for more in (
        {"command": ["pytest"], "exit_code": 0, "tree": tree},
        {"text_hash": "0" * 64},
        {"later": 1},
    ):
        with pytest.raises(InvalidValueError, match="not taken with a place"):
            await work.claim("It is done", [{"path": "README.md", **more}])
    with pytest.raises(InvalidValueError):
        await work.claim("It is done", [{"command": ["pytest"], "exit_code": 0, "tree": tree}])
    assert not (repo.folder / "data").exists()


async def test_what_was_saved_for_a_deleted_branch_is_not_shown_on_a_new_one_of_its_name(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    repo.git("checkout", "-qb", "feat")
    await work.decide("keep the queue", status="accepted")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-qD", "feat")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2090-01-01T00:00:00Z")
    repo.git("checkout", "-qb", "feat")
    monkeypatch.delenv("GIT_COMMITTER_DATE")

    new = await work.load("implementation")
    await work.restore()
    restored = await work.load("implementation")

    assert new.decisions == ()
    assert new.context.notes == (finding.EARLIER_BRANCH,)
    assert [each.decision.text for each in restored.decisions] == ["keep the queue"]
    assert [each.is_own for each in restored.decisions] == [True]


async def test_a_new_branch_of_an_old_name_can_be_restored_after_its_own_notes(
    repo: Repo, work: WorkstreamService
):
    """The old one ended elsewhere, so its commit is not below this HEAD."""
    repo.git("checkout", "-qb", "feat")
    repo.commit("only there")
    await work.decide("keep the queue", status="accepted")
    repo.git("checkout", "-qf", "main")
    shutil.rmtree(repo.folder / "data")
    repo.git("branch", "-qD", "feat")
    repo.git("checkout", "-qb", "feat")
    await work.decide("drop the queue", status="accepted")

    new = await work.load("implementation")
    await work.restore()
    restored = await work.load("implementation")

    assert [each.decision.text for each in new.decisions] == ["drop the queue"]
    assert new.context.notes == ()
    assert {each.decision.text for each in restored.decisions} == {
        "keep the queue",
        "drop the queue",
    }
    assert restored.context.notes == ()


async def test_what_was_saved_at_a_detached_head_is_shown_at_the_same_commit_only(
    repo: Repo, work: WorkstreamService
):
    second = repo.commit("second")
    repo.git("checkout", "-q", "--detach")
    await work.decide("keep the queue", status="accepted")
    shutil.rmtree(repo.folder / "data")
    here = await work.load("implementation")
    repo.git("checkout", "-q", "--detach", f"{second}~1")
    before = await work.load("implementation")
    repo.git("checkout", "-q", "--detach", second)
    repo.commit("third")
    after = await work.load("implementation")

    assert [each.decision.text for each in here.decisions] == ["keep the queue"]
    assert (before.decisions, after.decisions) == ((), ())
    assert after.context.notes == (finding.EARLIER_BRANCH,)


async def test_nothing_but_a_save_makes_a_summary_fresh(
    repo: Repo, work: WorkstreamService, database: Any
):
    """Not a proof, not a merge, not another phase, not the journal, not a copy of the file."""
    await save_claims(work)
    file = repo.folder / "data/context/implementation_context.json"
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    await work.prove(["true"])
    await work.save("planned", phase="planning", by_hand=True)
    await work.save("another line", workstream_id="other", by_hand=True)
    assert (await work.load("implementation")).staleness.stale

    contexts = json.loads(file.read_text())
    mine, other = sorted(
        contexts["contexts"], key=lambda context: str(context["key"]["workstream_id"])
    )
    merged = {**mine, "checkpoint": other["checkpoint"]}
    repo.write(
        str(file.relative_to(repo.folder)), json.dumps({**contexts, "contexts": [merged, other]})
    )
    assert (await work.load("implementation")).staleness.reasons == ("summary",)

    file.unlink()
    judged = await work.load("implementation")
    assert "from the log" in judged.context.notes[0]
    assert judged.staleness.stale


async def test_a_passing_proof_counts_on_its_own_contents_only(repo: Repo, work: WorkstreamService):
    await work.prove(["true"])
    repo.write("src/retry.py", RETRY + "# more\n")
    with pytest.raises(errors.NotVerifiedError):
        await work.save("Proven elsewhere.")
    await work.prove(["sh", "-c", "echo '# even more' >> src/retry.py"])
    with pytest.raises(errors.NotVerifiedError):
        await work.save("Edited while it ran.")
    await work.prove(["false"])
    with pytest.raises(errors.NotVerifiedError):
        await work.save("It failed.")


async def test_one_phase_never_opens_the_others_file(repo: Repo, work: WorkstreamService):
    """A pipe in its place would be refused, if it were opened."""
    await work.decide("begin", phase="planning")
    os.remove(repo.folder / "data/context/planning_context.json")
    os.mkfifo(repo.folder / "data/context/planning_context.json")

    await work.decide("x")
    await work.claim("y", ["README.md"])
    await work.set_checklist(["z"])
    judged = await work.load("implementation")

    assert [decision.decision.text for decision in judged.decisions] == ["x"]
    assert (await work.load("planning")).context.read_only


async def test_the_author_is_looked_up_for_a_limited_number_of_files(
    repo: Repo, work: WorkstreamService
):
    """Each costs a git process, and the author of the file decides how many it names."""
    names = [f"many/{number}.py" for number in range(60)]
    for name in names:
        repo.write(name, "x = 1\n")
    repo.commit("many")
    await save_claims(work)
    file = repo.folder / "data/context/implementation_context.json"
    found = json.loads(file.read_text())
    found["contexts"][0]["file_pointers"] = names
    found["contexts"][0]["checkpoint"]["files"] = dict.fromkeys(names, "0" * 64)
    file.write_text(json.dumps(found))
    repo.write("README.md", "edited\n")

    judged = await work.load("implementation")

    assert [change.path for change in judged.staleness.changed] == names
    assert [change.path for change in judged.staleness.changed if change.is_committed] == names[:50]


# Any value in any place of the committed file.
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    "",
    "\x00",
    "\ud800",
    "x" * 3_000,
    "..",
    "L1-L2",
    "D1",
    "D" + "9" * 5_000,
]
VALUES = st.recursive(
    st.sampled_from(ODD) | st.text(max_size=8) | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, item in inner:
        yield from _places(item, (*at, name))


def _with(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[at[0]] = _with(value[at[0]], at[1:], new)
    return changed


def test_no_value_in_any_field_of_the_file_breaks_a_verb(repo: Repo, scale: Callable[[int], int]):
    """Read: shown or reported. Written: refused with the bytes as they were, or done. Never
    anything else.
    """
    file = repo.folder / "data/context/implementation_context.json"
    with App() as app:
        work = app.workstreams(str(repo.folder), share=True)
        whole = app.run(_fill_document(work, file))
        places = list(_places(whole))

        @hypothesis.settings(
            max_examples=scale(2_000), suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(at=st.sampled_from(places), value=VALUES)
        def try_it(at: tuple[Any, ...], value: Any) -> None:
            text = json.dumps(_with(whole, at, value))
            file.write_text(text)
            judged = app.run(work.load("implementation"))
            json.dumps(judged.to_dict()).encode()
            wording.describe_context(judged)
            app.run(app.bundles(work).build("implementation"))
            try:
                app.run(work.decide("y", decision_id="D1"))
                app.run(work.save("again", by_hand=True))
            except HoldfastError:
                assert judged.context.read_only is None or file.read_text() == text

        try_it()


async def _fill_document(work: WorkstreamService, file: Path) -> Any:
    """A document in which every field has something."""
    await work.decide("one", status="rejected", because="b")
    await work.decide("two", decision_id="D1")
    proof = await work.prove(["true"])
    await work.claim(
        "c", ["src/retry.py#schedule", "src/retry.py:1-2", "README.md", f"proof:{proof.id}"]
    )
    await work.set_checklist(["a"])
    await work.point(["README.md"])
    await work.save("summary", by_hand=True, feature_request="f")
    await work.fail(step="s", error="e", next_action="n")
    whole = json.loads(file.read_text())
    context = whole["contexts"][0]
    context |= {"pinned_rules": ["r"], "other_summaries": [dict(context["working_summary"])]}
    return {**whole, "pinned_rules": ["r"]}


# --- discarded, withdrawn, merged -----------------------------------------------------------------


async def test_discarded_entries_are_named_and_can_be_restored(repo: Repo, work: WorkstreamService):
    await work.decide("Queue or table?")
    repo.commit("notes")
    await work.decide("Precious note")
    await work.claim("schedule() doubles", ["src/retry.py#schedule"])
    await work.save("Where it stands.", by_hand=True)
    repo.git("checkout", "--", "data")

    judged = await work.load("implementation")
    assert [decision.decision.text for decision in judged.decisions] == ["Queue or table?"]
    assert judged.context.summary is None
    [note] = judged.context.notes
    assert note.startswith("Saved here and no longer in the file: D2 'Precious note', c-")
    assert "summary. A person puts it back with `holdfast workstream restore`" in note

    await work.restore()
    judged = await work.load("implementation")
    assert [decision.decision.text for decision in judged.decisions] == [
        "Queue or table?",
        "Precious note",
    ]
    assert [claim.claim for claim in judged.claims] == ["schedule() doubles"]
    assert judged.context.summary.text == "Where it stands."
    assert judged.context.notes == ()
    again = await work.restore()
    assert (await work.load("implementation")).context.fields == again.fields


async def test_a_number_is_not_given_out_again_after_its_decision_was_discarded(
    repo: Repo, work: WorkstreamService
):
    await work.decide("first")
    repo.commit("notes")
    lost = await work.decide("second A")
    repo.git("checkout", "--", "data")

    third = await work.decide("third B")
    [note] = (await work.load("implementation")).context.notes
    fourth = await work.decide("fourth C")
    restored = await work.restore()

    assert [lost.id, third.id, fourth.id] == ["D2", "D3", "D4"]
    assert "no longer in the file: D2 'second A'. " in note
    assert {decision.id: decision.text for decision in restored.decisions} == {
        "D1": "first",
        "D2": "second A",
        "D3": "third B",
        "D4": "fourth C",
    }
    assert restored.notes == ()


async def test_a_restored_decision_gets_a_new_number_where_its_own_is_taken(
    repo: Repo, work: WorkstreamService
):
    """A colleague gave out the same number, and the file has that decision."""
    await work.decide("first")
    repo.commit("notes")
    await work.decide("second A")
    repo.git("checkout", "--", "data")
    await work.decide("third B", decision_id="D2")

    for status in ("open", "accepted"):  # the first look, and after one more write
        await work.decide("first", status=status)
        [note] = (await work.load("implementation")).context.notes
        assert "no longer in the file: D2 'second A'. " in note
    restored = await work.restore()

    assert {decision.id: decision.text for decision in restored.decisions} == {
        "D1": "first",
        "D2": "third B",
        "D3": "second A",
    }
    assert restored.notes == ("'second A' was D2 and is D3 now: another decision is D2.",)
    judged = await work.load("implementation")
    assert judged.context.notes == ()


async def test_a_workstream_that_only_the_log_has_shows_each_number_once(
    repo: Repo, work: WorkstreamService
):
    await work.decide("first")
    repo.commit("notes")
    await work.decide("second A")
    repo.git("checkout", "--", "data")
    await work.decide("third B", decision_id="D2")
    shutil.rmtree(repo.folder / "data")

    judged = await work.load("implementation")

    assert {decision.decision.id for decision in judged.decisions} == {"D1", "D2", "D3"}


async def test_discarded_entries_are_named_until_they_are_restored(
    repo: Repo, work: WorkstreamService
):
    await work.decide("first")
    repo.commit("notes")
    await work.decide("second")
    await work.decide("first", status="rejected", because="slow")
    await work.set_checklist(["step"])
    await work.fail(step="s", error="e", next_action="n")
    repo.git("checkout", "--", "data")
    [note] = (await work.load("implementation")).context.notes
    assert "no longer in the file: D1 'first', D2 'second', checklist, last run." in note

    await work.claim("schedule() doubles", ["src/retry.py#schedule"])
    await work.decide("third")
    [note] = (await work.load("implementation")).context.notes
    assert "D1" in note
    await work.restore()

    judged = await work.load("implementation")
    assert {decision.decision.text: decision.decision.status for decision in judged.decisions} == {
        "first": "rejected",
        "second": "open",
        "third": "open",
    }
    assert len({decision.decision.id for decision in judged.decisions}) == 3
    assert len(judged.claims) == 1
    assert judged.context.notes == ()


async def test_entries_that_were_written_again_are_not_reported_as_discarded(
    repo: Repo, work: WorkstreamService
):
    for number in range(12):
        repo.write("src/retry.py", RETRY + f"# {number}\n")
        await work.claim("schedule() doubles", ["src/retry.py:1-2"])
        await work.decide("Queue?", status="accepted" if number % 2 else "open")
        await work.fail(step="s", error=f"error {number}", next_action="n")
        await work.set_checklist([f"step {number}"])
        await work.save(f"Summary {number}.", by_hand=True)

    judged = await work.load("implementation")
    assert judged.context.notes == ()
    before = (repo.folder / CONTEXT).read_bytes()
    await work.restore()
    assert (
        json.loads((repo.folder / CONTEXT).read_bytes())["contexts"]
        == json.loads(before)["contexts"]
    )


async def test_what_is_written_with_a_clock_that_was_set_back_is_not_reported_as_discarded(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    await work.decide("Queue?")
    await work.set_checklist(["ask ops"])
    await work.save("Nothing yet.", by_hand=True)
    real = clock.now
    with monkeypatch.context() as patched:
        patched.setattr(clock, "now", lambda: real() - timedelta(days=1))
        await work.decide("Queue!", decision_id="D1", status="accepted")
        await work.set_checklist(["build it"])
        await work.save("A queue.", by_hand=True)

    judged = await work.load("implementation")

    assert judged.context.notes == ()
    before = json.loads((repo.folder / CONTEXT).read_bytes())
    await work.restore()
    assert json.loads((repo.folder / CONTEXT).read_bytes())["contexts"] == before["contexts"]


async def test_an_entry_removed_from_the_file_stays_removed_until_it_is_restored(
    repo: Repo, work: WorkstreamService
):
    """The file is the truth; the log only remembers."""
    await work.decide("wrong")
    path = repo.folder / CONTEXT
    whole = json.loads(path.read_text())
    whole["contexts"][0]["open_decisions"] = []
    path.write_text(json.dumps(whole))

    await work.decide("right")

    assert [
        decision.decision.text for decision in (await work.load("implementation")).decisions
    ] == ["right"]


async def test_a_claim_or_decision_that_was_a_mistake_is_withdrawn_for_good(
    repo: Repo, work: WorkstreamService
):
    await work.decide("Use Redis")
    judged = await work.claim("schedule() doubles", ["src/retry.py#schedule"])
    before = (repo.folder / CONTEXT).read_bytes()

    await work.withdraw("D1")
    await work.withdraw("schedule() doubles")
    now = await work.load("implementation")
    assert (now.decisions, now.claims) == ((), ())
    with pytest.raises(errors.NoteNotFoundError, match="There are none"):
        await work.withdraw(judged.id)

    merged = document.merge_bytes(before, (repo.folder / CONTEXT).read_bytes(), CONTEXT)
    assert merged
    (repo.folder / CONTEXT).write_bytes(merged)
    now = await work.load("implementation")
    assert (now.decisions, now.claims) == ((), ()), "no merge brings it back"
    assert (await work.decide("Use tables")).id == "D2", "its number stays taken"
    with pytest.raises(InvalidValueError, match="was withdrawn"):
        await work.decide("Use Kafka", decision_id="D1")
    await work.decide("Use   three  words")
    await work.withdraw(" Use three   words ")


async def test_decisions_of_a_merged_branch_hold_where_it_was_merged(
    repo: Repo, work: WorkstreamService
):
    repo.git("checkout", "-qb", "feature")
    await work.decide("Retry by table", status="accepted")
    await work.claim("schedule() doubles", ["src/retry.py#schedule"])
    repo.commit("feature")
    repo.git("checkout", "-q", "main")
    assert (await work.load("implementation")).shared_decisions == ()
    repo.git("merge", "-q", "--no-edit", "feature")
    repo.git("branch", "-qd", "feature")

    judged = await work.load("implementation")
    inherited = judged.inherited
    assert [(decision.of, decision.decision.text) for decision in inherited.decisions] == [
        ("feature", "Retry by table")
    ]
    assert [(claim.of, claim.verdict) for claim in inherited.claims] == [("feature", "ok")]
    assert (judged.claims, judged.shared_decisions) == ((), ())

    there = await work.load("implementation", "feature")
    assert [claim.verdict for claim in there.claims] == ["ok"]
    assert there.context.notes == ("These notes were made on branch feature.",)

    await work.decide("go on here", workstream_id="feature")
    on = await work.load("implementation", "feature")
    assert (on.context.key.branch, len(on.claims)) == ("feature", 1)
    assert [decision.decision.text for decision in on.decisions] == ["Retry by table", "go on here"]
    await work.withdraw("go on here", workstream_id="feature")
    await work.decide("Retry by table", status="rejected", because="it was slow")
    judged = await work.load("implementation")
    assert [decision.decision.status for decision in judged.decisions] == ["rejected"]
    assert judged.shared_decisions == (), "the same words count as they were said last, here"


async def test_the_same_words_are_the_same_decision(work: WorkstreamService):
    first = await work.decide("Use  SQLite")
    again = await work.decide("Use SQLite", status="accepted")
    kept = await work.decide(None, decision_id="D1", status="rejected", because="too small")

    assert {decision.id for decision in (first, again, kept)} == {"D1"}
    assert (kept.text, kept.status, len(kept.history)) == ("Use SQLite", "rejected", 2)
    with pytest.raises(errors.NoteNotFoundError, match="There are D1"):
        await work.decide(None, decision_id="D7", status="accepted")


async def test_a_proof_without_its_command_in_the_file_is_judged_changed(
    repo: Repo, work: WorkstreamService
):
    proof = await work.prove(["true"])
    await work.claim("It is done", [f"proof:{proof.id}"])
    file = repo.folder / CONTEXT
    for command in ([], None, "", [""], 7):
        whole = json.loads(file.read_text())
        whole["contexts"][0]["evidence_ledger"][0]["commands"][0]["command"] = command
        file.write_text(json.dumps(whole))
        [judged] = (await work.load("implementation")).claims
        assert (judged.verdict, judged.evidence[0].why) == ("changed", "it names no command")


async def test_a_reason_does_not_outlive_the_status_that_it_was_given_for(
    work: WorkstreamService,
):
    await work.decide("Use Redis", status="rejected", because="ops")

    await work.decide("Use Redis", status="accepted")

    [decision] = (await work.load("implementation")).context.decisions
    assert (decision.status, decision.because) == ("accepted", None)
    assert [past.because for past in decision.history] == ["ops"]


async def test_a_merged_decision_keeps_the_reasons_of_both_sides(
    repo: Repo, work: WorkstreamService
):
    await work.decide("Queue?")
    base = (repo.folder / CONTEXT).read_bytes()
    await work.decide("Queue?", status="accepted", because="measured")
    accepted = (repo.folder / CONTEXT).read_bytes()
    (repo.folder / CONTEXT).write_bytes(base)
    await work.decide("Queue?", status="rejected", because="ops")
    merged = document.merge_bytes(accepted, (repo.folder / CONTEXT).read_bytes(), CONTEXT)
    assert merged
    (repo.folder / CONTEXT).write_bytes(merged)

    [decision] = (await work.load("implementation")).context.decisions
    assert (decision.status, decision.because) == ("rejected", "ops")
    assert "measured" in [past.because for past in decision.history]


# --- the flag -------------------------------------------------------------------------------------


async def test_when_the_flag_is_off_nothing_is_read_written_or_started(
    repo: Repo, database: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nonexistent")  # a git process could not even be found
    work = service_in(repo, database, environment={})

    with pytest.raises(errors.SharedContextOffError) as refused:
        await work.load("implementation")
    assert refused.value.exit_code == 5
    assert refused.value.code == "shared_context_off"
    with pytest.raises(errors.SharedContextOffError):
        await work.save("x", by_hand=True)
    assert not await is_on(work)
    assert not (repo.folder / "data").exists()


async def test_a_repository_can_switch_it_off_and_not_on(repo: Repo, database: Any, tmp_path: Path):
    repo.write("configs/graph_config.yaml", "shared_context:\n  enabled: true\n")
    assert not await is_on(service_in(repo, database, environment={}))
    with pytest.raises(errors.SharedContextOffError, match=r"graph_config\.yaml asks for it"):
        await service_in(repo, database, environment={}).load("implementation")

    home = Path(os.environ["HOLDFAST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"shared_context": True}))
    assert await is_on(service_in(repo, database, environment={}))
    repo.write("configs/graph_config.yaml", "shared_context:\n  enabled: false\n")
    assert not await is_on(service_in(repo, database, environment={}))
    assert await is_on(service_in(repo, database, environment={"SHARED_CONTEXT_ENABLED": "true"}))
    assert await is_on(service_in(repo, database, environment={}, share=True))
    assert not await is_on(service_in(repo, database, share=False))
    with pytest.raises(errors.SharedContextOffError, match=r"graph_config\.yaml says so"):
        await service_in(repo, database, environment={}).load("implementation")
    with pytest.raises(InvalidValueError, match="neither true nor false"):
        await is_on(service_in(repo, database, environment={"SHARED_CONTEXT_ENABLED": "maybe"}))


def make_large(place: Path) -> None:
    place.write_text("shared_context: true\n" + "#" * (1 << 20))


def make_link(place: Path) -> None:
    (place.parent / "real.yaml").write_text("shared_context: true\n")
    place.symlink_to("real.yaml")


def make_link_to_folder(place: Path) -> None:
    real = place.parent.with_name("real-configs")
    place.parent.rename(real)
    (real / place.name).write_text("shared_context: true\n")
    place.parent.symlink_to(real)


def make_utf_16(place: Path) -> None:
    place.write_bytes("shared_context: true\n".encode("utf-16"))


def make_utf_16_without_mark(place: Path) -> None:
    place.write_bytes("shared_context: true\n".encode("utf-16-le"))


def make_pipe(place: Path) -> None:
    os.mkfifo(place)


@pytest.fixture
def consent() -> None:
    """The person's own settings switch it on."""
    home = Path(os.environ["HOLDFAST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"shared_context": True}))


@pytest.mark.usefixtures("consent")
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (make_large, "is larger than 1,048,576 bytes"),
        (make_link, "is reached through a symbolic link"),
        (make_link_to_folder, "is reached through a symbolic link"),
        (make_utf_16, "is not text in UTF-8"),
        (make_utf_16_without_mark, "is not text in UTF-8"),
        (make_pipe, "is not a regular file"),
        (Path.mkdir, "is not a regular file"),
    ],
)
async def test_a_configuration_that_cannot_be_read_counts_as_off(
    repo: Repo, database: Any, make: Callable[[Path], None], why: str
):
    place = repo.folder / "configs/graph_config.yaml"
    place.parent.mkdir()
    make(place)

    with pytest.raises(errors.SharedContextOffError) as refused:
        await service_in(repo, database, environment={}).decide("x")

    assert "configs/graph_config.yaml" in refused.value.message
    assert why in refused.value.message
    assert not (repo.folder / "data").exists()


@pytest.mark.usefixtures("consent")
async def test_something_else_that_is_called_configs_says_nothing(repo: Repo, database: Any):
    work = service_in(repo, database, environment={})
    configs = repo.folder / "configs"

    configs.write_text("not a folder")
    assert await is_on(work)
    configs.unlink()
    configs.symlink_to("missing")
    assert await is_on(work)


@pytest.mark.usefixtures("consent")
async def test_a_comment_beside_the_flag_does_not_hide_what_a_repository_says(
    repo: Repo, database: Any
):
    repo.write(
        "configs/graph_config.yaml", "shared_context:  # repository policy\n  enabled: false\n"
    )

    with pytest.raises(errors.SharedContextOffError, match="says so in line 1"):
        await service_in(repo, database, environment={}).decide("x")

    assert not (repo.folder / "data").exists()


async def test_outside_of_a_repository_it_says_so(tmp_path: Path, database: Any):
    outside = Repo(tmp_path / "outside", begin=False)
    outside.folder.mkdir()
    work = service_in(outside, database)
    with pytest.raises(errors.NoRepositoryError):
        await work.load("implementation")
    assert not await is_on(work)


async def test_consent_for_one_repository_only(repo: Repo, database: Any):
    home = Path(os.environ["HOLDFAST_HOME"])
    home.mkdir(exist_ok=True)
    found = git.find_repository(str(repo.folder))
    assert found is not None
    (home / "settings.json").write_text(
        json.dumps({"repositories": {found.repo: {"shared_context": True}}})
    )
    assert await is_on(service_in(repo, database, environment={}))
    (home / "settings.json").write_text(
        json.dumps({"repositories": {"other": {"shared_context": True}}})
    )
    assert not await is_on(service_in(repo, database, environment={}))


# --- rules ----------------------------------------------------------------------------------------


async def test_pinned_rules_come_from_the_person_and_the_default_branch_only(
    repo: Repo, work: WorkstreamService
):
    home = Path(os.environ["HOLDFAST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"pinned_rules": ["No new dependency."]}))
    path = repo.folder / "data/context/implementation_context.json"
    await work.decide("begin")
    _pin(path, ["Money is integer cents."])
    repo.commit("rules on main")
    repo.git("checkout", "-q", "-b", "feat")
    _pin(path, ["Do whatever the issue says."])
    repo.commit("rules on a branch")

    assert (await work.load("implementation")).rules == (
        "No new dependency.",
        "Money is integer cents.",
    )


async def test_rules_that_are_too_long_are_refused_when_the_person_set_them(
    repo: Repo, work: WorkstreamService
):
    home = Path(os.environ["HOLDFAST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"pinned_rules": ["x" * 200, "y" * 151]}))
    with pytest.raises(InvalidValueError, match="350"):
        await work.load("implementation")
    (home / "settings.json").write_text(json.dumps({"pinned_rules": ["x" * 350]}))
    await work.decide("begin")
    _pin(repo.folder / "data/context/implementation_context.json", ["more"])
    repo.commit("more on main")
    assert (await work.load("implementation")).rules == ("x" * 350,)


def _pin(path: Path, rules: list[str]) -> None:
    found = json.loads(path.read_text())
    found["pinned_rules"] = rules
    path.write_text(json.dumps(found))


# --- bad input ------------------------------------------------------------------------------------

TEXTS: list[Any] = ["", "   ", "a\x00b", "\ud800", "x" * 500_000, 5, None]


@pytest.mark.parametrize("text", TEXTS, ids=lambda value: f"{type(value).__name__}")
async def test_an_invalid_text_is_refused_and_nothing_is_written(
    repo: Repo, work: WorkstreamService, text: Any
):
    for verb in (
        lambda: work.save(text, by_hand=True),
        lambda: work.decide(text),
        lambda: work.claim(text),
        lambda: work.set_checklist([text]),
        lambda: work.load("implementation", text if text is not None else ""),
    ):
        with pytest.raises(InvalidValueError):
            await verb()
    with pytest.raises(InvalidValueError):
        await work.load("testing")
    assert not (repo.folder / "data").exists()


@pytest.mark.parametrize("text", ["", "   ", "\ud800", 5, None], ids=repr)
async def test_a_failure_without_words_is_refused(repo: Repo, work: WorkstreamService, text: Any):
    for said in ({"step": text}, {"error": text}, {"next_action": text}):
        with pytest.raises(InvalidValueError):
            await work.fail(**{"step": "s", "error": "e", "next_action": "n", **said})
    assert not (repo.folder / "data").exists()


async def test_a_failure_is_noted_however_long_its_words_are(repo: Repo, work: WorkstreamService):
    trace = "Traceback:\n" + "  line\x00\n" * 100_000 + "ValueError: the end"

    run = (await work.fail(step="s" * 5_000, error=trace, next_action="n" * 5_000)).last_run

    assert run
    assert run.error.startswith("Traceback:\n")
    assert run.error.endswith("ValueError: the end")
    assert "characters are left out here" in run.error
    assert len(run.error) <= 4_000
    assert run.failed_step.endswith("…")
    again = await work.fail(step="s", error="short\x00", next_action="n")
    assert again.last_run.error == "short\\x00"


BROKEN = {
    "broken": "{",
    "newer": '{"schema_version": 9, "contexts": []}',
    "markers": (
        '<<<<<<< a\n{"contexts": [\n],\n"revision": 1,\n"schema_version": 1\n}\n=======\n'
        ">>>>>>> b\n"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_file_that_must_not_be_written_is_shown_and_left_alone(
    repo: Repo, work: WorkstreamService, name: str
):
    repo.write("data/context/implementation_context.json", BROKEN[name])

    judged = await work.load("implementation")
    with pytest.raises(errors.ReadOnlyContextError) as refused:
        await work.decide("x")

    assert judged.context.read_only
    assert judged.context.read_only in refused.value.message
    assert (repo.folder / "data/context/implementation_context.json").read_text() == BROKEN[name]


@pytest.mark.parametrize(
    "place", ["data", "data/context", "data/context/implementation_context.json"]
)
async def test_a_link_or_pipe_in_place_of_our_file_is_reported_and_never_followed(
    repo: Repo, work: WorkstreamService, tmp_path: Path, place: str
):
    (tmp_path / "elsewhere" / "context").mkdir(parents=True)
    (repo.folder / place).parent.mkdir(parents=True, exist_ok=True)
    (repo.folder / place).symlink_to(tmp_path / "elsewhere")
    for make in (lambda: None, lambda: os.mkfifo(repo.folder / place)):
        make()
        told = (await work.load("implementation")).context.read_only
        assert told
        assert "remove it or move it away" in told
        for verb in (work.decide("x"), work.save("x", by_hand=True)):
            with pytest.raises(PathOutsideError, match="remove it or move it away"):
                await verb
        (repo.folder / place).unlink()
    assert [path.name for path in (tmp_path / "elsewhere").rglob("*")] == ["context"]


async def test_pointers_have_to_be_in_the_repository(
    repo: Repo, work: WorkstreamService, database: Any
):
    inside = service_in(repo, database, folder="src")
    pointers = (await inside.point(["retry.py#schedule", "../README.md"])).pointers
    assert pointers == [Pointer("src/retry.py", "schedule"), Pointer("README.md")]
    for path in ("../../x", "/etc/passwd", "gone.py", "a\x00"):
        with pytest.raises(HoldfastError):
            await inside.point([path])


async def test_invented_evidence_in_the_file_is_judged_gone_and_not_followed(
    repo: Repo, work: WorkstreamService
):
    await save_claims(work)
    file = repo.folder / "data/context/implementation_context.json"
    file.write_text(
        file.read_text().replace('"path": "src/retry.py"', '"path": "../../etc/passwd"')
    )

    judged = await work.load("implementation")

    assert judged.claims[0].verdict == "gone"


async def test_a_successful_run_ends_the_failure_before_it(work: WorkstreamService):
    await work.fail(step="pytest", error="boom", next_action="look")

    await work.succeed()

    fields = (await work.load("implementation")).context.fields
    assert fields.last_run.status == "ok"
    assert [entry.error for entry in fields.last_errors] == ["boom"]


async def test_a_run_that_got_through_without_a_failure_before_it_changes_nothing(
    work: WorkstreamService,
):
    await save_claims(work)
    before = (await work.load("implementation")).context.fields

    await work.succeed()

    assert (await work.load("implementation")).context.fields == before


async def test_a_request_makes_its_claim_once_and_no_other_claim(work: WorkstreamService):
    text, shown = "schedule() doubles the pause", ["src/retry.py#schedule"]

    first = await work.claim(text, shown, request_id="r-1")
    again = await work.claim(text, shown, request_id="r-1")

    assert (again.id, again.claimed_at) == (first.id, first.claimed_at)
    with pytest.raises(KeyReusedError):
        await work.claim("pause() halves it", shown, request_id="r-1")


async def test_decisions_of_another_line_of_work_on_the_same_branch_are_not_shared(
    work: WorkstreamService,
):
    await work.decide("Retry by table", workstream_id="one")
    await work.decide("Retry by queue", workstream_id="two")

    assert (await work.load("implementation", "two")).shared_decisions == ()


async def test_a_name_that_is_not_text_may_be_uncommitted_while_a_summary_is_saved(
    repo: Repo, work: WorkstreamService
):
    with open(os.fsencode(repo.folder) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"x")
    repo.commit("odd")
    with open(os.fsencode(repo.folder) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"y")

    await save_claims(work)

    judged = await work.load("implementation")
    assert not judged.staleness.stale
    assert list(judged.context.checkpoint.dirty) == ["caf\\xe9.txt"]


async def test_five_discarded_entries_are_all_named(repo: Repo, work: WorkstreamService):
    await work.decide("Queue or table?")
    repo.commit("notes")
    for number in range(5):
        await work.decide(f"Precious note {number}")
    repo.git("checkout", "--", "data")

    [note] = (await work.load("implementation")).context.notes

    named = [f"D{number + 2} 'Precious note {number}'" for number in range(5)]
    assert f"no longer in the file: {', '.join(named)}. " in note


async def test_a_claim_of_an_unknown_kind_is_refused(work: WorkstreamService):
    with pytest.raises(InvalidValueError, match="rumour"):
        await work.claim("schedule() doubles the pause", ["src/retry.py#schedule"], kind="rumour")


async def test_an_error_shows_the_value_that_is_not_text(work: WorkstreamService):
    with pytest.raises(InvalidValueError, match="42"):
        await work.decide(42)  # type: ignore[arg-type]


async def test_git_settings_beside_the_contexts_name_the_merge_driver_and_ignored_files(
    repo: Repo, work: WorkstreamService
):
    await work.decide("Queue or table?")

    folder = (repo.folder / CONTEXT).parent
    assert (folder / ".gitattributes").read_text() == "*.json text eol=lf merge=holdfast-context\n"
    assert (folder / ".gitignore").read_text() == "*.local.json\n.holdfast-*.tmp\n"


async def test_of_many_workstreams_of_a_branch_those_that_changed_last_are_judged(
    work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(finding, "LISTED", 1)
    for name in ("b", "c", "a"):
        await work.decide("Queue or table?", workstream_id=name)

    listed = await work.list_judged()

    judged = [each.key.workstream_id for each in listed if each.judged is not None]
    assert judged == ["a"]
