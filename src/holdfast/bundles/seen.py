"""What code has seen in the sessions before, as far as it holds on this branch and checkout.

Branch-true: what was learned on a branch shows there, on a branch that began there, and elsewhere
once a later commit of the same session on that branch is in the history of what is checked out.
Everything is looked at again when it is shown: whether a file is still there, and whether something
changed after a check passed.
"""

from __future__ import annotations

import os

from holdfast.bundles.model import Seen
from holdfast.errors import HoldfastError
from holdfast.ground import git, git_refs
from holdfast.ground.frozen import replace
from holdfast.ground.git_history import list_newest_commits
from holdfast.observations.digest import Digest, merge
from holdfast.observations.tasks import NO_TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.ground.git_refs import GitPlace
    from holdfast.observations.digest import Observation, SeenFile, SeenRun, Source

MAIN_BRANCHES = ("main", "master", "trunk", "develop")
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
    """One question to git for all of them; a detached HEAD has no branch."""
    branches = {name for digest in digests for name in _list_branches(digest)}
    others = branches - {"", branch}
    place = git_refs.find_place(worktree) if worktree and others else None
    if worktree is None or place is None:
        return list(digests)
    history = _list_history(worktree)
    bases = {name for name in others if _is_base(place, name, history)}
    return [_leave_out(digest, {"", branch} | bases, history) for digest in digests]


def _list_branches(digest: Digest) -> set[str]:
    seen: tuple[Observation, ...] = (
        *digest.runs,
        *digest.files,
        *digest.said,
        *digest.decided,
    )
    sources = [each.source for each in seen]
    return {source.branch for source in [*sources, digest.tasks_source] if source}


def _list_history(worktree: str) -> list[str]:
    """The newest commits of HEAD; none where git cannot say."""
    try:
        repository = git.find_repository(worktree)
        return list_newest_commits(repository, COMMITS_ASKED) if repository else []
    except HoldfastError:
        return []


def _is_base(place: GitPlace, branch: str, history: Sequence[str]) -> bool:
    """Whether HEAD has everything of a branch: it was merged, or HEAD's branch began there.

    At the same commit the main one is the base of the other; what is not committed there comes
    along. A branch that began at HEAD and has no commit yet stays apart.
    """
    tip = git_refs.find_commit(place.common_dir, f"{git_refs.BRANCHES}{branch}")
    return tip in history[1:] or (tip in history[:1] and branch in MAIN_BRANCHES)


def _leave_out(digest: Digest, branches: set[str], history: Sequence[str]) -> Digest:
    """What was seen on another branch stays up to its last commit that HEAD has."""
    reached: dict[str, int] = {}
    for made in digest.commits:
        if any(commit.startswith(made.commit.id) for commit in history):
            reached[made.source.branch] = made.source.sequence

    def is_kept(source: Source) -> bool:
        return source.branch in branches or source.sequence <= reached.get(source.branch, 0)

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
    """Empty for one that leads out of it, by a link too, and for what is git's own."""
    if worktree is None:
        return "" if os.path.isabs(path) or path.startswith(("..", "~")) else path
    root = os.path.realpath(worktree)
    name = os.path.relpath(os.path.realpath(os.path.join(root, path)), root)
    first = name.partition("/")[0]
    return "" if first in ("..", ".", ".git", "~") or ":" in first else name


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
