"""The story of `holdfast demo`, told in this process; its commands are processes of their own."""

import tempfile
from pathlib import Path

import pytest

from tests.rig.commands import Call


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_story_reads_well_and_leaves_nothing(cli: Call, temporary: Path, tmp_path: Path):
    answer = cli("demo")

    assert (answer.code, answer.err) == (0, "")
    lines = [line.replace(str(temporary), "/tmp") for line in answer.out.splitlines()]
    assert lines[0] == "A webhook has to be retried, and must never pay twice."
    assert lines[-1].startswith("Next: holdfast demo --serve")
    killed = [line for line in lines if line.startswith("    kill -9 after number ")]
    assert [line for line in killed if line.endswith("stored, 0 lost")]
    assert len([line for line in lines if line.endswith("[replayed]")]) == 13
    assert "    > give up after 8, and count the first delivery as attempt 1" in lines
    assert len([line for line in lines if line.startswith("  $ holdfast ")]) > 10
    assert "    | Blockers:" in lines
    assert [line for line in lines if line.startswith("    team: demo reserved retry.py until ")]
    assert "    team: handoffs offered to this user: 1 (demo). Details: covibe_team" in lines
    assert "    accepted: the claim is dev-b's now" in lines
    assert "    developers: dev-b, demo" in lines
    refused = [line for line in lines if "can be seen in this workspace" in line]
    assert len({line.replace("'dev-c'", "'no-such-one'") for line in refused}) == 1
    assert [line for line in lines if line.endswith("events in 3 sessions is sound")]
    assert [line for line in lines if line.endswith("· spooled 0 · lost 0")]
    assert max(map(len, lines)) <= 80
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "holdfast").exists()


def test_a_story_that_cannot_be_played_says_at_which_step(
    cli: Call, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a machine where the SQLite library is broken."""
    (tmp_path / "apsw.py").write_text("raise ImportError('broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    answer = cli("demo", "--json")

    assert (answer.code, answer.document["code"]) == (1, "error")
    assert answer.document["message"].startswith(
        "`holdfast session start --chatmode architect --name"
    )
    assert "ImportError" in answer.document["message"]
    assert list(temporary.iterdir()) == []
