"""A folder's working tree and the branch that is checked out there, without starting git."""

from __future__ import annotations

import os
import stat
from itertools import accumulate

LINE_BYTES = 8 << 10
_GIT = ".git"
_BARE = ("HEAD", "objects", "refs")  # what a repository without a working tree begins with
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


class OwnPaths:
    """Which paths below a working tree are of its own repository: not those of git's folder, of a
    submodule, of another checkout, or of a bare repository that lies in it.
    """

    def __init__(self, worktree: str):
        self.worktree = worktree
        self._of_others: dict[str, bool] = {}

    def has(self, path: str) -> bool:
        """The path itself may be where another repository begins."""
        return not any(map(self._begins_another, accumulate(path.split("/"), _join)))

    def _begins_another(self, folder: str) -> bool:
        known = self._of_others.get(folder)
        if known is None:
            known = self._of_others[folder] = self._look(folder)
        return known

    def _look(self, folder: str) -> bool:
        if folder.rpartition("/")[2].lower() == _GIT:
            return True
        place = os.path.join(self.worktree, folder)
        if os.path.lexists(os.path.join(place, _GIT)):
            return True
        return all(os.path.exists(os.path.join(place, name)) for name in _BARE)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}"


def find_main_worktree(worktree: str) -> str:
    """The working tree that a linked one belongs to; the same one where it is not linked.

    A bare repository has no tree of its own: its folder stands for all that are linked to it.

    git's folder must name the linked tree as well: anybody can write a file that names a folder.
    """
    own = os.path.join(worktree, ".git")
    if not os.path.isfile(own):
        return worktree
    git_dir = os.path.join(worktree, _read_after("gitdir:", own))
    named = _read_line(os.path.join(git_dir, "gitdir"))
    common = _read_line(os.path.join(git_dir, "commondir"))
    if not (named and common):
        return worktree
    if os.path.realpath(os.path.join(git_dir, named)) != os.path.realpath(own):
        return worktree
    common_dir = os.path.realpath(os.path.join(git_dir, common))
    if os.path.basename(common_dir) != ".git":
        return common_dir
    return os.path.dirname(common_dir)


def find_branch(worktree: str) -> str | None:
    """The branch that is checked out, from git's own files; None where HEAD names no branch."""
    place = os.path.join(worktree, ".git")
    if os.path.isfile(place):  # a linked worktree or a submodule
        elsewhere = _read_after("gitdir:", place)
        place = os.path.join(worktree, elsewhere or ".git")
    if not os.path.isdir(place):
        return None
    ref = _read_after("ref:", os.path.join(place, "HEAD"))
    branch = ref.removeprefix(_BRANCH)
    if branch in (ref, "", _ELSEWHERE):
        return None
    return branch


def _read_after(word: str, path: str) -> str:
    """What follows a word that a file begins with, else empty."""
    line = _read_line(path)
    return line.removeprefix(word).strip() if line.startswith(word) else ""


def _read_line(path: str) -> str:
    """A short file's text, else empty; never waits for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            is_file = stat.S_ISREG(os.fstat(fd).st_mode)
            data = os.read(fd, LINE_BYTES) if is_file else b""
        finally:
            os.close(fd)
        text = data.decode()
    except (OSError, ValueError):  # missing, not readable, not a text, or not a path
        return ""
    return "" if len(data) == LINE_BYTES else text.strip()


def find_head(worktree: str) -> tuple[str, list[str]]:
    """The text of HEAD, and git's own files that change when another commit is checked out."""
    place = os.path.join(worktree, ".git")
    if os.path.isfile(place):
        place = os.path.join(worktree, _read_after("gitdir:", place) or ".git")
    head = _read_line(os.path.join(place, "HEAD"))
    common = os.path.join(place, _read_line(os.path.join(place, "commondir")) or ".")
    names = ["packed-refs", os.path.join("reftable", "tables.list")]
    ref = head.removeprefix("ref:").strip()
    if head.startswith("ref:") and ".." not in ref:
        names.append(ref)
    return head, [os.path.join(place, "HEAD"), *(os.path.join(common, name) for name in names)]
