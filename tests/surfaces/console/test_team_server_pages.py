"""The pages of a team's server for developers who log in with tokens: as whom they act, what the
server knows of their work, and what stays on their laptops.
"""

import html
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.surfaces.http.callers import Served, serve_in_process

PAGE = {"Accept": "text/html"}


@pytest.fixture
async def served(database_url: str, workspace: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with serve_in_process(database_url, workspace, tmp_path / "data") as running:
        for handle in ("ana", "ben"):
            await running.add(handle)
        yield running


async def show(served: Served, handle: str, path: str = "/coordination") -> str:
    key = served.key if handle == "owner" else served.tokens[handle].text
    answer = await (await served.open(key)).get(path, headers=PAGE)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


# --- what stays on laptops ------------------------------------------------------------------------


async def test_who_has_no_sessions_is_told_where_they_are(served: Served):
    page = await show(served, "ana", "/sessions")

    assert "Sessions of your agents stay on the laptops that joined this server." in page
    assert '<code id="start">holdfast serve</code>' in page
    assert "programs wrote to this server for ana in workspace" in page
    assert "holdfast init" not in page


async def test_conversations_and_notes_are_said_to_be_on_laptops(served: Served):
    conversations = await show(served, "ana", "/conversations")
    workstreams = await show(served, "ana", "/workstreams")

    assert "Conversations of your agents stay on your laptops" in conversations
    assert "Notes stay in the repositories on your laptops" in workstreams
    for page in (conversations, workstreams):
        assert ">holdfast serve</code>" in page


# --- the strip ------------------------------------------------------------------------------------


async def test_the_strip_says_as_whom_one_acts_and_nothing_of_the_database(
    served: Served, database_url: str
):
    workspace = served.app.settings.workspace
    name = urlsplit(database_url).path.rpartition("/")[2]
    for path in ("/coordination", "/sessions", "/conversations", "/workstreams", "/nothing"):
        answer = await (await served.as_("ana")).get(path, headers=PAGE)
        assert f">ana in {workspace}</span>" in answer.text
        assert 'class="place"' not in answer.text
        assert name not in answer.text
        assert "spooled" not in answer.text


async def test_the_accounts_are_for_who_runs_the_machine(served: Served):
    """The part is asked for all the same, because its answer tells a page that it is logged out."""
    assert (await show(served, "ana", "/console/strip")).strip() == ""
    assert "spooled <b>0</b>" in await show(served, "owner", "/console/strip")
    assert "spooled <b>0</b>" in await show(served, "owner", "/sessions")
