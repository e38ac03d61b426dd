"""A summary and a claim stand on what was seen to hold: a run that failed outranks all others."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import NotFound
from holdfast.workstreams import errors, rules, store
from holdfast.workstreams.model import Proof
from holdfast.workstreams.rules import Verification
from holdfast.workstreams.service import WorkstreamService
from tests.workstreams.repos import Repo, service_in, with_code

CHECK = ["sh", "-c", "test -e ok"]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def work(repo: Repo, database: Any) -> WorkstreamService:
    return service_in(repo, database)


def run(number: int, command: str, exit_code: int, tree: str = "now") -> Proof:
    moment = f"2026-11-16T09:{number:02}:00.000000Z"
    words = tuple(command.split())
    return Proof(f"p-{number}", words, exit_code, 9, "h", "", tree, "head", moment, "r", "b", "")


def verify(*proofs: Proof, by_hand: bool = False, is_committed: bool = True) -> Verification:
    return rules.find_verification(
        by_hand=by_hand, tree="now", is_committed=is_committed, proofs=proofs
    )


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize(
    "proofs",
    [
        (run(1, "make test", 1),),
        (run(2, "make test", 1), run(1, "make test", 0)),
        (run(2, "make lint", 0), run(1, "make test", 1)),
        (run(1, "make test", 1), run(2, "make lint", 0)),
    ],
)
def test_an_agent_is_refused_while_the_newest_run_of_a_command_failed(proofs, is_committed):
    """Committed or not, whatever else passed, and in whichever order they are known."""
    with pytest.raises(errors.NotVerifiedError) as refused:
        verify(*proofs, is_committed=is_committed)

    assert refused.value.failing == "make test → exit 1"
    assert "workstream.withdraw" in [action.verb for action in refused.value.next_actions]


def test_a_later_pass_of_the_same_command_verifies():
    assert verify(run(1, "make test", 1), run(2, "make test", 0)) == Verification("proof p-2")


def test_a_run_on_another_tree_counts_neither_way():
    assert verify(run(1, "make test", 1, tree="older")) == Verification("commit")
    with pytest.raises(errors.NotVerifiedError) as refused:
        verify(run(1, "make test", 0, tree="older"), is_committed=False)
    assert refused.value.failing is None


def test_a_person_saves_nevertheless_and_the_failing_run_is_kept():
    assert verify(run(1, "make test", 2), by_hand=True) == Verification(
        "hand", failing="make test → exit 2"
    )


def test_a_person_saves_nevertheless_and_every_failing_command_is_kept():
    proofs = [run(number, f"make part{number}", 2) for number in range(1, 6)]

    assert verify(*proofs[:2], by_hand=True).failing == "make part2 → exit 2; make part1 → exit 2"
    assert verify(*proofs, by_hand=True).failing == (
        "make part5 → exit 2; make part4 → exit 2; make part3 → exit 2; 2 more"
    )


# --- on a real checkout ---------------------------------------------------------------------------


async def test_a_failed_command_blocks_however_often_others_passed_since(
    work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "PROOFS_READ", 3)
    await work.prove(["false"])
    for _ in range(5):
        await work.prove(["true"])

    with pytest.raises(errors.NotVerifiedError, match="false → exit 1"):
        await work.save("All is well.")


async def test_a_withdrawn_run_gives_way_to_the_run_before_it(work: WorkstreamService):
    await work.prove(["false"])
    mistaken = await work.prove(["false"])
    await work.withdraw(mistaken.id)

    with pytest.raises(errors.NotVerifiedError) as refused:
        await work.save("All is well.")

    assert mistaken.id not in str(refused.value.next_actions)


async def test_a_failed_run_that_rewrote_a_tracked_file_blocks_on_what_it_left(
    repo: Repo, work: WorkstreamService
):
    await work.prove(["sh", "-c", "echo other > README.md; exit 1"])
    repo.commit()

    with pytest.raises(errors.NotVerifiedError, match="exit 1"):
        await work.save("All is well.")


async def test_the_same_command_in_another_folder_does_not_cure_a_failed_one(
    repo: Repo, work: WorkstreamService, database: Any
):
    await work.prove(["test", "-e", "retry.py"])
    await service_in(repo, database, folder="src").prove(["test", "-e", "retry.py"])

    with pytest.raises(errors.NotVerifiedError, match="exit 1"):
        await work.save("All is well.")


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_failed_command_blocks_an_agents_save_until_it_passes(
    repo: Repo, work: WorkstreamService, is_committed: bool
):
    if not is_committed:
        repo.write("README.md", "edited\n")
    await work.prove(CHECK)
    await work.prove(["true"])

    with pytest.raises(errors.NotVerifiedError, match=r"failed: .*test -e ok → exit 1"):
        await work.save("All is well.")
    assert (await work.load("implementation")).context.summary is None

    repo.write(".git/info/exclude", "ok\n")
    repo.write("ok", "")
    passed = await work.prove(CHECK)
    await work.save("All is well.")

    summary = (await work.load("implementation")).context.summary
    assert summary.verified_by.startswith("proof ")
    assert summary.failing is None
    assert passed.passed


async def test_a_person_saves_while_a_command_fails_and_the_summary_says_so(
    work: WorkstreamService,
):
    await work.prove(["false"])

    await work.save("It is as it is.", by_hand=True)

    summary = (await work.load("implementation")).context.summary
    assert (summary.verified_by, summary.failing) == ("hand", "false → exit 1")


async def test_a_mistaken_run_is_withdrawn_and_blocks_no_longer(work: WorkstreamService):
    failed = await work.prove(["false"])
    with pytest.raises(errors.NotVerifiedError):
        await work.save("All is well.")

    assert (await work.withdraw(failed.id)).id == failed.id
    assert (await work.withdraw(failed.id)).id == failed.id, "twice is once"
    await work.save("All is well.")

    judged = await work.load("implementation")
    assert judged.context.summary.verified_by == "commit"
    assert failed.id not in [proof.id for proof in judged.proofs]


async def test_a_proof_of_another_repository_is_not_withdrawn(
    work: WorkstreamService, tmp_path: Path, database: Any
):
    other = service_in(Repo(tmp_path / "other"), database)
    failed = await work.prove(["false"])

    with pytest.raises(NotFound):
        await other.withdraw(failed.id)
    with pytest.raises(errors.NotVerifiedError):
        await work.save("All is well.")


# --- claims ---------------------------------------------------------------------------------------


async def claim_that_passes(repo: Repo, work: WorkstreamService) -> Proof:
    """Whether the command passes depends on a file that git does not track."""
    repo.write(".git/info/exclude", "ok\n")
    repo.write("ok", "")
    passed = await work.prove(CHECK)
    await work.claim("tests pass", [f"proof:{passed.id}"])
    return passed


async def judge_evidence(work: WorkstreamService) -> tuple[str, str]:
    judged = await work.load("implementation")
    [found] = [claim.evidence[0] for claim in judged.claims if claim.claim == "tests pass"]
    by_id = await work.find_claim(judged.claims[0].id, "implementation")
    assert by_id.evidence[0] == found
    return found.verdict, found.why


async def test_a_claim_does_not_hold_while_the_newest_run_of_its_command_failed(
    repo: Repo, work: WorkstreamService
):
    passed = await claim_that_passes(repo, work)
    assert await judge_evidence(work) == ("ok", "")

    (repo.folder / "ok").unlink()
    failed = await work.prove(CHECK)

    assert await judge_evidence(work) == ("changed", "it failed when it was run again")
    for text in ("all of it works", "The plan has three parts"):
        with pytest.raises(errors.ProofFailedError, match="failed when it was run again"):
            await work.claim(text, [f"proof:{passed.id}"])

    await work.withdraw(failed.id)
    assert await judge_evidence(work) == ("ok", "")
    await work.claim("all of it works", [f"proof:{passed.id}"])


async def test_a_later_pass_makes_the_claim_hold_again(repo: Repo, work: WorkstreamService):
    await claim_that_passes(repo, work)
    (repo.folder / "ok").unlink()
    await work.prove(CHECK)
    repo.write("ok", "")
    await work.prove(CHECK)

    assert await judge_evidence(work) == ("ok", "")


async def test_a_claim_does_not_hold_after_its_proof_was_withdrawn(
    repo: Repo, work: WorkstreamService
):
    passed = await claim_that_passes(repo, work)

    await work.withdraw(passed.id)

    assert await judge_evidence(work) == ("changed", "it was withdrawn")
    with pytest.raises(errors.ProofFailedError, match="was withdrawn"):
        await work.claim("all of it works", [f"proof:{passed.id}"])


async def test_the_same_command_that_fails_in_another_folder_contradicts_nothing(
    repo: Repo, work: WorkstreamService, database: Any
):
    await claim_that_passes(repo, work)

    await service_in(repo, database, folder="src").prove(CHECK)

    assert await judge_evidence(work) == ("ok", "")


async def test_a_failing_run_falsifies_a_claim_of_a_merged_branch_as_well(
    repo: Repo, work: WorkstreamService
):
    repo.git("switch", "-c", "feature")
    await claim_that_passes(repo, work)
    repo.commit()
    repo.git("switch", "main")
    repo.git("merge", "-q", "feature")
    repo.git("switch", "-c", "next")
    assert [each.claim for each in (await work.load("implementation")).all_claims] == ["tests pass"]

    (repo.folder / "ok").unlink()
    await work.prove(CHECK)

    assert (await work.load("implementation")).all_claims == ()


async def test_many_claims_cost_as_many_statements_as_one(
    repo: Repo, work: WorkstreamService, database: Any, monkeypatch: pytest.MonkeyPatch
):
    passed = await claim_that_passes(repo, work)
    one = await count_reads(work, database, monkeypatch)
    for number in range(20):
        await work.claim(f"part {number} is there", [f"proof:{passed.id}"])

    assert await count_reads(work, database, monkeypatch) == one


async def count_reads(
    work: WorkstreamService, database: Any, monkeypatch: pytest.MonkeyPatch
) -> int:
    count = 0
    read = database.read

    async def count_read(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return await read(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(database, "read", count_read)
        await work.load("implementation")
    return count
