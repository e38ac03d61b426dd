"""Notes that were not written on this machine: in one fence, as the words of others. Pure.

They came with the repository, and a file can name anybody as their author. So they are data: under
a line that says so, each line marked, between two markers with a number that no author can guess.
What they say about the code is judged like one's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.bundles.cuts import list_section
from holdfast.bundles.model import LINE_CHARS, Gathered, Item, Section
from holdfast.bundles.note_sections import (
    list_all_claims,
    list_all_decisions,
    order_decisions,
    write_claim,
)
from holdfast.bundles.quoting import NAME_CHARS, PROSE_CHARS, WORD_CHARS, quote, write_line
from holdfast.bundles.run_sections import CHECKLIST, RUN
from holdfast.bundles.summary import split_summary
from holdfast.ground.fence import make_nonce
from holdfast.workstreams.model import JudgedContext, JudgedDecision, NotedStep

SUMMARY = "working_summary"
STALE_SHOWN = 3


def make_others(judged: JudgedContext, gathered: Gathered) -> Section:
    """What comes next, decisions, claims and the summary, in the order of their value."""
    items = [
        *_list_steps(judged),
        *_list_decisions(judged),
        *_list_run(judged),
        *_list_claims(judged),
        *_list_summary(judged),
    ]
    if not items:
        return Section("others", "")
    nonce = make_nonce(gathered.fence_key, "\n".join(item.text for item in items))
    return list_section(
        "others",
        f"NOTES OF OTHERS, from the repository [untrusted text {nonce}]",
        items,
        tail=f"[end of untrusted text {nonce}]",
    )


def _list_steps(judged: JudgedContext) -> list[Item]:
    steps = [step for step in judged.inherited.steps if not step.is_own]
    if CHECKLIST in judged.foreign:
        steps += [NotedStep(step) for step in judged.context.checklist]
    name = judged.inherited.name_origin
    return [_write("next", step.text, of=name(step.of), source=CHECKLIST) for step in steps]


def _list_decisions(judged: JudgedContext) -> list[Item]:
    foreign = [each for each in list_all_decisions(judged) if not each.is_own]
    ordered = order_decisions(foreign, ["open", "accepted", "rejected"])
    return [_write_decision(each) for each in ordered]


def _write_decision(judged: JudgedDecision) -> Item:
    decision = judged.decision
    by = quote(decision.by, WORD_CHARS)
    end = f" ({by})" if by else ""
    text = f"| {judged.status}{_write_origin(judged.of)}: {quote(decision.text, PROSE_CHARS)}"
    because = quote(decision.because, PROSE_CHARS)
    source = f"decision {quote(decision.id, WORD_CHARS)}"
    return Item.with_reason(text, because, end, source).shorten(LINE_CHARS)


def _list_run(judged: JudgedContext) -> list[Item]:
    run = judged.context.failed_run
    if run is None or RUN not in judged.foreign:
        return []
    return [_write("failed", f"{run.failed_step}: {run.error}", source="last run")]


def _list_claims(judged: JudgedContext) -> list[Item]:
    others = [each for each in list_all_claims(judged) if not each.is_own]
    foreign = [each for each in others if each.verdict != "gone"]
    foreign.sort(key=lambda claim: claim.claimed_at, reverse=True)
    changed = [each for each in foreign if each.verdict == "changed"]
    unchanged = [each for each in foreign if each.verdict != "changed"]
    items = [write_claim(claim) for claim in [*changed[:STALE_SHOWN], *unchanged]]
    return [_prefix(item) for item in items]


def _prefix(item: Item) -> Item:
    return Item(f"| {item.text}", item.source, item.verdict, keep=item.keep)


def _list_summary(judged: JudgedContext) -> list[Item]:
    summary = judged.context.summary
    if summary is None or SUMMARY not in judged.foreign:
        return []
    name = "stale summary" if judged.staleness.stale else "summary"
    parts = split_summary(summary.text)
    sentences: Iterable[str] = (*parts.following, *parts.goal, *parts.rest)
    return [_write(name, sentence, source="working summary") for sentence in sentences]


def _write(name: str, text: str, *, source: str, of: str | None = None) -> Item:
    lead = f"| {name}{_write_origin(of)}: "
    return Item(write_line(lead, quote(text, PROSE_CHARS)), source)


def _write_origin(of: str | None) -> str:
    return f" ({quote(of, NAME_CHARS)})" if of else ""
