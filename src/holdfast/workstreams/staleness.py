"""How stale a summary is, worded the same in a bundle, in a terminal and on a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.ground.frozen import replace
from holdfast.ground.text import plural
from holdfast.workstreams import rules
from holdfast.workstreams.entries import Summary
from holdfast.workstreams.model import NotedChange, RepoContext, Staleness

EDITED = "the summary was edited without a checkpoint of its own"


def judge_staleness(
    context: RepoContext,
    *,
    tree: str,
    changed: Iterable[str] | None,
    noted: Sequence[NotedChange],
    commits: int | None,
    uncommitted: int,
) -> Staleness:
    """`changed` are all paths that differ from the checkpoint; None where that is not known."""
    if context.summary is None:
        return Staleness(stale=False, commits=commits, uncommitted=uncommitted)
    names = set(context.list_noted_files())
    reasons = _list_reasons(context, context.summary, tree, noted)
    found = Staleness(
        stale=bool(reasons),
        reasons=reasons,
        noted=len(names),
        changed=tuple(noted),
        commits=commits,
        uncommitted=uncommitted,
    )
    if not reasons:  # a new head with the same contents makes nothing stale
        return found
    others = None if changed is None else len(set(changed) - names)
    return replace(found, others=others)


def _list_reasons(
    context: RepoContext, summary: Summary, tree: str, noted: Sequence[NotedChange]
) -> tuple[str, ...]:
    checkpoint = context.checkpoint
    reasons = []
    # Also a file that git is configured to ignore.
    has_changed_file = any(change.what == "changed" for change in noted)
    if checkpoint.tracked_files_hash != tree or has_changed_file:
        reasons.append("files")
    if checkpoint.summary_hash != rules.hash_summary(summary.text or ""):
        reasons.append("summary")  # edited or merged without a checkpoint of its own
    return tuple(reasons)


# --- in words -------------------------------------------------------------------------------------


def describe_staleness(staleness: Staleness) -> str:
    """What makes it stale, to follow a mark or a heading of the caller."""
    if "files" not in staleness.reasons:
        return EDITED
    return describe_changed(len(staleness.changed), staleness.noted)


def describe_changed(changed: int, noted: int) -> str:
    if not noted:
        return "no file is noted here"
    return f"{describe_noted(changed, noted)} changed"


def describe_noted(changed: int, noted: int) -> str:
    """So many of the noted files."""
    if not noted:
        return "no noted file"
    files = plural(noted, "file")
    if changed == noted == 1:
        return f"the {files} noted here"
    if changed == noted:
        return f"all {files} noted here"
    how_many = f"{changed:,}" if changed else "none"
    return f"{how_many} of the {files} noted here"


def describe_others(staleness: Staleness) -> str:
    """How many other files changed; empty where none did."""
    if staleness.others is None:
        return "How many other files changed is not known here."
    if not staleness.others:
        return ""
    return f"{plural(staleness.others, 'other file')} changed; none is noted here."
