"""A proof that is run again from a page: one at a time, to its end, whatever that is."""

import os
import threading
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.surfaces.console.errors import ProofRunningError
from holdfast.surfaces.console.proving import Prover, Proving
from holdfast.workstreams.model import Proof
from tests.surfaces.console import noting
from tests.surfaces.console.browsing import settings_of
from tests.workstreams.repos import Repo, with_code

PATIENCE_SECONDS = 30


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    return with_code(tmp_path / "payouts")


@pytest.fixture
def prover() -> Prover:
    return Prover(load_settings())


def prove(repo: Repo, *command: str) -> Proof:
    with App(load_settings()) as app:
        return app.run(app.workstreams(str(repo.folder)).prove(command))


def wait_for_end(prover: Prover) -> Proving:
    """When its thread has."""
    for thread in threading.enumerate():
        if thread.name == "holdfast-proof":
            thread.join(PATIENCE_SECONDS)
    assert prover.last is not None
    return prover.last


@pytest.mark.parametrize("code", [0, 3])
def test_a_proof_is_run_to_its_end_and_kept(repo: Repo, prover: Prover, code: int):
    proof = prove(repo, "sh", "-c", f"echo out; exit {code}")

    assert prover.start(str(repo.folder), proof).is_running
    last = wait_for_end(prover)

    assert last.done is not None
    assert (last.done.exit_code, last.done.output_tail, last.done.id != proof.id) == (
        code,
        "out\n",
        True,
    )
    with App(load_settings()) as app:
        assert app.run(app.workstreams(str(repo.folder)).get_proof(last.done.id)) == last.done


def test_while_a_proof_runs_no_other_is_started(repo: Repo, prover: Prover):
    """The first waits at a pipe until the test opens it."""
    pipe = repo.folder.parent / "pipe"
    slow = prove(repo, "sh", "-c", f"if [ -p {pipe} ]; then cat {pipe}; fi")
    other = prove(repo, "touch", str(repo.folder.parent / "other"))
    (repo.folder.parent / "other").unlink()
    os.mkfifo(pipe)

    prover.start(str(repo.folder), slow)
    for proof in (slow, other):
        with pytest.raises(ProofRunningError, match="is running already"):
            prover.start(str(repo.folder), proof)
    pipe.write_text("go")

    last = wait_for_end(prover)
    assert last.done is not None
    assert last.done.output_tail == "go"
    assert not (repo.folder.parent / "other").exists()
    prover.start(str(repo.folder), other)
    assert wait_for_end(prover).proof == other
    assert (repo.folder.parent / "other").exists()


def test_a_proof_that_cannot_be_run_ends_with_the_reason(
    repo: Repo, prover: Prover, monkeypatch: pytest.MonkeyPatch
):
    proof = prove(repo, "true")
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "false")
    prover.start(str(repo.folder), proof)
    assert "Shared context is off" in wait_for_end(prover).problem

    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    monkeypatch.setattr(App, "workstreams", None)  # whatever a bug may be
    prover.start(str(repo.folder), proof)
    assert wait_for_end(prover).problem == "It could not be run (TypeError)."
    assert not wait_for_end(prover).is_running


def test_a_server_that_is_stopped_does_not_wait_for_a_proof(repo: Repo, tmp_path: Path):
    """Stopping would otherwise wait as long as the proof runs."""
    pipe, home = tmp_path / "pipe", tmp_path / "served"
    home.mkdir()
    with noting.serving(home, repo.folder) as server:
        command = ["sh", "-c", f"if [ -p {pipe} ]; then exec cat {pipe}; fi"]
        proof = noting.note(
            settings_of(server), repo, lambda workstreams: workstreams.prove(command)
        )
        os.mkfifo(pipe)
        with server.client() as api:
            assert (
                api.post("/console/workstreams/proof", json={"proof_id": proof.id}).status_code
                == 202
            )
            assert "Running" in api.get("/console/workstreams/proof").text
        try:
            assert server.stop() == 0
        finally:
            os.close(
                os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
            )  # whatever still reads there comes to its end
            pipe.unlink()
