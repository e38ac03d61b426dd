"""How many git processes a verb starts: each costs milliseconds, and a hook waits for them."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import git_repository, git_settings, git_state
from holdfast.workstreams.errors import SharedContextOffError
from holdfast.workstreams.service import WorkstreamService
from tests.rig.git_starts import started
from tests.workstreams.repos import Repo, with_code

__all__ = ["started"]


@pytest.fixture(params=["with a remote", "without a remote"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    repo = with_code(tmp_path / "payouts")
    if request.param == "with a remote":
        repo.git("remote", "add", "origin", "https://github.com/acme/payouts.git")
    return repo


@pytest.fixture
def work(repo: Repo) -> Any:
    with App() as app:
        yield app, app.workstreams(str(repo.folder), share=True)


def test_a_claim_starts_at_most_three(work: tuple[App, WorkstreamService], started: list[str]):
    app, workstreams = work

    app.run(workstreams.claim("schedule() doubles", ["src/retry.py#schedule", "README.md:1"]))

    assert len(started) <= 3, started


def test_a_claim_with_a_proof_looks_at_the_tree_once(
    work: tuple[App, WorkstreamService], started: list[str]
):
    app, workstreams = work
    proof = app.run(workstreams.prove(["true"]))
    started.clear()

    app.run(workstreams.claim("It is done", [f"proof:{proof.id}"]))

    assert started.count("diff-index") == 1
    assert len(started) <= 5, started


def test_a_decision_starts_at_most_three(work: tuple[App, WorkstreamService], started: list[str]):
    app, workstreams = work

    app.run(workstreams.decide("a table"))

    assert len(started) <= 3, started


def test_saving_looks_at_the_tree_once(work: tuple[App, WorkstreamService], started: list[str]):
    app, workstreams = work

    app.run(workstreams.save("Where it stands."))

    assert started.count("diff-index") == 1
    assert len(started) <= 6, started


def test_loading_and_a_bundle_start_at_most_five_and_then_only_compare(
    work: tuple[App, WorkstreamService], started: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(git_settings, "SETTLED_SECONDS", -60.0)  # as if the repository were older
    app, workstreams = work
    app.run(workstreams.save("Where it stands."))
    for known in (git_repository.SETTINGS, git_repository.FIRST_COMMITS, git_state.TREES):
        known.clear()
    git_state.CONTENTS.clear()
    started.clear()

    app.run(workstreams.load("implementation"))

    assert started.count("diff-index") == 1
    assert len(started) <= 5, started
    for verb in (workstreams.load, app.bundles(workstreams).build):
        started.clear()
        app.run(verb("implementation"))
        assert started == ["diff-index"]


def test_many_workstreams_look_at_the_tree_once(
    work: tuple[App, WorkstreamService], started: list[str]
):
    app, workstreams = work
    for name in ("a", "b", "c"):
        app.run(workstreams.save("Where it stands.", workstream_id=name))
    started.clear()

    app.run(workstreams.list_judged())

    assert started.count("diff-index") == 1


def test_a_load_continues_from_what_was_begun(
    work: tuple[App, WorkstreamService], started: list[str]
):
    app, workstreams = work
    app.run(workstreams.save("Where it stands."))
    expected = app.run(workstreams.load("implementation"))
    started.clear()

    app.run(workstreams.begin("implementation"))
    begun = list(started)
    judged = app.run(workstreams.load("implementation"))

    assert "diff-index" in begun
    assert started.count("diff-index") == 1
    assert judged == expected


def test_a_load_of_another_phase_looks_for_itself(
    work: tuple[App, WorkstreamService], started: list[str]
):
    app, workstreams = work
    app.run(workstreams.begin("implementation"))
    workstreams.abandon()

    judged = app.run(workstreams.load("planning"))

    assert judged.context.phase == "planning"
    assert started.count("diff-index") == 2


def test_what_was_begun_and_not_loaded_is_ended(work: tuple[App, WorkstreamService], repo: Repo):
    _, workstreams = work
    checkout = workstreams._open()
    checkout.begin_state()
    [comparison] = checkout.begun.values()

    checkout.abandon()

    assert comparison.running.process.poll() is not None
    assert checkout.begun == {}


def test_an_error_at_the_beginning_is_raised_by_the_load(repo: Repo):
    with App() as app:
        workstreams = app.workstreams(str(repo.folder), share=False)
        app.run(workstreams.begin("implementation"))

        with pytest.raises(SharedContextOffError):
            app.run(workstreams.load("implementation"))
