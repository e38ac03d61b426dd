"""Which working tree a folder belongs to, and which branch is checked out there, found without
starting git.
"""

from __future__ import annotations

import os
import stat

LINE_BYTES = 8 << 10
_BRANCH = "refs/heads/"
_ELSEWHERE = ".invalid"  # what HEAD names where git keeps its branches in another form


def find_worktree(folder: str) -> str:
    """The nearest folder above that holds `.git`, else the folder itself; links resolved."""
    start = os.path.realpath(folder)
    at = start
    while not os.path.exists(os.path.join(at, ".git")):
        above = os.path.dirname(at)
        if above == at:
            return start
        at = above
    return at


def find_branch(worktree: str) -> str | None:
    """The branch that is checked out, from git's own files; None where there is none or nobody can
    tell.
    """
    place = os.path.join(worktree, ".git")
    if os.path.isfile(place) and (
        pointer := _read_after("gitdir:", place)
    ):  # a linked worktree or a submodule
        place = os.path.join(worktree, pointer)
    ref = _read_after("ref:", os.path.join(place, "HEAD")) if os.path.isdir(place) else ""
    branch = ref.removeprefix(_BRANCH)
    return branch if branch not in (ref, "", _ELSEWHERE) else None


def _read_after(word: str, path: str) -> str:
    """What stands behind a word that a file begins with; of anything else nothing, and a pipe is
    not waited for.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            data = os.read(fd, LINE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        finally:
            os.close(fd)
        found, _, rest = data.decode().partition(word)
    except (OSError, ValueError):  # not there, not ours to read, no text, or no path at all
        return ""
    return "" if found or len(data) == LINE_BYTES else rest.strip()
