"""The workstreams screen as a program reads it: what it shows, what it says instead, and what it
refuses.
"""

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.app import App
from holdfast.bundles.service import RECEIPT
from holdfast.ground.settings import load_settings
from holdfast.usecases import sharing
from holdfast.workstreams.service import WorkstreamService
from holdfast.workstreams.store import CONFIG_PATH
from tests.surfaces.console.serving import serve_console
from tests.surfaces.console.test_pages import Pages
from tests.surfaces.http.server import is_problem
from tests.workstreams.repos import RETRY, Repo, with_code

NOBODY = "01890000-0000-7000-8000-000000000000"
CONTEXT = "data/context/implementation_context.json"


class Screen(Pages):
    """In front of one folder."""

    @property
    def workstreams(self) -> WorkstreamService:
        return self.app.workstreams(str(self.root))

    async def prove(self, body: Any, content_type: str = "application/json") -> httpx.Response:
        return await self.post("/console/workstreams/proof", body, content_type)

    async def switch(self, body: Any, content_type: str = "application/json") -> httpx.Response:
        return await self.post("/console/workstreams/sharing", body, content_type)

    async def post(self, path: str, body: Any, content_type: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": content_type}
        return await self.client.post(path, content=content, headers=headers)

    async def ended(self) -> str:
        """What the page says of the proof, once it has ended."""
        while "Running" in (shown := await self.get("/console/workstreams/proof")):
            await asyncio.sleep(0)
        return shown


async def open_screen(folder: Path, database_url: str | None = None) -> AsyncIterator[Screen]:
    more = {"HOLDFAST_DATABASE": database_url} if database_url else {}
    settings = load_settings({"HOLDFAST_HOME": str(folder.parent / "data"), "HOME": "/", **more})
    async with App(settings, folder=str(folder)) as app:
        transport = httpx.ASGITransport(serve_console(app, [str(folder)]))
        async with httpx.AsyncClient(transport=transport, base_url="http://console") as client:
            yield Screen(app, client, folder)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
async def screen(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Screen]:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    async for opened_screen in open_screen(repo.folder):
        yield opened_screen


# --- instead of the screen ------------------------------------------------------------------------


async def test_without_consent_the_page_offers_to_switch_on_and_starts_no_git(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    trap = tmp_path / "bin"
    trap.mkdir()
    (trap / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (trap / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(trap))
    async for screen in open_screen(repo.folder):
        page = await screen.get("/workstreams")

    assert "Notes in this repository are off" in page
    assert 'data-shares="true"' in page
    assert "files in <code>data/context</code> of this repository" in page
    assert 'href="/workstreams" aria-current="page"' in page
    assert not (tmp_path / "started").exists()
    assert not (repo.folder / "data").exists()


async def test_a_folder_without_a_repository_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    (tmp_path / "plain").mkdir()
    async for screen in open_screen(tmp_path / "plain"):
        page = await screen.get("/workstreams")

    assert "No repository here" in page
    assert "git init" in page


async def test_a_server_of_a_team_has_no_working_tree(
    repo: Repo, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    async for screen in open_screen(repo.folder, postgres_url):
        assert "No working tree here" in await screen.get("/workstreams")
        assert is_problem(await screen.prove({"proof_id": NOBODY}), 422, "no_working_tree")


async def test_where_nothing_is_noted_yet_the_first_command_is_named(screen: Screen):
    page = await screen.get("/workstreams")

    assert "There are no notes here yet" in page
    assert "holdfast workstream claim" in page
    assert "What an agent receives" in page
    assert not (screen.root / "data").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema_version": 99, "contexts": []}', "written by a newer version"),
        ("{nonsense", "cannot be read as JSON"),
        ("[]", "is not a context file"),
    ],
)
async def test_a_file_that_may_only_be_read_says_why(
    screen: Screen, repo: Repo, text: str, reason: str
):
    repo.write(CONTEXT, text)

    page = await screen.get("/workstreams")

    assert "Read-only." in page
    assert reason in page
    assert (repo.folder / CONTEXT).read_text() == text


# --- the screen -----------------------------------------------------------------------------------


async def note_claims(screen: Screen) -> None:
    await screen.workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    await screen.workstreams.decide("Redis", status="rejected", because="ops will not")
    await screen.workstreams.save("Goal: retry.", by_hand=True)


async def test_claims_are_judged_when_the_page_is_opened(screen: Screen, repo: Repo):
    await note_claims(screen)
    page = await screen.get("/workstreams")
    assert re.search(r"<b>1 claim</b>\s*<span class=\"key ok\">1 fresh", page)
    assert "Fresh: the tracked files" in page

    repo.write("src/retry.py", RETRY.replace("30", "60"))
    page = await screen.get("/workstreams")

    assert '<span class="key changed">1 changed' in page
    assert "Stale: the 1 file noted here changed." in page
    assert "return 60 * 2**attempt" in page
    assert 'class="pill rejected"' in page
    assert "because ops will not" in page


async def test_a_page_that_is_up_to_date_gets_no_content(screen: Screen, repo: Repo):
    await note_claims(screen)
    page = await screen.get("/workstreams")
    [piece] = re.findall(r'hx-get="(/console/workstreams\?[^"]+)"', page)
    piece = piece.replace("&amp;", "&")
    await screen.get(piece, 204)

    repo.write("src/retry.py", RETRY.replace("30", "60"))

    assert "1 changed" in await screen.get(piece)


async def test_reading_the_screen_leaves_nothing_behind(screen: Screen):
    await note_claims(screen)
    before = sorted(screen.root.rglob("*"))
    for path in ("/workstreams", "/console/workstreams/bundle?phase=planning&limit=500"):
        await screen.get(path)

    assert await screen.app.scope.journal.newest_of_kind(RECEIPT, 5) == []
    assert sorted(screen.root.rglob("*")) == before


async def test_the_bundle_stays_within_the_limit_and_says_when_that_is_too_small(screen: Screen):
    await note_claims(screen)
    for limit in (450, 700, 1_700, 9_500):
        piece = await screen.get(f"/console/workstreams/bundle?phase=implementation&limit={limit}")
        chars, most = re.findall(r"<b>([\d,]+)</b> of <b>([\d,]+)</b> characters", piece)[0]
        assert int(chars.replace(",", "")) <= int(most.replace(",", "")) == min(limit, 1_700)

    assert "is too small" in await screen.get(
        "/console/workstreams/bundle?phase=implementation&limit=10"
    )
    assert "is too small" in await screen.get("/workstreams?limit=10")


async def test_several_workstreams_are_offered_and_those_of_other_branches_named(
    screen: Screen, repo: Repo
):
    await note_claims(screen)
    await screen.workstreams.claim("in the plan", phase="planning", workstream_id="second one")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "notes")
    repo.git("checkout", "-qb", "feat/other")
    await screen.workstreams.claim("on the other branch")

    page = await screen.get("/workstreams")
    assert "<h1>feat/other</h1>" in page
    link = re.search(
        r'<a href="([^"]+)">second one</a> <span class="muted">\(planning, main\)', page
    )
    assert link
    elsewhere = await screen.get(html.unescape(link[1]))
    assert "in the plan" in elsewhere
    assert '<p class="remark">These notes were made on branch main.</p>' in elsewhere

    repo.git("checkout", "-q", "main")
    page = await screen.get("/workstreams")
    assert "2 workstreams on this branch" in page
    assert 'href="/workstreams?workstream=second+one"' in page
    second = await screen.get("/workstreams?workstream=second+one")
    assert re.search(r'phase=planning" aria-current="page">planning', second)
    assert "in the plan" in second


async def test_a_branch_with_any_name_has_its_page_or_an_answer_in_words(
    screen: Screen, repo: Repo
):
    """One that is not UTF-8 cannot be kept by any store."""
    repo.git("checkout", "-qb", "feat/<b>x&y")
    await screen.workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    page = await screen.get("/workstreams")
    assert "<h1>feat/&lt;b&gt;x&amp;y</h1>" in page
    [piece] = re.findall(r'hx-get="(/console/workstreams\?[^"]+)"', page)
    await screen.get(piece.replace("&amp;", "&"), 204)

    repo.git("checkout", "-qb", "n\udcffn")
    assert "is not UTF-8" in await screen.get("/workstreams", 400)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/console/workstreams", 400),
        ("/console/workstreams?phase=x", 400),
        ("/console/workstreams/bundle?phase=x", 400),
        ("/workstreams?workstream=" + "x" * 500, 400),
        ("/workstreams?workstream=%00", 400),
        ("/workstreams?limit=0", 400),
    ],
)
async def test_an_invalid_query_is_refused_with_a_page(screen: Screen, path: str, status: int):
    assert "Not understood" in await screen.get(path, status)


# --- proofs ---------------------------------------------------------------------------------------


async def test_a_proof_is_run_again_and_its_end_is_shown(screen: Screen, repo: Repo):
    proof = await screen.workstreams.prove(["sh", "-c", "test -f ok && echo fine"])
    assert proof.exit_code == 1
    page = await screen.get("/workstreams")
    assert f'data-proves="{proof.id}"' in page
    assert "Run sh -c &#39;test -f ok &amp;&amp; echo fine&#39;" in page
    assert (
        "This command runs on this machine, at the top of the checkout, exactly as shown:" in page
    )
    assert '<p class="bad">It failed, on the files as they are now.</p>' in page
    repo.write("ok", "")

    answer = await screen.prove({"proof_id": proof.id})

    assert (answer.status_code, answer.json()["command"]) == (202, list(proof.command))
    assert "passed with exit 0" in await screen.ended()
    page = await screen.get("/workstreams")
    assert "passed with exit 0" in page
    assert page.count("exit 1") == 0
    mark = html.unescape(re.search(r"workstreams/proof\?seen=([^\"]+)", page)[1])
    assert (await screen.client.get(f"/console/workstreams/proof?seen={mark}")).status_code == 204
    assert "passed with exit 0" in await screen.get("/console/workstreams/proof?seen=before")


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        ({"proof_id": NOBODY}, "application/json", 404, "proof_not_found"),
        ({"proof_id": "x"}, "application/json", 404, "proof_not_found"),
        ({"proof_id": 7}, "application/json", 400, "invalid_value"),
        ({}, "application/json", 400, "invalid_value"),
        ([], "application/json", 400, "invalid_value"),
        (b"", "application/json", 400, "invalid_value"),
        (b"x" * 2_000, "application/json", 413, "too_large"),
        ({"proof_id": NOBODY}, "text/plain", 415, "wrong_media_type"),
        (b"proof_id=x", "application/x-www-form-urlencoded", 415, "wrong_media_type"),
    ],
)
async def test_a_request_that_names_no_known_proof_is_not_run(
    screen: Screen, body: Any, content_type: str, status: int, code: str
):
    assert is_problem(await screen.prove(body, content_type), status, code)
    assert "Running" not in await screen.get("/console/workstreams/proof")


async def test_a_proof_of_another_repository_is_not_run_here(screen: Screen, tmp_path: Path):
    other = Repo(tmp_path / "other")
    other.write("a.txt", "x")
    other.commit("another begin")
    proof = await screen.app.workstreams(str(other.folder)).prove(["touch", "made"])
    assert (other.folder / "made").exists()

    assert is_problem(await screen.prove({"proof_id": proof.id}), 404, "proof_not_found")
    assert not (screen.root / "made").exists()


async def test_without_consent_no_proof_is_run(screen: Screen, monkeypatch: pytest.MonkeyPatch):
    proof = await screen.workstreams.prove(["true"])
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "false")

    assert is_problem(await screen.prove({"proof_id": proof.id}), 422, "shared_context_off")


# --- the switch -----------------------------------------------------------------------------------


def name_of(repo: Repo) -> str:
    """Without a remote: its first commit."""
    return repo.git("rev-list", "--max-parents=0", "HEAD")


async def test_the_notes_are_switched_on_and_off_in_the_settings_of_the_person(repo: Repo):
    async for screen in open_screen(repo.folder):
        answer = await screen.switch({"shared_context": True})
        assert answer.json() == {"repository": name_of(repo), "shared_context": True}
        page = await screen.get("/workstreams")
        assert "There are no notes here yet" in page
        assert 'data-shares="false"' in page
        await screen.workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
        kept = (repo.folder / CONTEXT).read_bytes()

        for _ in range(2):  # the same again changes nothing
            assert (await screen.switch({"shared_context": False})).status_code == 200

        page = await screen.get("/workstreams")
        assert "Notes in this repository are off" in page
        assert 'data-shares="true"' in page
        assert (repo.folder / CONTEXT).read_bytes() == kept
    assert repo.git("log", "--format=%s").split() == ["begin"]
    assert sharing.is_shared(screen.app.settings.home, name_of(repo)) is False


async def test_the_switch_leaves_other_settings_and_the_repository_alone(repo: Repo):
    home = repo.folder.parent / "data"
    home.mkdir(mode=0o700)
    (home / "settings.json").write_text('{"pinned_rules": ["Cents, never float."]}')
    async for screen in open_screen(repo.folder):
        await screen.switch({"shared_context": True})

    settings = json.loads((home / "settings.json").read_text())
    assert settings["pinned_rules"] == ["Cents, never float."]
    assert settings["repositories"] == {name_of(repo): {"shared_context": True}}
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("value", ["true", "false"])
async def test_where_the_environment_decides_no_switch_is_offered(
    repo: Repo, value: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", value)
    async for screen in open_screen(repo.folder):
        assert "data-shares" not in await screen.get("/workstreams")


async def test_where_the_repository_refuses_only_switching_off_is_offered(repo: Repo):
    repo.write(CONFIG_PATH, "shared_context: false\n")
    async for screen in open_screen(repo.folder):
        await screen.switch({"shared_context": True})
        page = await screen.get("/workstreams")
        assert "Change that file" in page
        assert 'data-shares="false"' in page

        sharing.set_sharing(screen.app.settings.home, "example.org/other", is_on=True)
        await screen.switch({"shared_context": False})
        page = await screen.get("/workstreams")
        assert "Change that file" in page
        assert "data-shares" not in page


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        ({"shared_context": "yes"}, "application/json", 400, "invalid_value"),
        ({}, "application/json", 400, "invalid_value"),
        ([True], "application/json", 400, "invalid_value"),
        (b"x" * 2_000, "application/json", 413, "too_large"),
        ({"shared_context": True}, "text/plain", 415, "wrong_media_type"),
        (b"shared_context=true", "application/x-www-form-urlencoded", 415, "wrong_media_type"),
    ],
)
async def test_a_request_that_chooses_nothing_switches_nothing(
    repo: Repo, body: Any, content_type: str, status: int, code: str
):
    async for screen in open_screen(repo.folder):
        assert is_problem(await screen.switch(body, content_type), status, code)
    assert not (repo.folder.parent / "data" / "settings.json").exists()


async def test_without_a_repository_there_is_nothing_to_switch(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    async for screen in open_screen(tmp_path / "plain"):
        assert is_problem(await screen.switch({"shared_context": True}), 404, "no_repository")


# --- the diff -------------------------------------------------------------------------------------


async def test_a_diff_is_marked_by_more_than_colour_and_leads_to_the_file(
    screen: Screen, repo: Repo
):
    repo.write("README.md", "other\n")
    session = await screen.sessions.create_session("architect", "u1")
    path = str(repo.folder / "README.md")

    page = await screen.get(f"/?applet=git-diff&path={path}&session={session.id}")

    assert re.search(r'class="removed"><span>1</span><span></span><b>−</b><code>payouts<', page)
    assert re.search(r'class="added"><span></span><a [^>]+>1</a><b>\+</b><code>other<', page)
    assert f'data-applet="git-diff" data-path="{path}"' in page
    assert "Open the file" in page
    assert f"/sessions/{session.id}" in page


async def test_a_folders_diff_lists_files_that_lead_to_theirs(screen: Screen, repo: Repo):
    repo.write("README.md", "other\n")
    session = await screen.sessions.create_session("architect", "u1")

    page = await screen.get(f"/?applet=git-diff&path={repo.folder}&session={session.id}")

    assert "1 file against HEAD" in page
    assert f'data-applet="git-diff" data-path="{repo.folder}"' in page
    link = re.search(
        r'<a class="changed-file" href="([^"]+)">.*changed</span> <span class="path">README.md<',
        page,
    )
    assert link
    assert "<code>payouts<" in await screen.get(html.unescape(link[1]))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("path=src", "Nothing differs from HEAD"),
        (f"path=src&since={'0' * 40}", "is not in this repository"),
        ("path=src/retry.py", "Nothing differs from HEAD"),
        ("path=new.txt", "all of it is new"),
        ("path=a.bin", "This is not a text file"),
        ("path=src/models.py", "is no longer there"),
        (f"path=README.md&since={'0' * 40}", "is not in this repository"),
        ("path=README.md&since=HEAD", "Nothing differs from HEAD"),
        ("path=README.md&since=main", "<code>main</code> is not a commit id"),
        ("path=src&since=HEAD^", "<code>HEAD^</code> is not a commit id"),
    ],
)
async def test_the_diff_page_has_a_sentence_for_every_kind_of_file(
    screen: Screen, repo: Repo, query: str, words: str
):
    repo.write("new.txt", "new\n")
    repo.write("a.bin", b"\0")
    (repo.folder / "src/models.py").unlink()
    if query == "path=src":
        repo.git("restore", "src/models.py")

    assert words in await screen.get(f"/?applet=git-diff&{query}")


# --- the clients' own memory ----------------------------------------------------------------------


async def test_the_clients_memory_is_shown_with_what_is_stale(screen: Screen, repo: Repo):
    repo.write("CLAUDE.md", "- <b>see</b> `README.md`\n- `src/retry.py` retries\n")
    repo.git("rm", "-q", "README.md")
    repo.commit("remove")

    shown = await screen.get("/console/workstreams/memory")

    assert "2 notes name files, 1 gone, 0 symbols changed" in shown
    assert "CLAUDE.md:1" in shown
    assert "deleted in" in shown
    assert "<b>see" not in shown
    assert 'hx-get="/console/workstreams/memory"' in await screen.get("/workstreams")


async def test_the_clients_memory_is_shown_where_notes_are_off(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SHARED_CONTEXT_ENABLED", raising=False)
    async for screen in open_screen(repo.folder):
        assert "No client keeps a memory" in await screen.get("/console/workstreams/memory")
        assert 'hx-get="/console/workstreams/memory"' in await screen.get("/workstreams")


async def test_without_a_repository_there_is_no_memory_to_check(tmp_path: Path):
    folder = tmp_path / "plain"
    folder.mkdir()
    async for screen in open_screen(folder):
        answer = await screen.client.get("/console/workstreams/memory")
        assert answer.status_code == 204
