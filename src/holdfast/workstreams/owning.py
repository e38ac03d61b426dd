"""Which entries were written on this machine: by the log's hashes, because a file can name anybody.

A file in a repository may come from anyone, and may say any author. So what is shown as one's own
was seen being written here; everything else is shown as the words of others. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.ground import canonical
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.workstreams.entries import Claim, ContextFields, Decision, Pointer, Summary
from holdfast.workstreams.merging import is_decision_id
from holdfast.workstreams.model import (
    CHECKLIST,
    LABEL,
    RUN,
    SUMMARY,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    NotedStep,
    RepoContext,
)
from holdfast.workstreams.records import Record

SINGLE = (SUMMARY, RUN, LABEL)
LISTS = (CHECKLIST, "file_pointers", "last_errors", "other_summaries")
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


@dataclass(frozen=True)
class OwnHashes:
    """Of the branch that is checked out, and of each merged one: a hash does not cover the branch,
    and one's own words under the name of another branch were not written there.
    """

    here: frozenset[str] = frozenset()
    merged: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, branch: str | None) -> frozenset[str]:
        return self.merged.get(branch or "", frozenset())


def mark_own(judged: JudgedContext, hashes: OwnHashes) -> JudgedContext:
    """Say of each entry whether it was written on this machine."""
    inherited, own = judged.inherited, hashes.here
    marked = replace(
        inherited,
        decisions=tuple(_mark_decision(each, hashes.of(each.of)) for each in inherited.decisions),
        claims=tuple(_mark_claim(claim, hashes.of(claim.of)) for claim in inherited.claims),
        steps=tuple(_mark_step(step, hashes.of(step.of)) for step in inherited.steps),
    )
    return replace(
        judged,
        claims=tuple(_mark_claim(claim, own) for claim in judged.claims),
        decisions=tuple(_mark_decision(decision, own) for decision in judged.decisions),
        shared_decisions=tuple(_mark_decision(each, own) for each in judged.shared_decisions),
        inherited=marked,
        of_others=_list_of_others(judged.context.fields, own),
    )


def _mark_decision(judged: JudgedDecision, own: frozenset[str]) -> JudgedDecision:
    """Its number may be given out anew by a merge, so that is not hashed but has to be one."""
    has_number = is_decision_id(judged.decision.id)
    return replace(judged, is_own=has_number and _hash_decision(judged.decision) in own)


def _mark_claim(judged: JudgedClaim, own: frozenset[str]) -> JudgedClaim:
    return replace(judged, is_own=_hash_claim(judged.noted) in own)


def _mark_step(step: NotedStep, own: frozenset[str]) -> NotedStep:
    return replace(step, is_own=_hash(CHECKLIST, step.text) in own)


def _list_of_others(fields: ContextFields, own: frozenset[str]) -> ContextFields:
    """What was not written here; a summary counts with the state that it was saved for."""
    found = {}
    for name in SINGLE:
        if not own.issuperset(_hash_single(fields, name)):
            found[name] = getattr(fields, name)
    for name in LISTS:
        entries = getattr(fields, name) or ()
        foreign = tuple(each for each in entries if _hash_entry(name, each) not in own)
        found[name] = foreign or None
    return ContextFields(**found)


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
    for name in SINGLE:
        yield from _hash_single(fields, name)
    for name in LISTS:
        for entry in getattr(fields, name) or ():
            yield _hash_entry(name, entry)


def _hash_decision(decision: Decision) -> str:
    words = decision.text, decision.status, decision.because
    return _hash("decision", decision.uid, *words, decision.by, decision.changed_at)


def _hash_claim(claim: Claim) -> str:
    """With its evidence."""
    return _hash("claim", claim)


def _hash_single(fields: ContextFields, name: str) -> Iterable[str]:
    value = getattr(fields, name)
    if value is None:
        return
    yield _hash(name, value)
    if name == SUMMARY and fields.checkpoint:
        yield _hash("checkpoint", fields.checkpoint)


def _hash_entry(name: str, entry: Record | Pointer | str) -> str:
    """A summary is the same beside the working one, where a merge may have put it."""
    if isinstance(entry, Summary):
        name = SUMMARY
    return _hash(name, entry)


def _hash(*parts: Record | Pointer | str | None) -> str:
    text = json.dumps([_to_plain(part) for part in parts], sort_keys=True)
    return canonical.sha256(text.encode()).hex()[:HASH_CHARS]


def _to_plain(part: Record | Pointer | str | None) -> object:
    if isinstance(part, Record):
        return part.to_dict()
    return part and str(part)
