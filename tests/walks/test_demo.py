"""`make demo`'s story as a person sees it: played for real, leaving nothing behind."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Call


def test_the_story_reads_well_and_leaves_nothing(run: Call, tmp_path: Path, home: Path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    text = run("demo", TMPDIR=str(temporary))

    assert (text.code, text.err) == (0, "")
    lines = [line.replace(str(temporary), "/tmp") for line in text.out.splitlines()]
    assert lines[0] == "A webhook has to be retried, and must never pay twice."
    assert lines[-1].startswith("Next: holdfast demo --serve")
    assert [
        line
        for line in lines
        if line.startswith("    kill -9 after number ") and line.endswith("stored, 0 lost")
    ]
    assert len([line for line in lines if line.endswith("[replayed]")]) == 3
    assert len([line for line in lines if line.startswith("  $ holdfast ")]) > 10
    assert [line for line in lines if line.endswith("events in 3 sessions is sound")]
    assert [line for line in lines if line.endswith("· spooled 0 · lost 0")]
    assert max(map(len, lines)) <= 90
    assert list(temporary.iterdir()) == []
    assert list(home.iterdir()) == []
    assert not (tmp_path / "holdfast").exists()


@pytest.mark.parametrize(
    "moment", ["$ holdfast session append", "a process appends", "agent → set_relevant_context"]
)
def test_control_c_ends_the_story_and_says_that_nothing_of_it_stays(tmp_path: Path, moment: str):
    """As a terminal sends it: to the story and to whatever command it is playing."""
    playing = subprocess.Popen(
        [*HOLDFAST, "demo"],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert playing.stdout is not None
    while moment not in playing.stdout.readline():
        assert playing.poll() is None

    os.killpg(playing.pid, signal.SIGINT)
    _, err = playing.communicate(timeout=PATIENCE_SECONDS)

    assert playing.returncode == 1
    assert (
        err
        == "Error: Stopped. The story and its folder are gone; your own store was not touched.\n"
    )
    assert not list(tmp_path.glob("holdfast-demo-*"))


def test_a_signal_to_the_served_story_ends_its_server_and_removes_its_folder(tmp_path: Path):
    playing = subprocess.Popen(
        [*HOLDFAST, "demo", "--serve"],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert playing.stdout is not None
    while "http://127.0.0.1" not in playing.stdout.readline():
        assert playing.poll() is None

    playing.terminate()
    playing.communicate(timeout=PATIENCE_SECONDS)  # ends when no process holds the pipe any more

    assert not list(tmp_path.glob("holdfast-demo-*"))
