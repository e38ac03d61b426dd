"""The workstreams screen as values, on real repositories: what is shown beside a claim, and what a
button may run.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.ground.confined import ConfinedRoot
from holdfast.surfaces.console import claim_view, diff, work_view
from holdfast.surfaces.console.work_view import WorkChoice, choose
from holdfast.workstreams.service import WorkstreamService
from tests.workstreams.repos import RETRY, Repo, service_in, with_code


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def workstreams(repo: Repo, database: Any) -> WorkstreamService:
    return service_in(repo, database)


async def look(workstreams: WorkstreamService, *roots: Path) -> work_view.Work:
    judged = await workstreams.load("implementation")
    proofs = await work_view.find_proofs(workstreams, judged)
    confined = [ConfinedRoot(str(root)) for root in roots]
    return work_view.make_work(judged, confined, workstreams.folder, proofs)


def edit_ledger(repo: Repo, **changes: Any) -> None:
    """As any person may who can change a file: the first piece of the newest claim's commands says
    something else.
    """
    path = repo.folder / "data/context/implementation_context.json"
    document = json.loads(path.read_text())
    document["contexts"][0]["evidence_ledger"][-1]["commands"][0] |= changes
    path.write_text(json.dumps(document))


# --- claims ---------------------------------------------------------------------------------------


async def test_claims_come_worst_first_beside_the_lines_as_they_are_now(
    repo: Repo, workstreams: WorkstreamService
):
    await workstreams.claim("Provider answers 409 to a replay")
    await workstreams.claim("README names it", ["README.md"])
    await workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    await workstreams.claim("deliver() gives back", ["src/retry.py#deliver"])
    await workstreams.claim("Attempts are numbered", ["src/models.py:1-2"])
    repo.write("src/retry.py", RETRY.replace("30", "60").replace("def deliver", "\n\ndef deliver"))
    (repo.folder / "src/models.py").unlink()

    work = await look(workstreams, repo.folder)

    assert [claim.claim.verdict for claim in work.claims] == [
        "gone",
        "changed",
        "moved",
        "said",
        "ok",
    ]
    gone, changed, moved, said, ok = [claim.places for claim in work.claims]
    assert gone[0].words == "The file is no longer there."
    assert "applet=git-diff" in str(gone[0].link)
    assert (changed[0].first, changed[0].lines) == (
        1,
        ("def schedule(attempt):", "    return 60 * 2**attempt"),
    )
    assert (moved[0].first, moved[0].words) == (7, "The same text, now at L7-L8.")
    assert str(moved[0].link).endswith("&line=7#L7")
    assert said == ()
    assert ok[0].lines == ("payouts",)
    assert [(piece.kind, piece.count) for piece in work.bar] == [
        (verdict, 1) for verdict in ("ok", "moved", "changed", "gone", "said")
    ]


async def test_lines_that_were_edited_are_shown_where_they_were_noted(
    repo: Repo, workstreams: WorkstreamService
):
    await workstreams.claim("it returns the event", ["src/retry.py:5-6"])
    repo.write("src/retry.py", RETRY.replace("return event", "return None"))
    [claim] = (await look(workstreams, repo.folder)).claims
    assert (claim.places[0].first, claim.places[0].lines[-1]) == (5, "    return None")

    repo.write("src/retry.py", "one\n")
    [claim] = (await look(workstreams, repo.folder)).claims
    assert (claim.places[0].words, claim.places[0].lines) == (
        "Edited since: the file has 1 line now.",
        (),
    )


async def test_a_symbol_that_left_its_file_is_gone_though_the_file_is_not(
    repo: Repo, workstreams: WorkstreamService
):
    await workstreams.claim("deliver() gives back", ["src/retry.py#deliver"])
    repo.write("src/retry.py", RETRY.replace("deliver", "send"))

    [claim] = (await look(workstreams, repo.folder)).claims

    assert (claim.claim.verdict, claim.places[0].words) == ("gone", "It is no longer in the file.")


async def test_a_link_leads_only_to_a_diff_that_knows_the_file(
    repo: Repo, workstreams: WorkstreamService
):
    """In the checkpoint's commit, only in a later one, and in none: what is gone from all of them
    has no diff.
    """
    await workstreams.save("as it was", by_hand=True)
    first = repo.git("rev-parse", "HEAD")
    for name in ("later.py", "never.py"):
        repo.write(name, "x = 1\n")
    repo.git("add", "later.py")
    repo.git("commit", "-q", "-m", "later")
    repo.git("add", "never.py")
    for path in ("src/models.py:1", "later.py:1", "never.py:1"):
        await workstreams.claim(f"it is in {path}", [path])
    for name in ("src/models.py", "later.py", "never.py"):
        (repo.folder / name).unlink()

    work = await look(workstreams, repo.folder)

    places = {claim.claim.claim: claim.places[0] for claim in work.claims}
    assert [place.words for place in places.values()] == ["The file is no longer there."] * 3
    known, later, never = (
        places[f"it is in {path}:1"].link for path in ("src/models.py", "later.py", "never.py")
    )
    assert parse_qs(urlsplit(known or "").query)["since"] == [first]
    assert parse_qs(urlsplit(later or "").query).keys() == {"applet", "path"}
    assert never is None
    roots = [ConfinedRoot(str(repo.folder))]
    for link in (known, later):
        query = parse_qs(urlsplit(link or "").query)
        assert (
            diff.open_diff(roots, query["path"][0], query.get("since", [None])[0]).state == "gone"
        )


async def test_an_excerpt_is_short_however_long_the_file_is(
    repo: Repo, workstreams: WorkstreamService
):
    repo.write("long.txt", "x" * 5000 + "\n" + "line\n" * 999)
    await workstreams.claim("it is long", ["long.txt"])

    [claim] = (await look(workstreams, repo.folder)).claims

    assert len(claim.places[0].lines) == claim_view.LINES_SHOWN
    assert len(claim.places[0].lines[0]) == claim_view.LINE_CHARS
    assert claim.places[0].left_out == 1000 - claim_view.LINES_SHOWN


async def test_no_line_is_shown_of_what_lies_outside_the_folders_that_may_be_shown(
    repo: Repo, workstreams: WorkstreamService
):
    """The checkout may reach further than `--root` does; a link does not help."""
    (repo.folder / "shown").mkdir()
    await workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    for roots in ((repo.folder / "shown",), ()):
        [claim] = (await look(workstreams, *roots)).claims
        assert (claim.places[0].lines, claim.places[0].link) == ((), None)
        assert claim.places[0].words == "Its lines are not shown here."


async def test_many_claims_are_counted_and_the_worst_are_shown(
    repo: Repo, workstreams: WorkstreamService
):
    path = repo.folder / "data/context/implementation_context.json"
    await workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    document = json.loads(path.read_text())
    entry = document["contexts"][0]["evidence_ledger"][0]
    fine = [
        {**entry, "id": f"c-{n}", "uid": f"u-{n}", "claim": f"it holds {n} times"}
        for n in range(79)
    ]
    broken = {
        **entry,
        "id": "c-x",
        "uid": "x",
        "claim": "it broke",
        "files": [{"path": "no.py", "text_hash": "0" * 64}],
    }
    document["contexts"][0]["evidence_ledger"] = [entry, *fine, broken]
    path.write_text(json.dumps(document))

    work = await look(workstreams, repo.folder)

    assert len(work.claims) == work_view.CLAIMS_SHOWN
    assert work.claims_left_out == 81 - work_view.CLAIMS_SHOWN
    assert work.claims[0].claim.id == "c-x"
    assert len({claim.anchor for claim in work.claims}) == work_view.CLAIMS_SHOWN


# --- the summary ----------------------------------------------------------------------------------


async def test_the_view_shows_how_stale_the_summary_is_and_which_files_changed(
    repo: Repo, workstreams: WorkstreamService
):
    work = await look(workstreams, repo.folder)
    assert work.is_empty
    assert work.how_stale == "No summary was saved yet, so nothing can be stale."

    await workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    await workstreams.claim("Attempts are numbered", ["src/models.py:1-2"])
    await workstreams.save("Goal: retry.", by_hand=True)
    work = await look(workstreams, repo.folder)
    assert work.how_stale.startswith("Fresh")
    assert (work.is_empty, work.changes) == (False, ())

    repo.write("src/retry.py", RETRY.replace("30", "60"))
    work = await look(workstreams, repo.folder)
    assert work.how_stale == "Stale: 1 of the 2 files noted here changed."
    head = repo.git("rev-parse", "HEAD")
    path = str(repo.folder / "src/retry.py").replace("/", "%2F")
    assert [change.link for change in work.changes] == [
        f"/?applet=git-diff&path={path}&since={head}"
    ]

    repo.write("README.md", "other\n")
    assert (await look(workstreams, repo.folder)).how_stale.endswith(
        "noted here changed. 1 other file changed; none is noted here."
    )


async def test_the_mark_changes_with_the_state(repo: Repo, workstreams: WorkstreamService):
    await workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    before = await look(workstreams, repo.folder)

    assert before.mark == (await look(workstreams, repo.folder)).mark
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    assert before.mark != (await look(workstreams, repo.folder)).mark


async def test_decisions_come_open_first_and_rejected_last_with_their_reasons(
    workstreams: WorkstreamService,
):
    await workstreams.decide("Redis", status="rejected", because="ops")
    await workstreams.decide("8 attempts", status="accepted")
    await workstreams.decide("table or queue?")
    await workstreams.decide("in the plan", phase="planning")

    judged = await workstreams.load("implementation")
    shown = work_view.list_decisions(judged)

    assert [
        (decision.text, decision.status, decision.because, decision.of) for decision in shown
    ] == [
        ("in the plan", "open", "", "planning"),
        ("table or queue?", "open", "", ""),
        ("8 attempts", "accepted", "", ""),
        ("Redis", "rejected", "ops", ""),
    ]


# --- proofs ---------------------------------------------------------------------------------------


async def test_a_proof_shows_its_newest_run_and_on_what_it_ran(
    repo: Repo, workstreams: WorkstreamService
):
    first = await workstreams.prove(["sh", "-c", "echo it works"])
    await workstreams.claim("it works", [f"proof:{first.id}"])
    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs
    assert (shown.command, shown.exit_code, shown.verdict) == ("sh -c 'echo it works'", 0, "ok")
    assert shown.words == "It ran on the files as they are now."
    assert "it works" in shown.output

    repo.write("README.md", "other\n")
    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs
    assert (shown.verdict, shown.words) == (
        "changed",
        "It ran on other files than these: it proves nothing now.",
    )

    failed = await workstreams.prove(["false"])
    [shown] = [
        shown_proof
        for shown_proof in (await look(workstreams, repo.folder)).proofs
        if shown_proof.again == failed
    ]
    assert (shown.verdict, shown.words) == ("changed", "It failed, on the files as they are now.")
    repo.write("README.md", "yet another\n")
    [shown] = [
        shown_proof
        for shown_proof in (await look(workstreams, repo.folder)).proofs
        if shown_proof.again == failed
    ]
    assert shown.words == "It failed, on other files than these."

    again = await workstreams.prove([], again=first.id)
    work = await look(workstreams, repo.folder)
    assert [shown_proof.again for shown_proof in work.claims[0].proofs] == [again]
    assert [shown_proof.again for shown_proof in work.proofs] == [again, failed]


async def test_a_withdrawn_proof_is_shown_as_one(repo: Repo, workstreams: WorkstreamService):
    proof = await workstreams.prove(["true"])
    await workstreams.claim("It is done", [f"proof:{proof.id}"])
    await workstreams.withdraw(proof.id)

    [claim] = (await look(workstreams, repo.folder)).claims

    [shown] = claim.proofs
    assert (claim.claim.verdict, shown.verdict, shown.words) == (
        "changed",
        "changed",
        "It was withdrawn.",
    )


async def test_a_button_runs_the_command_of_the_journal_and_not_of_the_file(
    repo: Repo, workstreams: WorkstreamService
):
    proof = await workstreams.prove(["true"])
    await workstreams.claim("it works", [f"proof:{proof.id}"])
    edit_ledger(repo, command=["rm", "-rf", "/"], exit_code=0)

    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs

    assert (shown.command, shown.again) == ("true", proof)


@pytest.mark.parametrize("named", ["nonsense", "01890000-0000-7000-8000-000000000000", None, 7])
async def test_a_proof_that_this_machine_did_not_make_cannot_be_run_again(
    repo: Repo, workstreams: WorkstreamService, named: Any
):
    proof = await workstreams.prove(["true"])
    await workstreams.claim("it works", [f"proof:{proof.id}"])
    edit_ledger(repo, proof=named, command=["rm", "-rf", "/"], ran_at="never")

    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs

    assert (shown.command, shown.again, shown.ran_at) == ("rm -rf /", None, None)
    assert shown.words.startswith("It was run on another machine")
    edit_ledger(repo, exit_code=2)
    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs
    assert shown.words.startswith("It failed. It was run on another machine")


async def test_a_proof_of_another_repository_cannot_be_run_in_this_one(
    repo: Repo, workstreams: WorkstreamService, database: Any, tmp_path: Path
):
    own = await workstreams.prove(["true"])
    await workstreams.claim("it works", [f"proof:{own.id}"])
    other = with_code(tmp_path / "other")
    other.write("more.txt", "another first commit\n")
    other.git("add", "-A")
    other.git("commit", "-q", "--amend", "-m", "another begin")
    foreign = await service_in(other, database).prove(["touch", "x"])
    edit_ledger(repo, proof=foreign.id)

    [shown] = (await look(workstreams, repo.folder)).claims[0].proofs

    assert shown.again is None


# --- which one ------------------------------------------------------------------------------------


def choice(
    name: str, phase: str = "implementation", branch: str = "main", *, here: bool = True
) -> WorkChoice:
    return WorkChoice(name, branch, phase, here)


@pytest.mark.parametrize(
    ("choices", "asked", "chosen"),
    [
        ([], (None, None), (None, "implementation")),
        ([], ("x", "planning"), ("x", "planning")),
        ([choice("main")], (None, None), (None, "implementation")),
        ([choice("main", "planning")], (None, None), (None, "planning")),
        ([choice("a"), choice("main")], (None, None), (None, "implementation")),
        ([choice("x", "planning", branch="x", here=False)], ("x", None), ("x", "planning")),
        ([choice("a"), choice("b")], (None, None), ("a", "implementation")),
        ([choice("a", "planning")], (None, None), ("a", "planning")),
        ([choice("a", "planning"), choice("a")], (None, None), ("a", "implementation")),
        ([choice("a", "planning")], (None, "implementation"), ("a", "implementation")),
        ([choice("x", branch="x", here=False)], (None, None), (None, "implementation")),
        ([choice("a"), choice("b", "planning")], ("b", None), ("b", "planning")),
    ],
)
def test_the_requested_workstream_is_shown_or_else_one_with_entries(
    choices: list[WorkChoice], asked: tuple[str | None, str | None], chosen: tuple[str | None, str]
):
    assert choose(choices, *asked) == chosen
