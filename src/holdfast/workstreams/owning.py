"""Which entries were written on this machine: by the log's hashes, because a file can name anybody.

A file in a repository may come from anyone, and may say any author. So what is shown as one's own
was seen being written here; everything else is shown as the words of others. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from holdfast.ground import canonical
from holdfast.workstreams.entries import Claim, ContextFields, Decision, NotedRun, Summary
from holdfast.workstreams.model import (
    CHECKLIST,
    RUN,
    SUMMARY,
    Inherited,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    NotedStep,
    RepoContext,
)

HASH_CHARS = 16
MOST_HASHES = 2_000


def list_own(
    stated: ContextFields, after: ContextFields, kept: RepoContext | None
) -> frozenset[str]:
    """The hashes of what was ever written here, because another clone may still have it.

    Only what the caller stated is added, never what was in the file or came back into it. Of very
    many only what stands now.
    """
    known = kept.own if kept else frozenset()
    if len(known) > MOST_HASHES:
        known &= {*_hash_fields(after), *_hash_kept(kept)}
    return known.union(_hash_fields(stated))


def mark_own(judged: JudgedContext, own: frozenset[str]) -> JudgedContext:
    """Say of each entry whether it was written on this machine."""
    inherited = judged.inherited
    marked = Inherited(
        decisions=tuple(_mark_decision(decision, own) for decision in inherited.decisions),
        claims=tuple(_mark_claim(claim, own) for claim in inherited.claims),
        steps=tuple(_mark_step(step, own) for step in inherited.steps),
        branches=inherited.branches,
    )
    return replace(
        judged,
        claims=tuple(_mark_claim(claim, own) for claim in judged.claims),
        decisions=tuple(_mark_decision(decision, own) for decision in judged.decisions),
        shared_decisions=tuple(_mark_decision(each, own) for each in judged.shared_decisions),
        inherited=marked,
        foreign=_list_foreign(judged.context, own),
    )


def _mark_decision(judged: JudgedDecision, own: frozenset[str]) -> JudgedDecision:
    return replace(judged, is_own=_hash_decision(judged.decision) in own)


def _mark_claim(judged: JudgedClaim, own: frozenset[str]) -> JudgedClaim:
    return replace(judged, is_own=_hash("claim", judged.claim, judged.claimed_at) in own)


def _mark_step(step: NotedStep, own: frozenset[str]) -> NotedStep:
    return replace(step, is_own=_hash(CHECKLIST, step.text) in own)


def _list_foreign(context: RepoContext, own: frozenset[str]) -> frozenset[str]:
    """The names of fields that hold something that was not written here."""
    fields = context.fields
    hashes = {
        SUMMARY: [*_hash_summary(fields.working_summary)],
        RUN: [*_hash_run(fields.last_run)],
        CHECKLIST: [_hash(CHECKLIST, step) for step in fields.checklist or ()],
    }
    return frozenset(name for name, known in hashes.items() if not own.issuperset(known))


# --- hashes ---------------------------------------------------------------------------------------


def _hash_kept(kept: RepoContext | None) -> set[str]:
    if kept is None:
        return set()
    return set(_hash_fields(kept.fields))


def _hash_fields(fields: ContextFields) -> Iterable[str]:
    for decision in fields.open_decisions or ():
        yield _hash_decision(decision)
    for claim in fields.evidence_ledger or ():
        yield _hash_claim(claim)
    for step in fields.checklist or ():
        yield _hash(CHECKLIST, step)
    yield from _hash_summary(fields.working_summary)
    yield from _hash_run(fields.last_run)


def _hash_decision(decision: Decision) -> str:
    return _hash("decision", decision.uid, decision.text, decision.status, decision.because)


def _hash_claim(claim: Claim) -> str:
    return _hash("claim", claim.words, claim.claimed_at or "")


def _hash_summary(summary: Summary | None) -> Iterable[str]:
    if summary and summary.text:
        yield _hash(SUMMARY, summary.text)


def _hash_run(run: NotedRun | None) -> Iterable[str]:
    if run and run.is_failed:
        yield _hash(RUN, run.failed_step, run.error, run.next_action)


def _hash(*parts: str | None) -> str:
    text = json.dumps(parts)
    return canonical.sha256(text.encode()).hex()[:HASH_CHARS]
