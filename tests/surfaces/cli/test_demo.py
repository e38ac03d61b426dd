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


def test_the_story_loses_nothing_and_leaves_nothing(
    cli: Call, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever the settings of the person who plays it: the story has its own store."""
    monkeypatch.setenv("HOLDFAST_DATABASE", "mysql://wrong")
    monkeypatch.setenv("HOLDFAST_WORKSPACE", "Not A Slug")

    answer = cli("demo", "--json")

    assert (answer.code, answer.err) == (0, "")
    facts = answer.document
    assert (facts["ok"], facts["lost"], len(facts["sessions"])) == (True, 0, 2)
    assert facts["checked"] > 40, "the writer that was killed had been told so many numbers"
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
