"""What code has seen in the sessions before, as far as it holds on this branch and checkout.

Branch-true: what was learned on a branch shows there, and elsewhere once a later commit of the same
session is in the history of what is checked out. Everything is looked at again when it is shown:
whether a file is still there, and whether something changed after a check passed.
"""

from __future__ import annotations

import os

from holdfast.bundles.model import Seen
from holdfast.errors import HoldfastError
from holdfast.ground import git
from holdfast.ground.frozen import replace
from holdfast.ground.git_history import list_newest_commits
from holdfast.observations.digest import Digest, merge
from holdfast.observations.tasks import NO_TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.observations.digest import Observation, SeenFile, SeenRun, Source

COMMITS_ASKED = 1_000  # in the history of HEAD; what is merged is new
FAILING, WORKING, SAID, DECIDED, FILES, TASKS = 3, 6, 20, 10, 20, 20


def choose_seen(digests: Sequence[Digest], worktree: str | None, branch: str) -> Seen:
    """From the oldest session on; asks git only about what was seen on another branch."""
    merged = merge(_keep_reached(digests, worktree, branch))
    working = merged.list_working()
    last_pass = next(iter(working), None)
    return Seen(
        failing=tuple(merged.list_failing()[:FAILING]),
        unclear=_find_unclear(merged),
        last_pass=last_pass,
        changed_since=_list_changed(merged.files, last_pass, worktree),
        working=tuple(sorted(working, key=lambda run: -run.passed)[:WORKING]),
        said=merged.said[-SAID:],
        decided=merged.decided[-DECIDED:],
        tasks=merged.tasks.open[:TASKS],
        more_tasks=merged.tasks.more_open + max(0, len(merged.tasks.open) - TASKS),
        tasks_source=merged.tasks_source,
        files=tuple(_name_files(merged.files, worktree)[:FILES]),
    )


def _find_unclear(digest: Digest) -> SeenRun | None:
    """The last check, where nothing says how it ended."""
    last = next((run for run in reversed(digest.runs) if run.is_check), None)
    return last if last and last.verdict == "unknown" else None


# --- branches -------------------------------------------------------------------------------------


def _keep_reached(digests: Sequence[Digest], worktree: str | None, branch: str) -> list[Digest]:
    """One question to git for all of them."""
    if not branch or not worktree or not any(_is_elsewhere(each, branch) for each in digests):
        return list(digests)
    history = _list_history(worktree)
    return [_leave_out(digest, branch, _find_reached(digest, history)) for digest in digests]


def _leave_out(digest: Digest, branch: str, reached: int) -> Digest:
    """Without what was seen on another branch after the event up to which it is merged."""

    def is_kept(source: Source) -> bool:
        return source.branch in ("", branch) or source.sequence <= reached

    kept = digest
    if digest.tasks_source and not is_kept(digest.tasks_source):
        kept = replace(digest, tasks=NO_TASKS, tasks_source=None)
    return replace(
        kept,
        runs=tuple(run for run in digest.runs if is_kept(run.source)),
        files=tuple(file for file in digest.files if is_kept(file.source)),
        said=tuple(each for each in digest.said if is_kept(each.source)),
        decided=tuple(each for each in digest.decided if is_kept(each.source)),
    )


def _is_elsewhere(digest: Digest, branch: str) -> bool:
    seen: tuple[Observation, ...] = (
        *digest.runs,
        *digest.files,
        *digest.said,
        *digest.decided,
    )
    branches = {digest.branch, *(each.source.branch for each in seen)}
    return bool(branches - {"", branch})


def _list_history(worktree: str) -> list[str]:
    """The newest commits of HEAD; none where git cannot say."""
    try:
        repository = git.find_repository(worktree)
        return list_newest_commits(repository, COMMITS_ASKED) if repository else []
    except HoldfastError:
        return []


def _find_reached(digest: Digest, history: Sequence[str]) -> int:
    """Up to which event of a session its work is in the history of HEAD; 0 where none is."""
    for seen in reversed(digest.commits):
        if any(commit.startswith(seen.commit.id) for commit in history):
            return seen.source.sequence
    return 0


# --- files ----------------------------------------------------------------------------------------


def _name_files(files: Sequence[SeenFile], worktree: str | None) -> list[str]:
    """The ones that were edited last first, as they are named from the checkout; not others."""
    found = []
    for file in reversed(files):
        path = _name_inside(file.path, worktree)
        if path:
            found.append(path)
    return list(dict.fromkeys(found))


def _name_inside(path: str, worktree: str | None) -> str:
    if worktree is None or not os.path.isabs(path):
        return "" if path.startswith("..") else path
    name = os.path.relpath(path, worktree)
    if not name.startswith(".."):
        return name
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(worktree))
    return "" if name.startswith("..") else name


def _list_changed(
    files: Sequence[SeenFile], last_pass: SeenRun | None, worktree: str | None
) -> tuple[str, ...]:
    """Of the files that sessions have edited, those that changed after a check had passed."""
    if last_pass is None or worktree is None:
        return ()
    names = _name_files(files, worktree)
    passed_at = last_pass.source.at
    return tuple(name for name in names if _has_changed(os.path.join(worktree, name), passed_at))


def _has_changed(path: str, since: datetime) -> bool:
    """One that is gone has changed as well."""
    try:
        return os.lstat(path).st_mtime > since.timestamp()
    except (OSError, ValueError):
        return True
