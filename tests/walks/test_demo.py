"""`make demo`'s story: played for real, twice in a row, leaving nothing behind."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Call

pytestmark = pytest.mark.measures_processes


def test_the_story_is_played_twice_reads_well_and_leaves_nothing(
    run: Call, tmp_path: Path, home: Path
):
    """Whatever the settings of the person who plays it: the story has its own store."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    surroundings = {
        "TMPDIR": str(temporary),
        "HOLDFAST_DATABASE": "mysql://wrong",
        "HOLDFAST_WORKSPACE": "Not A Slug",
    }

    document = run("demo", "--json", **surroundings)
    text = run("demo", **surroundings)

    assert (document.code, document.err, text.code, text.err) == (0, "", 0, "")
    facts = document.document
    assert (facts["ok"], facts["lost"], len(facts["sessions"])) == (True, 0, 2)
    assert facts["checked"] > 40, "the writer that was killed had been told so many numbers"
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


def test_a_story_that_cannot_be_played_says_at_which_step(run: Call, tmp_path: Path):
    """On a machine where the SQLite library is broken."""
    (tmp_path / "apsw.py").write_text("raise ImportError('broken')")
    (tmp_path / "tmp").mkdir()

    answer = run("demo", "--json", TMPDIR=str(tmp_path / "tmp"), PYTHONPATH=str(tmp_path))

    assert (answer.code, answer.document["code"]) == (1, "error")
    assert answer.document["message"].startswith(
        "`holdfast session start --chatmode architect --name"
    )
    assert "ImportError" in answer.document["message"]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "moment", ["$ holdfast session append", "a process appends", "agent → set_relevant_context"]
)
def test_control_c_ends_the_story_and_says_that_nothing_of_it_stays(tmp_path: Path, moment: str):
    """As a terminal sends it: to the story and to whatever command it is playing."""
    playing = subprocess.Popen(
        [*HOLDFAST, "demo"],
        # Not measured: a signal in the middle of coverage's own bookkeeping leaves its lock taken.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
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
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
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
