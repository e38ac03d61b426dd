"""One browser and one server per file; each test has a window of its own, and its own sessions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from holdfast.surfaces.console.shell import ZONE_COOKIE
from holdfast.surfaces.http.login import cookie_name
from holdfast.surfaces.http.token import Keys
from tests.surfaces.console.browsing import (
    DEVELOPER,
    PATIENCE,
    Console,
    running_browser,
    settings_of,
    watch,
)
from tests.surfaces.http.server import Server, run_server

# A zone that the machine is not in, so that times are the reader's and not the server's.
ZONE = "Europe/Helsinki"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer than a file: as long as it is there, its loop runs in this thread, and no
    other one can.
    """
    with running_browser() as started:
        yield started


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that applets may show."""
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Server]:
    with run_server(
        tmp_path_factory.mktemp("served"), None, "--root", str(root), HOLDFAST_DEVELOPER=DEVELOPER
    ) as running:
        yield running


@pytest.fixture
def own_server(tmp_path: Path, root: Path) -> Iterator[Server]:
    """For a test that needs an empty store or stops the server."""
    home = tmp_path / "own"
    home.mkdir()
    with run_server(home, None, "--root", str(root), HOLDFAST_DEVELOPER=DEVELOPER) as running:
        yield running


@pytest.fixture
def window() -> dict[str, Any]:
    """How the browser is set up; a test file overrides it."""
    return {"viewport": {"width": 1280, "height": 860}}


def opened(
    browser: Browser, server: Server, root: Path, window: dict[str, Any]
) -> Iterator[Console]:
    context = browser.new_context(timezone_id=ZONE, **window)
    context.set_default_timeout(PATIENCE)
    cookies = {cookie_name(server.port): Keys(str(server.home)).cookie, ZONE_COOKIE: ZONE}
    context.add_cookies(
        [{"name": name, "value": value, "url": server.url} for name, value in cookies.items()]
    )
    console = Console(server, settings_of(server), root, context, context.new_page())
    watch(console)
    yield console
    context.close()
    assert console.problems == []


@pytest.fixture
def console(
    browser: Browser, server: Server, root: Path, window: dict[str, Any]
) -> Iterator[Console]:
    yield from opened(browser, server, root, window)


@pytest.fixture
def own_console(
    browser: Browser, own_server: Server, root: Path, window: dict[str, Any]
) -> Iterator[Console]:
    yield from opened(browser, own_server, root, window)
