"""Real client programs, offline. What a machine lacks for them fails on CI and is one line
elsewhere.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.rig.installed import Installed
from tools.clients.install import MissingError, install
from tools.clients.machine import Machine
from tools.clients.pins import PINS
from tools.clients.programs import PROGRAMS
from tools.clients.programs.contract import Program
from tools.clients.sandbox import Sandbox

Install = Callable[[str], Path]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--latest", action="store_true", help="the newest clients, not the pinned")


def report_missing(error: MissingError) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(str(error))
    pytest.skip(f"Real clients are not run: {error}")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One for all tests of a worker: each run of a client has a conversation of its own."""
    try:
        opened = Sandbox(tmp_path_factory.mktemp("models"))
    except MissingError as error:
        report_missing(error)
        return
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def install_client(pytestconfig: pytest.Config) -> Install:
    """Where a client's commands are; only for fixtures of a whole run.

    The home of a test has no cache, and no settings of npm.
    """

    def find(client: str) -> Path:
        pin = PINS[client]
        if pytestconfig.getoption("latest", False):
            pin = pin.as_newest()
        try:
            return install(pin)
        except MissingError as error:
            report_missing(error)
            raise

    return find


@pytest.fixture(scope="session", params=PROGRAMS)
def client(request: pytest.FixtureRequest, install_client: Install) -> tuple[Program, Path]:
    """Each of the four, and where its commands are."""
    return PROGRAMS[request.param], install_client(request.param)


@pytest.fixture(scope="session")
def three_clients(install_client: Install) -> list[tuple[Program, Path]]:
    return [(PROGRAMS[name], install_client(name)) for name in ("claude", "codex", "gemini")]


@pytest.fixture(scope="session")
def tmux() -> None:
    """For what has to be typed."""
    if shutil.which("tmux") is None:
        report_missing(MissingError("tmux is missing"))


@pytest.fixture
def program(client: tuple[Program, Path]) -> Program:
    return client[0]


@pytest.fixture
def machine(sandbox: Sandbox, tmp_path: Path, client: tuple[Program, Path]) -> Machine:
    return Machine(sandbox, tmp_path / "machine", [client])


@pytest.fixture
def holdfast(machine: Machine) -> Installed:
    return Installed(machine)
