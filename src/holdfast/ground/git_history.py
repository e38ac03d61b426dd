"""What commits say about a repository: which exist, how far apart they are, what they changed.

Commits and paths come from callers and from files in the repository. They are checked before git
is asked, so that none is taken for an option or leads out of the working tree.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from holdfast.errors import InvalidValueError
from holdfast.ground import confined
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_process import Git, text
from holdfast.ground.git_repository import Repository, check_commit, is_commit, read_head
from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class AsksGit(Protocol):
        """A repository, however it was found."""

        @property
        def git(self) -> Git: ...


SHORT_CHARS = 7
PATHS_AT_ONCE = 200
_BEGINNING = compile_later(r"[0-9a-f]{7,64}")

QUIET_DIFF = (
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


class HistoryQuestion(NamedTuple):
    """About a commit or a path in the history of a commit; of HEAD where that is not known."""

    common_dir: str
    head: str
    about: str
    is_lasting: bool


# What this process has asked before: the history of a commit does not change.
COUNTS: BoundedMap[HistoryQuestion, int] = BoundedMap(1_000)
LAST_CHANGES: BoundedMap[HistoryQuestion, LastChange] = BoundedMap(1_000)


def find_head(repository: AsksGit) -> str | None:
    """The commit that is checked out; None before the first one."""
    answer = repository.git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return text(answer.out).strip() or None


def has_commit(repository: AsksGit, commit: object) -> bool:
    """Whether this is the whole id of a commit that is here."""
    if not is_commit(commit):
        return False
    answer = repository.git.run("cat-file", "-e", f"{commit}^{{commit}}")
    return answer.code == 0


def list_commits(repository: AsksGit, beginning: str) -> list[str]:
    """Whole ids of the commits whose ids begin so; a branch of that name is not meant."""
    if not _BEGINNING.fullmatch(beginning):
        raise InvalidValueError("commit", beginning, "is not a commit id")
    listed = repository.git.ask("rev-parse", f"--disambiguate={beginning}")
    ids = text(listed).split()
    return [commit for commit in ids if has_commit(repository, commit)]


def list_newest_commits(repository: AsksGit, limit: int) -> list[str]:
    """Whole ids of what HEAD has in its history, the newest first; none before the first commit."""
    answer = repository.git.run("rev-list", f"--max-count={limit}", "HEAD")
    return text(answer.out).split() if answer.code == 0 else []


def list_commit_files(
    repository: AsksGit, commits: Sequence[str], limit: int
) -> dict[str, list[str]]:
    """By the whole ids of those that are here, the first files that each has changed.

    A merge changes nothing by itself. `commits` are ids or their beginnings.
    """
    asked = [commit for commit in commits if _BEGINNING.fullmatch(commit)]
    if not asked:
        return {}
    listing = ("log", "--no-walk=unsorted", "--ignore-missing", "--format=%x01%H", "-z")
    answer = repository.git.run(*listing, "--name-only", *QUIET_DIFF, *asked, "--")
    if answer.code:
        raise GitFailedError("commits", answer.complaint)
    found: dict[str, list[str]] = {}
    files: list[str] = []
    for row in text(answer.out).split("\0"):
        if row.startswith("\x01") and is_commit(row[1:]):
            files = found[row[1:]] = []
        elif row and len(files) < limit:
            files.append(row.removeprefix("\n"))  # ends the line of the commit before the first
    return found


def list_changed_paths(repository: AsksGit, since: str, limit: int) -> list[str]:
    """The first files in which HEAD differs from a commit."""
    command = ("diff-tree", "-r", "-z", "--name-only", *QUIET_DIFF, check_commit(since), "HEAD")
    listed = text(repository.git.ask(*command, "--"))
    return listed.split("\0")[:-1][:limit]


def is_ancestor(repository: Repository, commit: str, of: str | None = None) -> bool | None:
    """Whether `of` (default: HEAD) has the commit in its history; None where one is missing."""
    later = check_commit(of) if of else "HEAD"
    earlier = check_commit(commit)
    answer = repository.git.run("merge-base", "--is-ancestor", earlier, later)
    if answer.code not in (0, 1):
        return None
    return answer.code == 0


def count_commits(repository: Repository, since: str) -> int | None:
    """How many commits HEAD has on top of this one; None where it is not below HEAD."""
    question = _ask_history(repository, check_commit(since))
    known = COUNTS.find(question)
    if known is not None:
        return known
    count = _count_commits(repository, question)
    if count is not None and question.is_lasting:
        COUNTS.keep(question, count)
    return count


def count_commits_after(repository: Repository, moment: datetime) -> int:
    """How many commits HEAD has that were made after a moment, by their own clocks."""
    since = f"--since={int(moment.timestamp()) + 1}"  # they have no fractions of a second
    answer = repository.git.run("rev-list", "--count", since, "HEAD", "--")
    return 0 if answer.code else int(answer.out)


def list_paths_after(repository: Repository, moment: datetime, limit: int) -> list[str]:
    """What the newest of these commits changed, the newest first; each path once."""
    since = f"--since={int(moment.timestamp()) + 1}"
    listing = ("log", f"--max-count={limit}", since, "--format=", "-z", "--name-only")
    answer = repository.git.run(*listing, *QUIET_DIFF, "HEAD", "--")
    paths = [] if answer.code else text(answer.out).split("\0")
    return list(dict.fromkeys(filter(None, paths)))


def _count_commits(repository: Repository, asked: HistoryQuestion) -> int | None:
    answer = repository.git.run(
        "rev-list", "--count", "--left-right", f"{asked.about}...{asked.head}", "--"
    )
    if answer.code:
        return None
    lost, gained = (int(number) for number in answer.out.split())
    if lost:
        return None
    return gained


def numstat(repository: Repository, since: str, paths: Sequence[str]) -> dict[str, LineCount]:
    """Lines that these files gained and lost since a commit, uncommitted edits included."""
    readable = [path for path in paths if _is_file_or_gone(repository, path)]
    return count_lines(repository.git, since, readable)


def count_lines(git: Git, since: str, paths: Sequence[str]) -> dict[str, LineCount]:
    found: dict[str, LineCount] = {}
    for start in range(0, len(paths), PATHS_AT_ONCE):
        some = paths[start : start + PATHS_AT_ONCE]
        command = ("diff-index", "-z", "--numstat", *QUIET_DIFF, check_commit(since))
        listed = git.ask(*command, "--", *some)
        found |= _parse_counts(listed)
    return found


def last_change(repository: Repository, path: str) -> LastChange | None:
    """None for a file that no commit in HEAD's history has touched."""
    _check_path(path)
    question = _ask_history(repository, path)
    known = LAST_CHANGES.find(question)
    if known:
        return known
    found = _find_last_change(repository, question)
    if found and question.is_lasting:
        LAST_CHANGES.keep(question, found)
    return found


def _find_last_change(repository: Repository, asked: HistoryQuestion) -> LastChange | None:
    answer = repository.git.run(
        "rev-list", "-1", "--encoding=UTF-8", "--format=%an", asked.head, "--", asked.about
    )
    head, _, author = text(answer.out).partition("\n")
    if answer.code or not head:
        return None
    commit = head.removeprefix("commit ")
    return LastChange(commit[:SHORT_CHARS], author.rstrip("\n"))


def read_blob(repository: AsksGit, commit: str, path: str, *, max_bytes: int) -> bytes | None:
    """A file as a commit has it, or None; of a link, the text that the link holds."""
    _check_path(path)
    name = f"{check_commit(commit)}:{path}"
    answer = repository.git.run("cat-file", "blob", name, most_bytes=max_bytes)
    if answer.is_cut:
        problem = f"is larger than {max_bytes:,} bytes in commit {commit}"
        raise InvalidValueError("file", path, problem)
    if answer.code:
        return None
    return answer.out


def _ask_history(repository: Repository, about: str) -> HistoryQuestion:
    """A shallow history may become longer, so its answers do not last."""
    head = read_head(repository)
    is_lasting = head is not None and not repository.is_shallow
    return HistoryQuestion(repository.common_dir, head or "HEAD", about, is_lasting)


# --- small parts ----------------------------------------------------------------------------------


def _parse_counts(listed: bytes) -> dict[str, LineCount]:
    counts = {}
    for row in text(listed).split("\0"):
        if row:
            added, removed, path = row.split("\t", 2)
            counts[path] = LineCount(_parse_count(added), _parse_count(removed))
    return counts


def _parse_count(number: str) -> int | None:
    if number == "-":
        return None
    return int(number)


def _is_file_or_gone(repository: Repository, path: str) -> bool:
    """git would wait at a pipe that lies in a file's place."""
    _check_path(path)
    try:
        mode = os.lstat(os.path.join(repository.root, path)).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _check_path(path: str) -> None:
    confined.check_steps(path)
    if os.path.isabs(path):
        raise InvalidValueError("path", path, "is not relative to the working tree")
