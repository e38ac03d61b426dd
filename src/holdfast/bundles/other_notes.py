"""Notes that were not written on this machine: in one fence, as the words of others. Pure.

They came with the repository, and a file can name anybody as their author. So they are data: under
a line that says so, each line marked, between two markers with a number that no author can guess.
What they say about the code is judged like one's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.bundles.cuts import list_cut_lines, list_section, list_shortened
from holdfast.bundles.model import LINE_CHARS, STALE_SHOWN, Cut, Gathered, Item, Section
from holdfast.bundles.note_sections import (
    GONE,
    POINTER,
    cut_claim,
    list_all_claims,
    list_all_decisions,
    list_files,
    order_decisions,
    write_claim,
)
from holdfast.bundles.quoting import (
    NAME_CHARS,
    PATH_CHARS,
    PROSE_CHARS,
    WORD_CHARS,
    quote,
    write_line,
)
from holdfast.bundles.summary import split_summary
from holdfast.ground.fence import mark_others
from holdfast.workstreams.model import (
    CHECKLIST,
    LABEL,
    RUN,
    SUMMARY,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
)

NotedItem = tuple[str | None, Item]  # what was noted, and the line it is shown as


def make_others(judged: JudgedContext, gathered: Gathered) -> Section:
    """What comes next, decisions, claims and the rest, in the order of their value."""
    noted = [
        *_list_label(judged),
        *_list_steps(judged),
        *_list_summary(judged, about_next=True),
        *_list_decisions(judged),
        *_list_run(judged),
        *_list_claims(judged),
        *_list_summary(judged, about_next=False),
        *_list_files(judged),
    ]
    items = [item for _, item in noted]
    paths = [file.path for file in list_files(judged, own=False)]
    long_paths = list_shortened("others", paths, POINTER, PATH_CHARS)
    gone = (*list_cut_lines("others", noted), *_cut_claims(judged), *long_paths)
    if not items:
        return Section("others", "", gone=gone)
    first, last = mark_others(gathered.fence_key, [item.text for item in items])
    return list_section(
        "others",
        first,
        items,
        tail=last,
        gone=gone,
    )


def _list_label(judged: JudgedContext) -> list[NotedItem]:
    label = judged.of_others.feature_request
    return [_write("about", label, source=LABEL)] if label else []


def _list_files(judged: JudgedContext) -> list[NotedItem]:
    texts = dict.fromkeys(file.text for file in list_files(judged, own=False))
    return [_write("file", text, source=POINTER) for text in texts if text]


def _list_steps(judged: JudgedContext) -> list[NotedItem]:
    steps = [step for step in judged.all_steps if not step.is_own]
    name = judged.inherited.name_origin
    return [_write("next", step.text, of=name(step.of), source=CHECKLIST) for step in steps]


def _list_decisions(judged: JudgedContext) -> list[NotedItem]:
    foreign = [each for each in list_all_decisions(judged) if not each.is_own]
    ordered = order_decisions(foreign, ["open", "accepted", "rejected"])
    return [(each.decision.text, _write_decision(each)) for each in ordered]


def _write_decision(judged: JudgedDecision) -> Item:
    decision = judged.decision
    by = quote(decision.by, WORD_CHARS)
    end = f" ({by})" if by else ""
    text = f"| {judged.status}{_write_origin(judged.of)}: {quote(decision.text, PROSE_CHARS)}"
    because = quote(decision.because, PROSE_CHARS)
    source = f"decision {quote(decision.id, WORD_CHARS)}"
    return Item.with_reason(text, because, end, source).shorten(LINE_CHARS)


def _list_run(judged: JudgedContext) -> list[NotedItem]:
    run = judged.context.failed_run
    if run is None or RUN not in judged.foreign:
        return []
    failed = _write("failed", f"{run.failed_step}: {run.error}", source="last run")
    following = _write("then", run.next_action or "", source="last run")
    return [failed, following] if run.next_action else [failed]


def _list_claims(judged: JudgedContext) -> list[NotedItem]:
    changed = _list_by_verdict(judged, "changed")
    unchanged = _list_by_verdict(judged, "ok", "moved", "said")
    shown = [*changed[:STALE_SHOWN], *unchanged]
    return [(claim.claim, _prefix(write_claim(claim))) for claim in shown]


def _list_by_verdict(judged: JudgedContext, *verdicts: str) -> list[JudgedClaim]:
    """The newest first."""
    others = [each for each in list_all_claims(judged) if not each.is_own]
    found = [each for each in others if each.verdict in verdicts]
    return sorted(found, key=lambda claim: claim.claimed_at, reverse=True)


def _cut_claims(judged: JudgedContext) -> list[Cut]:
    """Those that are not shown."""
    gone = [cut_claim("others", claim, GONE) for claim in _list_by_verdict(judged, "gone")]
    why = f"only {STALE_SHOWN} stale ones are shown"
    changed = _list_by_verdict(judged, "changed")[STALE_SHOWN:]
    return [*gone, *(cut_claim("others", claim, why) for claim in changed)]


def _prefix(item: Item) -> Item:
    return Item(f"| {item.text}", item.source, item.verdict, keep=item.keep)


def _list_summary(judged: JudgedContext, *, about_next: bool) -> list[NotedItem]:
    summary = judged.context.summary
    if summary is None or SUMMARY not in judged.foreign:
        return []
    name = "stale summary" if judged.staleness.stale else "summary"
    parts = split_summary(summary.text)
    sentences: Iterable[str] = (*parts.goal, *parts.rest)
    if about_next:
        sentences = parts.list_steps()
    return [_write(name, sentence, source="working summary") for sentence in sentences]


def _write(name: str, text: str, *, source: str, of: str | None = None) -> NotedItem:
    lead = f"| {name}{_write_origin(of)}: "
    return text, Item(write_line(lead, quote(text, PROSE_CHARS)), source)


def _write_origin(of: str | None) -> str:
    return f" ({quote(of, NAME_CHARS)})" if of else ""
