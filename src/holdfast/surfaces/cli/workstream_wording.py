"""How a repo context and its verdicts read in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.ground.text import cut
from holdfast.workstreams.model import JudgedClaim, JudgedContext, NotedChange, Proof, RepoContext, Staleness

LINE_CHARS = 160
SHOWN = 20


def shown(judged: JudgedContext) -> str:
    context = judged.context
    parts = [_head(judged), staleness(judged)]
    if context.summary:
        parts.append(
            f"Summary ({_time(context.summary.get('updated_at'))}, {context.summary.get('by') or 'unknown'})\n"
            f"{context.summary['text']}"
        )
    parts.append(_listed("Decisions", [decision(one) for one in judged.decisions]))
    parts.append(_listed("Decisions of the other phase", [decision(one) for one in judged.shared_decisions]))
    parts.append(_listed("Claims", [claim(one) for one in judged.claims]))
    parts.append(_listed("Next", [f"{number}. {item}" for number, item in enumerate(context.checklist, 1)]))
    parts.append(_listed("Files", context.pointers))
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
    if found.others:
        lines.append(f"  {found.others:,} other {_plural(found.others, 'file')} changed; none is noted here")
    return "\n".join(lines)


def changed(one: NotedChange) -> str:
    lines = f" +{one.added} -{one.removed}" if one.added is not None else ""
    if one.what != "changed":
        lines = f" {one.what}{lines}"
    where = f" ({one.commit}, {one.author})" if one.is_committed else ", uncommitted" if one.what != "gone" else ""
    return f"{one.path}{lines}{where}"


def decision(entry: Mapping[str, Any]) -> str:
    because = f", because: {entry['because']}" if entry.get("because") else ""
    return cut(f"{entry.get('id')} {entry.get('status')}: {entry.get('text')}{because}", LINE_CHARS * 2)


def claim(judged: JudgedClaim) -> str:
    where = ", ".join(_evidence(one.text, one.verdict, one.lines) for one in judged.evidence)
    mark = "" if judged.verdict in ("ok", "moved", "said") else " (unproven)"
    return cut(f"[{judged.verdict}] {judged.claim}{mark}{' · ' + where if where else ''}", LINE_CHARS * 2)


def checklist(items: Sequence[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1)) or "No steps are noted."


def saved(context: RepoContext) -> str:
    summary, checkpoint = context.summary or {}, context.checkpoint
    head = str(checkpoint.get("git_head") or "no commit")[:7]
    by = {"hand": "by hand", "commit": "everything is committed"}.get(str(summary.get("verified_by")))
    why = by or summary.get("verified_by")
    return f"Saved for {context.key.workstream_id} at {head} ({why}). Commit the context folder to hand it on."


def failed(context: RepoContext) -> str:
    run = context.last_run or {}
    head = f"Failed at {run.get('failed_step')} ({_time(run.get('at'))})"
    return f"{head}\n{run.get('error')}\nNext: {run.get('next_action')}"


def proof(one: Proof, tree: str) -> str:
    here = "on these files" if one.tree == tree else "on other files: proves nothing now"
    if one.tree is None:
        here = "the files changed while it ran: proves nothing"
    return f"{one.id} {' '.join(one.command)} → exit {one.exit_code}, {_time(one.ran_at)}, {here}"


def _head(judged: JudgedContext) -> str:
    key = judged.context.key
    work = "" if key.workstream_id == key.branch else f" · {key.workstream_id}"
    head = judged.head[:7] if judged.head else "none yet"
    return f"{judged.context.phase} · {key.repo} · {key.branch}{work} · HEAD {head}"


def _how_stale(found: Staleness) -> str:
    if "files" not in found.reasons:
        return "STALE: the summary was changed without being saved."
    commits = f", {found.commits:,} {_plural(found.commits, 'commit')} later" if found.commits else ""
    return (
        f"STALE: {len(found.changed)} of the {found.noted} {_plural(found.noted, 'file')} noted here changed{commits}."
    )


def _evidence(text: str, verdict: str, lines: tuple[int, int] | None) -> str:
    return f"{text} now L{lines[0]}-L{lines[1]}" if verdict == "moved" and lines else text


def _listed(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    rest = [f"+{len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join([title, *(f"  {line}" for line in [*lines[:SHOWN], *rest])])


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _time(moment: object) -> str:
    return str(moment or "")[:16].replace("T", " ") + "Z" if moment else "unknown"
