"""What a checkout says about a repo context: how stale its summary is, and which claims still hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast import errors
from holdfast.ground import git, git_repository
from holdfast.workstreams import evidence, rules
from holdfast.workstreams.checkout import FILE_BYTES, Checkout
from holdfast.workstreams.document import Document, from_bytes
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedEvidence,
    NotedChange,
    Proof,
    RepoContext,
    Staleness,
)
from holdfast.workstreams.store import file_of

NOTED_TOLD = 50


def judge(checkout: Checkout, context: RepoContext, proofs: Sequence[Proof]) -> JudgedContext:
    then = context.checkpoint.get("git_head")
    state = checkout.read_state(then if git_repository.is_commit(then) else None)
    default = git.find_default_branch(checkout.repository)
    return JudgedContext(
        context=context,
        staleness=_staleness(checkout, context, state),
        claims=tuple(judge_claim(checkout, entry, state.contents_id) for entry in context.ledger),
        decisions=tuple(context.decisions),
        head=state.head,
        tree=state.contents_id,
        rules=_pinned_rules(checkout, context.phase, default),
        proofs=tuple(proofs),
    )


def judge_claim(checkout: Checkout, entry: Mapping[str, Any], tree: str) -> JudgedClaim:
    shown = [_judge_file(checkout, one) for one in entry.get("files", [])]
    shown += [_judge_command(one, tree) for one in entry.get("commands", [])]
    return JudgedClaim(
        id=str(entry.get("id") or ""),
        claim=str(entry.get("claim") or ""),
        kind=str(entry.get("kind") or "statement"),
        claimed_at=str(entry.get("claimed_at") or ""),
        evidence=tuple(shown),
    )


def checkpoint_of(checkout: Checkout, context: RepoContext, state: git.TreeState) -> dict[str, Any]:
    """What the repository is now, as far as a later reader has to know it."""
    dirty = _blobs(state)
    return {
        "git_head": state.head,
        "tracked_files_hash": state.contents_id,
        "files": {path: checkout.contents_hash(path) for path in context.noted_files()},
        "dirty": dirty if len(dirty) <= rules.DIRTY_FILES_KEPT else None,
    }


# --- the summary -------------------------------------------------------------------------------------------


def _staleness(checkout: Checkout, context: RepoContext, state: git.TreeState) -> Staleness:
    """`state` compares with the checkpoint's commit where that is here; its `base` says so."""
    then = str(context.checkpoint.get("git_head"))
    is_known = state.base == then
    uncommitted = state.changed if state.base == state.head else checkout.read_state().changed
    changed = _changed_paths(context.checkpoint, state) if is_known else None
    noted = _noted_changes(checkout, context, changed, set(uncommitted)) if context.summary else []
    return rules.judge_staleness(
        context,
        tree=state.contents_id,
        changed=changed,
        noted=noted,
        commits=git.count_commits(checkout.repository, then) if is_known else None,
        uncommitted=len(uncommitted),
    )


def _changed_paths(checkpoint: Mapping[str, Any], state: git.TreeState) -> set[str] | None:
    """What differs from the checkpoint, whose own uncommitted edits were noted; None where they were too many."""
    dirty = checkpoint.get("dirty", {})
    if not isinstance(dirty, dict):
        return None
    now = _blobs(state)
    return {path for path in now.keys() | dirty.keys() if now.get(path) != dirty.get(path)}


def _blobs(state: git.TreeState) -> dict[str, str]:
    """What is not committed, by name; a name that is no UTF-8 is spelt out, because JSON cannot hold it."""
    return {_readable(path): change.new_blob or "" for path, change in state.changed.items()}


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _noted_changes(
    checkout: Checkout, context: RepoContext, changed: set[str] | None, uncommitted: set[str]
) -> list[NotedChange]:
    then = context.checkpoint.get("files")
    found = {}
    for path in context.noted_files():
        if what := _what_happened(checkout, path, then if isinstance(then, dict) else {}, changed or set()):
            found[path] = what
    since = context.checkpoint["git_head"] if changed is not None else None
    lines = git.numstat(checkout.repository, since, list(found)) if since and found else {}
    told = list(found)[:NOTED_TOLD]  # each costs a git process, and the file may name any number
    return [
        _noted_change(checkout, path, what, lines.get(path), is_last_known=path in told and path not in uncommitted)
        for path, what in found.items()
    ]


def _what_happened(checkout: Checkout, path: str, then: Mapping[str, Any], changed: set[str]) -> str | None:
    """To a file since the checkpoint; one that was noted after it counts as git sees it."""
    now = checkout.contents_hash(path)
    if path not in then:
        return None if path not in changed else "gone" if now is None else "changed"
    if then[path] == now:  # its mode or its line ends, which no claim rests on, and which git sees
        return "changed" if path in changed else None
    return "gone" if now is None else "new" if then[path] is None else "changed"


def _noted_change(
    checkout: Checkout, path: str, what: str, lines: git.LineCount | None, *, is_last_known: bool
) -> NotedChange:
    last = git.last_change(checkout.repository, path) if is_last_known and what != "new" else None
    return NotedChange(
        path,
        what,
        added=lines.added if lines else None,
        removed=lines.removed if lines else None,
        is_committed=last is not None,
        commit=last.commit if last else None,
        author=_readable(last.author) if last else None,
    )


# --- claims and rules ----------------------------------------------------------------------------------------


def _judge_file(checkout: Checkout, one: object) -> JudgedEvidence:
    try:
        noted = evidence.Evidence.from_dict(one)
    except errors.InvalidValueError as error:  # a file that anybody may edit
        return JudgedEvidence(error.message, "gone")
    judged = evidence.judge_evidence(noted, checkout.read_text(noted.path))
    return JudgedEvidence(str(noted), judged.verdict, noted.path, judged.lines_now, judged.why)


def _judge_command(one: Mapping[str, Any], tree: str) -> JudgedEvidence:
    command = one.get("command")
    words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    judged = evidence.judge_command(one, tree)
    return JudgedEvidence(f"{words} → exit {one.get('exit_code')}", judged.verdict, why=judged.why)


def _pinned_rules(checkout: Checkout, phase: str, default: git.Branch | None) -> tuple[str, ...]:
    """The person's own, then those on the default branch, which a branch under review cannot change."""
    own = rules.check_rules(checkout.settings.rules_for(checkout.repository.repo))
    shared = [rule for rule in _default_branch_rules(checkout, phase, default) if rule not in own]
    try:
        return rules.check_rules([*own, *shared])
    except errors.InvalidValueError:  # what somebody committed must not push out what the person wants
        return own


def _default_branch_rules(checkout: Checkout, phase: str, default: git.Branch | None) -> list[str]:
    path = f"{checkout.files.folder}/{file_of(phase)}"
    data = git.read_blob(checkout.repository, default.commit, path, max_bytes=FILE_BYTES) if default else None
    document = from_bytes(data, path) if data else Document()
    places = [document.others, *document.contexts.values()]
    return list(dict.fromkeys(rule for place in places for rule in _texts(place.get("pinned_rules"))))


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
