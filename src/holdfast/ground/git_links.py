"""Whether git's own folder keeps its contents itself.

git follows links, and files that name other folders. So whoever can write into git's folder could
make it show the contents of any repository of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

COMMON = "commondir"
ALTERNATES = ("info/alternates", "info/http-alternates")
LINE_BYTES = 4 << 10
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def find_way_out(git_dir: int) -> str | None:
    """What leads from git's folder to the contents of another one; None where nothing does.

    A linked working tree shares those of the folder that its own is kept in, two levels up.
    """
    if _is_link(git_dir, "index"):
        return "index"
    if not exists(git_dir, COMMON):
        return _find_in_objects(git_dir)
    with _open_folder(git_dir, "../..") as above:
        if not is_same_folder(git_dir, _read_common(git_dir), above):
            return COMMON
        return _find_in_objects(above)


def _find_in_objects(common: int) -> str | None:
    if _is_link(common, "objects"):
        return "objects"
    with _open_folder(common, "objects") as objects:
        named = [name for name in ALTERNATES if exists(objects, name)]
        for name in (*named, *_list_links(objects)):
            return f"objects/{name}"
    return None


def _list_links(folder: int, depth: int = 2) -> Iterator[str]:
    """Links in a folder and in the folders in it; objects lie no deeper."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.name
            elif depth > 1 and entry.is_dir(follow_symlinks=False):
                with _open_folder(folder, entry.name) as inner:
                    yield from (f"{entry.name}/{name}" for name in _list_links(inner, depth - 1))


def _read_common(git_dir: int) -> bytes:
    file = os.open(COMMON, _FILE, dir_fd=git_dir)
    try:
        return os.read(file, LINE_BYTES).rstrip(b"\n")
    finally:
        os.close(file)


def is_same_folder(start: int, path: str | bytes, folder: int) -> bool:
    """Whether a path, seen from one open folder, leads to the other."""
    with suppress(OSError, ValueError):
        return os.path.samestat(os.stat(path, dir_fd=start), os.fstat(folder))
    return False


def exists(folder: int, path: str) -> bool:
    """Whether an open folder has something of that name, a link that leads nowhere included."""
    with suppress(OSError):
        os.stat(path, dir_fd=folder, follow_symlinks=False)
        return True
    return False


def _is_link(folder: int, name: str) -> bool:
    with suppress(OSError):
        os.readlink(name, dir_fd=folder)
        return True
    return False


@contextmanager
def _open_folder(parent: int, path: str) -> Iterator[int]:
    folder = os.open(path, _FOLDER, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)
