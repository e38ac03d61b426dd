"""Real client programs, offline. What a machine lacks for them fails on CI and is one line
elsewhere.
"""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.rig.installed import Installed
from tools.clients.install import MissingError, install
from tools.clients.machine import Machine
from tools.clients.pins import PINS
from tools.clients.programs import PROGRAMS
from tools.clients.programs.contract import Program
from tools.clients.sandbox import Sandbox, find_unshare

Client = tuple[Program, Path]

HERE = Path(__file__).parent


# In the gate every test has half of the clients, and every client half of the tests, because their
# start is most of the time that such a test takes; `make clients` runs each test with each client.
HALVES = ({"claude", "gemini"}, {"codex", "opencode"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--latest", action="store_true", help="the newest clients, not the pinned")
    parser.addoption("--every", action="store_true", help="each test with each of its clients")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("every", False):
        return
    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def is_left_out(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    if item.path.parent != HERE or callspec is None or "program" not in callspec.params:
        return False
    name = getattr(item, "originalname", item.name)  # its length serves as a coin
    return callspec.params["program"] not in HALVES[len(name) % 2]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures: the home of a test has no cache, and no settings of npm."""
    missing = find_missing(wants_newest(item.config))
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(f"Real clients are not run: {missing}")


def wants_newest(config: pytest.Config) -> bool:
    return bool(config.getoption("latest", False))


@cache
def find_missing(is_newest: bool) -> str | None:
    try:
        find_unshare()
        if shutil.which("tmux") is None:
            raise MissingError("tmux is missing")
        find_commands(is_newest)
    except MissingError as error:
        return str(error)
    return None


@cache
def find_commands(is_newest: bool) -> dict[str, Path]:
    """Where the commands of each client are, installed by the first test that asks."""
    pins = [pin.as_newest() if is_newest else pin for pin in PINS.values()]
    return {pin.client: install(pin) for pin in pins}


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One for all tests of a worker: each run of a client has a conversation of its own."""
    opened = Sandbox(tmp_path_factory.mktemp("models"))
    yield opened
    opened.close()


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


@pytest.fixture
def machine(
    sandbox: Sandbox, tmp_path: Path, program: Program, pytestconfig: pytest.Config
) -> Machine:
    commands = find_commands(wants_newest(pytestconfig))
    return Machine(sandbox, tmp_path / "machine", [(program, commands[program.client])])


@pytest.fixture
def three_clients(pytestconfig: pytest.Config) -> list[Client]:
    commands = find_commands(wants_newest(pytestconfig))
    return [(PROGRAMS[name], commands[name]) for name in ("claude", "codex", "gemini")]


@pytest.fixture
def holdfast(machine: Machine) -> Installed:
    return Installed(machine)
