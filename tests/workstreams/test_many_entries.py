"""A file with very many entries costs in proportion to them, never blocks an event loop, and an
answer about it is bounded and says so.
"""

import ast
import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground.confined import ConfinedRoot
from holdfast.workstreams import cutting, effort
from holdfast.workstreams.document import from_bytes, merge_bytes, to_bytes
from holdfast.workstreams.entries import ContextFields
from holdfast.workstreams.judging import TOO_MUCH
from holdfast.workstreams.merging import list_lost, recover_context
from holdfast.workstreams.service import WorkstreamService
from tests.workstreams import many
from tests.workstreams.many import CallCount, count_calls
from tests.workstreams.repos import Repo, service_in, with_code

FEW, MANY = 100, 200
MOST = 2.5  # of twice as much; a comparison of each with each would be four times


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def work(repo: Repo, database: Any) -> WorkstreamService:
    return service_in(repo, database)


# --- cost -----------------------------------------------------------------------------------------


def read(contexts: list[dict[str, Any]]) -> object:
    return from_bytes(many.make_bytes(*contexts), many.FILE)


def write(contexts: list[dict[str, Any]]) -> object:
    return to_bytes(from_bytes(many.make_bytes(*contexts), many.FILE))


def read_both_sides(contexts: list[dict[str, Any]]) -> object:
    """Both lines of each context were kept by git."""
    later = [{**context, "updated_at": many.at(2)} for context in contexts]
    return from_bytes(many.make_bytes(*contexts, *later), many.FILE)


def merge(contexts: list[dict[str, Any]]) -> object:
    later = [{**context, "updated_at": many.at(2)} for context in contexts]
    ours, theirs = many.make_bytes(*contexts), many.make_bytes(*later)
    return merge_bytes(ours, theirs, many.FILE)


def compare_with_kept(contexts: list[dict[str, Any]]) -> object:
    """The file has every second entry of what was saved here."""
    whole = ContextFields.from_dict(contexts[0])
    file = ContextFields.from_dict(contexts[0])
    for name in ("evidence_ledger", "open_decisions"):
        half = (getattr(whole, name) or ())[::2]
        file = ContextFields(**{**vars(file), name: half})
    return list_lost(file, whole), recover_context(file, whole)


@pytest.mark.parametrize("shape", many.SHAPES)
@pytest.mark.parametrize("work_on", [read, write, read_both_sides, merge, compare_with_kept])
def test_the_cost_grows_in_proportion_to_the_entries(
    shape: str, work_on: Callable[[list[dict[str, Any]]], object]
):
    few, twice = many.SHAPES[shape](FEW), many.SHAPES[shape](MANY)

    assert count_calls(lambda: work_on(twice)) < MOST * count_calls(lambda: work_on(few))


@pytest.mark.parametrize("line", ['{"key": {"branch": "main"}, "updated_at": "N"}', '"name_N": 1'])
def test_the_cost_grows_in_proportion_to_the_lines_that_git_put_together(line: str):
    def read_lines(count: int) -> object:
        lines = [line.replace("N", str(number)) for number in range(count)]
        text = "\n".join(["{", *lines, '"schema_version": 1', "}"])
        return from_bytes(text.encode(), many.FILE)

    assert count_calls(lambda: read_lines(MANY)) < MOST * count_calls(lambda: read_lines(FEW))


@pytest.mark.parametrize("shape", many.SHAPES)
def test_the_cost_of_a_look_grows_in_proportion_to_the_entries(repo: Repo, shape: str):
    counts = []
    for number in (FEW, MANY):
        many.write_contexts(repo, *many.SHAPES[shape](number))
        with App() as app:
            work = app.workstreams(str(repo.folder), share=True)
            app.run(work.decide("a decision"))  # what was saved here is compared from now on
            counts.append(count_calls(lambda app=app, work=work: app.run(work.list_judged())))

    assert counts[1] < MOST * counts[0]


def test_a_line_of_contexts_that_is_no_list_makes_the_file_unreadable():
    found = from_bytes(b'{\n"contexts": 5,\n"a": 1\n"schema_version": 1}', many.FILE)

    assert found.problem is not None
    assert "line 2" in found.problem


# --- files are read and parsed once ---------------------------------------------------------------


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each text that was parsed."""
    sizes: list[int] = []
    parse = ast.parse

    def count(source: str) -> ast.Module:
        sizes.append(len(source))
        return parse(source)

    monkeypatch.setattr(ast, "parse", count)
    return sizes


@pytest.fixture
def read_paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    paths: list[str] = []
    read = ConfinedRoot.read

    def count(self: ConfinedRoot, path: str, *, max_bytes: int) -> Any:
        paths.append(path)
        return read(self, path, max_bytes=max_bytes)

    monkeypatch.setattr(ConfinedRoot, "read", count)
    return paths


def make_functions(count: int) -> str:
    """With two definitions of each name: their conditions belong to the symbol."""
    plain = [f"def function_{n}(x):\n    return x * {n}\n" for n in range(count)]
    return "".join(plain) + "if plain:\n    def function_0(x):\n        return x\n"


async def test_a_file_is_read_and_parsed_once_however_many_claims_name_it(
    repo: Repo, work: WorkstreamService, parsed: list[int], read_paths: list[str]
):
    repo.write("src/many.py", make_functions(50))
    names = [f"function_{number % 50}" for number in range(100)]
    ledger = [many.make_symbol_claim(n, "src/many.py", name) for n, name in enumerate(names)]
    shared = {"evidence_ledger": ledger, "file_pointers": ["src/many.py"]}
    many.write_contexts(repo, many.make_context(**shared), many.make_context("other", **shared))

    listed = await work.list_judged()

    judged = [each.judged for each in listed if each.judged]
    assert [len(each.claims) for each in judged] == [100, 100]
    assert {claim.evidence[0].why for claim in judged[0].claims} == {"the symbol was edited"}
    assert len(parsed) == 1
    assert read_paths.count("src/many.py") == 1


async def test_evidence_of_one_claim_is_taken_from_one_reading(
    repo: Repo, work: WorkstreamService, parsed: list[int], read_paths: list[str]
):
    repo.write("src/many.py", make_functions(20))
    places = [f"src/many.py#function_{number}" for number in range(20)]

    judged = await work.claim("They multiply", places)

    assert judged.verdict == "ok"
    assert len(parsed) == 1
    assert read_paths.count("src/many.py") == 1


# --- the event loop -------------------------------------------------------------------------------


async def count_calls_on_the_loop(repo: Repo, database: Any, number: int) -> int:
    ledger = [many.make_claim(i) for i in range(number)]
    decisions = [many.make_decision(i) for i in range(number)]
    steps = {"checklist": ["step"] * number, "file_pointers": ["src/retry.py"] * number}
    notes = {"evidence_ledger": ledger, "open_decisions": decisions, **steps}
    many.write_contexts(repo, many.make_context(**notes))
    work = service_in(repo, database)
    await work.claim("It is noted", ["README.md:1"])
    with CallCount() as count:
        await work.load("implementation")
        await work.list_judged()
        await work.list_contexts()
        await work.decide(f"decision of {number}")
    return count.calls


async def test_what_runs_on_the_event_loop_does_not_grow_with_the_notes(repo: Repo, database: Any):
    few = await count_calls_on_the_loop(repo, database, 20)

    assert await count_calls_on_the_loop(repo, database, 200) <= 1.2 * few


async def test_other_work_goes_on_while_claims_are_judged(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    repo.write("src/many.py", make_functions(3))
    claim = many.make_symbol_claim(1, "src/many.py", "function_1")
    many.write_contexts(repo, many.make_context(evidence_ledger=[claim]))
    has_begun, may_end = threading.Event(), threading.Event()
    parse = ast.parse

    def wait_and_parse(source: str) -> ast.Module:
        has_begun.set()
        assert may_end.wait(60), "the loop was blocked by the judgement"
        return parse(source)

    monkeypatch.setattr(ast, "parse", wait_and_parse)
    judging = asyncio.create_task(work.load("implementation"))
    await asyncio.to_thread(has_begun.wait)

    proofs = await work.journal.list_proofs("another request")
    is_still_judging = not judging.done()
    may_end.set()
    judged = await judging

    assert (proofs, is_still_judging) == ([], True)
    assert judged.claims[0].verdict == "changed"


# --- what is left out is told ---------------------------------------------------------------------


async def test_only_the_newest_claims_are_checked_and_the_file_keeps_all(
    repo: Repo, work: WorkstreamService
):
    ledger = [many.make_claim(number) for number in range(cutting.ENTRIES + 5)]
    many.write_contexts(repo, many.make_context(evidence_ledger=ledger))

    await work.decide("one more")
    judged = await work.load("implementation")

    assert [claim.id for claim in judged.claims] == [f"c-{n}" for n in range(5, len(ledger))]
    note = "The notes have 1,005 claims: only the newest 1,000 are shown."
    assert note in judged.to_dict()["notes"]
    kept = json.loads((repo.folder / many.FILE).read_text())
    assert len(kept["contexts"][0]["evidence_ledger"]) == len(ledger)


async def test_each_long_list_is_cut_and_told(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cutting, "ENTRIES", 2)
    planned = many.make_context(open_decisions=[many.make_decision(n) for n in (7, 8, 9)])
    own = many.make_context(
        open_decisions=[many.make_decision(n) for n in (1, 2, 3)],
        checklist=["first", "second", "third"],
        file_pointers=["src/a.py", "src/b.py", "src/c.py"],
    )
    many.write_contexts(repo, planned, phase="planning")
    many.write_contexts(repo, own)

    judged = await work.load("implementation")

    assert [each.decision.id for each in judged.decisions] == ["D2", "D3"]
    assert [each.decision.id for each in judged.shared_decisions] == ["D8", "D9"]
    assert judged.context.checklist == ["first", "second"]
    assert [pointer.path for pointer in judged.context.pointers] == ["src/a.py", "src/b.py"]
    assert judged.context.notes == (
        "The notes have 3 decisions: only the newest 2 are shown.",
        "The notes have 3 next steps: only the first 2 are shown.",
        "The notes have 3 file pointers: only the first 2 are shown.",
        "The notes have 3 shared decisions: only the newest 2 are shown.",
    )


async def test_a_list_of_many_workstreams_checks_the_claims_of_the_newest(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(effort, "CLAIMS", 3)
    older = many.make_context("a", evidence_ledger=[many.make_claim(n) for n in range(2)])
    newer = many.make_context("b", evidence_ledger=[many.make_claim(n) for n in range(2)])
    many.write_contexts(repo, older, {**newer, "updated_at": many.at(5)})

    judged = {each.key.workstream_id: each.judged for each in await work.list_judged()}

    assert [len(judged[name].claims) for name in ("a", "b")] == [1, 2]
    assert judged["b"].context.notes == ()
    assert judged["a"].context.notes == ("The notes have 2 claims: only the newest 1 are shown.",)


# --- the budget of a look -------------------------------------------------------------------------


@pytest.mark.parametrize("units", [0, 6_000, 9_000, 12_000])
async def test_what_the_budget_does_not_reach_counts_as_changed_and_is_told(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch, units: int
):
    """Whether it ends at the opening, at the text, at the parser or at the shape."""
    repo.write("src/many.py", make_functions(1))
    await work.claim("It multiplies", ["src/many.py#function_0"])
    repo.write("src/many.py", "\n" + make_functions(1))
    moved = await work.load("implementation")
    monkeypatch.setattr(effort, "LOOK_BYTES", units)

    judged = await work.load("implementation")

    assert (moved.claims[0].verdict, moved.context.notes) == ("moved", ())
    shown = judged.claims[0].evidence[0]
    assert (shown.verdict, shown.why) == ("changed", "it was not compared")
    assert judged.context.notes == (TOO_MUCH,)


async def test_a_file_that_the_budget_does_not_reach_is_judged_by_git(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    await work.point(["src/retry.py", "README.md"])
    await work.save("Where it stands.", by_hand=True)
    repo.write("README.md", "edited\n")
    monkeypatch.setattr(effort, "LOOK_BYTES", 0)

    judged = await work.load("implementation")

    assert [change.path for change in judged.staleness.changed] == ["README.md"]


async def test_evidence_beyond_the_budget_is_refused_when_it_is_given(
    repo: Repo, work: WorkstreamService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(effort, "LOOK_BYTES", 0)

    with pytest.raises(InvalidValueError, match="more than one call reads"):
        await work.claim("It doubles", ["src/retry.py:1"])
    with pytest.raises(InvalidValueError, match="more than one call reads"):
        await work.point(["src/retry.py"])
