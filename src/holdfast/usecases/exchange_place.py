"""Where a caller of the exchange works: repository, branch, and what is the same there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.ground import git
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_branch import find_branch
from holdfast.team.freshness import Freshness, is_same_repo
from holdfast.team.model import PublishedContext
from holdfast.team.path_rules import check_path, remove_lines
from holdfast.team.reach import is_glob
from holdfast.usecases.freshness import compare_all, compare_basis, know_nothing
from holdfast.usecases.location import check_branch

MOST_COMPARED = 50
PATHS = ("files_touched", "paths")


@dataclass(frozen=True)
class Place:
    """A checkout as publications name it."""

    worktree: str
    repo: str
    branch: str | None

    def is_of(self, repo: object) -> bool:
        return is_same_repo(repo, self.repo)

    def is_meant_by(self, repo: object) -> bool:
        """By a caller who works here: then the last part of the name is enough."""
        _, slash, last = self.repo.rpartition("/")
        short = last if slash else os.path.basename(self.worktree)
        return self.is_of(repo) or is_same_repo(repo, short)


def find_place(worktree: str | None) -> Place | None:
    """None where there is no repository, or git does not answer."""
    if worktree is None:
        return None
    try:
        repository = git.find_repository(worktree)
    except HoldfastError:
        return None
    if repository is None:
        return None
    return Place(repository.root, repository.public_name, check_branch(find_branch(repository)))


def compare_with(
    worktree: str | None, contexts: Sequence[PublishedContext]
) -> Mapping[str, Freshness]:
    """By the id of a context: of those of the same repository that say what they were based on.

    Where it is about one alone, git is asked where its commit is, too.
    """
    based = [each for each in contexts if each.basis and each.files_touched]
    place = find_place(worktree) if based else None
    if place is None:
        return {}
    of_here = [each for each in based if place.is_of(each.repo)]
    compared, others = of_here[:MOST_COMPARED], of_here[MOST_COMPARED:]
    if len(contexts) == len(compared) == 1:
        [context] = compared
        found = [compare_basis(place.worktree, context.basis, context.files_touched)]
    else:
        named = [(each.basis, each.files_touched) for each in compared]
        found = compare_all(place.worktree, named)
    found += [know_nothing(context.files_touched) for context in others]
    return {context.id: fresh for context, fresh in zip(of_here, found, strict=True)}


def find_here(worktree: str | None) -> Callable[[PublishedContext], bool]:
    """Whether a context is of the caller's repository: those are shown before the others."""
    place = find_place(worktree)
    return lambda context: place is not None and place.is_of(context.repo)


# --- names that a caller gives --------------------------------------------------------------------


def name_as_here(worktree: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a call that code writes otherwise. Only one that names the repository of this
    working tree has to do with it.
    """
    place = find_place(worktree)
    if place is None or not place.is_meant_by(fields.get("repo")):
        return name_paths(None, fields)
    return {**name_paths(place, fields), "repo": place.repo}


def name_paths(place: Place | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have paths, without the lines that are named behind a path."""
    roots = [place.worktree] if place else []
    given = {name: fields[name] for name in PATHS if _is_list_of_texts(fields.get(name))}
    return {name: [_name_path(path, roots) for path in paths] for name, paths in given.items()}


def find_typed(place: Place | None, folder: str, path: str) -> str:
    """A path as it is typed in a folder, from the root of the repository.

    People paste paths of the repository too: one that is only there stays as it is. So does what
    leads out of the repository or is not a path: the rules say why it is refused.
    """
    if place is None:
        return remove_lines(path)
    path, sign, symbol = _name_path(path, [folder, place.worktree]).partition("#")
    steps = path.rstrip("/").split("/")
    upwards = list(takewhile(lambda step: step in (".", ".."), steps))
    below = steps[len(upwards) :]
    is_only_there = not _exists(folder, below) and _exists(place.worktree, below)
    if (upwards or not is_only_there) and _is_path(below):
        here = os.path.relpath(os.path.realpath(folder), os.path.realpath(place.worktree))
        start = os.path.normpath(os.path.join(here, *upwards)).split("/")
        found = [step for step in (*start, *below) if step != "."]
        path = path if not found or found[0] == ".." else "/".join(found)
    return f"{path}{sign}{symbol}"


def _name_path(path: str, roots: Sequence[str]) -> str:
    """Without lines; one that is the name of a file stays as it is."""
    is_name = any(os.path.lexists(os.path.join(root, path)) for root in roots)
    return path if is_name else remove_lines(path)


def _exists(root: str, steps: Sequence[str]) -> bool:
    """Of a glob, the folder that it begins with."""
    literal = takewhile(lambda step: not is_glob(step), steps)
    return os.path.lexists(os.path.join(root, *literal))


def _is_path(steps: Sequence[str]) -> bool:
    try:
        return not steps or bool(check_path("path", "/".join(steps)))
    except HoldfastError:
        return False


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
