"""Real client programs, offline. What a machine lacks for them fails on CI and is one line
elsewhere.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.clients.install import MissingError, install
from tools.clients.machine import Machine
from tools.clients.pins import PINS, Pin
from tools.clients.programs import PROGRAMS
from tools.clients.programs.contract import Program
from tools.clients.sandbox import ROOT, Sandbox


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


@pytest.fixture(scope="session", params=PROGRAMS)
def installed(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> tuple[str, Path]:
    """Each of the four clients, and where its commands are.

    Not in a test's time: its home has no cache and no settings of npm.
    """
    pin = PINS[request.param]
    if pytestconfig.getoption("latest", False):
        pin = pin.as_newest()
    return pin.client, install_or_report(pin)


def install_or_report(pin: Pin) -> Path:
    try:
        return install(pin)
    except MissingError as error:
        report_missing(error)
        raise


@pytest.fixture
def program(installed: tuple[str, Path]) -> Program:
    return PROGRAMS[installed[0]]


@pytest.fixture
def machine(
    sandbox: Sandbox, tmp_path: Path, program: Program, installed: tuple[str, Path]
) -> Machine:
    """A home where the client was started before, and a repository."""
    made = Machine(sandbox, tmp_path / "machine", [installed[1]])
    program.prepare(made.home, made.project)
    return made


@pytest.fixture
def holdfast(tmp_path: Path) -> str:
    """The program as a person has it: a file that finds what it needs in any environment."""
    command = tmp_path / "bin" / "holdfast"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m holdfast "$@"\n'
    )
    command.chmod(0o755)
    return str(command)
