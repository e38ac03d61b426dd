"""The coordination screen in a real Chromium: what others do appears while one looks, and what ends
disappears.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from holdfast.app import App
from holdfast.ground import ids
from holdfast.ground.user_settings import NAME as USER_SETTINGS
from holdfast.usecases import exchange
from tests.surfaces.console import noting, teaming
from tests.surfaces.console.browsing import DEVELOPER, Console
from tests.surfaces.console.conftest import opened
from tests.surfaces.console.story import set_clock
from tests.surfaces.console.test_browser import CONTRAST, is_same_page, mark
from tests.surfaces.console.test_conversation_browser import TOO_WIDE
from tests.surfaces.http.server import run_server
from tests.workstreams.repos import Repo

FULL: dict[str, Any] = {
    "summary": "Attempts are counted per event.\nRedis is rejected.",
    "files_touched": ["src/retry.py", "README.md"],
    "next_actions": ["409 counts as success", "Migration 0031"],
    "blockers": ["The sandbox key was asked for"],
    "branch": "feat/webhook-retry",
}
GLANCE = "() => new Promise((done) => setTimeout(done, 2100))"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return noting.with_code(tmp_path_factory.mktemp("work") / "payouts")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def ana(home: Path, browser: Browser, repo: Repo, window: dict[str, Any]) -> Iterator[Console]:
    with noting.serving(home, repo.folder) as running:
        yield from opened(browser, running, repo.folder, window)


@pytest.fixture
def both(
    postgres_url: str, tmp_path: Path, browser: Browser, root: Path, window: dict[str, Any]
) -> Iterator[tuple[Console, Console]]:
    """Two developers on one PostgreSQL, each with a server and a browser of their own."""
    with ExitStack() as stack:
        consoles = []
        for handle in (DEVELOPER, "bo"):
            home = tmp_path / handle
            home.mkdir()
            server = stack.enter_context(
                run_server(home, postgres_url, "--root", str(root), HOLDFAST_DEVELOPER=handle)
            )
            as_context = contextmanager(opened)
            consoles.append(stack.enter_context(as_context(browser, server, root, window)))
        ana, bo = consoles
        yield ana, bo


def list_titles(page: Page) -> list[str]:
    return page.locator(".context .title").all_inner_texts()


def click_on(page: Page, place: Locator) -> None:
    """Whatever is there: Playwright itself clicks only what nothing lies above."""
    box = place.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


# --- the panel ------------------------------------------------------------------------------------


def test_the_panel_has_each_part_and_unfolds_in_place(ana: Console, repo: Repo):
    context = teaming.publish(ana.server, "dev-a", "Retry queue", folder=repo.folder, **FULL)
    page = ana.open_live("/")
    mark(ana)

    panel = page.get_by_role("region", name="Published contexts")
    row = panel.get_by_role("listitem")
    expect(row.locator(".title")).to_have_text("Retry queue")
    expect(row.locator(".owner")).to_have_text("dev-a")
    expect(row.locator("time")).to_have_text("just now")
    expect(row.locator(".tag")).to_have_text("acme/payouts · feat/webhook-retry")
    assert row.locator(".counts span").all_inner_texts() == [
        *("2 files touched", "2 next actions", "1 blocker"),
        "all as here",
    ]
    toggle = row.get_by_role("button", name="Retry queue")
    assert toggle.get_attribute("aria-expanded") == "false"
    expect(row.locator(".context-detail")).to_be_hidden()

    click_on(page, row.locator(".counts"))  # the whole row is the button

    assert toggle.get_attribute("aria-expanded") == "true"
    detail = page.get_by_role("region", name="Retry queue")
    expect(detail.locator(".plain")).to_have_text(FULL["summary"])
    assert detail.locator("ol li").all_inner_texts() == FULL["next_actions"]
    assert detail.locator(".blockers li").all_inner_texts() == FULL["blockers"]
    assert detail.locator(".files-touched a").all_inner_texts() == FULL["files_touched"]
    expect(detail.locator("figcaption")).to_have_text("In the words of dev-a, not checked")
    assert page.locator("[data-revokes]").count() == 0
    assert is_same_page(ana)

    toggle.click()
    expect(detail).to_have_count(0)
    toggle.click()
    detail.get_by_role("link", name="src/retry.py").click()
    expect(page.locator("h1")).to_contain_text("retry.py")
    assert context.id in "".join(ana.requests)


def test_everything_is_done_by_keys_alone(ana: Console):
    teaming.publish(ana.server, "dev-a", "First", **FULL)
    teaming.publish(ana.server, DEVELOPER, "Mine", **FULL)
    page = ana.open_live("/")

    page.keyboard.press("j")
    expect(page.locator(".toggle:focus .title")).to_have_text("Mine")
    page.keyboard.press("j")
    expect(page.locator(".toggle:focus .title")).to_have_text("First")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="First").locator(".plain")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("src/retry.py")
    page.keyboard.press("k")
    page.keyboard.press(" ")
    expect(page.get_by_role("region", name="Mine").locator(".plain")).to_be_visible()
    revoke = page.get_by_role("button", name="Revoke")
    while not revoke.evaluate("(button) => button === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#revoke-what")).to_have_text("Mine")
    page.keyboard.press("Escape")
    assert list_titles(page) == ["Mine", "First"]
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".context .title")).to_have_text(["First"])
    expect(page.locator("#toast")).to_have_text("Revoked.")


def test_what_waits_is_reached_and_accepted_by_keys(ana: Console):
    """When the last one is accepted, the heading has the focus, and never the whole page."""
    teaming.publish(ana.server, DEVELOPER, "Mine")
    for path in ("one", "two", "three"):
        given = teaming.claim(ana.server, "bo", path)
        teaming.offer(ana.server, "bo", given.id, to=DEVELOPER)
    page = ana.open_live("/")
    accept = page.locator(".item button")
    paths = page.locator(".item .path").all_inner_texts()

    page.keyboard.press("j")
    expect(accept.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".item .path")).to_have_text([paths[0], paths[2]])
    expect(accept.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".item .path")).to_have_text(paths[:1])
    expect(accept).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".item")).to_have_count(0)
    expect(page.locator("#since-title")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".toggle:focus .title")).to_have_text("Mine")


def test_items_that_are_folded_are_passed_over_by_keys_until_they_are_unfolded(ana: Console):
    for number in range(6):
        given = teaming.claim(ana.server, "bo", f"src/{number}")
        teaming.offer(ana.server, "bo", given.id)
    page = ana.open_live("/")
    more = page.locator("#more-items summary")

    for _ in range(5):
        page.keyboard.press("j")
    expect(more).to_be_focused()
    page.keyboard.press("j")
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    expect(page.locator(".item button").nth(4)).to_be_focused()


# --- live -----------------------------------------------------------------------------------------


def test_what_others_publish_and_revoke_appears_and_open_rows_stay_open(ana: Console):
    teaming.publish(ana.server, "dev-a", "First", **FULL)
    page = ana.open_live("/")
    mark(ana)
    page.locator(".toggle").focus()
    page.keyboard.press("Enter")
    shown = page.get_by_role("region", name="First").locator(".plain")
    expect(shown).to_be_visible()

    second = teaming.publish(ana.server, "dev-b", "Second", branch="feat/b")
    expect(page.locator(".context .title")).to_have_text(["Second", "First"])
    expect(shown).to_be_visible()
    expect(page.locator(".toggle:focus .title")).to_have_text("First")
    teaming.publish(ana.server, "dev-b", "Third", branch="feat/b")
    expect(page.locator(".context .title")).to_have_text(["Third", "First"])

    third = teaming.publish(ana.server, "dev-b", "Fourth", branch="feat/b")
    expect(page.locator(".context .title").first).to_have_text("Fourth")
    teaming.revoke(ana.server, "dev-b", third.id)
    expect(page.locator(".context .title")).to_have_text(["First"])
    expect(shown).to_be_visible()
    claim = teaming.claim(ana.server, "dev-b", "docs/**")
    expect(page.locator(".reservation .path")).to_have_text(["docs/**"])
    teaming.act_as(ana.server, "dev-b", lambda app: exchange.release(app.scope, claim.id))
    expect(page.locator(".reservation")).to_have_count(0)
    assert second.id not in page.content()
    assert is_same_page(ana)


def test_the_focus_goes_to_what_takes_the_place_of_a_row_that_is_gone(ana: Console):
    contexts = [
        teaming.publish(ana.server, "dev-a", title, branch=title) for title in ("c", "b", "a")
    ]
    page = ana.open_live("/")
    focused = page.locator(".toggle:focus .title")
    page.locator(".toggle", has_text="b").focus()

    teaming.revoke(ana.server, "dev-a", contexts[1].id)
    expect(focused).to_have_text("c")
    teaming.revoke(ana.server, "dev-a", contexts[0].id)
    expect(focused).to_have_text("a")
    teaming.revoke(ana.server, "dev-a", contexts[2].id)
    expect(page.locator("#published-title")).to_be_focused()


def test_a_row_keeps_its_form_while_its_rest_is_fetched(ana: Console):
    """Without a refresh of the page, which would repair it."""
    teaming.publish(ana.server, "dev-a", "First", **FULL)
    page = ana.open_live("/")
    page.route("**/console/coordination?*", lambda route: route.abort())
    toggle, detail = page.locator(".toggle"), page.get_by_role("region", name="First")

    toggle.click()
    expect(detail.locator(".plain")).to_be_visible()
    toggle.click()
    expect(detail).to_have_count(0)
    toggle.click()
    expect(detail.locator(".plain")).to_be_visible()


def test_who_becomes_private_is_gone_while_one_looks(ana: Console):
    teaming.publish(ana.server, "dev-a", "Secret plan", **FULL)
    claim = teaming.claim(ana.server, "dev-a", "src/**")
    teaming.offer(ana.server, "dev-a", claim.id)
    page = ana.open_live("/")
    mark(ana)
    page.locator(".toggle").click()
    expect(page.get_by_role("region", name="Secret plan").locator(".plain")).to_be_visible()

    teaming.become(ana.server, "dev-a", "private")

    expect(page.locator(".context")).to_have_count(0)
    assert [word for word in ("dev-a", "Secret", claim.id) if word in page.content()] == []
    assert is_same_page(ana)
    teaming.become(ana.server, "dev-a", "public")
    expect(page.locator(".context .title")).to_have_text(["Secret plan"])


def test_what_expires_disappears_by_itself(ana: Console):
    with set_clock() as clock:
        clock.at += timedelta(seconds=4) - timedelta(hours=1)
        teaming.publish(ana.server, "dev-a", "Short", ttl_hours=1)
        clock.at += timedelta(minutes=59)
        teaming.claim(ana.server, "dev-a", "src/**", ttl_minutes=1)
    teaming.publish(ana.server, "dev-b", "Long")
    page = ana.open_live("/")
    mark(ana)

    expect(page.locator(".context .title")).to_have_text(["Long"])
    expect(page.locator(".reservation")).to_have_count(0)
    assert is_same_page(ana)


def test_two_browsers_on_two_servers_see_each_other(both: tuple[Console, Console]):
    ana, bo = both
    ana_page, bo_page = ana.open_live("/"), bo.open_live("/")

    teaming.publish(ana.server, DEVELOPER, "From ana")
    expect(bo_page.locator(".context .title")).to_have_text(["From ana"])
    teaming.show_live(ana.server, "bo", ids.new_id(), "src/retry.py")

    person = ana_page.locator(".people li", has_text="bo")
    expect(person.locator(".dot.on")).to_have_count(1)
    expect(person.locator(".branch")).to_have_text("main")
    expect(ana_page.locator(".reservation.soft .left")).to_have_text("uncommitted work")


# --- handoffs, and oneself ------------------------------------------------------------------------


def test_a_handoff_is_accepted_with_one_button_and_its_giver_sees_it(both: tuple[Console, Console]):
    ana, bo = both
    teaming.publish(ana.server, DEVELOPER, "Export")
    given = teaming.claim(ana.server, "bo", "src/export/**")
    teaming.offer(ana.server, "bo", given.id, to=DEVELOPER, note="Tests are left")
    ana_page, bo_page = ana.open_live("/"), bo.open_live("/")
    expect(bo_page.locator(".handoffs li > p").first).to_contain_text("You offer ana")

    item = ana_page.locator(".item.handoff")
    expect(item).to_contain_text("bo hands over src/export/**")
    expect(item.get_by_role("button")).to_have_count(1)
    item.get_by_role("link", name="or decline").click()
    expect(item).to_contain_text("Note of bo: Tests are left")
    expect(ana_page.locator(".handoffs li:target .deeds button")).to_have_text(
        ["Accept", "Decline"]
    )
    item.get_by_role("button", name="Accept").click()

    expect(item).to_have_count(0)
    expect(ana_page.locator("#toast")).to_have_text("Accepted: it is reserved for you now.")
    expect(ana_page.locator(".reservations .who b")).to_have_text(["ana"])
    expect(bo_page.locator(".handoffs li > p").first).to_have_text("Taken over by ana")
    ana_page.get_by_role("button", name="Complete").click()
    expect(bo_page.locator(".handoffs li")).to_have_count(0)
    expect(bo_page.locator(".activity li").first).to_contain_text("ana completed a handoff")


def test_a_handoff_is_declined_and_one_that_is_gone_is_refused_in_words(ana: Console):
    teaming.publish(ana.server, DEVELOPER, "Mine")
    for path in ("one", "two"):
        given = teaming.claim(ana.server, "bo", path)
        handoff = teaming.offer(ana.server, "bo", given.id, to=DEVELOPER)
    page = ana.open_live("/")
    page.locator(f"#deed-decline-{handoff.id}").click()
    expect(page.locator(".handoffs .path")).to_have_text(["one"])

    page.route("**/console/coordination?*", lambda route: route.abort())
    first = page.locator(".handoffs li button", has_text="Accept")
    address = first.get_attribute("data-does") or ""
    gone = address.split("/")[3]
    teaming.act_as(ana.server, "bo", lambda app: exchange.answer_handoff(app.scope, "cancel", gone))
    first.click()
    expect(page.get_by_role("alert")).to_contain_text("cancelled")
    page.unroute("**/console/coordination?*")
    page.reload()
    expect(page.locator(".handoffs li")).to_have_count(0)


def test_one_switches_oneself_to_private_and_back(both: tuple[Console, Console]):
    ana, bo = both
    teaming.publish(ana.server, DEVELOPER, "Mine")
    ana_page, bo_page = ana.open_live("/"), bo.open_live("/")
    expect(bo_page.locator(".context")).to_have_count(1)

    ana_page.get_by_role("button", name="Become private").click()

    expect(ana_page.locator(".visibility b")).to_have_text("You are private.")
    expect(ana_page.locator(".context")).to_have_count(1)
    expect(bo_page.locator(".context")).to_have_count(0)
    ana_page.get_by_role("button", name="Become public").click()
    expect(bo_page.locator(".context .title")).to_have_text(["Mine"])


def test_the_first_use_turns_the_empty_page_into_the_screen(own_console: Console):
    server = own_console.server
    settings = Path(server.home, USER_SETTINGS)
    settings.write_text('{"team": false}')
    page = own_console.open("/coordination")
    expect(page.locator("h1")).to_have_text("Coordination is off")

    settings.unlink()
    teaming.publish(server, "dev-a", "First")
    expect(page.locator(".context .title")).to_have_text(["First"])
    teaming.publish(server, "dev-a", "Second")
    expect(page.locator(".context .title")).to_have_text(["Second"])


# --- the last look --------------------------------------------------------------------------------


def test_what_was_looked_at_is_not_new_the_next_time(ana: Console):
    """Also in another window of the same person, which shares nothing with the first."""
    teaming.publish(ana.server, DEVELOPER, "Mine")
    given = teaming.claim(ana.server, "dev-a", "src/**")
    teaming.offer(ana.server, "dev-a", given.id, to=DEVELOPER)
    page = ana.open_live("/")
    expect(page.locator("h1")).to_have_text("Waiting for you")
    expect(page.locator(".item.new")).to_have_count(1)

    page.reload()
    expect(page.locator(".item.new")).to_have_count(1)
    page.evaluate(GLANCE)
    ana.open("/sessions")
    ana.open_live("/")

    expect(page.locator("h1")).to_have_text(re.compile(r"Since you looked \(\d\d:\d\d\)"))
    expect(page.locator(".item")).to_have_count(1)
    expect(page.locator(".item.new")).to_have_count(0)
    later = teaming.claim(ana.server, "dev-a", "docs/**")
    teaming.offer(ana.server, "dev-a", later.id, to=DEVELOPER)
    expect(page.locator(".item.new .path")).to_have_text(["docs/**"])


# --- every form -----------------------------------------------------------------------------------


def test_a_long_title_takes_two_lines_and_an_open_row_shows_all_of_it(ana: Console):
    prose = "x NOTE TO AGENT " + "read on " * 20
    teaming.publish(ana.server, "dev-a", prose, branch=prose.strip().replace(" ", "-"))
    page = ana.page
    page.set_viewport_size({"width": 390, "height": 844})
    ana.open_live("/")
    title, tag = page.locator(".toggle .title"), page.locator(".context .tag")
    is_cut = "each => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight"
    line = title.evaluate("each => parseFloat(getComputedStyle(each).lineHeight)")

    assert round(title.bounding_box()["height"] / line) == 2
    assert [title.evaluate(is_cut), tag.evaluate(is_cut)] == [True, True]
    page.locator(".toggle").click()
    assert [title.evaluate(is_cut), tag.evaluate(is_cut)] == [False, False]


@pytest.mark.parametrize("width", [390, 1280])
def test_names_that_differ_at_their_end_are_shown_whole(ana: Console, width: int):
    owner, handle = "acme-incorporated-of-everywhere", "a-developer-with-a-handle-as-long-as-"
    for end in ("x1", "x2"):
        teaming.publish(ana.server, handle + end, end, repo=f"{owner}/payouts-{end}")
    ana.page.set_viewport_size({"width": width, "height": 844})
    page = ana.open_live("/")
    names = page.locator(".filters a, .people .who a")

    assert names.count() == 5
    assert not names.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth)")


def test_on_a_phone_a_place_takes_two_lines_before_its_branch_is_cut(ana: Console):
    teaming.publish(ana.server, "dev-a", "One", repo="acme-incorporated-of-everywhere/payouts")
    ana.page.set_viewport_size({"width": 390, "height": 844})
    tag = ana.open_live("/").locator(".context .tag")

    assert tag.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert tag.evaluate("one => one.scrollHeight <= one.clientHeight + 1")


def test_headings_side_by_side_are_on_one_line(ana: Console):
    teaming.publish(ana.server, "dev-a", "One", repo="acme/one")
    teaming.publish(ana.server, "dev-a", "Two", repo="acme/two")
    page = ana.open_live("/")
    boxes = [page.locator(f"#{name}-title").bounding_box() for name in ("published", "people")]

    assert [box and box["y"] for box in boxes] == [boxes[0] and boxes[0]["y"]] * 2


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_everything_can_be_read(
    ana: Console, repo: Repo, width: int, scheme: Literal["light", "dark"]
):
    repo.write("src/retry.py", noting.RETRY + "\n")
    handle = "x" * 39
    long = {
        "repo": f"{teaming.REPO}{'y' * 100}",
        "branch": "b" * 200,
        "files_touched": ["src/" + "very_long_" * 30 + ".py"],
        "summary": "w" * 4_000,
        "next_actions": ["n" * 500],
        "blockers": ["k" * 500],
    }
    teaming.publish(ana.server, handle, "t" * 200, **long)
    teaming.publish(ana.server, DEVELOPER, "Mine", folder=repo.folder, **FULL)
    given = teaming.claim(ana.server, handle, "src/" + "p" * 200, "src/retry.py", reason="r" * 200)
    teaming.offer(ana.server, handle, given.id, to=DEVELOPER, note="o" * 200)
    teaming.show_live(ana.server, handle, ids.new_id(), "z" * 200, branch="b" * 200)
    page = ana.page
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    for path in ("/", f"/coordination?person={handle}", "/coordination?repo=none"):
        ana.open_live(path)
        for toggle in page.locator(".toggle").all():
            toggle.click()
        expect(page.locator(".context-detail:not([hidden]) .plain")).to_have_count(
            page.locator(".toggle").count()
        )
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate(TOO_WIDE, width) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        worst = page.evaluate(CONTRAST)
        assert worst["ratio"] >= 4.5, (path, worst)
    repo.git("checkout", "-q", ".")


def test_many_contexts_and_sixty_people_are_filtered(ana: Console):
    async def fill(app: App) -> None:
        for number in range(180):
            fields = {
                "title": f"Number {number}",
                "summary": "s",
                "repo": f"acme/{number % 3}",
                "branch": f"b{number}",
            }
            await exchange.publish_context(app.scope, fields)

    async def enter(app: App) -> None:
        await app.scope.team.enter()

    teaming.act_as(ana.server, "dev-a", fill)
    for number in range(60):
        teaming.act_as(ana.server, f"dev-{number}", enter)
    page = ana.open_live("/")
    expect(page.locator(".context")).to_have_count(180)

    page.get_by_role("link", name="acme/1", exact=True).click()
    expect(page.locator(".context")).to_have_count(60)
    teaming.publish(ana.server, "dev-1", "A new one", repo="acme/1")
    expect(page.locator(".context")).to_have_count(61)
    teaming.publish(ana.server, "dev-2", "Of another", repo="acme/2")
    page.locator("#more-people summary").click()
    page.get_by_role("link", name="dev-1", exact=True).click()
    expect(page.locator(".context .title")).to_have_text(["A new one"])
    page.get_by_role("link", name="Of dev-1 only").click()
    expect(page.locator(".context")).to_have_count(61)
    page.locator("#more-people summary").click()
    assert page.locator(".people li:visible").count() > 60
