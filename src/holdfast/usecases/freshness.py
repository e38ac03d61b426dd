"""What a published context was written against, and how the reader's own checkout compares.

Names and ids come from another person, so they are checked before anything is looked at. A session
that begins may be shown several contexts at once: a file is read once for all of them, and git is
started only for files that seem to differ and that it may store in another form, once for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

from holdfast.errors import HoldfastError
from holdfast.ground import git, git_refs
from holdfast.ground.git_blobs import BlobReader, find_filtered, find_left_out, hash_as_stored
from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.worktree import find_worktree
from holdfast.team.freshness import (
    AHEAD,
    APART,
    BEHIND,
    DIFFERS,
    MISSING,
    MOST_FILES,
    SAME,
    UNKNOWN,
    UNKNOWN_HERE,
    Freshness,
    is_id,
    kind_of_id,
)
from holdfast.team.model import Basis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.git_repository import Repository

    Named = tuple[Basis | None, Sequence[str]]

SPARSE = ("info", "sparse-checkout")


class Stored(NamedTuple):
    """What git stores of files, and those whose form a filter decides."""

    ids: dict[str, str]
    filtered: set[str]


def make_basis(worktree: str, files: Iterable[str]) -> Basis:
    """Where this checkout is, and git's id of each named file as it is now.

    None for what is missing, larger than is read, reached through a link, or not a file.
    """
    paths = list(islice(dict.fromkeys(files), MOST_FILES))
    try:
        repository = git.find_repository(worktree)
    except HoldfastError:
        repository = None
    if repository is None:
        return Basis(None, dict.fromkeys(paths))
    reader = BlobReader(repository.root)
    found = {path: reader.read(path, repository.hash_kind) for path in paths}
    blobs = {path: blob.id for path, blob in found.items()}
    unsure = [path for path, blob in found.items() if not blob.is_sure]
    try:
        head = git.find_head(repository)
        stored = hash_as_stored(repository, unsure) if unsure else {}
    except HoldfastError:
        return Basis(None, blobs | dict.fromkeys(unsure))
    return Basis(head, blobs | stored)


def compare_basis(worktree: str | None, basis: Basis | None, files: Sequence[str]) -> Freshness:
    """Of one context, with where its commit is: git is asked about that as well."""
    [found] = compare_all(worktree, [(basis, files)])
    if worktree is None or basis is None or found.head != UNKNOWN_HERE or not is_id(basis.head):
        return found
    return Freshness(found.files, _relate(worktree, str(basis.head)))


def compare_all(worktree: str | None, contexts: Sequence[Named]) -> list[Freshness]:
    """Of several; of their commits only whether it is the one that is checked out here."""
    place = git_refs.find_place(find_worktree(worktree)) if worktree else None
    if worktree is None or place is None:
        return [know_nothing(files) for _, files in contexts]
    root = find_worktree(worktree)
    reader = BlobReader(root)
    is_sparse = os.path.exists(os.path.join(place.git_dir, *SPARSE))
    looked = [
        _compare_files(reader, basis, files, is_sparse=is_sparse) for basis, files in contexts
    ]
    unsure = {path for states in looked for path, state in states.items() if state is None}
    stored = _ask_git(reader, root, sorted(unsure)) if unsure else None
    head = git_refs.find_commit(place.common_dir, place.head)
    return [
        Freshness(_settle(states, basis, stored), _compare_head(basis, head))
        for (basis, _), states in zip(contexts, looked, strict=True)
    ]


def know_nothing(files: Sequence[str]) -> Freshness:
    return Freshness(dict.fromkeys(files[:MOST_FILES], UNKNOWN))


def _compare_files(
    reader: BlobReader, basis: Basis | None, files: Sequence[str], *, is_sparse: bool
) -> dict[str, str | None]:
    """None where only git knows."""
    return {
        path: _compare_file(reader, basis, path, is_sparse=is_sparse) for path in files[:MOST_FILES]
    }


def _compare_file(
    reader: BlobReader, basis: Basis | None, path: str, *, is_sparse: bool
) -> str | None:
    published = basis.files.get(path) if basis else None
    if published is None or not is_id(published):
        return UNKNOWN
    found = reader.read(path, kind_of_id(published))
    if found.is_missing:
        return None if is_sparse else MISSING
    if found.id is None:
        return UNKNOWN
    if found.id == published:
        return SAME
    is_sure = found.is_sure and not reader.may_be_filtered(path)
    return DIFFERS if is_sure else None


def _settle(
    states: dict[str, str | None], basis: Basis | None, stored: Stored | None
) -> dict[str, str]:
    def settle(path: str) -> str:
        if stored is None or basis is None:
            return UNKNOWN
        if path not in stored.ids:
            return MISSING
        if stored.ids[path] == basis.files[path]:
            return SAME
        # One of the two may be what the filter reads, and the other what it writes.
        return UNKNOWN if path in stored.filtered else DIFFERS

    return {path: state or settle(path) for path, state in states.items()}


def _ask_git(reader: BlobReader, root: str, paths: Sequence[str]) -> Stored | None:
    """None where it does not answer."""
    with suppress(HoldfastError):
        repository = git.find_repository(root)
        if repository is not None:
            here = hash_as_stored(repository, paths)
            missing = [path for path in paths if path not in here]
            left_out = find_left_out(repository, missing) if missing else {}
            suspected = [path for path in paths if reader.may_be_filtered(path)]
            filtered = find_filtered(repository, suspected) if suspected else set()
            return Stored(here | left_out, filtered)
    return None


def _compare_head(basis: Basis | None, head: str | None) -> str:
    return SAME if basis and head and basis.head == head else UNKNOWN_HERE


def _relate(worktree: str, theirs: str) -> str:
    """Where a commit is, seen from HEAD; it may be one that is not here."""
    with suppress(HoldfastError):
        repository = git.find_repository(worktree)
        if repository and git.has_commit(repository, theirs):
            return _find_way(repository, theirs)
    return UNKNOWN_HERE


def _find_way(repository: Repository, theirs: str) -> str:
    ours = git.find_head(repository)
    if ours is None or ours == theirs:
        return SAME if ours else UNKNOWN_HERE
    if git.is_ancestor(repository, theirs):
        return BEHIND
    if git.is_ancestor(repository, ours, theirs):
        return AHEAD
    # A shallow history does not show what is below its end.
    return UNKNOWN_HERE if repository.is_shallow else APART
