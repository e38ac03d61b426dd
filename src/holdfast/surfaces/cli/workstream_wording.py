"""How a repo context and its verdicts read in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from holdfast.ground.text import cut, plural
from holdfast.workstreams.entries import Checkpoint, NotedRun, Summary
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
    NotedChange,
    Proof,
    RepoContext,
)
from holdfast.workstreams.staleness import describe_others, describe_staleness

LINE_CHARS = 160
SHOWN = 20
PROOFS_SHOWN = 3
VERIFIED_BY = {"hand": "by hand", "commit": "everything is committed"}


def describe_context(judged: JudgedContext) -> str:
    context = judged.context
    steps = describe_checklist(context.checklist).splitlines() if context.checklist else []
    parts = [
        _describe_head(judged),
        _describe_staleness(judged),
        _describe_summary(context.summary) if context.summary else "",
        _list_lines("Decisions", [describe_decision(each) for each in judged.decisions]),
        _list_lines(
            "Decisions made elsewhere",
            [describe_decision(each) for each in judged.shared_decisions],
        ),
        _list_lines("Claims", [describe_claim(claim) for claim in judged.claims]),
        _list_lines("Next", steps),
        _list_lines("Files", [_on_one_line(str(pointer)) for pointer in context.pointers]),
        describe_failure(context.failed_run) if context.failed_run else "",
        _list_lines(
            "Proofs", [describe_proof(proof, judged.tree) for proof in judged.proofs[:PROOFS_SHOWN]]
        ),
    ]
    return _join_parts(parts)


def describe_check(judged: JudgedContext) -> str:
    doubtful_first = sorted(judged.claims, key=lambda claim: claim.holds)
    claims = _list_lines("Claims", [describe_claim(claim) for claim in doubtful_first])
    return _join_parts([_describe_head(judged), _describe_staleness(judged), claims])


def list_notes(judged: JudgedContext) -> list[str]:
    notes = (judged.context.read_only, *judged.context.notes)
    return [note for note in notes if note]


def describe_decision(judged: JudgedDecision) -> str:
    decision = judged.decision
    whose = f" of {judged.of}," if judged.of else ""
    because = f", because: {decision.because}" if decision.because else ""
    text = f"{decision.id}{whose} {decision.status}: {decision.text}{because}"
    return cut(_on_one_line(text), LINE_CHARS * 2)


def describe_claim(claim: JudgedClaim) -> str:
    mark = "" if claim.verdict in ("ok", "moved", "said") else " (unproven)"
    text = f"[{claim.verdict}] {claim.claim}{mark}"
    where = ", ".join(_describe_evidence(shown) for shown in claim.evidence)
    if where:
        text += f" · {where}"
    return cut(_on_one_line(text), LINE_CHARS * 2)


def describe_checklist(items: Sequence[str]) -> str:
    lines = [f"{number}. {_on_one_line(item)}" for number, item in enumerate(items, 1)]
    return "\n".join(lines) or "No steps are noted."


def describe_save(context: RepoContext) -> str:
    summary = context.summary or Summary()
    why = VERIFIED_BY.get(summary.verified_by or "", summary.verified_by)
    place = f"{context.key.workstream_id} at {_shorten_head(context.checkpoint)}"
    return f"Saved for {place} ({why}). Commit the context folder to share it."


def describe_failure(run: NotedRun) -> str:
    head = _on_one_line(f"Failed at {run.failed_step} ({_format_time(run.at)})")
    return f"{head}\n{_indent(str(run.error))}\nNext: {_on_one_line(str(run.next_action))}"


def describe_proof(proof: Proof, tree: str) -> str:
    command = shlex.join(proof.command)
    outcome = f"exit {proof.exit_code}, {_format_time(proof.ran_at)}, {_describe_tree(proof, tree)}"
    return _on_one_line(f"{proof.id} {command} → {outcome}")


def _describe_tree(proof: Proof, tree: str) -> str:
    if proof.tree is None:
        return "the files changed while it ran: proves nothing"
    return "on these files" if proof.tree == tree else "on other files: proves nothing now"


def _describe_head(judged: JudgedContext) -> str:
    key = judged.context.key
    work = "" if key.workstream_id == key.branch else f" · {key.workstream_id}"
    head = judged.head[:7] if judged.head else "none yet"
    return _on_one_line(f"{judged.context.phase} · {key.repo} · {key.branch}{work} · HEAD {head}")


def _describe_summary(summary: Summary) -> str:
    about = f"{_format_time(summary.updated_at)}, {summary.by or 'unknown'}"
    return f"Summary ({about})\n{_indent(summary.text or '')}"


def _describe_staleness(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary yet: `holdfast workstream save --summary TEXT` writes one."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    commits = f", {plural(found.commits, 'commit')} later" if found.commits else ""
    others = describe_others(found)
    lines = [f"STALE: {describe_staleness(found)}{commits}."]
    lines += [f"  {_describe_change(change)}" for change in found.changed]
    if others:
        lines.append(f"  {others}")
    return "\n".join(lines)


def _describe_change(change: NotedChange) -> str:
    what = "" if change.what == "changed" else f" {change.what}"
    lines = "" if change.added is None else f" +{change.added} -{change.removed}"
    return _on_one_line(f"{change.path}{what}{lines}{_describe_commit(change)}")


def _describe_commit(change: NotedChange) -> str:
    if change.is_committed:
        return f" ({change.commit}, {change.author})"
    return "" if change.what == "gone" else ", uncommitted"


def _describe_evidence(shown: JudgedEvidence) -> str:
    if shown.verdict == "moved" and shown.lines:
        return f"{shown.text} now {shown.lines_text}"
    return f"{shown.text}: {shown.why}" if shown.why else shown.text


def _shorten_head(checkpoint: Checkpoint) -> str:
    return checkpoint.git_head[:7] if checkpoint.git_head else "no commit yet"


def _on_one_line(text: str) -> str:
    """A stored name or text must not start a line of its own."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _list_lines(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    left_out = len(lines) - SHOWN
    rest = [f"+{left_out} more"] if left_out > 0 else []
    shown = [f"  {line}" for line in (*lines[:SHOWN], *rest)]
    return "\n".join([title, *shown])


def _join_parts(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _format_time(moment: str | None) -> str:
    if not moment:
        return "unknown"
    return moment[:16].replace("T", " ") + "Z"
