"""A team's server in a real Chromium, for a developer who logs in with a token: also the pages
before the console, on a phone, in the dark, and by keys.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from holdfast.app import App
from holdfast.ground import ids
from holdfast.usecases import administration
from tests.surfaces.console import teaming
from tests.surfaces.console.browsing import DEVELOPER
from tests.surfaces.console.test_browser import CONTRAST
from tests.surfaces.console.test_conversation_browser import TOO_WIDE
from tests.surfaces.http.server import Server, run_server

PHONE = {"width": 390, "height": 844}
BACKGROUND = "each => getComputedStyle(each).backgroundColor"


@pytest.fixture
def server(postgres_url: str, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "served").mkdir()
    with run_server(tmp_path / "served", postgres_url, HOLDFAST_DEVELOPER="operator") as running:
        yield running


@pytest.fixture
def token(server: Server) -> str:
    async def add(app: App) -> Any:
        await app.scope.identity.add_workspace()
        await administration.add_developer(app, DEVELOPER, "public")
        return (await administration.add_token(app, DEVELOPER, "claude", ())).text

    added: str = teaming.act_as(server, "operator", add)
    return added


@pytest.fixture
def page(browser: Browser, server: Server, token: str) -> Iterator[Page]:
    """Logged in as ana."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    opened = context.new_page()
    opened.goto(f"{server.url}/coordination")
    expect(opened.locator("#token")).to_be_focused()
    opened.keyboard.type(token)
    opened.keyboard.press("Enter")
    opened.wait_for_selector("#dot.on")
    yield opened
    context.close()


def begin(server: Server, **fields: str) -> dict[str, Any]:
    asked = {"agent": "holdfast", "machine": "ana-laptop", **fields}
    begun: dict[str, Any] = httpx.post(f"{server.url}/api/logins", json=asked).json()
    return begun


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_login_fits_and_can_be_read(
    page: Page, server: Server, width: int, scheme: Literal["light", "dark"]
):
    begun = begin(server, agent="x" * 60, machine="y" * 60)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(begun["verification_uri_complete"])

    assert page.evaluate(TOO_WIDE, width) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    worst = page.evaluate(CONTRAST)
    assert worst["ratio"] >= 4.5, worst
    code = page.locator(".user-code code")
    expect(code).to_have_text(begun["user_code"])
    assert code.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 27
    label, value = page.locator(".asked dt").first, page.locator(".asked dd").first
    tops = [each.evaluate("each => each.getBoundingClientRect().top") for each in (label, value)]
    assert tops[0] == tops[1]
    deny, approve = (page.get_by_role("button", name=name) for name in ("Deny", "Approve"))
    assert deny.evaluate(BACKGROUND) != approve.evaluate(BACKGROUND)


def test_a_login_is_approved_by_keys_alone(page: Page, server: Server):
    page.goto(f"{server.url}/login/device")
    expect(page.locator("#user_code")).to_be_focused()
    page.keyboard.type(begin(server)["user_code"].lower())
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("A laptop wants to act as ana")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Deny")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Approved")
    expect(page.locator("main")).to_contain_text("holdfast on ana-laptop gets its token")


def test_who_logs_out_is_told_so(page: Page):
    page.get_by_role("button", name="Log out").click()

    expect(page.locator("main")).to_contain_text("You are logged out.")
    expect(page.locator("main")).not_to_contain_text("You are not logged in.")


def test_on_a_phone_it_is_seen_as_whom_one_acts_and_no_button_is_broken(page: Page, server: Server):
    paths = ("src/retry.py", "migrations/0031_retry.sql")
    teaming.claim(server, DEVELOPER, *paths)
    teaming.show_live(server, "ben", ids.new_id(), *paths)
    page.set_viewport_size(PHONE)
    page.goto(f"{server.url}/coordination")

    expect(page.locator(".who-acts")).to_be_in_viewport()
    expect(page.locator(".who-acts")).to_contain_text(f"{DEVELOPER} in ")
    expect(page.locator("#stock")).to_be_hidden()
    expect(page.locator(".item.shared")).to_contain_text(
        "ben has src/retry.py migrations/0031_retry.sql uncommitted, which you reserved"
    )
    heights = page.locator("button:visible").evaluate_all(
        "all => all.map(each => [each.textContent, each.scrollWidth > each.clientWidth, "
        "each.getBoundingClientRect().height])"
    )
    for name, is_cut, height in heights:
        assert not is_cut, name
        assert height < 45, name
    release = page.get_by_role("button", name="Release").bounding_box()
    assert release
    assert release["height"] < 30
    path = page.locator(".reservation .path", has_text="migrations").first.bounding_box()
    assert path
    assert path["height"] < 30


def test_an_open_row_has_one_background(page: Page, server: Server):
    teaming.publish(server, "ben", "Ledger export", files_touched=["a.py"])
    page.goto(f"{server.url}/coordination")
    row, detail = page.locator(".context .row"), page.locator(".context-detail")

    row.hover()
    closed = row.evaluate(BACKGROUND)
    page.locator(".toggle").click()
    expect(detail.locator(".plain")).to_be_visible()
    assert row.evaluate(BACKGROUND) == detail.evaluate(BACKGROUND) != closed


def test_a_count_of_nothing_is_smaller_and_paler_than_one_of_something(page: Page, server: Server):
    teaming.publish(server, "ben", "Ledger export", files_touched=["a.py"])
    page.goto(f"{server.url}/coordination")
    looks = "each => [parseFloat(getComputedStyle(each).fontSize), getComputedStyle(each).color]"
    some, none = page.locator(".counts .some"), page.locator(".counts .none")

    expect(some).to_have_text("1 file touched")
    expect(none).to_have_text(["0 next actions", "0 blockers"])
    some_size, some_color = some.evaluate(looks)
    none_size, none_color = none.first.evaluate(looks)
    assert none_size < some_size
    assert none_color != some_color
