"""Everything that Holdfast asks git; no program that a repository configures ever runs.

`git_process` says how. What comes back is text of other authors: names of branches, paths and
authors are data, never part of a command line without a check, and bytes that are not UTF-8 become
`surrogateescape` characters. A path is relative to the working tree, with slashes. A commit is a
whole id: anything shorter could be the name of a branch (`list_commits` finds the whole ones).
Functions wait for git, so a caller with an event loop runs them in a thread. A `Repository` is what
was found at one moment: find it again for each piece of work.
"""

from __future__ import annotations

from holdfast.ground.git_history import (
    LastChange,
    LineCount,
    count_commits,
    find_head,
    has_commit,
    is_ancestor,
    last_change,
    list_commits,
    numstat,
    read_blob,
)
from holdfast.ground.git_repository import (
    DETACHED,
    Branch,
    Repository,
    find_default_branch,
    find_repository,
)
from holdfast.ground.git_state import Comparison, FileChange, TreeState, read_state

__all__ = [
    "DETACHED",
    "Branch",
    "Comparison",
    "FileChange",
    "LastChange",
    "LineCount",
    "Repository",
    "TreeState",
    "count_commits",
    "find_default_branch",
    "find_head",
    "find_repository",
    "has_commit",
    "is_ancestor",
    "last_change",
    "list_commits",
    "numstat",
    "read_blob",
    "read_state",
]
