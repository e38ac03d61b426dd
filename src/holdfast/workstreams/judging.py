"""Judge a repo context on a checkout: how stale its summary is, and which claims still hold.

The file holds what was written, never a verdict: that depends on the checkout and is made on every
read. Here is what needs git and the contents of files; the decisions themselves are pure and are in
`staleness` and `evidence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from holdfast.errors import InvalidValueError
from holdfast.ground import git, git_repository
from holdfast.ground.frozen import replace
from holdfast.workstreams import evidence, rules
from holdfast.workstreams.checkout import Checkout
from holdfast.workstreams.committed import load_committed
from holdfast.workstreams.cutting import cut_context
from holdfast.workstreams.effort import LOOK_BYTES, EffortSpent
from holdfast.workstreams.entries import Checkpoint, Claim
from holdfast.workstreams.evidence import BrokenEvidence, CommandEvidence, NotedEvidence, TreeRuns
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
    NotedChange,
    Proof,
    RepoContext,
    Staleness,
)
from holdfast.workstreams.staleness import judge_staleness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAMED_CHANGES = 50  # each costs a git process, and the file may name any number
TOO_MUCH = (
    f"Not everything was compared: one look goes through {LOOK_BYTES >> 20} MiB of files at most. "
    "What was not compared counts as changed."
)


def begin_state(checkout: Checkout, context: RepoContext) -> None:
    checkout.begin_state(_find_then(context))


def find_state(checkout: Checkout, context: RepoContext) -> git.TreeState:
    """What is checked out now, compared with the commit that the summary was saved at."""
    return checkout.find_state(_find_then(context))


def _find_then(context: RepoContext) -> str | None:
    then = context.checkpoint.git_head
    return then if git_repository.is_commit(then) else None


def judge(
    checkout: Checkout, noted: RepoContext, proofs: Sequence[Proof], runs: TreeRuns
) -> JudgedContext:
    """As much of it as one look shows; what is left out is told in its notes."""
    context = cut_context(noted, checkout.effort)
    refusals = checkout.effort.refusals
    state = find_state(checkout, context)
    default = git.find_default_branch(checkout.repository)
    claims = [judge_claim(checkout, claim, runs) for claim in context.ledger]
    decisions = [JudgedDecision(decision) for decision in context.decisions]
    # Compared with another commit, it also has what was committed since.
    now = state if state.base == state.head else checkout.find_state()
    staleness = _judge_staleness(checkout, context, state, set(now.changed))
    if checkout.effort.refusals > refusals:
        context = replace(context, notes=(*context.notes, TOO_MUCH))
    return JudgedContext(
        context=context,
        staleness=staleness,
        claims=tuple(claims),
        decisions=tuple(decisions),
        head=state.head,
        tree=state.contents_id,
        rules=_list_pinned_rules(checkout, context.phase, default),
        proofs=tuple(proofs),
        uncommitted=tuple(sorted(now.changed)),
        own_paths=tuple(checkout.files.list_own_paths()),
    )


def judge_claim(checkout: Checkout, claim: Claim, runs: TreeRuns) -> JudgedClaim:
    """`runs` are those on all tracked files as they are now; only commands are judged by them."""
    files = [_judge_file(checkout, noted) for noted in claim.files or ()]
    commands = [_judge_command(noted, runs) for noted in claim.commands or ()]
    return JudgedClaim(
        id=claim.id or "",
        claim=claim.words,
        kind=claim.kind or "statement",
        claimed_at=claim.claimed_at or "",
        by=claim.by or "",
        evidence=(*files, *commands),
        noted=claim,
    )


def make_checkpoint(checkout: Checkout, context: RepoContext, state: git.TreeState) -> Checkpoint:
    """The state of the repository now, as far as a later reader has to compare with it."""
    blobs = _list_blobs(state)
    dirty = blobs if len(blobs) <= rules.DIRTY_FILES_KEPT else None
    files = {}
    for path in context.list_noted_files():
        with suppress(EffortSpent):  # git decides about a file that is not here
            files[path] = checkout.hash_contents(path)
    content = {
        "git_head": state.head,
        "tracked_files_hash": state.contents_id,
        "files": files,
        "dirty": dirty,
    }
    # With its nulls: they mean that there was no commit, or too much to keep.
    return Checkpoint.from_dict(content)


# --- the summary ----------------------------------------------------------------------------------


def _judge_staleness(
    checkout: Checkout, context: RepoContext, state: git.TreeState, uncommitted: set[str]
) -> Staleness:
    """`state` is compared with the checkpoint's commit where that is its `base`."""
    then = context.checkpoint.git_head
    is_known = then is not None and state.base == then
    changed: set[str] | None = None
    commits: int | None = None
    if is_known:
        changed = _list_changed_paths(context.checkpoint, state)
        commits = _count_commits(checkout, then, state)
    noted: list[NotedChange] = []
    if context.summary is None:
        commits = _count_commits(checkout, context.head, state)
    else:
        noted = _list_noted_changes(checkout, context, changed=changed, uncommitted=uncommitted)
    return judge_staleness(
        context,
        tree=state.contents_id,
        changed=changed,
        noted=noted,
        commits=commits,
        uncommitted=len(uncommitted),
    )


def _count_commits(checkout: Checkout, since: str | None, state: git.TreeState) -> int | None:
    if since is None or since == state.head:
        return 0
    return git.count_commits(checkout.repository, since)


def _list_changed_paths(checkpoint: Checkpoint, state: git.TreeState) -> set[str] | None:
    """What differs from the checkpoint; None where its uncommitted edits were too many to note."""
    then = checkpoint.uncommitted
    if then is None:
        return None
    now = _list_blobs(state)
    paths = now.keys() | then.keys()
    return {path for path in paths if now.get(path) != then.get(path)}


def _list_blobs(state: git.TreeState) -> dict[str, str]:
    """What is not committed, by name; a name that is not UTF-8 is escaped for JSON."""
    blobs = {}
    for path, change in state.changed.items():
        blobs[_as_readable(path)] = change.new_blob or ""
    return blobs


def _as_readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _list_noted_changes(
    checkout: Checkout, context: RepoContext, *, changed: set[str] | None, uncommitted: set[str]
) -> list[NotedChange]:
    """Each noted file that changed; git is asked who changed it only for the first ones."""
    found = _find_changes(checkout, context, changed or set())
    since = context.checkpoint.git_head
    lines: Mapping[str, git.LineCount] = {}
    if since and found and changed is not None:
        lines = git.numstat(checkout.repository, since, list(found))
    named = list(found)[:NAMED_CHANGES]
    # A new file that git does not compare is not tracked yet.
    tracked = [path for path in named if found[path] != "new" or path in (changed or ())]
    committed = {path for path in tracked if path not in uncommitted}
    return [
        _make_noted_change(checkout, path, what, lines.get(path), is_committed=path in committed)
        for path, what in found.items()
    ]


def _find_changes(checkout: Checkout, context: RepoContext, changed: set[str]) -> dict[str, str]:
    """What happened to each noted file that is not as it was."""
    then = context.checkpoint.files or {}
    found = {}
    for path in context.list_noted_files():
        what = _find_change(checkout, path, then, changed)
        if what:
            found[path] = what
    return found


def _find_change(
    checkout: Checkout, path: str, then: Mapping[str, Any], changed: set[str]
) -> str | None:
    """What happened to a file since the checkpoint; git decides where it was noted after that."""
    try:
        now = checkout.hash_contents(path)
    except EffortSpent:
        return "changed" if path in changed else None
    if path in then and then[path] != now:
        return _name_change(then[path], now)
    if path not in changed:
        return None
    if now is None and path not in then:
        return "gone"
    # Where the contents are the same, its mode or its line ends differ, which only git sees.
    return "changed"


def _name_change(then: object, now: str | None) -> str:
    if now is None:
        return "gone"
    if then is None:
        return "new"
    return "changed"


def _make_noted_change(
    checkout: Checkout, path: str, what: str, lines: git.LineCount | None, *, is_committed: bool
) -> NotedChange:
    change = NotedChange(path, what)
    if lines:
        change = replace(change, added=lines.added, removed=lines.removed)
    if not is_committed:
        return change
    last = git.last_change(checkout.repository, path)
    if last is None:
        return change
    author = _as_readable(last.author)
    return replace(change, is_committed=True, commit=last.commit, author=author)


# --- claims and rules -----------------------------------------------------------------------------


def _judge_file(checkout: Checkout, noted: NotedEvidence) -> JudgedEvidence:
    if isinstance(noted, BrokenEvidence):
        return JudgedEvidence(noted.problem, "gone")
    try:
        file = checkout.read_file(noted.path)
        judged = evidence.judge_evidence(noted, file)
    except EffortSpent:
        judged = evidence.NOT_COMPARED
    return JudgedEvidence(
        text=str(noted),
        verdict=judged.verdict,
        path=noted.path,
        lines=judged.lines_now,
        why=judged.why,
    )


def _judge_command(noted: CommandEvidence, runs: TreeRuns) -> JudgedEvidence:
    judged = evidence.judge_command(noted, runs)
    text = f"{noted.text} → exit {noted.exit_code}"
    return JudgedEvidence(text, judged.verdict, why=judged.why)


def _list_pinned_rules(
    checkout: Checkout, phase: str, default: git.Branch | None
) -> tuple[str, ...]:
    """The person's own, then those of the default branch, so not of a branch under review."""
    of_person = checkout.settings.rules_for(checkout.repository.repo)
    own = rules.check_rules(of_person)
    committed = _list_default_branch_rules(checkout, phase, default)
    shared = [rule for rule in committed if rule not in own]
    try:
        return rules.check_rules([*own, *shared])
    except InvalidValueError:  # committed rules must not displace those of the person
        return own


def _list_default_branch_rules(
    checkout: Checkout, phase: str, default: git.Branch | None
) -> list[str]:
    if default is None:
        return []
    document = load_committed(checkout, default.commit, phase)
    found = _list_texts(document.others.get("pinned_rules"))
    for fields in document.contexts.values():
        found += fields.pinned_rules or ()
    return list(dict.fromkeys(found))


def _list_texts(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, str)]
