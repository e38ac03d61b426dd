"""How many git processes a verb starts: each costs milliseconds, and a hook waits for them."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import git_repository, git_settings, git_state
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
