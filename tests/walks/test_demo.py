"""`make demo`'s story as a person sees it: played for real, leaving nothing behind."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from holdfast.surfaces.http.login import cookie_name
from holdfast.surfaces.http.token import Keys
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS


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


def open_page(line: str, home: Path, path: str) -> str:
    """As the browser of the person does after the log-in."""
    found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert found
    cookies = {cookie_name(int(found[1])): Keys(str(home)).cookie}
    answer = httpx.get(found[0] + path, cookies=cookies, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200
    return answer.text


def test_the_story_is_served_until_a_signal_and_leaves_nothing(tmp_path: Path, home: Path):
    """Whatever the settings of the person who plays it: the story has its own store."""
    wrong = {"HOLDFAST_DATABASE": "mysql://wrong", "HOLDFAST_WORKSPACE": "Not A Slug"}
    playing = subprocess.Popen(
        [*HOLDFAST, "demo", "--serve", "--json"],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"} | wrong,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert playing.stdout is not None
    facts = json.loads(playing.stdout.readline())
    while "http://127.0.0.1" not in (line := playing.stdout.readline()):
        assert playing.poll() is None
    [folder] = tmp_path.glob("holdfast-demo-*")
    first_page = open_page(line, folder / "home", "/")
    page = open_page(line, folder / "home", "/sessions")

    playing.terminate()
    playing.communicate(timeout=PATIENCE_SECONDS)  # ends when no process holds the pipe any more

    # It opens on the team; behind that is a whole session of an agent program, with its costs.
    assert "<title>Coordination · Holdfast</title>" in first_page
    assert page.count('<article class="turn"') == 3
    assert "give up after 8, and count the first delivery as attempt 1" in page
    assert page.count("via agent Explore") == 1
    assert page.count('class="verdict failed"') == 2  # in its turn, and on the card
    assert page.count('class="chip edited"') == 3
    assert re.search(r"What a session pays: \d[\d,]* ms a turn", page)
    assert (facts["ok"], facts["lost"], len(facts["sessions"])) == (True, 0, 2)
    assert facts["checked"] > 40, "the writer that was killed had been told so many numbers"
    assert not list(tmp_path.glob("holdfast*"))
    assert list(home.iterdir()) == []
