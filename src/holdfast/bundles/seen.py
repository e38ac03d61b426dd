"""What code has seen in the sessions before, as far as it holds on this branch and checkout.

Branch-true: what was learned on a branch shows there, on a branch that began there, and elsewhere
once a later commit of the same session on that branch is in the history of what is checked out.
Everything is looked at again when it is shown: whether a file is still there and still changed, and
whether something changed after a check passed. `observations.changes` decides which files count.
"""

from __future__ import annotations

import os

from holdfast.bundles.model import Seen
from holdfast.errors import HoldfastError
from holdfast.ground import git, git_refs
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.git_history import list_changed_paths, list_newest_commits
from holdfast.observations.changes import CheckoutFiles, list_changed, list_read
from holdfast.observations.digest import Digest, merge
from holdfast.observations.tasks import NO_TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from holdfast.ground.git_refs import GitPlace
    from holdfast.observations.changes import HeadMove, KnownFile
    from holdfast.observations.digest import Observation, SeenFile, SeenRun, Source

MAIN_BRANCHES = ("main", "master", "trunk", "develop")
COMMITS_ASKED = 1_000  # in the history of HEAD; what is merged is new
FAILING, WORKING, SAID, DECIDED, FILES, READ, TASKS = 3, 6, 20, 10, 20, 10, 20
NEW_FILES, TIMES_READ = 1_000, 2_000


@dataclass(frozen=True)
class Uncommitted:
    """The tracked files of a checkout that differ from HEAD; `without` what is ours there."""

    paths: tuple[str, ...]
    without: tuple[str, ...] = ()


def choose_seen(
    digests: Sequence[Digest],
    worktree: str | None,
    branch: str,
    uncommitted: Uncommitted | None = None,
) -> Seen:
    """From the oldest session on. Git is asked about what was seen on another branch and, where
    something is known to be uncommitted or not, which files are new.
    """
    reached = _keep_reached(digests, worktree, branch)
    merged = merge(reached)
    edited = _name_files(merged.files, worktree)
    found = None
    if worktree and uncommitted and (edited or merged.commands):
        found = _look(worktree, uncommitted, {file.path for file in edited})
    changed = _list_changed_files(merged, edited, worktree, found)
    working = merged.list_working()
    failing = merged.list_failing()
    last_pass = next(iter(working), None)
    last_failure = next(iter(failing), None)
    return Seen(
        failing=tuple(failing[:FAILING]),
        unclear=merged.find_unclear(),
        last_pass=last_pass,
        changed_since=_list_changed_since(changed, found, last_pass, worktree),
        changed_since_failure=_list_changed_since(changed, found, last_failure, worktree),
        working=tuple(sorted(working, key=lambda run: -run.passed)[:WORKING]),
        said=merged.said[-SAID:],
        decided=merged.decided[-DECIDED:],
        tasks=merged.tasks.open[:TASKS],
        more_tasks=merged.tasks.more_open + max(0, len(merged.tasks.open) - TASKS),
        tasks_source=merged.tasks_source,
        files=tuple(changed[:FILES]),
        read=tuple(_list_read_files(reached, changed, worktree)[:READ]),
    )


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
    until = {name: _find_merged(place, name) for name in bases if name not in MAIN_BRANCHES}
    whole = {"", branch} | {name for name in bases if name in MAIN_BRANCHES}
    return [_leave_out(digest, whole, until, history) for digest in digests]


def _find_merged(place: GitPlace, branch: str) -> float:
    """Up to when what was seen on a merged branch is in its last commit; never, if git is silent.

    What came later is not committed there, or not merged.
    """
    move = git_refs.find_last_move(place.common_dir, branch)
    return move.at + 1 if move else 0.0


def _list_branches(digest: Digest) -> set[str]:
    seen: tuple[Observation, ...] = (
        *digest.runs,
        *digest.files,
        *digest.read,
        *digest.commands,
        *digest.commits,
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


def _leave_out(
    digest: Digest, branches: set[str], until: Mapping[str, float], history: Sequence[str]
) -> Digest:
    """What was seen on another branch stays up to its last commit that HEAD has."""
    reached: dict[str, int] = {}
    for made in digest.commits:
        if any(commit.startswith(made.commit.id) for commit in history):
            reached[made.source.branch] = made.source.sequence

    def is_kept(source: Source) -> bool:
        if source.branch in branches or source.sequence <= reached.get(source.branch, 0):
            return True
        return source.at.timestamp() <= until.get(source.branch, 0.0)

    kept = digest
    if digest.tasks_source and not is_kept(digest.tasks_source):
        kept = replace(digest, tasks=NO_TASKS, tasks_source=None)
    return replace(
        kept,
        runs=tuple(run for run in digest.runs if is_kept(run.source)),
        files=tuple(file for file in digest.files if is_kept(file.source)),
        read=tuple(file for file in digest.read if is_kept(file.source)),
        commands=tuple(each for each in digest.commands if is_kept(each.source)),
        commits=tuple(each for each in digest.commits if is_kept(each.source)),
        said=tuple(each for each in digest.said if is_kept(each.source)),
        decided=tuple(each for each in digest.decided if is_kept(each.source)),
    )


# --- files ----------------------------------------------------------------------------------------


def leave_out_files(seen: Seen, paths: Sequence[object], worktree: str | None) -> Seen:
    """Without those that somebody has named, in whichever form."""
    texts = [path for path in paths if isinstance(path, str)]
    named = {name_inside(path, worktree) for path in texts}.union(texts)
    return replace(
        seen,
        files=tuple(file for file in seen.files if file.path not in named),
        read=tuple(file for file in seen.read if file.path not in named),
    )


def _list_changed_files(
    digest: Digest,
    edited: Sequence[SeenFile],
    worktree: str | None,
    found: CheckoutFiles | None,
) -> list[KnownFile]:
    """The ones that were changed last first. What no tool has named leaves where it is gone."""
    changed = reversed(list_changed(edited, digest.commits, digest.commands, found))
    named = {file.path for file in edited}
    shown = [file for file in changed if file.path in named or _is_file(file.path, worktree)]
    new = found.new if found else ()
    return [replace(file, is_new=True) if file.path in new else file for file in shown]


def _look(worktree: str, uncommitted: Uncommitted, named: set[str]) -> CheckoutFiles | None:
    """None where git cannot say."""
    from holdfast.ground.git_listing import list_files, read_times  # not where nothing was seen

    place = git_refs.find_place(worktree)
    try:
        repository = git.find_repository(worktree)
        if repository is None or place is None:
            return None
        listed = list_files(repository, named, NEW_FILES)
    except HoldfastError:
        return None
    own = tuple(f"{path}/" for path in uncommitted.without)
    new = [path for path in listed.new if not f"{path}/".startswith(own)]
    paths = [path for path in (*uncommitted.paths, *new) if path.isprintable()]
    return CheckoutFiles(
        uncommitted=frozenset(uncommitted.paths),
        new=frozenset(new),
        tracked=listed.tracked,
        times=read_times(worktree, paths[:TIMES_READ]),
        moves=git_refs.list_head_moves(place.git_dir),
    )


def _list_read_files(
    digests: Sequence[Digest], changed: Sequence[KnownFile], worktree: str | None
) -> list[KnownFile]:
    """The ones that were read last first, without those that are gone or were changed."""
    often = list_read([_name_files(digest.read, worktree) for digest in digests])
    known = {file.path for file in changed}
    new = [file for file in reversed(often) if file.path not in known]
    return [file for file in new if _is_file(file.path, worktree)]


def _name_files(files: Sequence[SeenFile], worktree: str | None) -> list[SeenFile]:
    """As they are named from the checkout; not others."""
    named = [replace(file, path=name_inside(file.path, worktree)) for file in files]
    return [file for file in named if file.path]


def _is_file(path: str, worktree: str | None) -> bool:
    """Whether it is there, and no link leads out of the checkout."""
    if worktree is None:
        return False
    return name_inside(path, worktree) == path and os.path.isfile(os.path.join(worktree, path))


def name_inside(path: str, worktree: str | None) -> str:
    """Empty for one that leads out of it, by a link too, and for what is git's own."""
    if worktree is None:
        return "" if os.path.isabs(path) or path.startswith(("..", "~")) else path
    root = os.path.realpath(worktree)
    name = os.path.relpath(os.path.realpath(os.path.join(root, path)), root)
    first = name.partition("/")[0]
    return "" if first in ("..", ".", ".git", "~") or ":" in first else name


def _list_changed_since(
    changed: Sequence[KnownFile],
    found: CheckoutFiles | None,
    run: SeenRun | None,
    worktree: str | None,
) -> tuple[str, ...]:
    """Whoever has changed them: a person, a session, or a commit that came from elsewhere."""
    own = list_changed_since([file.path for file in changed], run, worktree)
    if found is None or run is None or worktree is None:
        return own
    since = run.source.at
    others = [path for path, at in found.times.items() if at > since.timestamp()]
    moved = filter(str.isprintable, _list_moved(found.moves or (), run, worktree))
    others += [path for path in moved if _has_changed(os.path.join(worktree, path), since)]
    return tuple(dict.fromkeys((*own, *others)))


def _list_moved(moves: Sequence[HeadMove], run: SeenRun, worktree: str) -> list[str]:
    """The files in which HEAD differs from where it was when a check was run."""
    before = [move.commit for move in moves if move.at <= run.source.at.timestamp()]
    if not before or before[-1] == moves[-1].commit:
        return []
    try:
        repository = git.find_repository(worktree)
        return list_changed_paths(repository, before[-1], TIMES_READ) if repository else []
    except HoldfastError:
        return []


def list_changed_since(
    paths: Iterable[str], run: SeenRun | None, worktree: str | None
) -> tuple[str, ...]:
    """Of these files those that changed after a check was run."""
    if run is None or worktree is None:
        return ()
    inside = [name_inside(path, worktree) for path in paths]
    names = dict.fromkeys(filter(None, inside))
    ran_at = run.source.at
    return tuple(name for name in names if _has_changed(os.path.join(worktree, name), ran_at))


def _has_changed(path: str, since: datetime) -> bool:
    """One that is gone has changed as well."""
    try:
        return os.lstat(path).st_mtime > since.timestamp()
    except (OSError, ValueError):
        return True
