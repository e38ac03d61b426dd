"""How many git processes a verb starts: each costs milliseconds, and a hook waits for them."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground.git_process import Git, Running
from holdfast.workstreams.service import WorkstreamService
from tests.workstreams.repos import Repo, with_code


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each git command that was started."""
    names: list[str] = []
    start = Git.start

    def count(self: Git, *arguments: str, **more: Any) -> Running:
        names.append(arguments[0])
        return start(self, *arguments, **more)

    monkeypatch.setattr(Git, "start", count)
    return names


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


def test_loading_and_a_bundle_look_at_the_tree_once(
    work: tuple[App, WorkstreamService], started: list[str]
):
    app, workstreams = work
    app.run(workstreams.save("Where it stands."))
    for verb in (workstreams.load, app.bundles(workstreams).build):
        started.clear()

        app.run(verb("implementation"))

        assert started.count("diff-index") == 1
        assert len(started) <= 7, started
