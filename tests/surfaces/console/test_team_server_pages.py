"""The pages of a team's server for developers who log in with tokens: as whom they act, what the
server knows of their work, and what stays on their laptops.
"""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from holdfast.ground import ids
from holdfast.ground.settings import owner_of
from tests.surfaces.console.teaming import REPO
from tests.surfaces.http.callers import Served, serve_in_process

PAGE = {"Accept": "text/html"}
ITEM = re.compile(r'<li class="item shared.*?<p>(.*?)</p>', re.DOTALL)
CODE = re.compile(r"</?(?:code|b)\b[^>]*>")


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


async def claim(served: Served, handle: str, *paths: str, repo: str = REPO) -> None:
    client = await served.open(served.tokens[handle].text)
    body = {"paths": list(paths), "reason": "Backoff", "repo": repo}
    answer = await client.post("/api/claims", json=body)
    assert answer.status_code == 201, answer.text


async def publish(served: Served, handle: str, *paths: str) -> None:
    client = await served.open(served.tokens[handle].text)
    body = {"title": "t", "summary": "s", "files_touched": list(paths), "repo": REPO}
    answer = await client.post("/api/contexts", json=body)
    assert answer.status_code == 201, answer.text


async def show_live(served: Served, handle: str, *paths: str) -> None:
    app = served.app.acting_for(owner_of(served.app.settings.workspace, handle))
    await app.scope.team.show_presence(
        ids.new_id(), paths, client="codex", repo=REPO, branch="main"
    )


def list_shared(page: str) -> list[str]:
    return [CODE.sub("", words) for words in ITEM.findall(page)]


# --- since the last look --------------------------------------------------------------------------


async def test_what_another_has_uncommitted_is_named_where_it_is_ones_own(served: Served):
    await claim(served, "ana", "src/retry.py")
    await show_live(served, "ana", "src/models.py")
    await publish(served, "ana", "README.md")
    await show_live(served, "ben", "src/retry.py", "src/models.py", "README.md", "src/other.py")

    assert list_shared(await show(served, "ana")) == [
        "ben has src/retry.py uncommitted, which you reserved",
        "ben has src/models.py uncommitted, which you have uncommitted, too",
        "ben has README.md uncommitted, which you list in a context",
    ]
    assert list_shared(await show(served, "ben")) == [
        "ana reserved src/retry.py until TIME, which you have uncommitted, too".replace(
            "TIME", list_times(await show(served, "ben"))[0]
        ),
        "ana has src/models.py uncommitted, which you have uncommitted, too",
    ]


def list_times(page: str) -> list[str]:
    return re.findall(r" until (\S.*?), which", page)


async def test_an_item_leads_to_the_work_of_the_other_developer(served: Served):
    await claim(served, "ana", "src/**")
    await claim(served, "ben", "src/retry.py")

    page = await show(served, "ana")

    (words,) = list_shared(page)
    assert words.startswith("ben reserved src/retry.py until ")
    assert 'href="/coordination?person=ben">Show their work</a>' in page
    assert "No handoff is offered to you" not in page


async def test_what_is_ones_own_or_of_another_repository_is_not_shared(served: Served):
    await claim(served, "ana", "src/retry.py")
    await show_live(served, "ana", "src/retry.py")
    await claim(served, "ben", "src/retry.py", repo="github.com/acme/other")
    await claim(served, "ben", "docs/**")

    page = await show(served, "ana")

    assert list_shared(page) == []
    assert "is one that you reserved, have uncommitted in a live session, or list in" in page


async def test_without_work_of_ones_own_nothing_is_called_compared(served: Served):
    await show_live(served, "ben", "src/retry.py")

    page = await show(served, "ana")

    assert "Others’ files were compared with nothing" in page
    for unchecked in ("your uncommitted files", "went stale"):
        assert unchecked not in page


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
