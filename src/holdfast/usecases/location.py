"""The working tree and the branch of a folder, as far as a session can keep them."""

from __future__ import annotations

from holdfast.errors import InvalidValueError
from holdfast.ground.worktree import find_branch, find_worktree
from holdfast.sessions import rules


def locate_worktree(folder: str) -> str | None:
    """None for a folder whose name cannot be stored; its session is then found by its native id."""
    try:
        return rules.check_worktree(find_worktree(folder))
    except (InvalidValueError, ValueError):
        return None


def locate_branch(worktree: str | None) -> str | None:
    """The branch that is checked out now, read from git's files, or None."""
    if worktree is None:
        return None
    return check_branch(find_branch(worktree))


def check_branch(name: str | None) -> str | None:
    """None where it cannot be stored."""
    try:
        return rules.check_optional_label("git_branch", name)
    except InvalidValueError:
        return None


def locate_head(worktree: str | None) -> dict[str, str] | None:
    """The commit and the branch that are checked out now, read from git's files."""
    if worktree is None:
        return None
    from holdfast.ground import git_refs  # not at a prompt

    place = git_refs.find_place(worktree)
    commit = git_refs.find_commit(place.common_dir, place.head) if place else None
    if commit is None:
        return None
    return {"id": commit, "branch": locate_branch(worktree) or ""}
