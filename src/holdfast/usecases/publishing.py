"""A publication, drafted from what Holdfast already knows: git, the log of sessions, and notes.

Nothing is sent here. `team.drafting` decides what a draft says and what it leaves out; this file
reads. Each source may be missing (no repository, no session, notes that were never agreed to), and
a source that does not answer leaves its part empty.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from holdfast.bundles.scratchpad import read_notes
from holdfast.bundles.seen import Uncommitted, choose_seen
from holdfast.errors import HoldfastError
from holdfast.ground import git
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.git_branch import (
    COMMITS_READ,
    find_base,
    find_branch,
    find_own_subject,
    list_branch_commits,
)
from holdfast.ground.git_listing import list_files, read_times
from holdfast.ground.git_repository import HEAD
from holdfast.ground.git_state import list_uncommitted
from holdfast.ground.off_loop import off_loop
from holdfast.ground.worktree import OwnPaths, find_worktree
from holdfast.observations.grading import is_test_path
from holdfast.team.drafting import (
    NOTHING_GIVEN,
    BranchFacts,
    Draft,
    FailedRun,
    Given,
    Private,
    WorkFacts,
    find_failed_tests,
    make_draft,
)
from holdfast.usecases.exchange_place import find_place
from holdfast.usecases.freshness import make_basis
from holdfast.usecases.location import check_branch
from holdfast.usecases.observing import observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.bundles.model import Seen, WorkingNotes
    from holdfast.ground.git_repository import Repository
    from holdfast.sessions.model import Session
    from holdfast.workstreams.model import JudgedContext, JudgedDecision

PHASE = "implementation"
SESSIONS_SEEN, SESSIONS_ASKED = 20, 3
REQUESTS, REQUEST_CHARS = 20, 4_000
NEW_FILES, FILES_DATED = 1_000, 12_000  # of which the times are looked at
BLOCKED = "blocked"


@dataclass(frozen=True)
class LookedAt:
    """A checkout; `branch` as sessions call it; `uncommitted` is None without a repository, and
    has no new files.
    """

    facts: BranchFacts
    branch: str = ""
    uncommitted: tuple[str, ...] | None = None
    new: tuple[str, ...] = ()


async def draft_publication(
    app: App, worktree: str, *, session_id: str | None = None, given: Given = NOTHING_GIVEN
) -> Draft:
    """What was not given is drafted; the basis is that of the files which are named in the end."""
    root = find_worktree(worktree)
    looked = await off_loop(look_at, root)
    place = find_place(root) if given.repo else None
    if place is not None and place.is_meant_by(given.repo):
        given = replace(given, repo=None)
    judged = await _load_notes(app, root)
    work = await _read_work(app, root, session_id, looked, judged)
    draft = make_draft(_leave_out_own(looked, judged), work, given, session_id)
    named = draft.publication
    if given.repo:
        return draft
    basis = await off_loop(make_basis, root, named.files_touched)
    return replace(draft, publication=replace(named, basis=basis))


# --- git ------------------------------------------------------------------------------------------


def look_at(root: str) -> LookedAt:
    try:
        repository = git.find_repository(root)
        return _look_at(repository) if repository else LookedAt(BranchFacts())
    except HoldfastError:
        return LookedAt(BranchFacts())


def _look_at(repository: Repository) -> LookedAt:
    head = git.find_head(repository)
    tracked = list_uncommitted(repository, head)
    listed = list_files(repository, ())
    own = OwnPaths(repository.root)
    tracked = [path for path in tracked if own.has(path)]
    new = [path for path in listed.new if own.has(path)]
    dated = [*tracked, *new[:NEW_FILES]]
    branch = find_branch(repository)
    # Of one that is being rebased, the commits as they were before.
    is_rebased = branch is not None and branch != repository.branch
    tip = f"{HEAD}{branch}" if is_rebased else "HEAD"
    base = find_base(repository, tip) if head else None
    commits = list_branch_commits(repository, base, tip) if base else []
    folder = os.path.basename(repository.root)
    committed = [path for commit in commits for path in commit.files]
    newest_first = _sort_newest(repository.root, dated)
    facts = BranchFacts(
        repo=repository.public_name,
        folder=_name_work(repository, folder),
        name=check_branch(branch),
        base=base.name if base else None,
        has_commit=head is not None,
        subjects=tuple(commit.subject for commit in commits[: COMMITS_READ - 1]),
        has_more=len(commits) == COMMITS_READ,
        own_subject=find_own_subject(repository, tip) if head and not commits else "",
        uncommitted=len(tracked) + len(new),
        has_more_uncommitted=listed.is_cut,
        files=tuple(dict.fromkeys((*newest_first, *new[NEW_FILES:], *committed))),
    )
    return LookedAt(facts, branch or git.DETACHED, tuple(tracked), tuple(new))


def _name_work(repository: Repository, folder: str) -> str:
    """A remote's last step; a repository that is only named by a commit is called by its folder."""
    return repository.repo.rpartition("/")[2] if repository.settings.remote_name else folder


def _sort_newest(root: str, paths: Sequence[str]) -> list[str]:
    """What is deleted has no time, and stands last."""
    times = read_times(root, paths[:FILES_DATED])
    return sorted(paths, key=lambda path: -times.get(path, 0.0))


def _leave_out_own(looked: LookedAt, judged: JudgedContext | None) -> BranchFacts:
    """Without the files in which notes are kept."""
    if judged is None or not judged.own_paths:
        return looked.facts
    own = tuple(f"{path}/" for path in judged.own_paths)
    kept = [path for path in looked.facts.files if not f"{path}/".startswith(own)]
    uncommitted = [*(looked.uncommitted or ()), *looked.new]
    others = [path for path in uncommitted if not f"{path}/".startswith(own)]
    return replace(looked.facts, files=tuple(kept), uncommitted=len(others))


# --- sessions and notes ---------------------------------------------------------------------------


async def _load_notes(app: App, root: str) -> JudgedContext | None:
    """None where notes in the repository are not agreed to, or cannot be read."""
    try:
        return await app.workstreams(root).load(PHASE)
    except HoldfastError:
        return None


async def _read_work(
    app: App, root: str, session_id: str | None, looked: LookedAt, judged: JudgedContext | None
) -> WorkFacts:
    sessions = app.scope.sessions
    own = await sessions.get_session(session_id) if session_id else None
    active = await sessions.list_active_sessions(root, SESSIONS_SEEN)
    newest_first = list({each.id: each for each in ([own] if own else []) + active}.values())
    seen = await _find_seen(app, root, newest_first, looked)
    found = await sessions.list_notes(root, [own.id] if own else [])
    here = [notes for notes in found if notes.git_branch in (None, looked.branch)]
    notes = read_notes(here, own_id=session_id, branch=looked.branch or None)
    requests = await _list_requests(app, newest_first[:SESSIONS_ASKED])
    return _make_work(seen, notes, judged, Private(requests, _list_places(root)))


def _list_places(root: str) -> list[str]:
    return [place for place in (root, os.path.expanduser("~")) if len(place) > 1]


async def _find_seen(
    app: App, root: str, newest_first: Sequence[Session], looked: LookedAt
) -> Seen:
    oldest_first = sorted(newest_first, key=lambda session: session.started_at)
    is_known = looked.uncommitted is not None
    digests = await observe(app.scope.sessions, oldest_first, root if is_known else None)
    uncommitted = Uncommitted(looked.uncommitted or ()) if is_known else None
    return await off_loop(choose_seen, digests, root, looked.branch, uncommitted)


async def _list_requests(app: App, sessions: Sequence[Session]) -> list[str]:
    said: list[str] = []
    for session in sessions:
        found = await app.scope.sessions.list_requests(session.id, REQUESTS, REQUEST_CHARS)
        said += [request.content for request in found]
    return said


def _make_work(
    seen: Seen, notes: WorkingNotes, judged: JudgedContext | None, private: Private
) -> WorkFacts:
    """Of the notes in the repository only what the person has written: they publish as themself."""
    steps = [step.text for step in judged.all_steps if step.is_own] if judged else []
    blocked_steps = [step for step in steps if step.casefold().startswith(BLOCKED)]
    tasks = [task.text for task in seen.tasks if task.status != BLOCKED]
    blocked_tasks = [task.text for task in seen.tasks if task.status == BLOCKED]
    open_steps = [step for step in steps if step not in blocked_steps]
    decisions = (*judged.decisions, *judged.shared_decisions) if judged else ()
    own = [_describe_decision(each) for each in decisions if each.is_own]
    return WorkFacts(
        doing=notes.task,
        next_actions=(*tasks, *notes.next_steps, *open_steps),
        blockers=(*notes.blockers, *blocked_tasks, *blocked_steps),
        decisions=own,
        failed=_describe_failure(seen),
        has_passed=seen.last_pass is not None,
        changed_since=len(seen.changed_since_failure if seen.failing else seen.changed_since),
        private=private,
    )


def _describe_decision(judged: JudgedDecision) -> tuple[str, str]:
    """With its reason: a teammate who knows it does not try the same again."""
    reason = judged.decision.because
    text = judged.decision.words.rstrip(".")
    return judged.status, f"{text}: {reason}" if reason else text


def _describe_failure(seen: Seen) -> FailedRun | None:
    if not seen.failing:
        return None
    run = seen.failing[0]
    files = [word.partition("[")[0] for word in run.words if is_test_path(word)]
    tests = find_failed_tests(run.output, files)
    return FailedRun(tests, is_test=bool(tests) or "test" in run.program)
