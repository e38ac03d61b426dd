"""The git-diff applet: a file now against a commit, line by line, or a folder, file by file.

git is run by `ground.git_confined`, which executes nothing that a repository configures. A path is
walked as in the editor, by descriptor: nothing outside the folders that may be shown, and nothing
through a link, also not one that takes a folder's place meanwhile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from holdfast.errors import InvalidValueError
from holdfast.ground import git, git_confined
from holdfast.ground.confined import ConfinedRoot, FileCopy
from holdfast.ground.errors import FileMissingError, PathOutsideError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_confined import OpenRepository
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.surfaces.console import links, texts
from holdfast.surfaces.console.applet import MOST_BYTES, find_shown_root

DIFF_BYTES = 1 << 18
LINE_CHARS = 2_000
SHORT_CHARS = 7
HEAD = "HEAD"
FILES_SHOWN = 200

Kind = Literal["same", "added", "removed", "hunk", "note"]
State = Literal[
    "changed", "same", "new", "gone", "binary", "no_repository", "no_id", "no_commit", "ambiguous"
]
STATUSES = {"A": "new", "D": "gone", "M": "changed", "T": "another kind"}
SIGNS = {"same": "", "added": "+", "removed": "−", "hunk": "", "note": ""}
_KINDS: dict[str, Kind] = {" ": "same", "+": "added", "-": "removed", "\\": "note"}
_HUNK = compile_later(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)", re.DOTALL)
_MODE_LINES = ("old mode ", "new mode ")


@dataclass(frozen=True)
class DiffLine:
    kind: Kind
    text: str
    before: int | None = None
    after: int | None = None

    @property
    def sign(self) -> str:
        return SIGNS[self.kind]


@dataclass(frozen=True)
class FileDiff:
    """`folder` has the diff of all files: the repository, or as much of it as may be shown."""

    path: str
    root: str
    state: State
    folder: str = ""
    since: str | None = None
    lines: tuple[DiffLine, ...] = ()
    is_cut: bool = False

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def below_root(self) -> str:
        return links.short_path(self.path, self.root)

    @property
    def against(self) -> str:
        return name_commit(self.since)

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


@dataclass(frozen=True)
class ComparedFile:
    """What a comparison says of a file: as many lines as are shown, and whether there are more."""

    state: State
    lines: Sequence[DiffLine] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class ChangedFile:
    """`path` opens its own diff, `below` is its path relative to the folder."""

    path: str
    below: str
    status: str
    count: git.LineCount | None


@dataclass(frozen=True)
class FolderDiff:
    path: str
    root: str
    state: State
    since: str | None = None
    files: tuple[ChangedFile, ...] = ()
    total: int = 0

    @property
    def name(self) -> str:
        return links.folder_name(self.path)

    @property
    def below_root(self) -> str:
        below = links.short_path(self.path.rstrip("/"), self.root)
        if os.path.isabs(below):
            return self.name
        return below

    @property
    def against(self) -> str:
        return name_commit(self.since)


def name_commit(since: str | None) -> str:
    if since:
        return since[:SHORT_CHARS]
    return HEAD


def open_diff(
    roots: Sequence[ConfinedRoot], path: str, since: str | None = None
) -> FileDiff | FolderDiff:
    """Against the commit `since`, or HEAD without one."""
    if ".git" in path.split("/"):
        raise PathOutsideError(path, "belongs to git, and so has no diff")
    for root in roots:
        if root.has_folder(path):
            return _open_folder(root, path, since)
    return _open_file(find_shown_root(roots, path), path, since)


def _open_folder(root: ConfinedRoot, path: str, since: str | None) -> FolderDiff:
    """Names and counts alone; the lines of a file are read when its own diff is opened."""
    steps = root.find_folder_steps(path)
    with (
        root.open_folders(steps, path) as opened,
        git_confined.open_repository(root, steps, opened) as repository,
    ):
        if len(opened) <= len(steps):
            raise FileMissingError(path)
        if repository is None:
            return FolderDiff(path, root.folder, "no_repository")
        since, problem = _find_commit(repository, since)
        if problem:
            return FolderDiff(path, root.folder, problem, since)
        files, total = _list_files(repository, path, since or repository.base)
    state: State = "changed" if total else "same"
    return FolderDiff(path, root.folder, state, since, tuple(files), total)


def _list_files(repository: OpenRepository, path: str, base: str) -> tuple[list[ChangedFile], int]:
    """The first files that really differ, and how many may do so."""
    prefix = f"{repository.inside}/" if repository.inside else ""
    changes = git_confined.list_changes(repository, base)
    total = len(changes)
    files: list[ChangedFile] = []
    for start in range(0, len(changes), FILES_SHOWN):
        some = changes[start : start + FILES_SHOWN]
        counts = git_confined.count_changes(repository, base, some)
        total -= len(some) - len(counts)
        statuses = {os.fsdecode(change.path): change.status for change in some}
        for name, count in counts.items():
            below = name.removeprefix(prefix)
            files.append(_make_changed_file(path, below, statuses[name], count))
        if len(files) >= FILES_SHOWN:
            break
    return files[:FILES_SHOWN], total


def _find_commit(repository: OpenRepository, since: str | None) -> tuple[str | None, State | None]:
    """The full id of the commit, None for HEAD; or what is wrong with the one that was given."""
    if since is None or since == HEAD:
        return None, None
    try:
        found = git.list_commits(repository, since)
    except InvalidValueError:
        return since, "no_id"
    if len(found) == 1:
        return found[0], None
    if found:
        return since, "ambiguous"
    return since, "no_commit"


def _make_changed_file(
    folder: str, below: str, letter: str, count: git.LineCount | None
) -> ChangedFile:
    status = STATUSES.get(letter, "changed")
    return ChangedFile(os.path.join(folder, below), below, status, count)


def _open_file(root: ConfinedRoot, path: str, since: str | None) -> FileDiff:
    """Every step is made inside the folders that are open: the copy, the repository, the diff."""
    steps = root.find_steps(path)
    folders, name = steps[:-1], steps[-1]
    with (
        root.open_folders(folders, path) as opened,
        git_confined.open_repository(root, steps, opened) as repository,
    ):
        is_there = len(opened) > len(folders)
        copy = git_confined.find_copy(opened[-1], name, MOST_BYTES) if is_there else None
        if repository is None and copy is None:
            raise FileMissingError(path)
        if repository is None:
            return FileDiff(path, root.folder, "no_repository")
        since, problem = _find_commit(repository, since)
        if problem:
            return FileDiff(path, root.folder, problem, since=since)
        compared = _compare(repository, copy, since)
    if copy is None and compared.state in ("new", "same"):
        raise FileMissingError(path)
    return FileDiff(
        path=path,
        root=root.folder,
        state=compared.state,
        folder=repository.folder,
        since=since,
        lines=tuple(compared.lines),
        is_cut=compared.is_cut,
    )


def _compare(repository: OpenRepository, copy: FileCopy | None, since: str | None) -> ComparedFile:
    base = since or repository.head
    if base is None:
        return _compare_new_file(copy)
    found = git_confined.diff_text(repository, base, copy, max_bytes=DIFF_BYTES)
    lines = list(parse_diff(found.text))
    if _is_binary(found.text):
        return ComparedFile("binary")
    if not lines and copy is not None and not _is_in_commit(repository, base):
        return _compare_new_file(copy)
    state = _find_state(found.text, lines)
    is_cut = found.is_cut or len(lines) > texts.LINES_SHOWN
    return ComparedFile(state, lines[: texts.LINES_SHOWN], is_cut)


def _find_state(diff: str, lines: Sequence[DiffLine]) -> State:
    """The head also names an empty file that was added or removed, which has no lines."""
    head, _, _ = diff.partition("\n@@ ")
    if "\nnew file mode " in head:
        return "new"
    if "\ndeleted file mode " in head:
        return "gone"
    if lines:
        return "changed"
    return "same"


def _compare_new_file(copy: FileCopy | None) -> ComparedFile:
    """A file that git does not know."""
    if copy is None:
        return ComparedFile("new")
    found = texts.parse_text(copy.data)
    if found is None:
        return ComparedFile("binary")
    if not found.text:
        return ComparedFile("new")
    all_lines = found.lines
    added = [
        DiffLine("added", cut(line, LINE_CHARS), after=number)
        for number, line in enumerate(all_lines[: texts.LINES_SHOWN], 1)
    ]
    return ComparedFile("new", added, is_cut=len(all_lines) > texts.LINES_SHOWN)


def parse_diff(diff: str) -> Iterator[DiffLine]:
    """git's own format: each line of a file follows a sign, so none is mistaken for git's."""
    end = "\r" if _is_crlf(diff) else ""
    before = after = 0
    is_inside = False
    for line in diff.split("\n")[:-1]:
        sign, text = line[:1], line[1:]
        if hunk := _HUNK.fullmatch(line):
            before, after = int(hunk[1]), int(hunk[2])
            is_inside = True
            about = cut(hunk[3].strip(), LINE_CHARS)
            yield DiffLine("hunk", about, before, after)
        elif is_inside and sign in _KINDS:
            kind = _KINDS[sign]
            yield _make_line(kind, text.removesuffix(end), before, after)
            before += kind in ("same", "removed")
            after += kind in ("same", "added")
        else:
            is_inside = False  # the head of a file; one that became a link has two
            if line.startswith(_MODE_LINES):
                yield DiffLine("note", line)


def _is_crlf(diff: str) -> bool:
    """Whether every line ends so; where only some do, the difference has to be visible."""
    _, _, hunks = diff.partition("\n@@ ")
    lines = hunks.split("\n")[1:-1]
    of_files = [line for line in lines if line.startswith(("+", "-", " "))]
    return all(line.endswith("\r") for line in of_files)


def _make_line(kind: Kind, words: str, before: int, after: int) -> DiffLine:
    if kind == "note":
        return DiffLine(kind, words.strip())
    text = cut(words, LINE_CHARS)
    if kind == "removed":
        return DiffLine(kind, text, before=before)
    if kind == "added":
        return DiffLine(kind, text, after=after)
    return DiffLine(kind, text, before, after)


def _is_binary(diff: str) -> bool:
    head, _, _ = diff.partition("\n@@ ")
    about_binary = [line for line in head.split("\n") if line.startswith("Binary files ")]
    return any(line.endswith(" differ") for line in about_binary)


def _is_in_commit(repository: OpenRepository, commit: str) -> bool:
    try:
        blob = git.read_blob(repository, commit, repository.inside, max_bytes=MOST_BYTES)
    except InvalidValueError:  # too large to be read, so it exists
        return True
    return blob is not None
