"""Pages that are written by the code say what the code says; `make docs` writes them again."""

import os
import subprocess
import sys

import pytest

from tests.house import source
from tools import exchange


def run_and_read(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=source.ROOT,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_grid_of_verbs_and_doors_is_what_the_doors_offer():
    assert (source.ROOT / "docs" / "verbs.md").read_text() == run_and_read("tools/verbs.py")


def test_the_help_in_the_docs_is_the_help():
    assert (source.ROOT / "docs" / "help.txt").read_text() == run_and_read(
        "-m", "holdfast", "--help"
    )


def test_the_answers_before_the_first_call_are_those_of_the_server():
    answers = source.ROOT / "src" / "holdfast" / "surfaces" / "mcp" / "answers.txt"

    assert answers.read_text() == run_and_read("-m", "tools.mcp_answers")


def test_what_the_exchange_promises_is_shown_where_the_page_says():
    """A test that does not exist or does not run at a door fails here, too."""
    assert (source.ROOT / "docs" / "exchange.md").read_text() == run_and_read(
        "-m", "tools.exchange"
    )


@pytest.mark.parametrize(
    ("tests", "doors", "problem"),
    [
        ((), (), "No test is named"),
        ((f"{exchange.STORY}test_that_does_not_exist",), (), "not found"),
        ((exchange.STATE,), ("console",), "runs at: console"),
        ((exchange.WALLS,), (), "runs at: SQLite, PostgreSQL"),
    ],
)
def test_a_promise_without_its_test_or_its_door_fails(
    tests: tuple[str, ...], doors: tuple[str, ...], problem: str
):
    with pytest.raises(exchange.NotShownError, match=problem):
        list(exchange.write_page([exchange.Promise("Words.", tests, doors=doors)]))


@pytest.mark.parametrize(
    "word", ["session", "thread", "chatmode", "event", "turn", "context set", "applet", "spool"]
)
def test_a_word_that_a_person_meets_at_a_door_is_explained(word: str):
    rows = (source.ROOT / "docs" / "words.md").read_text().splitlines()

    assert [row.partition(" | ")[0] for row in rows].count(f"| {word}") == 1


def test_everything_that_a_door_offers_is_in_the_grid():
    """A command, a tool or a route without a verb of a room is listed as such, and not left out."""
    page = (source.ROOT / "docs" / "verbs.md").read_text()

    from tests.surfaces.cli.test_help import LEAVES

    for path in LEAVES:
        assert f"`{' '.join(path)}`" in page
    for offered in (
        "`POST /api/sessions/{session_id}/events`",
        "`session append`",
        "`GET /sessions`",
    ):
        assert offered in page
