"""What was noted: decisions, the summary, claims with their verdicts, and where to look. Pure.

A claim whose evidence changed is never shown as true, and one whose evidence is gone is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_section, list_shortened
from holdfast.bundles.model import Cut, Item, Section
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PATH_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    end_sentence,
    format_day,
    format_moment,
    join_parts,
    quote,
    quote_commit,
    quote_inside,
    quote_lines,
)
from holdfast.workstreams.completion import find_completion
from holdfast.workstreams.entries import Summary
from holdfast.workstreams.model import (
    VERDICTS,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
)

STALE_SHOWN = 3
DECISIONS_SHOWN = 5
SHARED_SHOWN = 3
PROSE_LINES = 40
POINTER = "file pointer"

PlaceText = Callable[[JudgedEvidence], str]
_DECISION_ID = re.compile(r"D[0-9]{1,7}")


# --- decisions ------------------------------------------------------------------------------------


def make_decisions(judged: JudgedContext, now: datetime, statuses: Sequence[str]) -> Section:
    """Open ones first, then the newest; those of the other phase and other branches come last.

    Where there are too many, accepted ones are left out first: without the open and the rejected
    ones a reader would try the same again.
    """
    own = order_decisions(judged.decisions, statuses)
    shared = order_decisions(judged.shared_decisions, statuses)
    most_needed = sorted(own, key=lambda each: each.status == "accepted")[:DECISIONS_SHOWN]
    shown = [each for each in own if each in most_needed]
    older = [each for each in own if each not in most_needed]
    items = [_write_decision(each, now) for each in (*shown, *shared[:SHARED_SHOWN])]
    rest = [_write_decision(each, now) for each in (*older, *shared[SHARED_SHOWN:])]
    held = hold_back("decisions", rest, "only the last ones are shown")
    gone = list_long_decisions("decisions", (*own, *shared))
    return list_section("decisions", "DECISIONS", items, held, gone=gone)


def order_decisions(
    decisions: Iterable[JudgedDecision], statuses: Sequence[str]
) -> list[JudgedDecision]:
    found = [each for each in decisions if each.status in statuses]
    newest_first = sorted(found, key=_rank_by_age, reverse=True)
    return sorted(newest_first, key=lambda each: each.status != "open")


def list_long_decisions(section: str, decisions: Sequence[JudgedDecision]) -> tuple[Cut, ...]:
    rejected = [each for each in decisions if each.status == "rejected"]
    texts = [(each.decision.text, _name_source(each)) for each in decisions]
    reasons = [(each.decision.because, _name_source(each)) for each in rejected]
    long_texts = list_shortened(section, texts, TEXT_CHARS)
    long_reasons = list_shortened(section, reasons, LABEL_CHARS)
    return (*long_texts, *long_reasons)


def write_rejected(judged: JudgedDecision, now: datetime) -> Item:
    """A rejected alternative, among what not to try again."""
    decision = judged.decision
    text = f"- {quote(decision.text, TEXT_CHARS).rstrip('.')}"
    because = quote_inside(decision.because, LABEL_CHARS)
    if because:
        text += f': "{because}"'
    by = join_parts(quote(decision.by, WORD_CHARS), format_day(decision.changed_at, now))
    if by:
        text += f" ({by})"
    return Item(text, _name_source(judged))


def _write_decision(judged: JudgedDecision, now: datetime) -> Item:
    name = _read_decision_id(judged)
    if judged.of:
        name += f" of {quote(judged.of, NAME_CHARS)},"
    line = f"{name} {judged.status}: {_write_reason(judged)}"
    if judged.status == "open":
        return Item(line, _name_source(judged))
    verdict, mark = _mark_decision(judged, now)
    return Item(f"{line}{mark}", _name_source(judged), verdict, keep=len(mark))


def _write_reason(judged: JudgedDecision) -> str:
    """What was decided; with the reason where it was rejected."""
    text = quote(judged.decision.text, TEXT_CHARS)
    because = quote_inside(judged.decision.because, LABEL_CHARS)
    if judged.status != "rejected" or not because:
        return end_sentence(text)
    return f'{text.rstrip(".")}, "{because}".'


def _mark_decision(judged: JudgedDecision, now: datetime) -> tuple[str, str]:
    """By evidence that was judged here: a verdict that the file states proves nothing."""
    shown = [each for each in judged.evidence if each.verdict != "gone"]
    if shown:
        worst = _find_worst(shown)
        return worst.verdict, f" [{worst.verdict}] {write_short_place(worst)}"
    decision = judged.decision
    by = quote(decision.by, WORD_CHARS) or "unknown"
    at = format_moment(decision.changed_at, now)
    return "said", f" [said] {join_parts(by, at)}"


def _read_decision_id(judged: JudgedDecision) -> str:
    """It stands at the margin, where only an id of ours may stand."""
    found = judged.decision.id or ""
    is_ours = _DECISION_ID.fullmatch(found)
    return found if is_ours else "D?"


def _name_source(judged: JudgedDecision) -> str:
    return f"decision {_read_decision_id(judged)}"


def _rank_by_age(judged: JudgedDecision) -> tuple[str, str]:
    return judged.decision.made_at, judged.decision.id or ""


# --- the summary ----------------------------------------------------------------------------------


def make_summary(judged: JudgedContext, now: datetime) -> Section:
    summary = judged.context.summary
    if summary is None:
        return Section("summary", "")
    about = _describe_summary(judged, summary, now)
    title = f"SUMMARY ({about})" if about else "SUMMARY"
    items = [_write_summary_line(line) for line in quote_lines(summary.text)]
    why = f"only the first {PROSE_LINES} lines are shown"
    held = hold_back("summary", items[PROSE_LINES:], why)
    return list_section("summary", title, items[:PROSE_LINES], held)


def _describe_summary(judged: JudgedContext, summary: Summary, now: datetime) -> str:
    at = format_moment(summary.updated_at, now)
    by = quote(summary.by, WORD_CHARS)
    commit = quote_commit(judged.context.checkpoint.git_head)
    written_at = f"written at {commit}" if commit else ""
    parts = [join_parts(at, by, written_at)]
    if judged.staleness.stale:
        parts.append("stale: holds only after a re-scan of what changed")
    return "; ".join(part for part in parts if part)


def _write_summary_line(line: str) -> Item:
    """A summary that says "done" has no evidence for it, so the line is marked."""
    if find_completion(line):
        return Item(f"[said] {line}", "working summary", "said", is_prose=True)
    return Item(f"| {line}", "working summary", is_prose=True)


# --- claims ---------------------------------------------------------------------------------------


def make_claims(judged: JudgedContext, now: datetime, title: str, place: PlaceText) -> Section:
    """The newest three that no longer hold, then those with evidence, then those without."""
    newest = sorted(judged.claims, key=lambda claim: (claim.claimed_at, claim.id), reverse=True)
    gone = [claim for claim in newest if claim.verdict == "gone"]
    standing = [claim for claim in newest if claim.verdict != "gone"]
    changed = [claim for claim in standing if claim.verdict == "changed"]
    unchanged = [claim for claim in standing if claim.verdict != "changed"]
    unchanged.sort(key=lambda claim: claim.verdict == "said")
    doubtful = [_write_claim(claim, now, place) for claim in changed]
    others = [_write_claim(claim, now, place) for claim in unchanged]
    held = hold_back("claims", doubtful[STALE_SHOWN:], f"only {STALE_SHOWN} stale ones are shown")
    items = (*doubtful[:STALE_SHOWN], *others)
    cuts = (*map(_cut_gone, gone), *_list_long_claims(standing))
    return list_section("claims", title, items, held, gone=cuts)


def _list_long_claims(claims: Iterable[JudgedClaim]) -> tuple[Cut, ...]:
    texts = [(claim.claim, _name_claim_source(claim)) for claim in claims]
    return list_shortened("claims", texts, TEXT_CHARS)


def _cut_gone(claim: JudgedClaim) -> Cut:
    text = quote(claim.claim, PROSE_CHARS)
    return Cut("claims", text, _name_claim_source(claim), "its evidence is gone")


def _write_claim(claim: JudgedClaim, now: datetime, place: PlaceText) -> Item:
    """The verdict first and the evidence last: both stand even where the text is shortened."""
    text = quote(claim.claim, TEXT_CHARS)
    verdict = claim.verdict
    source = _name_claim_source(claim)
    if verdict == "said":
        at = format_moment(claim.claimed_at, now)
        line = f"[said] {end_sentence(text)}"
        return Item(f"{line} {at}" if at else line, source, verdict)
    worst = _find_worst(claim.evidence)
    if verdict == "changed":
        quoted = text.replace('"', "'")
        end = f'": {place(worst)} {_describe_edit(worst)}; unproven'
        return Item(f'[changed] "{quoted}{end}', source, verdict, keep=len(end))
    end = f" {place(worst)}"
    return Item(f"[{verdict}] {end_sentence(text)}{end}", source, verdict, keep=len(end))


def _describe_edit(worst: JudgedEvidence) -> str:
    is_edited = worst.path and (not worst.why or "edited" in worst.why)
    if is_edited:
        return "edited after the claim"
    return worst.why.removeprefix("it ") or "ran on another tree"


def _name_claim_source(claim: JudgedClaim) -> str:
    shown = claim.evidence[:STALE_SHOWN]
    places = [f"{quote(each.text, LABEL_CHARS)} {each.verdict}" for each in shown]
    name = quote(claim.id, WORD_CHARS)
    return join_parts(f"claim {name}", *places)


def _find_worst(evidence: Iterable[JudgedEvidence]) -> JudgedEvidence:
    return max(evidence, key=lambda each: VERDICTS.index(each.verdict))


# --- places ---------------------------------------------------------------------------------------


def write_place(evidence: JudgedEvidence) -> str:
    place = quote(evidence.text, PATH_CHARS)
    is_moved = evidence.verdict == "moved" and evidence.lines
    return f"{place} now {evidence.lines_text}" if is_moved else place


def write_short_place(evidence: JudgedEvidence) -> str:
    """Without its folder, which stands in the list of files."""
    folder, _, _ = (evidence.path or "").rpartition("/")
    text = evidence.text
    if folder:
        text = text.removeprefix(f"{folder}/")
    return write_place(JudgedEvidence(text, evidence.verdict, evidence.path, evidence.lines))


def make_files(judged: JudgedContext, evidence: Sequence[JudgedEvidence]) -> Section:
    """Where to look: pointers first, then the evidence of claims; without files that are gone."""
    gone = _list_gone_files(judged)
    named = [(pointer.path, str(pointer)) for pointer in judged.context.pointers]
    named += [(each.path, _write_pointer(each, each.path)) for each in evidence if each.path]
    quoted = [(path, quote(text, PATH_CHARS)) for path, text in named]
    present = dict.fromkeys(text for path, text in quoted if path not in gone)
    missing = dict.fromkeys(text for path, text in quoted if path in gone)
    items = [Item(text, POINTER) for text in present if text]
    cuts = tuple(Cut("files", text, POINTER, "the file is gone") for text in missing)
    return list_section("files", "FILES", items, lead=" ", joined=" · ", gone=cuts)


def _list_gone_files(judged: JudgedContext) -> set[str | None]:
    evidence = [each for claim in judged.claims for each in claim.evidence]
    of_claims = {each.path for each in evidence if each.verdict == "gone"}
    of_notes = {change.path for change in judged.staleness.changed if change.what == "gone"}
    return of_claims | of_notes


def _write_pointer(evidence: JudgedEvidence, path: str) -> str:
    """The file alone where its lines have changed: their numbers would mislead."""
    names_symbol = "#" in evidence.text[len(path) :]
    is_exact = evidence.verdict == "ok" or names_symbol
    return evidence.text if is_exact else path
