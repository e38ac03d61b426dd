"""What a working tree's repository is called, and which of its files are not committed."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice

from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.alarm import Alarm, TimeIsUpError
from holdfast.ground.git_history import find_head
from holdfast.ground.git_listing import MOST_BYTES, list_not_ignored, read_times
from holdfast.ground.git_process import TimeLimit, text
from holdfast.ground.git_repository import find_repository, read_head
from holdfast.ground.git_state import list_uncommitted
from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.worktree import OwnPaths
from holdfast.team.reach import is_plain
from holdfast.usecases.location import locate_branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.ground.git_repository import Repository

UNCOMMITTED = 1_000
SYMBOL_BYTES = 200_000
NEW = b"? "
_LIST_ALL = ("ls-files", "-z", "-t", "--others", "--exclude-standard", "--cached")


class Checkout:
    """A working tree as git has it now; without a repository its folder's name, and no files.

    `repo` is what it is called in publications, too. What could not be read, or not in time, is not
    known: nothing is then said of files.
    """

    def __init__(self, worktree: str):
        self.worktree = worktree
        self.repo = os.path.basename(worktree)
        self.branch = locate_branch(worktree)
        self.uncommitted: list[str] = []  # the newest first
        self.files: list[str] = []
        self.has_git = False
        self.is_named = self.is_known = False  # what it is called, and what its files are

    @classmethod
    def read(cls, worktree: str) -> Checkout:
        checkout = cls(worktree)
        checkout.look()
        return checkout

    @classmethod
    def read_within(cls, worktree: str, seconds: float) -> Checkout:
        """For a hook: in the main thread."""
        checkout = cls(worktree)
        with suppress(TimeIsUpError), Alarm(seconds):
            checkout.look()
        return checkout

    def look(self) -> None:
        try:
            repository = find_repository(self.worktree)
            if repository is not None:
                self.repo = repository.public_name
            self.is_named = True
            if repository is not None:
                self._read(repository)
        except HoldfastError:  # git is missing, or does not answer
            return
        self.is_known = True

    def _read(self, repository: Repository) -> None:
        rows = repository.git.run(*_LIST_ALL, most_bytes=MOST_BYTES).out.split(b"\0")[:-1]
        listed = [text(row[len(NEW) :]) for row in rows if row.startswith(NEW)]
        new = [path for path in listed if not path.endswith("/")]  # another repository
        tracked = [text(row[len(NEW) :]) for row in rows if not row.startswith(NEW)]
        self.files = [*tracked, *new]
        head = read_head(repository) or find_head(repository)
        changed = list_uncommitted(repository, head, UNCOMMITTED)
        own = OwnPaths(repository.root)
        found = [*filter(own.has, changed), *islice(filter(own.has, new), UNCOMMITTED)]
        times = read_times(repository.root, found)
        self.uncommitted = sorted(found, key=lambda path: -times.get(path, 0.0))
        self.has_git = True


class Edited(NamedTuple):
    """What a working tree's repository is called now, and which files of an edit are its own and
    not ignored: with the edit git lists them as changed or new.
    """

    repo: str
    paths: list[str]


def look_at_edit(worktree: str, paths: Sequence[str], seconds: float) -> Edited | None:
    """None where git does not say what it is called. Of files that git says nothing about in time
    nothing is shown; the end of the turn lists them.
    """
    with TimeLimit(seconds):
        try:
            repository = find_repository(worktree)
        except HoldfastError:
            return None
        if repository is None:
            return Edited(os.path.basename(worktree), [])
        return Edited(repository.public_name, _list_own(repository, paths))


def _list_own(repository: Repository, paths: Sequence[str]) -> list[str]:
    own = OwnPaths(repository.root)
    try:
        return list_not_ignored(repository, [path for path in paths if own.has(path)])
    except HoldfastError:
        return []


def find_repo(worktree: str) -> str:
    """What a working tree's repository is called in publications and reservations."""
    try:
        repository = find_repository(worktree)
    except HoldfastError:
        repository = None
    return repository.public_name if repository else os.path.basename(worktree)


def has_symbol(worktree: str, path: str, symbol: str) -> bool:
    """Whether a name stands in a file here: then it is a word of this checkout."""
    if not is_plain(symbol):
        return False
    try:
        fd = files.open_regular(os.path.join(worktree, path), os.O_RDONLY)
        try:
            return symbol.encode() in os.read(fd, SYMBOL_BYTES)
        finally:
            os.close(fd)
    except (OSError, ValueError, HoldfastError):
        return False
