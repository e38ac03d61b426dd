"""What commits say about a repository: whether one is there, how far away it is, and what it did to
a file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.errors import InvalidValueError
from holdfast.ground import confined
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_process import text
from holdfast.ground.git_repository import Repository, check_commit, is_commit

SHORT_CHARS = 7
PATHS_AT_ONCE = 200
_BEGINNING = re.compile(r"[0-9a-f]{7,64}")

_QUIET_DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--ignore-submodules=dirty",
)


class LineCount(NamedTuple):
    """Lines added and removed; None where git counts no lines, in binary files."""

    added: int | None
    removed: int | None


class LastChange(NamedTuple):
    """The commit that changed a file last, and its author's name as the author wrote it."""

    commit: str
    author: str


class DiffText(NamedTuple):
    """A diff, perhaps only its first lines."""

    text: str
    is_cut: bool


def find_head(repository: Repository) -> str | None:
    """The commit that is checked out; None before the first one."""
    return (
        text(repository.git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").out).strip()
        or None
    )


def has_commit(repository: Repository, commit: object) -> bool:
    """Whether this is the whole id of a commit that is here."""
    return (
        is_commit(commit) and repository.git.run("cat-file", "-e", f"{commit}^{{commit}}").code == 0
    )


def list_commits(repository: Repository, beginning: str) -> list[str]:
    """Whole ids of the commits whose ids begin so, as git prints them; a branch that is called so
    is not meant.
    """
    if not _BEGINNING.fullmatch(beginning):
        raise InvalidValueError("commit", beginning, "is no commit id")
    listed = text(repository.git.ask("rev-parse", f"--disambiguate={beginning}")).split()
    return [one for one in listed if has_commit(repository, one)]


def is_ancestor(repository: Repository, commit: str, of: str | None = None) -> bool | None:
    """Whether `of` (HEAD if not given) has the commit in its history; None where one of them is not
    here.
    """
    later = check_commit(of) if of else "HEAD"
    answer = repository.git.run("merge-base", "--is-ancestor", check_commit(commit), later)
    return {0: True, 1: False}.get(answer.code)


def count_commits(repository: Repository, since: str) -> int | None:
    """How many commits HEAD has on top of this one; None where it is not below HEAD, or not here."""
    answer = repository.git.run(
        "rev-list", "--count", "--left-right", f"{check_commit(since)}...HEAD", "--"
    )
    if answer.code:
        return None
    lost, gained = (int(number) for number in answer.out.split())
    return gained if lost == 0 else None


def numstat(repository: Repository, since: str, paths: Sequence[str]) -> dict[str, LineCount]:
    """Lines that these files gained and lost since a commit, edits that are not committed included."""
    found: dict[str, LineCount] = {}
    readable = [path for path in paths if _is_file_or_gone(repository, path)]
    git = repository.git
    for start in range(0, len(readable), PATHS_AT_ONCE):
        some = readable[start : start + PATHS_AT_ONCE]
        found |= _parse_counts(
            git.ask("diff-index", "-z", "--numstat", *_QUIET_DIFF, check_commit(since), "--", *some)
        )
    return found


def diff_text(repository: Repository, since: str, path: str, *, max_bytes: int) -> DiffText:
    """One file's diff from a commit to the file as it is now, cut at the end of a line."""
    if not _is_file_or_gone(repository, path):
        return DiffText("", is_cut=False)
    answer = repository.git.run(
        *("diff-index", "-p", *_QUIET_DIFF, check_commit(since), "--", path), most_bytes=max_bytes
    )
    if answer.code:
        raise GitFailedError(repository.root, answer.complaint)
    whole_lines = answer.out[: answer.out.rfind(b"\n") + 1] if answer.is_cut else answer.out
    return DiffText(text(whole_lines), answer.is_cut)


def last_change(repository: Repository, path: str) -> LastChange | None:
    """None for a file that no commit in HEAD's history has touched."""
    _check_path(path)
    answer = repository.git.run(
        "rev-list", "-1", "--encoding=UTF-8", "--format=%an", "HEAD", "--", path
    )
    commit, _, author = text(answer.out).partition("\n")
    if answer.code or not commit:
        return None
    return LastChange(commit.removeprefix("commit ")[:SHORT_CHARS], author.rstrip("\n"))


def read_blob(repository: Repository, commit: str, path: str, *, max_bytes: int) -> bytes | None:
    """A file as a commit has it; None where it has none. Of a link it is the text that the link
    holds.
    """
    _check_path(path)
    answer = repository.git.run(
        "cat-file", "blob", f"{check_commit(commit)}:{path}", most_bytes=max_bytes
    )
    if answer.is_cut:
        raise InvalidValueError(
            "file", path, f"is larger than {max_bytes:,} bytes in commit {commit}"
        )
    return answer.out if answer.code == 0 else None


# --- small parts ----------------------------------------------------------------------------------


def _parse_counts(listed: bytes) -> dict[str, LineCount]:
    rows = [text(row).split("\t", 2) for row in listed.split(b"\0") if row]
    return {
        path: LineCount(*(None if n == "-" else int(n) for n in counts)) for *counts, path in rows
    }


def _is_file_or_gone(repository: Repository, path: str) -> bool:
    """git would wait at a pipe that lies in a file's place."""
    _check_path(path)
    try:
        mode = os.lstat(os.path.join(repository.root, path)).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _check_path(path: str) -> None:
    confined.checked_steps(path)
    if os.path.isabs(path):
        raise InvalidValueError("path", path, "is not relative to the working tree")
