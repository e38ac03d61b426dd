"""Debian's Chromium through Playwright, logged in to a real `holdfast serve`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from holdfast.ground.settings import Settings, load_settings
from tests.surfaces.http.server import Server, environment

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
)
# Noted by the page itself: a test that answers a dialog would wait for a page that waits for its
# answer.
NOTE_DIALOGS = """for (const name of ["alert", "confirm", "prompt"]) {
  window[name] = (words) => console.error(`dialog ${name}: ${words}`);
}"""
PATIENCE = 60_000  # milliseconds; a guard against hanging, not a measure
expect.set_options(timeout=PATIENCE)
# Read now: a test runs without any setting of the person who started it.
CHROMIUM = (
    os.environ.get("HOLDFAST_TEST_CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
)
TAKES_PICTURES = bool(os.environ.get("HOLDFAST_SCREENSHOTS"))
DEVELOPER = "ana"
SCREENSHOTS = Path(__file__).parents[3] / "docs" / "screenshots"


def chromium_path() -> str:
    assert CHROMIUM, "The console is tested in Chromium: install it with `make chromium`."
    return CHROMIUM


@contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        try:
            yield browser
        finally:
            browser.close()


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(
        executable_path=chromium_path(), headless=True, args=list(FLAGS)
    )


@dataclass
class Console:
    """One person's browser in front of one server, with a list of everything that should not have
    happened.
    """

    server: Server
    settings: Settings
    root: Path
    context: BrowserContext
    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def api(self) -> httpx.Client:
        return self.server.client()

    def start_session(self, *events: dict[str, Any], **fields: Any) -> str:
        with self.api as api:
            answer = api.post(
                "/api/sessions", json={"chatmode": "architect", "user_id": "ana", **fields}
            )
            assert answer.status_code == 201, answer.text
            session_id: str = answer.json()["id"]
            for event in events:
                answer = api.post(f"/api/sessions/{session_id}/events", json=event)
                assert answer.is_success, answer.text
        return session_id

    def rename(self, session_id: str, name: str) -> None:
        with self.api as api:
            answer = api.patch(f"/api/sessions/{session_id}", json={"name": name})
            assert answer.status_code == 200, answer.text

    def set_context(self, session_id: str, name: str, items: list[str]) -> None:
        with self.api as api:
            change = {"setContext": {"setName": name, "items": items}}
            answer = api.patch(f"/api/sessions/{session_id}", json=change)
            assert answer.status_code == 200, answer.text

    def context_of(self, session_id: str) -> dict[str, list[str]]:
        with self.api as api:
            context: dict[str, list[str]] = api.get(f"/api/sessions/{session_id}").json()["context"]
        return context

    def open(self, path: str) -> Page:
        self.page.goto(self.server.url + path)
        return self.page

    def open_live(self, path: str) -> Page:
        """Open it, and wait until the page listens."""
        page = self.open(path)
        page.wait_for_selector("#dot.on")
        return page

    def picture(self, name: str) -> None:
        """For the documentation, on request: an ordinary run leaves no files."""
        if TAKES_PICTURES:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(SCREENSHOTS / f"{name}.png"))


def watch(console: Console) -> None:
    """Whatever a clean page never does: errors, dialogs, broken policy, requests to elsewhere."""
    page = console.page
    own = urlsplit(console.server.url).netloc

    def note_request(request: Any) -> None:
        console.requests.append(request.url)
        if urlsplit(request.url).netloc != own:
            console.problems.append(f"request to {request.url}")

    def note_message(message: Any) -> None:
        if message.type == "error" and not is_expected(message.text):
            console.problems.append(f"console: {message.text}")

    page.on("pageerror", lambda error: console.problems.append(f"script error: {error}"))
    page.add_init_script(NOTE_DIALOGS)
    page.on("console", note_message)
    page.on("request", note_request)


def is_expected(text: str) -> bool:
    """A page that answers 401, 404 or 409 on purpose, a stream that breaks because a test stops the
    server, and a search that the next key replaces.
    """
    expected = (
        "Failed to load resource: ",
        "htmx:afterRequest",
        "htmx:sendAbort",
        "htmx:sendError",
        "Response Status Error Code 401 ",
    )
    return text.startswith(expected) or "net::ERR_" in text


def settings_of(server: Server) -> Settings:
    """The store that a server serves."""
    return load_settings(environment(server.home, HOLDFAST_DEVELOPER=DEVELOPER))
