"""How a repo context and its verdicts read in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.ground.text import cut
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedEvidence,
    NotedChange,
    Proof,
    RepoContext,
    Staleness,
)

LINE_CHARS = 160
SHOWN = 20


def shown(judged: JudgedContext) -> str:
    context = judged.context
    parts = [_head(judged), staleness(judged)]
    if context.summary:
        parts.append(
            f"Summary ({_time(context.summary.get('updated_at'))}, {context.summary.get('by') or 'unknown'})\n"
            f"{_indented(context.summary['text'])}"
        )
    parts.append(_listed("Decisions", [decision(one) for one in judged.decisions]))
    parts.append(_listed("Decisions made elsewhere", [decision(one) for one in judged.shared_decisions]))
    parts.append(_listed("Claims", [claim(one) for one in judged.claims]))
    parts.append(_listed("Next", checklist(context.checklist).splitlines() if context.checklist else []))
    parts.append(_listed("Files", [_on_one_line(pointer) for pointer in context.pointers]))
    if (context.last_run or {}).get("status") == "failed":
        parts.append(failed(context))
    parts.append(_listed("Proofs", [proof(one, judged.tree) for one in judged.proofs[:3]]))
    return "\n\n".join(part for part in parts if part)


def checked(judged: JudgedContext) -> str:
    claims = [claim(one) for one in sorted(judged.claims, key=lambda one: one.holds)]
    return "\n\n".join(part for part in (_head(judged), staleness(judged), _listed("Claims", claims)) if part)


def notes(judged: JudgedContext) -> list[str]:
    return [*([judged.context.read_only] if judged.context.read_only else []), *judged.context.notes]


def staleness(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary yet: `holdfast workstream save --summary TEXT` writes one."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    lines = [_how_stale(found), *(f"  {changed(one)}" for one in found.changed)]
    if found.others is None:
        lines.append("  How many other files changed is not known here")
    elif found.others:
        lines.append(f"  {found.others:,} other {_plural(found.others, 'file')} changed; none is noted here")
    return "\n".join(lines)


def changed(one: NotedChange) -> str:
    lines = f" +{one.added} -{one.removed}" if one.added is not None else ""
    if one.what != "changed":
        lines = f" {one.what}{lines}"
    where = f" ({one.commit}, {one.author})" if one.is_committed else ", uncommitted" if one.what != "gone" else ""
    return _on_one_line(f"{one.path}{lines}{where}")


def decision(entry: Mapping[str, Any]) -> str:
    because = f", because: {entry['because']}" if entry.get("because") else ""
    whose = f" of {entry['of']}," if entry.get("of") else ""
    text = f"{entry.get('id')}{whose} {entry.get('status')}: {entry.get('text')}{because}"
    return cut(_on_one_line(text), LINE_CHARS * 2)


def claim(judged: JudgedClaim) -> str:
    where = ", ".join(_evidence(one) for one in judged.evidence)
    mark = "" if judged.verdict in ("ok", "moved", "said") else " (unproven)"
    return cut(_on_one_line(f"[{judged.verdict}] {judged.claim}{mark}{' · ' + where if where else ''}"), LINE_CHARS * 2)


def checklist(items: Sequence[str]) -> str:
    return "\n".join(f"{n}. {_on_one_line(item)}" for n, item in enumerate(items, 1)) or "No steps are noted."


def saved(context: RepoContext) -> str:
    summary, checkpoint = context.summary or {}, context.checkpoint
    head = str(checkpoint["git_head"])[:7] if checkpoint.get("git_head") else "no commit yet"
    by = {"hand": "by hand", "commit": "everything is committed"}.get(str(summary.get("verified_by")))
    why = by or summary.get("verified_by")
    return f"Saved for {context.key.workstream_id} at {head} ({why}). Commit the context folder to hand it on."


def failed(context: RepoContext) -> str:
    run = context.last_run or {}
    head = _on_one_line(f"Failed at {run.get('failed_step')} ({_time(run.get('at'))})")
    return f"{head}\n{_indented(str(run.get('error')))}\nNext: {_on_one_line(str(run.get('next_action')))}"


def proof(one: Proof, tree: str) -> str:
    here = "on these files" if one.tree == tree else "on other files: proves nothing now"
    if one.tree is None:
        here = "the files changed while it ran: proves nothing"
    return _on_one_line(f"{one.id} {shlex.join(one.command)} → exit {one.exit_code}, {_time(one.ran_at)}, {here}")


def _head(judged: JudgedContext) -> str:
    key = judged.context.key
    work = "" if key.workstream_id == key.branch else f" · {key.workstream_id}"
    head = judged.head[:7] if judged.head else "none yet"
    return _on_one_line(f"{judged.context.phase} · {key.repo} · {key.branch}{work} · HEAD {head}")


def _how_stale(found: Staleness) -> str:
    if "files" not in found.reasons:
        return "STALE: the summary was changed without being saved."
    commits = f", {found.commits:,} {_plural(found.commits, 'commit')} later" if found.commits else ""
    if not found.noted:
        return f"STALE: files changed{commits}; none is noted here."
    count = f"{len(found.changed):,}" if found.changed else "none"
    return f"STALE: {count} of the {found.noted:,} {_plural(found.noted, 'file')} noted here changed{commits}."


def _evidence(one: JudgedEvidence) -> str:
    if one.verdict == "moved" and one.lines:
        return f"{one.text} now L{one.lines[0]}-L{one.lines[1]}"
    return f"{one.text}: {one.why}" if one.why else one.text


def _on_one_line(text: str) -> str:
    """A name or a text of somebody's writes no line of ours."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _listed(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    rest = [f"+{len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join([title, *(f"  {line}" for line in [*lines[:SHOWN], *rest])])


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _time(moment: object) -> str:
    return str(moment or "")[:16].replace("T", " ") + "Z" if moment else "unknown"
