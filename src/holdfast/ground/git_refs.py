"""Where git's own files say that a repository is, and which commit a name is at.

Starting git to ask takes milliseconds, and a look at a checkout asks every time. What is not plain
here (another form of keeping refs, a name that leads elsewhere) is not guessed: git is asked.
"""

from __future__ import annotations

import os
import stat

from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.patterns import compile_later

BRANCHES = "refs/heads/"
SMALL_BYTES = 8 << 10
PACKED_BYTES = 64 << 20
STEPS = 5  # a name that stands for a name, and so on
NAME_CHARS = 120

LOG_BYTES = 64 << 10
_QUIETLY = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# A line of git's log of HEAD: the commit before, the one now, who, and when.
_MOVE = compile_later(rb"[0-9a-f]{40,64} ([0-9a-f]{40,64}) .*> ([0-9]{1,12}) [+-][0-9]{4}(?:\t|$)")
_COMMIT = compile_later(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What git allows in the name of a branch. It has no spaces, so none of them is a sentence.
_FORBIDDEN = compile_later(r"""[ ~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-./]|^@$|[./]$""")


def is_branch_name(text: str) -> bool:
    """Whether git would make a branch of this name, and it has a length that people give names."""
    if not 0 < len(text) <= NAME_CHARS:
        return False
    return text.isprintable() and not find_forbidden_part(text)


def find_forbidden_part(name: str) -> str:
    """The first part of a branch's name that git does not allow where it is; else nothing."""
    found = _FORBIDDEN.search(name)
    return found[0] if found else ""


class HeadMove(NamedTuple):
    """That HEAD has moved to a commit, in seconds."""

    at: int
    commit: str


class GitPlace(NamedTuple):
    """A repository's two folders, and what `HEAD` names: a ref or a commit."""

    git_dir: str
    common_dir: str
    head: str
    is_shallow: bool


def find_place(root: str) -> GitPlace | None:
    """From the folder or the file `.git`; None where it is neither in the usual form."""
    place = os.path.join(root, ".git")
    if not os.path.isdir(place):
        elsewhere = read_after("gitdir: ", place)
        if not elsewhere:
            return None
        place = os.path.join(root, elsewhere)
    git_dir = os.path.realpath(place)
    to_common = read_small(os.path.join(git_dir, "commondir")) or "."
    common_dir = os.path.realpath(os.path.join(git_dir, to_common))
    content = read_small(os.path.join(git_dir, "HEAD"))
    head = content.removeprefix("ref: ")
    if not head or os.path.islink(os.path.join(git_dir, "HEAD")):
        return None
    is_shallow = os.path.exists(os.path.join(common_dir, "shallow"))
    return GitPlace(git_dir, common_dir, head, is_shallow)


def find_commit(common_dir: str, name: str) -> str | None:
    """The commit that a ref is at, through any refs that it stands for; None where unknown."""
    for _ in range(STEPS):
        if _COMMIT.fullmatch(name):
            return name
        if not _is_plain(name):
            return None
        content = read_small(os.path.join(common_dir, name))
        name = content.removeprefix("ref: ") or _find_packed(common_dir, name)
    return None


def find_target(common_dir: str, name: str) -> str | None:
    """The ref that another ref stands for."""
    return read_after("ref: ", os.path.join(common_dir, name)) or None


def read_after(mark: str, path: str) -> str:
    """What follows a mark that a file begins with, else empty."""
    content = read_small(path)
    if not content.startswith(mark):
        return ""
    return content.removeprefix(mark)


def read_small(path: str) -> str:
    """One line of a file of git's; empty where it is anything else. It never waits for a pipe."""
    try:
        data = _read(path, SMALL_BYTES)
        line = data.decode().removesuffix("\n")
    except (OSError, ValueError):
        return ""
    if "\n" in line:
        return ""
    return line


def read_first_line(path: str) -> str:
    """Of a file of git's, however long that is; empty where it is not a regular file."""
    try:
        fd = os.open(path, _QUIETLY)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ""
            return file.readline(SMALL_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def list_head_moves(git_dir: str) -> list[HeadMove] | None:
    """The newest, from git's own log of HEAD, which begins with the first one that is known.

    None where git keeps no such log.
    """
    return _list_moves(os.path.join(git_dir, "logs", "HEAD"))


def find_last_move(common_dir: str, branch: str) -> HeadMove | None:
    """When a branch got the commit that it is at, and which; None where git keeps no log of it."""
    name = f"{BRANCHES}{branch}"
    moves = _list_moves(os.path.join(common_dir, "logs", name)) if _is_plain(name) else None
    return moves[-1] if moves else None


def _list_moves(path: str) -> list[HeadMove] | None:
    try:
        fd = os.open(path, _QUIETLY)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                return None
            file.seek(max(0, found.st_size - LOG_BYTES))
            lines = file.read(LOG_BYTES).split(b"\n")
    except OSError:
        return None
    moves = [_MOVE.match(line) for line in lines]
    return [HeadMove(int(move[2]), move[1].decode()) for move in moves if move]


def _find_packed(common_dir: str, name: str) -> str:
    try:
        data = _read(os.path.join(common_dir, "packed-refs"), PACKED_BYTES)
    except OSError:
        return ""
    end = data.find(f" {name}\n".encode())
    if end < 0:
        return ""
    start = data.rfind(b"\n", 0, end) + 1
    return data[start:end].decode(errors="replace")


def _is_plain(name: str) -> bool:
    """A ref that all working trees share, and that cannot lead out of the folder."""
    return name.startswith(("refs/heads/", "refs/remotes/")) and ".." not in name


def _read(path: str, max_bytes: int) -> bytes:
    """A whole regular file; nothing where it is not one, or larger."""
    fd = os.open(path, _QUIETLY)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        return b""
    return data
