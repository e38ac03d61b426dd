"""What a repository has had: which files are gone or renamed, and what was in them.

Asked about many names at once, so that the number of git processes does not depend on how many
there are. Where git does not answer in time, nothing is known, and nothing counts as gone.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from holdfast.ground.errors import GitFailedError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_process import text
from holdfast.ground.git_repository import Repository

MOST_PATHS = 300  # whose past is looked up at once; git compares each with every name
ROUNDS = 3  # a file may have been renamed again
MOST_COMMITS = 20_000
BLOB_BYTES = 1 << 20
RENAME_LIMIT = "-l1000"
SUBMODULE = "160000"
NOT_IGNORED = 1  # the exit code where none is; a higher one is an error

_QUIET = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color")
_MARK = "\x01"


@dataclass(frozen=True)
class TrackedFiles:
    """Every file of the index, and those that are not on the disk by intention."""

    paths: frozenset[str]
    submodules: frozenset[str]
    left_out: frozenset[str]  # of a sparse working tree


@dataclass(frozen=True)
class PastFile:
    """What became of a file: deleted, or renamed. `commit` is empty while it is not committed."""

    commit: str
    moved_to: str = ""


@dataclass(frozen=True)
class PastCommit:
    id: str
    made_at: int


def list_tracked(repository: Repository) -> TrackedFiles:
    """`H 100644 ID 0<tab>path`, each ended by a NUL."""
    paths, submodules, left_out = set(), set(), set()
    for row in text(repository.git.ask("ls-files", "-z", "-s", "-t")).split("\0")[:-1]:
        facts, _, path = row.partition("\t")
        tag, mode, *_ = facts.split(" ")
        if mode == SUBMODULE:
            submodules.add(path)
        else:
            paths.add(path)
        if tag == "S":
            left_out.add(path)
    return TrackedFiles(frozenset(paths), frozenset(submodules), frozenset(left_out))


def list_untracked(repository: Repository) -> list[str]:
    """New files that git is not told to ignore."""
    listed = repository.git.ask("ls-files", "-z", "-o", "--exclude-standard")
    return text(listed).split("\0")[:-1]


def find_past(repository: Repository, paths: Sequence[str]) -> dict[str, PastFile]:
    """What became of files and folders that are missing now; without those that never were.

    A file is followed through several renames.
    """
    wanted = set(paths[:MOST_PATHS])
    uncommitted = _list_uncommitted(repository)
    found: dict[str, PastFile] = {}
    pending = wanted
    for _ in range(ROUNDS):
        found |= _match(uncommitted, pending, "")
        left = sorted(pending - found.keys())
        found |= _read_log(repository, left) if left else {}
        targets = {past.moved_to for past in found.values() if past.moved_to}
        missing = [path for path in targets - found.keys() if not _exists(repository, path)]
        pending = set(sorted(missing)[:MOST_PATHS])
        if not pending:
            break
    return {path: _follow(repository, found, path) for path in wanted if path in found}


def find_ignored(repository: Repository, paths: Sequence[str]) -> frozenset[str]:
    """The missing files and folders that git is told to ignore; all, where it does not say."""
    asked = paths[:MOST_PATHS]
    if not asked:
        return frozenset()
    # `./`: none of them is a pattern, for which this command has no option of its own.
    files = [f"./{path}" for path in asked]
    folders = [f"{file}/" for file in files]  # for which a rule may be only
    answer = repository.git.run(
        "--no-literal-pathspecs", "-c", "core.quotePath=false", "check-ignore", "--",
        *files, *folders,
    )  # fmt: skip
    if answer.code > NOT_IGNORED or answer.is_cut:
        return frozenset(asked)
    ignored = {line.removeprefix("./").rstrip("/") for line in text(answer.out).split("\n")}
    return frozenset(ignored.intersection(asked))


def _follow(repository: Repository, found: Mapping[str, PastFile], path: str) -> PastFile:
    """To where it is now; a file that is renamed and deleted later is deleted."""
    past, seen = found[path], {path}
    while past.moved_to and not _exists(repository, past.moved_to):
        if past.moved_to in seen or past.moved_to not in found:
            return PastFile(past.commit)
        seen.add(past.moved_to)
        past = found[past.moved_to]
    return past


def _exists(repository: Repository, path: str) -> bool:
    return os.path.lexists(os.path.join(repository.root, path))


def _list_uncommitted(repository: Repository) -> list[tuple[str, str]]:
    """Files of HEAD that are deleted or renamed now, with their new names."""
    answer = repository.git.run(
        "diff-index", "-z", "--name-status", "-M", RENAME_LIMIT, "--diff-filter=DR", *_QUIET,
        "HEAD", "--",
    )  # fmt: skip
    if answer.code or answer.is_cut:  # before the first commit
        return []
    return list(_parse_statuses(text(answer.out).split("\0")))


def _read_log(repository: Repository, paths: Sequence[str]) -> dict[str, PastFile]:
    """The newest change counts. Only commits that touch the paths are looked at, and these whole,
    because a rename has two names.
    """
    try:
        answer = repository.git.run(
            "log", "-z", "--full-diff", "--name-status", "-M", RENAME_LIMIT, "--diff-filter=DR",
            *_QUIET, f"--format={_MARK}%H", "HEAD", "--", *paths,
        )  # fmt: skip
    except (GitFailedError, OSError):  # too slow, or too long a command
        return {}
    found: dict[str, PastFile] = {}
    if answer.code:
        return found
    for commit, rows in _split_log(answer.out):
        found = _match(list(_parse_statuses(rows)), set(paths), commit) | found
    return found


def _split_log(listed: bytes) -> Iterator[tuple[str, list[str]]]:
    """The id of each commit, and what follows it up to the next one."""
    for part in text(listed).split(_MARK)[1:]:
        commit, _, rest = part.partition("\0")
        yield commit, rest.removeprefix("\n").split("\0")[:-1]


def _match(
    changes: Iterable[tuple[str, str]], wanted: Collection[str], commit: str
) -> dict[str, PastFile]:
    """The changes of files that are wanted, or that are in a folder that is.

    A folder is gone with what was in it; it has moved where a file of it kept the rest of its name.
    """
    found: dict[str, PastFile] = {}
    for old, new in changes:
        if old in wanted:
            found[old] = PastFile(commit, new)
        folder, _, name = old.rpartition("/")
        while folder:
            if folder in wanted and not (folder in found and found[folder].moved_to):
                moved = new.removesuffix(f"/{name}") if new.endswith(f"/{name}") else ""
                found[folder] = PastFile(commit, moved)
            folder, _, last = folder.rpartition("/")
            name = f"{last}/{name}"
    return found


def _parse_statuses(rows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`D`, path; `R100`, old, new."""
    at = 0
    while at + 1 < len(rows):
        if rows[at].startswith("R") and at + 2 < len(rows):
            yield rows[at + 1], rows[at + 2]
            at += 3
        else:
            yield rows[at + 1], ""
            at += 2


# --- earlier contents -----------------------------------------------------------------------------


class PastCommits:
    """The commits of HEAD, the newest first, and which of them was there at a moment."""

    def __init__(self, repository: Repository):
        answer = repository.git.run("log", f"-n{MOST_COMMITS}", "--format=%H %ct", "HEAD", "--")
        rows = [] if answer.code else text(answer.out).split("\n")
        self.commits = [_parse_commit(row) for row in rows if row]
        self.moments = sorted({commit.made_at for commit in self.commits})

    def find_at(self, moment: float) -> str | None:
        """The newest one that was not made later, by the clocks of their authors."""
        at = bisect_right(self.moments, moment) - 1
        if at < 0:
            return None
        latest = self.moments[at]
        return next(commit.id for commit in self.commits if commit.made_at == latest)


def _parse_commit(row: str) -> PastCommit:
    commit, _, made_at = row.partition(" ")
    return PastCommit(commit, int(made_at))


def list_changes_of(repository: Repository, paths: Sequence[str]) -> dict[str, list[str]]:
    """The commits of HEAD that changed these files, by path, the newest first."""
    found: dict[str, list[str]] = {}
    if not paths:
        return found
    answer = repository.git.run(
        "log", "-z", "--name-only", "--no-renames", *_QUIET, f"--format={_MARK}%H", "HEAD", "--",
        *paths[:MOST_PATHS],
    )  # fmt: skip
    if answer.code:
        return found
    for commit, names in _split_log(answer.out):
        for name in names:
            found.setdefault(name, []).append(commit)
    return found


def list_old_blobs(repository: Repository, commits: Iterable[str]) -> dict[str, str]:
    """What these commits have that is not in the working tree: the id of each, with a path."""
    blobs: dict[str, str] = {}
    for commit in commits:
        answer = repository.git.run(
            "diff-index", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=DMT",
            *_QUIET, commit, "--",
        )  # fmt: skip
        if answer.code or answer.is_cut:
            continue
        parts = text(answer.out).split("\0")
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            mode, _, old, *_ = head.removeprefix(":").split(" ")
            if mode != SUBMODULE:
                blobs.setdefault(old, path)
    return blobs


def read_objects(
    repository: Repository, names: Iterable[str], most_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """The contents of blobs, by id or as `COMMIT:path`; without large ones, up to a sum."""
    left = most_bytes
    with repository.git.start("cat-file", "--batch", talks=True) as running:
        for name in names:
            if "\n" in name or left <= 0:
                continue
            running.say(name.encode("utf-8", "surrogateescape") + b"\n")
            head = running.hear_line()
            facts = head.rsplit(b" ", 2)
            if len(facts) < 3 or not facts[2].isdigit():
                continue  # missing, or ambiguous
            size = int(facts[2])
            if size > left:
                return
            data = running.hear(size + 1)[:size]
            left -= size
            if facts[1] == b"blob" and size <= BLOB_BYTES:
                yield name, data
