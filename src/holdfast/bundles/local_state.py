"""How a checkout looks where notes in the repository are not agreed to: git is only read.

A session that begins should know that files are half edited, and that others have committed since.
"""

from __future__ import annotations

from holdfast.bundles.model import LocalState
from holdfast.errors import HoldfastError
from holdfast.ground import git
from holdfast.ground.git_history import count_commits_after, list_paths_after
from holdfast.ground.git_repository import NAMELESS, read_head
from holdfast.ground.git_state import list_uncommitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

COMMITS_READ = 200  # the newest, for the files that they changed


def read_local_state(worktree: str, since: datetime | None) -> LocalState | None:
    """None where there is no repository, or git cannot say."""
    try:
        repository = git.find_repository(worktree)
        if repository is None:
            return None
        head = read_head(repository) or git.find_head(repository)
        changed = list_uncommitted(repository, head)
        commits = count_commits_after(repository, since) if since and head else 0
        paths = list_paths_after(repository, since, COMMITS_READ) if since and commits else []
    except HoldfastError:
        return None
    return LocalState(
        repo="" if repository.repo.startswith(NAMELESS) else repository.repo,
        branch=repository.branch,
        head=head or "",
        changed=tuple(changed),
        commits_since=commits,
        paths_since=tuple(filter(str.isprintable, paths)),
        since=since,
    )
