"""A copy of the whole store in one file, made while others write.

The copy is as of one moment: whatever was acknowledged before it began is in it, and of each
session the first events without a gap. A file of the name that was given exists only when the copy
is whole and on the disk.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from holdfast.errors import InvalidValueError, StoreUnreachableError
from holdfast.ground import files
from holdfast.storage import errors, postgres, sqlite
from holdfast.storage.migrate import read_ledger

PROGRAM = "pg_dump"
LOCK_SECONDS = 30
SCHEMAS = ("holdfast", "context", "memori", "team", "identity")
OPTIONS = (
    "--format=custom",
    "--no-password",
    f"--lock-wait-timeout={LOCK_SECONDS}s",
    *(f"--schema={schema}" for schema in SCHEMAS),
)


class Rights(NamedTuple):
    """What the connected role may read, and the version of its server."""

    role: str
    reads_all_rows: bool
    reads_all_tables: bool
    server: int


def copy_sqlite(path: str, target: Path) -> None:
    """Only what is stored: what was erased is not in the pages that are copied."""
    if not os.path.exists(path):
        raise StoreUnreachableError(path, "there is no such file")
    with _new_file(target) as unfinished:
        sqlite.copy_store(path, os.fspath(unfinished))


async def copy_postgres(url: str, target: Path) -> None:
    """By PostgreSQL's own program, as a role that reads every row."""
    where = postgres.where_of(url)
    rights = await _read_rights(url)
    if not (rights.reads_all_rows and rights.reads_all_tables):
        raise errors.PartialBackupError(where, rights.role)
    with _new_file(target) as unfinished:
        _dump(url, where, rights.server, unfinished)


async def _read_rights(url: str) -> Rights:
    sql = read_ledger("postgres")["backup_rights"]
    async with postgres.open_connection(url) as connection:
        return Rights._make(await connection.fetchrow(sql))


def _dump(url: str, where: str, server: int, target: Path) -> None:
    version = _run(where, server, [PROGRAM, "--version"])
    words = version.split()
    found = next((word for word in words if word[:1].isdigit()), "0")
    major, _, _ = found.partition(".")
    if int(major) < server:
        raise errors.DumpProgramError(where, server, f"{PROGRAM} here is of version {found}")
    server_url, _ = postgres.split_options(url)
    address, password = take_password(server_url)
    command = [PROGRAM, *OPTIONS, f"--file={target}", f"--dbname={address}"]
    _run(where, server, command, password)


def _run(where: str, server: int, command: list[str], password: str = "") -> str:
    """The password is no argument: every user of a machine can list those."""
    environment = dict(os.environ)
    if password:
        environment["PGPASSWORD"] = password
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
        )
    except FileNotFoundError:
        raise errors.DumpProgramError(where, server, f"{PROGRAM} is missing") from None
    if done.returncode != 0:
        first, *_ = [*done.stderr.splitlines(), f"it ended with {done.returncode}"]
        raise errors.DumpFailedError(where, first)
    return done.stdout


def take_password(url: str) -> tuple[str, str]:
    """The URL without its password, wherever that is in it, and the password."""
    parts = urlsplit(url)
    login, at, place = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    options = parse_qsl(parts.query, keep_blank_values=True)
    named = [value for name, value in options if name == "password"]
    query = urlencode([(name, value) for name, value in options if name != "password"])
    address = f"{parts.scheme}://{user}{at}{place}{parts.path}"
    if query:
        address += f"?{query}"
    return address, next(iter(named), unquote(password))


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """An unfinished private file, which gets its name when all of it is on the disk."""
    if os.path.lexists(path):
        raise _describe_file(path, "exists already; name one that does not")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            yield unfinished
            _finish(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except FileExistsError:
        raise _describe_file(path, "was made by another process meanwhile") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _describe_file(path, f"cannot be written: {reason.lower()}") from None


def _finish(unfinished: Path, path: Path) -> None:
    """A link and no renaming, which would replace a file that is there by now."""
    written = os.open(unfinished, os.O_RDONLY)
    try:
        os.fsync(written)
    finally:
        os.close(written)
    os.link(unfinished, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        files.sync_folder(folder)
    finally:
        os.close(folder)


def _describe_file(path: Path, problem: str) -> InvalidValueError:
    return InvalidValueError("FILE", os.fspath(path), problem)
