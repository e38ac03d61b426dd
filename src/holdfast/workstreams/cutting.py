"""How much of a repo context a reader is shown. Pure.

A file may hold any number of entries. The answer about it is bounded, and a note says what is left
out. The file itself keeps everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ground.frozen import replace
from holdfast.ground.light_typing import TypeVar
from holdfast.ground.text import plural
from holdfast.workstreams.effort import Effort
from holdfast.workstreams.entries import Claim, Decision
from holdfast.workstreams.model import JudgedDecision, RepoContext, StandingEntry

ENTRIES = 1_000
NEWEST, FIRST = "the newest", "the first"

Entry = TypeVar("Entry")
Dated = TypeVar("Dated", Claim, Decision, JudgedDecision)


def cut_context(context: RepoContext, effort: Effort) -> RepoContext:
    """The newest claims and decisions, and the first of what has an order of its own."""
    fields = context.fields
    noted_claims, noted_decisions = context.ledger, context.decisions
    steps, pointers = fields.checklist, fields.file_pointers
    claims = take_newest(noted_claims, effort.take_claims(len(noted_claims)))
    decisions = take_newest(noted_decisions, ENTRIES)
    found = [
        describe_cut(noted_claims, claims, "claim", NEWEST),
        describe_cut(noted_decisions, decisions, "decision", NEWEST),
        describe_cut(steps or (), (steps or ())[:ENTRIES], "next step", FIRST),
        describe_cut(pointers or (), (pointers or ())[:ENTRIES], "file pointer", FIRST),
    ]
    notes = [note for note in found if note]
    cut = context.with_fields(
        evidence_ledger=_choose(fields.evidence_ledger, noted_claims, claims),
        open_decisions=_choose(fields.open_decisions, noted_decisions, decisions),
        checklist=steps and steps[:ENTRIES],
        file_pointers=pointers and pointers[:ENTRIES],
    )
    return replace(cut, notes=(*context.notes, *notes))


def cut_shared(decisions: Sequence[JudgedDecision]) -> tuple[Sequence[JudgedDecision], str]:
    """Decisions made elsewhere, and a note of those that are left out."""
    shown = take_newest(decisions, ENTRIES)
    return shown, describe_cut(decisions, shown, "shared decision", NEWEST)


def take_newest(entries: Sequence[Dated], count: int) -> Sequence[Dated]:
    """In the order that they have."""
    if count >= len(entries):
        return entries
    by_age = sorted(range(len(entries)), key=lambda number: (entries[number].changed_at, number))
    newest = by_age[len(entries) - count :]
    return [entries[number] for number in sorted(newest)]


def describe_cut(noted: Sequence[Entry], shown: Sequence[Entry], word: str, which: str) -> str:
    """Empty where nothing is left out."""
    if len(shown) == len(noted):
        return ""
    return f"The notes have {plural(len(noted), word)}: only {which} {len(shown):,} are shown."


def _choose(
    all_noted: tuple[StandingEntry, ...] | None,
    standing: Sequence[StandingEntry],
    shown: Sequence[StandingEntry],
) -> tuple[StandingEntry, ...] | None:
    """Everything, with what was withdrawn, unless that is too much."""
    if all_noted is None:
        return None
    if len(shown) == len(standing) and len(all_noted) <= ENTRIES:
        return all_noted
    return tuple(shown)
