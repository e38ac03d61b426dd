"""The conversations screen as a program reads it: its cards, its search, its preview and what they
cost.
"""

import html
import json
import re
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.bundles.service import RECEIPT
from holdfast.conversations.comparing import FileChanges
from holdfast.conversations.model import COMPLETED, PAUSED
from holdfast.conversations.store import ConversationFiles
from holdfast.surfaces.console import conversation_view
from holdfast.surfaces.console.conversation_view import CARDS_PER_PAGE, describe_files
from holdfast.usecases import conversing
from holdfast.usecases.conversation_index import ConversationIndex
from holdfast.usecases.observing import QUICK_LOOK
from tests.rig.commands import run_process
from tests.surfaces.console.noting import with_code
from tests.surfaces.console.talks import RETRY, TALKS, fill_event, write_talk
from tests.surfaces.console.test_work_pages import Screen, open_screen
from tests.workstreams.repos import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
async def screen(repo: Repo) -> AsyncIterator[Screen]:
    async for opened_screen in open_screen(repo.folder):
        yield opened_screen


async def write(screen: Screen) -> list[str]:
    """The ids, the last active first."""
    made = [
        await write_talk(screen.app, str(screen.root), datetime.now(UTC), *talk)
        for talk in reversed(TALKS)
    ]
    return [each.id for each in reversed(made)]


def list_titles(page: str) -> list[str]:
    return re.findall(r'<span class="title" title="([^"]*)"', page)


def list_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files of conversations are read from now on."""
    read: list[str] = []
    for name in ("read_at", "read_newest_at", "read_history"):
        whole = getattr(ConversationFiles, name)

        def note(self: ConversationFiles, *args: object, name=name, whole=whole) -> object:
            read.append(name)
            return whole(self, *args)

        monkeypatch.setattr(ConversationFiles, name, note)
    return read


# --- instead of a list ----------------------------------------------------------------------------


async def test_where_there_is_none_the_page_says_what_begins_one(screen: Screen):
    page = await screen.get("/conversations")

    assert "No conversations yet" in page
    assert "/workspace.brainstorm TOPIC" in page
    assert "holdfast conversation new TYPE TITLE" in page
    assert 'href="/conversations" aria-current="page"' in page


async def test_a_server_of_a_team_has_no_conversations(repo: Repo, postgres_url: str):
    async for screen in open_screen(repo.folder, postgres_url):
        assert "No working tree here" in await screen.get("/conversations")
        await screen.get("/console/conversations", 422)
        await screen.get("/conversations/2026-11-18/001-debug-a", 422)


async def test_an_unknown_conversation_is_a_page_with_a_way_back(screen: Screen):
    for path in ("2026-11-18/001-debug-gone", "x/y", "2026-11-18/x%20y", "2026-11-18/%00"):
        page = await screen.get(f"/conversations/{path}", 404)
        assert "href=" in page


async def test_without_git_the_page_names_what_is_missing(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))

    page = await screen.get("/conversations", 503)

    assert "<h1>Git does not answer</h1>" in page
    assert "git is not installed" in page


async def test_an_unknown_status_is_refused(screen: Screen):
    page = await screen.get("/conversations?status=gone", 400)

    assert "is not a status" in html.unescape(page)


# --- cards ----------------------------------------------------------------------------------------


async def test_a_card_says_what_it_was_about_and_how_it_ended(screen: Screen, repo: Repo):
    await write(screen)
    repo.write("src/retry.py", "changed\n")
    (repo.folder / "README.md").unlink()

    page = html.unescape(await screen.get("/conversations"))

    assert list_titles(page) == [talk[2] for talk in TALKS]
    assert "“Give up after 8, and count the first delivery as attempt 1.”" in page
    assert "4 files, 1 changed since, 1 gone" in page
    assert '<span class="status paused">paused</span>' in page
    assert 'title="Codex"' in page


@pytest.mark.parametrize(
    ("edited", "words"),
    [
        (FileChanges(0), ""),
        (FileChanges(1), "1 file, unchanged since"),
        (FileChanges(4, ["a", "b"]), "4 files, 2 changed since"),
        (FileChanges(3, [], ["a"]), "3 files, 1 gone"),
    ],
)
def test_the_files_of_a_card_are_counted(edited: FileChanges, words: str):
    assert describe_files(edited) == words


async def test_a_long_log_is_looked_at_for_a_card_and_not_for_the_list(screen: Screen):
    """Which would wait for all of them."""
    repo = str(screen.root)
    session = await screen.sessions.create_session("claude", "ana", client="claude", worktree=repo)
    edits = [fill_event(event, repo) for event in RETRY[3:7]] * (QUICK_LOOK // 4 + 1)
    for edit in edits:
        await screen.sessions.append_event(session.id, **edit)
    made = await conversing.begin_conversation(screen.app, repo, "plan", "Long", session)

    before = await screen.get("/console/conversations")
    files = await screen.get(f"/console/conversations/files?id={made.id}")
    after = await screen.get("/console/conversations")

    link = re.search(r'hx-get="(/console/conversations/files[^"]*)" hx-trigger="load"', before)
    assert link
    assert files == await screen.get(link[1])
    assert files == '<span class="files">4 files, unchanged since</span>'
    assert files in after
    assert "/console/conversations/files" not in after
    await screen.get("/console/conversations/files?id=x", 404)


async def test_what_was_active_last_comes_first_however_old_it_is(screen: Screen):
    last, *others = await write(screen)
    service = conversing.open_conversations(screen.app, str(screen.root))
    oldest = await service.get_conversation(others[-1])
    assert oldest.session_id is not None
    await screen.sessions.resume_session(oldest.session_id)
    for session in await screen.sessions.list_sessions():
        if session.ended_at is None and session.resumed_from == oldest.session_id:
            await screen.sessions.append_event(session.id, "user_message", "user", "Once more?")

    page = await screen.get("/console/conversations")

    assert list_titles(page)[0] == oldest.title
    assert "“Once more?”" in page
    assert list_titles(page)[1:] == [TALKS[0][2], TALKS[1][2]]
    assert last != oldest.id


async def test_without_a_session_the_folder_says_what_was_said(screen: Screen, repo: Repo):
    """As another person's, that came with the repository."""
    (last, *_) = await write(screen)
    private = next((screen.root.parent / "data/conversations").glob(f"*/{last}"))
    other = f"{last.partition('/')[0]}/009-debug-of-another-person"
    shared = repo.folder / "conversations" / other
    shared.parent.mkdir(parents=True)
    private.rename(shared)
    known = json.loads((shared / ".session/session.json").read_text())
    known["session_id"] = None
    (shared / ".session/session.json").write_text(json.dumps(known))

    page = await screen.get(f"/conversations/{other}")

    assert "“Give up after 8, and count the first delivery as attempt 1.”" in page
    assert "Its session" not in page
    assert str(shared) in page


async def test_one_that_goes_while_the_list_is_made_is_left_out(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
):
    """As another branch may be checked out at any moment."""
    (last, *_) = await write(screen)
    folder = next((screen.root.parent / "data/conversations").glob(f"*/{last}"))
    session_file = json.loads((folder / ".session/session.json").read_text())
    session_file["session_id"] = None
    (folder / ".session/session.json").write_text(json.dumps(session_file))
    renamed = folder.with_name("009-debug-without-a-session")
    folder.rename(renamed)
    list_page = ConversationIndex.list_page

    async def list_and_remove(self: ConversationIndex, *given: Any, **named: Any) -> Any:
        page = await list_page(self, *given, **named)
        shutil.rmtree(renamed)
        return page

    monkeypatch.setattr(ConversationIndex, "list_page", list_and_remove)
    cards = await screen.get("/console/conversations?at=list")

    assert len(list_titles(cards)) == len(TALKS) - 1


async def test_a_damaged_or_newer_one_is_shown_and_said_to_be_read_only(screen: Screen):
    ids = await write(screen)
    folders = [next((screen.root.parent / "data/conversations").glob(f"*/{id_}")) for id_ in ids]
    (folders[0] / ".session/session.json").write_text("{nonsense")
    (folders[1] / ".session/session.json").write_text('{"version": "9.0"}')
    for file in (folders[2] / ".session").iterdir():
        file.unlink()
    (folders[2] / ".session").rmdir()

    page = await screen.get("/conversations")

    assert list_titles(page) == [talk[2] for talk in TALKS]  # that the documents begin with
    assert page.count("read-only</span>") == 2
    assert "its session.json cannot be read" in await screen.get(f"/conversations/{ids[0]}")
    assert "is of version 9.0" in await screen.get(f"/conversations/{ids[1]}")
    assert "[RESUMED CONVERSATION]" in await screen.get(f"/conversations/{ids[2]}")


async def test_the_same_folder_in_both_places_is_listed_once(screen: Screen, repo: Repo):
    (last, *_) = await write(screen)
    (repo.folder / "conversations" / last).mkdir(parents=True)

    assert len(list_titles(await screen.get("/console/conversations"))) == 3


async def test_a_list_can_be_of_one_status(screen: Screen):
    await write(screen)

    for status in (PAUSED, COMPLETED):
        page = await screen.get(f"/conversations?status={status}")
        (title,) = (talk[2] for talk in TALKS if talk[4] == status)
        assert list_titles(page) == [title]
    found = await screen.get(f"/console/conversations?status={PAUSED}&q=webhook")
    assert "Nothing here has “webhook” among the paused ones" in found


async def test_an_empty_status_is_said(screen: Screen):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])

    assert "None is completed." in await screen.get("/conversations?status=completed")


# --- what it costs --------------------------------------------------------------------------------


def make_many(screen: Screen, count: int) -> None:
    (day,) = (screen.root.parent / "data/conversations").glob("*/*")
    for number in range(count):
        folder = day.parent / "2026-01-05" / f"{number + 1:04}-debug-number-{number}" / ".session"
        folder.mkdir(parents=True)
        (folder / "session.json").write_text(json.dumps({"title": f"Number {number}"}))
        line = {"id": f"m{number}", "role": "user", "content": f"word{number} everywhere"}
        line["timestamp"] = "2026-01-05T10:00:00Z"
        (folder / "messages.jsonl").write_text(json.dumps(line) + "\n")


async def test_a_page_reads_what_it_shows_of_any_number(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])
    make_many(screen, 100)
    read = list_read(monkeypatch)

    first = await screen.get("/console/conversations")
    assert len(list_titles(first)) == CARDS_PER_PAGE
    assert read.count("read_at") == CARDS_PER_PAGE + 1
    assert read.count("read_newest_at") < CARDS_PER_PAGE
    assert "read_history" not in read

    read.clear()
    await screen.get("/console/conversations")
    assert "read_at" not in read

    found = list_titles(first)
    link = find_older(first)
    while link:
        page = await screen.get(link)
        found += list_titles(page)
        link = find_older(page)
    assert sorted(found) == sorted([TALKS[0][2], *(f"Number {number}" for number in range(100))])


def find_older(page: str) -> str:
    found = re.search(r'id="older" href="[^"]*" hx-get="([^"]*)"', page)
    return html.unescape(found[1]) if found else ""


async def test_as_many_as_are_shown_are_fetched_again(screen: Screen):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])
    make_many(screen, 400)

    assert len(list_titles(await screen.get("/console/conversations?count=60"))) == 60
    most = await screen.get("/console/conversations?count=100000")
    assert len(list_titles(most)) == conversation_view.MOST_CARDS


# --- searching ------------------------------------------------------------------------------------


async def test_a_search_reads_every_history_once(screen: Screen, monkeypatch: pytest.MonkeyPatch):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])
    make_many(screen, 50)
    read = list_read(monkeypatch)

    (title,) = list_titles(await screen.get("/console/conversations?q=word17"))
    assert title == "Number 17"
    before = len(read)
    for words in ("word18", "everywhere number", "webhook"):
        assert list_titles(await screen.get(f"/console/conversations?q={words}"))
    shown = read[before:]
    assert shown.count("read_at") == 0
    assert shown.count("read_newest_at") <= 2 * CARDS_PER_PAGE  # the sentences on the cards

    (folder,) = (screen.root.parent / "data/conversations").glob("*/*/*-number-17/.session")
    messages = folder / "messages.jsonl"
    messages.write_text(messages.read_text().replace("word17", "changed"))
    assert list_titles(await screen.get("/console/conversations?q=word17")) == []
    assert list_titles(await screen.get("/console/conversations?q=changed")) == ["Number 17"]


async def test_the_best_are_shown_and_the_others_counted(screen: Screen):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])
    make_many(screen, 50)

    page = await screen.get("/conversations?q=everywhere")

    assert f"50 conversations found, the best {CARDS_PER_PAGE} are shown" in page
    assert find_older(page) == ""


async def test_what_was_not_saved_yet_is_found_too(screen: Screen):
    repo = str(screen.root)
    session = await screen.sessions.create_session("claude", "ana", client="claude", worktree=repo)
    made = await conversing.begin_conversation(screen.app, repo, "plan", "Invoices", session)
    await screen.sessions.append_events(
        session.id, [{"type": "user_message", "role": "user", "content": "Two columns on paper."}]
    )

    for words in ("columns", "paper two", "invoices", "claude", "plan"):
        assert list_titles(await screen.get(f"/console/conversations?q={words}")) == ["Invoices"]
    await screen.sessions.append_event(session.id, "user_message", "user", "And a footer.")
    assert list_titles(await screen.get("/console/conversations?q=footer")) == ["Invoices"]
    assert "Nothing here has “nonsense”" in await screen.get("/conversations?q=nonsense")
    assert made.title == "Invoices"


@pytest.mark.parametrize(
    "words", ['"', "a AND", "*", "🙂", "x" * 1_000, "%00", "<b>"], ids=range(7)
)
async def test_any_words_are_looked_for(screen: Screen, words: str):
    await write_talk(screen.app, str(screen.root), datetime.now(UTC), *TALKS[0])

    answer = await screen.client.get("/console/conversations", params={"q": words})

    assert answer.status_code == 200
    assert "<b>" not in answer.text


async def test_the_address_follows_the_search(screen: Screen):
    (last, *_) = await write(screen)

    async def ask(**params: str) -> str:
        answer = await screen.client.get("/console/conversations", params=params)
        return answer.headers.get("hx-replace-url", "")

    assert await ask(q=" webhook ", status="active") == "/conversations?q=webhook&status=active"
    assert await ask(selected=last) == "/conversations"
    assert await ask(selected=last, at="detail", q="a") == f"/conversations/{last}?q=a"
    assert await ask(older=last) == ""


# --- the chosen one -------------------------------------------------------------------------------


def find_block(page: str) -> str:
    found = re.search(r'<pre id="block"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def leave_out_now(text: str) -> str:
    """Without what differs each time: the age, and the time and the name of the receipt."""
    return re.sub(r"\d\d:\d\dZ · receipt b-\w+|Last active: .* ago", "", text)


async def test_the_block_is_what_resume_prints_to_the_byte(screen: Screen, repo: Repo):
    """And nothing is recorded by looking at it."""
    home = str(screen.root.parent / "data")
    for id_ in await write(screen):
        for _ in range(2):
            page = await screen.get(f"/conversations/{id_}")
        receipts = await screen.app.scope.journal.newest_of_kind(RECEIPT, 100)
        printed = run_process(
            "resume", id_, "--print", cwd=repo.folder, HOLDFAST_HOME=home, HOME="/"
        )

        assert printed.code == 0, printed
        assert "[END RESUMED CONTEXT]" in printed.out
        assert leave_out_now(find_block(page) + "\n") == leave_out_now(printed.out)
        kept = await screen.app.scope.journal.newest_of_kind(RECEIPT, 100)
        assert len(kept) == len(receipts) + 1


async def test_what_changed_since_is_named(screen: Screen, repo: Repo):
    (last, *_) = await write(screen)
    assert "Nothing that could be compared has changed" in await screen.get(
        f"/conversations/{last}"
    )
    repo.write("src/retry.py", "changed\n")
    (repo.folder / "docs/adr.md").unlink()

    page = html.unescape(await screen.get(f"/conversations/{last}"))

    assert "<li>2 uncommitted files: docs/adr.md, src/retry.py.</li>" in page
    assert "<li>Of its 4 files, 1 changed since: src/retry.py; 1 gone: docs/adr.md.</li>" in page


async def test_each_client_that_is_installed_has_its_command_its_own_first(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _, in_codex, _ = await write(screen)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(programs))
    without = await screen.get(f"/conversations/{in_codex}")
    for name in ("claude", "codex"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)

    page = await screen.get(f"/conversations/{in_codex}")

    assert f'<code id="way">holdfast resume {in_codex}</code>' in without
    assert "No client is installed" in without
    commands = re.findall(r'<code id="way-\w+">(.*?)</code>', page)
    commands = [re.sub("</?span>", "", command) for command in commands]
    assert commands == [f"holdfast resume {in_codex} --in {name}" for name in ("codex", "claude")]
    assert "holdfast init --client codex" in page
    assert "The command /workspace.debug is not installed in Codex" in page


# --- at the head of a session ---------------------------------------------------------------------


async def test_a_session_has_the_command_that_goes_on_with_the_last_of_its_thread(screen: Screen):
    repo = str(screen.root)
    session = await screen.sessions.create_session("claude", "ana", client="claude", worktree=repo)
    assert "holdfast resume" not in await screen.get(f"/console/sessions/{session.id}/head")
    await screen.sessions.append_events(
        session.id, [{"type": "user_message", "role": "user", "content": "Go."}]
    )
    await screen.sessions.end_session(session.id)
    next_ = await screen.sessions.resume_session(session.id)

    for shown in (session, next_):
        page = await screen.get(f"/sessions/{shown.id}")
        assert f'<code id="resume">holdfast resume {session.id}</code>' in page
    await screen.sessions.append_event(next_.id, "user_message", "user", "On.")
    page = await screen.get(f"/console/sessions/{session.id}/head")
    assert f'<code id="resume">holdfast resume {next_.id}</code>' in page
    home = str(screen.root.parent / "data")
    printed = run_process(
        "resume", next_.id, "--print", cwd=screen.root, HOLDFAST_HOME=home, HOME="/"
    )
    assert "On." in printed.out


async def test_a_session_leads_to_its_conversation(screen: Screen):
    (last, *_) = await write(screen)
    page = await screen.get(f"/conversations/{last}")
    found = re.search(r'href="(/sessions/[^"]*)">Its session', page)
    assert found

    assert f'href="/conversations/{last}"' in await screen.get(found[1])


# --- answers --------------------------------------------------------------------------------------


async def test_an_answer_is_shown_as_the_markdown_that_it_is(screen: Screen):
    session = await screen.sessions.create_session("claude", "ana")
    for event in RETRY[:2]:
        await screen.sessions.append_event(session.id, **fill_event(event, "/r"))

    page = await screen.get(f"/sessions/{session.id}")
    whole = await screen.get(f"/console/sessions/{session.id}/events/2")

    assert "<strong>per event</strong>" in page
    assert "<td>30 s</td>" in page
    assert "</span> Attempts are kept per event in a table of their own: deliver()" in page
    assert "<strong>per event</strong>" in whole
    assert "Attempts are kept **per event** in a table" in whole
