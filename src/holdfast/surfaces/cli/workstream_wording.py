"""How a repo context and its verdicts read in a terminal.

Notes come from a file that others can edit. So each is written on one line and cut, and a long list
ends with how many entries were left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from holdfast.ground.text import cut, plural
from holdfast.workstreams.entries import Claim, Decision, NotedRun, Summary
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
    NotedChange,
    NotedStep,
    Proof,
    RepoContext,
)
from holdfast.workstreams.staleness import describe_others, describe_staleness

LINE_CHARS = 160
ID_CHARS = 40
SHOWN = 20
PROOFS_SHOWN = 3
NOT_DOUBTFUL = ("ok", "moved", "said")
VERIFIED_BY = {"hand": "by hand", "commit": "everything is committed"}


def describe_context(judged: JudgedContext) -> str:
    context = judged.context
    own = [describe_decision(decision) for decision in judged.decisions]
    shared = [describe_decision(decision) for decision in judged.decisions_elsewhere]
    claims = [describe_claim(claim) for claim in judged.all_claims]
    steps = [_describe_step(step) for step in judged.all_steps]
    files = [_on_one_line(str(pointer)) for pointer in context.pointers]
    proofs = [describe_proof(proof, judged.tree) for proof in judged.proofs[:PROOFS_SHOWN]]
    parts = [
        _describe_head(judged),
        _describe_staleness(judged),
        _describe_summary(context.summary),
        _list_lines("Decisions", own),
        _list_lines("Decisions made elsewhere", shared),
        _list_lines("Claims", claims),
        _list_lines("Next", _list_steps(steps)),
        _list_lines("Files", files),
        _describe_last_failure(context.failed_run),
        _list_lines("Proofs", proofs),
    ]
    return _join_parts(parts)


def describe_check(judged: JudgedContext) -> str:
    doubtful_first = sorted(judged.all_claims, key=lambda claim: claim.holds)
    claims = [describe_claim(claim) for claim in doubtful_first]
    parts = [
        _describe_head(judged),
        _describe_staleness(judged),
        _list_lines("Claims", claims),
    ]
    return _join_parts(parts)


def list_notes(judged: JudgedContext) -> list[str]:
    notes = (judged.context.read_only, *judged.context.notes)
    return [note for note in notes if note]


def describe_decision(judged: JudgedDecision) -> str:
    decision = judged.decision
    text = f"{decision.id}"
    if judged.of:
        text += f" of {judged.of},"
    text += f" {decision.status}: {decision.text}"
    if decision.because:
        text += f", because: {decision.because}"
    return _shorten(text)


def describe_claim(claim: JudgedClaim) -> str:
    """With its id at the end, because `withdraw` takes it."""
    text = f"[{claim.verdict}] {claim.claim}"
    if claim.of:
        text += f" (noted on {claim.of})"
    if claim.verdict not in NOT_DOUBTFUL:
        text += " (unproven)"
    where = ", ".join(_describe_evidence(evidence) for evidence in claim.evidence)
    if where:
        text += f" · {where}"
    claim_id = cut(_on_one_line(claim.id), ID_CHARS)
    return f"{_shorten(text)} · {claim_id}"


def _describe_step(step: NotedStep) -> str:
    return f"{step.text} (noted on {step.of})" if step.of else step.text


def describe_checklist(items: Sequence[str]) -> str:
    lines = [f"{number}. {_on_one_line(item)}" for number, item in enumerate(items, 1)]
    if not lines:
        return "No steps are noted."
    return "\n".join(lines)


def describe_save(context: RepoContext) -> str:
    summary = context.summary or Summary()
    verified_by = summary.verified_by or ""
    why = VERIFIED_BY.get(verified_by, summary.verified_by)
    head = _shorten_head(context.checkpoint.git_head, missing="no commit yet")
    place = f"{context.key.workstream_id} at {head}"
    text = f"Saved for {place} ({why}). Commit the context folder to share it."
    if summary.failing:
        text += f"\nNoted beside it, because the newest run failed: {_on_one_line(summary.failing)}"
    return text


def describe_failure(run: NotedRun) -> str:
    at = _format_time(run.at)
    head = _on_one_line(f"Failed at {run.failed_step} ({at})")
    error = _indent(str(run.error))
    next_action = _on_one_line(str(run.next_action))
    return f"{head}\n{error}\nNext: {next_action}"


def describe_proof(proof: Proof, tree: str) -> str:
    command = shlex.join(proof.command)
    ran_at = _format_time(proof.ran_at)
    files = _describe_tree(proof, tree)
    return _on_one_line(f"{proof.id} {command} → exit {proof.exit_code}, {ran_at}, {files}")


def _describe_tree(proof: Proof, tree: str) -> str:
    if proof.tree is None:
        return "the files changed while it ran: proves nothing"
    if proof.tree == tree:
        return "on these files"
    return "on other files: proves nothing now"


def _describe_head(judged: JudgedContext) -> str:
    key = judged.context.key
    head = _shorten_head(judged.head, missing="none yet")
    parts = [judged.context.phase, key.repo, key.branch]
    if key.workstream_id != key.branch:
        parts.append(key.workstream_id)
    parts.append(f"HEAD {head}")
    return _on_one_line(" · ".join(parts))


def _describe_summary(summary: Summary | None) -> str:
    if summary is None:
        return ""
    at = _format_time(summary.updated_at)
    by = summary.by or "unknown"
    text = _indent(summary.text or "")
    return f"Summary ({at}, {by})\n{text}"


def _describe_last_failure(run: NotedRun | None) -> str:
    if run is None:
        return ""
    return describe_failure(run)


def _list_steps(items: Sequence[str]) -> list[str]:
    if not items:
        return []
    return describe_checklist(items).splitlines()


def _describe_staleness(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary yet: `holdfast workstream save --summary TEXT` writes one."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    verdict = f"STALE: {describe_staleness(found)}"
    if found.commits:
        commits = plural(found.commits, "commit")
        verdict += f", {commits} later"
    lines = [f"{verdict}."]
    lines += [f"  {_describe_change(change)}" for change in found.changed]
    others = describe_others(found)
    if others:
        lines.append(f"  {others}")
    return "\n".join(lines)


def _describe_change(change: NotedChange) -> str:
    text = change.path
    if change.what != "changed":
        text += f" {change.what}"
    if change.added is not None:
        text += f" +{change.added} -{change.removed}"
    text += _describe_commit(change)
    return _on_one_line(text)


def _describe_commit(change: NotedChange) -> str:
    if change.is_committed:
        return f" ({change.commit}, {change.author})"
    if change.what == "gone":
        return ""
    return ", uncommitted"


def _describe_evidence(evidence: JudgedEvidence) -> str:
    if evidence.verdict == "moved" and evidence.lines:
        return f"{evidence.text} now {evidence.lines_text}"
    if evidence.why:
        return f"{evidence.text}: {evidence.why}"
    return evidence.text


def _shorten_head(head: str | None, *, missing: str) -> str:
    return head[:7] if head else missing


def _shorten(text: str) -> str:
    return cut(_on_one_line(text), LINE_CHARS * 2)


def _on_one_line(text: str) -> str:
    """A stored name or text must not start a line of its own."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _list_lines(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    listed = [f"  {line}" for line in lines[:SHOWN]]
    left_out = len(lines) - SHOWN
    if left_out > 0:
        listed.append(f"  +{left_out} more")
    return "\n".join([title, *listed])


def _join_parts(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _format_time(moment: str | None) -> str:
    if not moment:
        return "unknown"
    return moment[:16].replace("T", " ") + "Z"


def name_entry(entry: Decision | Claim | Proof) -> str:
    if isinstance(entry, Proof):
        return shlex.join(entry.command)
    return entry.words
