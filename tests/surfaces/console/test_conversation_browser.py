"""The conversations screen in a real Chromium, in front of a real server and a real repository."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from holdfast.app import App
from holdfast.surfaces.console.conversation_view import CARDS_PER_PAGE
from holdfast.usecases import conversing
from tests.rig.commands import Answer, run_process
from tests.surfaces.console import noting, talks
from tests.surfaces.console.browsing import DEVELOPER, Console
from tests.surfaces.console.conftest import opened
from tests.surfaces.console.story import make_request
from tests.surfaces.console.talks import TALKS
from tests.surfaces.console.test_browser import CONTRAST, is_same_page, mark
from tests.surfaces.console.test_conversation_pages import leave_out_now
from tests.surfaces.http.server import environment
from tests.workstreams.repos import Repo

TITLES = [talk[2] for talk in TALKS]
PROGRAMS = ("claude", "codex")
SELECTED = "#list .session[aria-current] .title"
FOCUSED = "#list .session:focus .title"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two clients on the path that are never started here."""
    folder = tmp_path_factory.mktemp("programs")
    for name in PROGRAMS:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return noting.with_code(tmp_path_factory.mktemp("work") / "payouts")


@pytest.fixture
def empty(
    programs: None, tmp_path: Path, browser: Browser, repo: Repo, window: dict[str, Any]
) -> Iterator[Console]:
    (tmp_path / "served").mkdir()
    with noting.serving(tmp_path / "served", repo.folder) as running:
        for console in opened(browser, running, repo.folder, window):
            console.context.grant_permissions(["clipboard-read", "clipboard-write"])
            yield console


@pytest.fixture
def ids(empty: Console) -> list[str]:
    return talks.write_talks(empty.settings, str(empty.root))


@pytest.fixture
def talking(empty: Console, ids: list[str]) -> Console:
    return empty


def list_titles(page: Page) -> list[str]:
    return page.locator("#list .title").all_inner_texts()


def expect_copied(page: Page, text: str) -> None:
    page.wait_for_function(
        "async (text) => await navigator.clipboard.readText() === text", arg=text
    )


def holdfast(console: Console, *arguments: str) -> Answer:
    on = {"HOLDFAST_DEVELOPER": DEVELOPER, "SHARED_CONTEXT_ENABLED": "true"}
    own = environment(console.server.home, **on)
    return run_process(*arguments, cwd=console.root, **own)


# --- how many there are ---------------------------------------------------------------------------


def test_without_one_the_page_says_what_begins_it_and_shows_it(empty: Console):
    page = empty.open("/conversations")
    expect(page.locator(".empty h1")).to_have_text("No conversations yet")
    page.locator("[data-copies=begin]").click()
    expect_copied(page, "/workspace.brainstorm TOPIC")
    mark(empty)

    assert holdfast(empty, "conversation", "new", "plan", "Invoices").code == 0

    expect(page.locator(SELECTED)).to_have_text("Invoices")
    expect(page.locator("#block")).to_contain_text("Conversation: plan / Invoices")
    assert is_same_page(empty)


def test_two_thousand_are_paged_and_found(talking: Console, ids: list[str]):
    talks.copy_talk(talking.settings, ids[0], 2_000)
    page = talking.open_live("/conversations")
    expect(page.locator("#list .session")).to_have_count(CARDS_PER_PAGE)

    page.locator("#older").click()
    expect(page.locator("#list .session")).to_have_count(2 * CARDS_PER_PAGE)
    assert len(set(list_titles(page))) == 2 * CARDS_PER_PAGE
    page.locator("#query").fill("try1234")
    expect(page.locator("#list .title")).to_have_text(["Number 1234"])
    page.locator("#query").fill("")
    expect(page.locator("#list .session")).to_have_count(CARDS_PER_PAGE)


# --- by keys alone --------------------------------------------------------------------------------


def test_one_is_found_opened_and_copied_by_keys_alone(talking: Console, ids: list[str]):
    page = talking.open_live("/conversations")
    expect(page.locator("#query")).to_be_focused()
    assert list_titles(page) == TITLES

    page.keyboard.type("index migration")
    expect(page.locator("#found")).to_have_text("1 conversation found")
    expect(page.locator("#list .title")).to_have_text([TITLES[1]])
    expect(page).to_have_url(f"{talking.server.url}/conversations?q=index+migration")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/conversations/{ids[1]}?q=index+migration")
    expect(page.locator("h1")).to_have_text(TITLES[1])
    expect(page.locator("#query")).to_have_value("index migration")
    page.keyboard.press("r")
    expect_copied(page, f"holdfast resume {ids[1]} --in codex")
    expect(page.locator("#toast")).to_have_text(f"Copied: holdfast resume {ids[1]} --in codex")

    page.keyboard.press("Escape")
    expect(page.locator(FOCUSED)).to_have_text(TITLES[1])
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#list .session")).to_have_count(3)
    expect(page.locator(SELECTED)).to_have_text(TITLES[1])


def test_the_cards_are_walked_with_arrows_and_letters(talking: Console, ids: list[str]):
    page = talking.open_live("/conversations")

    for key, at in (("ArrowDown", 0), ("ArrowDown", 1), ("j", 2), ("k", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(page.locator(FOCUSED)).to_have_text(TITLES[at])
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect_copied(page, f"holdfast resume {ids[1]}")
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("jr?/")
    expect(page.locator("#query")).to_have_value("jr?/")
    expect(page.locator("#found")).to_contain_text("Nothing here has “jr?/”")
    page.keyboard.press("Escape")
    expect(page.locator("#list .session")).to_have_count(3)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(TITLES[1])


def test_enter_before_the_answer_searches_and_opens_nothing_else(talking: Console):
    page = talking.open("/conversations")
    page.route("**/console/conversations*", lambda route: None)  # an answer that never comes

    page.keyboard.type("signature")
    page.keyboard.press("Enter")

    page.wait_for_url("**/conversations?q=signature*")
    expect(page.locator("#list .title")).to_have_text([TITLES[2]])
    expect(page.locator("h1")).to_have_text(TITLES[2])


def test_the_list_is_filtered_by_status(talking: Console):
    page = talking.open("/conversations")

    page.get_by_role("radio", name="paused").check()
    expect(page.locator("#list .title")).to_have_text([TITLES[1]])
    expect(page).to_have_url(f"{talking.server.url}/conversations?status=paused")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#list .title")).to_have_text([TITLES[2]])
    page.reload()
    expect(page.locator("#list .title")).to_have_text([TITLES[2]])


def test_without_scripts_the_search_is_a_form(talking: Console, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(talking.context.cookies())  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.goto(f"{talking.server.url}/conversations")
        page.locator("#query").fill("signature")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("#list .title")).to_have_text([TITLES[2]])
    finally:
        context.close()


# --- the chosen one -------------------------------------------------------------------------------


def test_a_click_shows_the_block_the_check_and_a_command_for_each_client(
    talking: Console, ids: list[str], repo: Repo
):
    repo.write("src/retry.py", "changed\n")
    page = talking.open("/conversations")
    page.locator("#list .session").nth(0).click()
    page.wait_for_url(f"**/conversations/{ids[0]}")

    shown = page.locator("#block").evaluate("(block) => block.textContent")
    printed = holdfast(talking, "resume", ids[0], "--print")
    assert leave_out_now(f"{shown}\n") == leave_out_now(printed.out)
    expect(page.locator(".check li")).to_have_text(
        [
            "1 uncommitted file: src/retry.py.",
            "Of its 4 files, 1 changed since: src/retry.py.",
        ]
    )
    expect(page.locator("#list .files").first).to_have_text("4 files, 1 changed since")
    for client in PROGRAMS:
        button = page.locator(f"[data-copies=way-{client}]")
        button.click()
        expect_copied(page, f"holdfast resume {ids[0]} --in {client}")
        expect(button).to_have_text("Copied")
    expect(page.locator("[data-copies=way-claude]")).to_have_text("Copy")
    page.locator("[data-copies=block]").click()
    expect_copied(page, shown)
    repo.git("checkout", "-q", "--", "src")


def test_its_session_leads_back_to_it(talking: Console, ids: list[str]):
    page = talking.open(f"/conversations/{ids[0]}")

    page.get_by_role("link", name="Its session").click()
    page.keyboard.press("r")
    command = page.locator("#resume").inner_text()
    expect_copied(page, command)
    assert "Webhook retry pays twice" in holdfast(talking, *command.split()[1:], "--print").out
    page.get_by_text("About this session").click()
    page.get_by_role("link", name=ids[0]).click()
    page.wait_for_url(f"**/conversations/{ids[0]}")


# --- live -----------------------------------------------------------------------------------------


def test_a_session_that_begins_or_ends_refreshes_the_cards(talking: Console):
    """The search stays, and so does the place."""
    page = talking.open_live("/conversations")
    page.keyboard.type("webhook")
    expect(page.locator("#list .title")).to_have_text([TITLES[0]])
    mark(talking)

    async def begin(app: App, repo: str) -> None:
        session = await app.scope.sessions.create_session(
            "claude", "ana", client="claude", worktree=repo
        )
        await conversing.begin_conversation(app, repo, "plan", "Webhook colours", session)
        await app.scope.sessions.append_event(session.id, **talks.fill_event(ASKED, repo))
        await app.scope.sessions.end_session(session.id)

    talks.converse(talking.settings, str(talking.root), begin)

    expect(page.locator("#list .title")).to_have_text(["Webhook colours", TITLES[0]])
    expect(page.locator("#list .said").first).to_have_text("“Make them blue.”")
    expect(page.locator("#query")).to_be_focused()
    assert is_same_page(talking)


ASKED = make_request("Make them blue.")


def test_the_files_of_a_long_log_follow_its_card(talking: Console):
    async def work_long(app: App, repo: str) -> None:
        session = await app.scope.sessions.create_session(
            "codex", "ana", client="codex", worktree=repo
        )
        for event in TALKS[0][5][3:7] * 30:
            await app.scope.sessions.append_event(session.id, **talks.fill_event(event, repo))
        await conversing.begin_conversation(app, repo, "review", "A long one", session)

    talks.converse(talking.settings, str(talking.root), work_long)
    page = talking.open("/conversations?q=long")

    expect(page.locator("#list .files")).to_have_text("4 files, unchanged since")


# --- how it looks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 1000, 390, 320])
def test_nothing_is_wider_than_the_window_and_everything_can_be_read(
    talking: Console, ids: list[str], width: int, scheme: Literal["light", "dark"]
):
    page = talking.page
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    for path in ("/conversations", f"/conversations/{ids[0]}", "/conversations?q=nonsense"):
        talking.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(TOO_WIDE, width) == [], path
        worst = page.evaluate(CONTRAST)
        assert worst["ratio"] >= 4.5, (path, worst)


TOO_WIDE = """(width) => [...document.querySelectorAll("main *")]
  .filter((each) => each.getBoundingClientRect().right > width + 1)
  .map((each) => each.outerHTML.slice(0, 100))"""


def test_on_a_phone_the_list_and_the_chosen_one_are_pages_of_their_own(
    talking: Console, ids: list[str]
):
    page = talking.page
    page.set_viewport_size({"width": 390, "height": 844})
    talking.open("/conversations")
    expect(page.locator("#detail")).to_be_hidden()

    page.locator("#list .session").nth(1).click()
    page.wait_for_url(f"**/conversations/{ids[1]}")
    expect(page.locator("#query")).to_be_hidden()
    expect(page.locator("#way-codex")).to_be_in_viewport()
    expect(page.locator(".check h2")).to_be_in_viewport()
    page.get_by_role("link", name="All conversations").click()
    expect(page.locator("#list")).to_be_visible()


def test_an_answer_is_rendered_in_its_turn(talking: Console, ids: list[str]):
    page = talking.open(f"/conversations/{ids[0]}")
    page.get_by_role("link", name="Its session").click()
    page.set_viewport_size({"width": 390, "height": 844})

    page.locator(".turn").last.locator(".answer > summary").click()

    answer = page.locator(".turn").last.locator(".prose")
    expect(answer.locator("strong")).to_have_text("per event")
    expect(answer.locator("ol > li").first).to_have_text("deliver() asks it before it posts.")
    expect(answer.locator("td").first).to_have_text("1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
