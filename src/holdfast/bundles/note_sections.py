"""What was noted: decisions, the summary, claims with their verdicts, and where to look. Pure.

A claim whose evidence changed is never shown as true, and one whose evidence is gone is not shown.
Decisions that are open or rejected matter more than accepted ones: without them a reader tries the
same again. Verdicts come from evidence that was judged here and not from what a file states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class NotedFile:
    """A file that a note or a claim names, and the text that it is shown as."""

    path: str
    text: str


# --- decisions ------------------------------------------------------------------------------------


def make_decisions(judged: JudgedContext, now: datetime, statuses: Sequence[str]) -> Section:
    """Open ones first, then the newest; those of the other phase and other branches come last.

    Where there are too many, accepted ones are left out first: without the open and the rejected
    ones a reader would try the same again.
    """
    own = order_decisions(judged.decisions, statuses)
    shared = order_decisions(judged.shared_decisions, statuses)
    most_needed = sorted(own, key=lambda each: each.status == "accepted")[:DECISIONS_SHOWN]
    needed = [each for each in own if each in most_needed]
    others = [each for each in own if each not in most_needed]
    shown = [*needed, *shared[:SHARED_SHOWN]]
    left_out = [*others, *shared[SHARED_SHOWN:]]
    items_left_out = [_write_decision(each, now) for each in left_out]
    return list_section(
        "decisions",
        "DECISIONS",
        [_write_decision(each, now) for each in shown],
        held=hold_back("decisions", items_left_out, "only the last ones are shown"),
        gone=list_long_decisions("decisions", [*own, *shared]),
    )


def order_decisions(
    decisions: Iterable[JudgedDecision], statuses: Sequence[str]
) -> list[JudgedDecision]:
    found = [each for each in decisions if each.status in statuses]
    newest_first = sorted(found, key=_rank_by_age, reverse=True)
    return sorted(newest_first, key=lambda each: each.status != "open")


def list_long_decisions(section: str, decisions: Sequence[JudgedDecision]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for judged in decisions:
        text = judged.decision.text
        cuts += list_shortened(section, [text], _name_source(judged), TEXT_CHARS)
    for judged in decisions:
        if judged.status == "rejected":  # only there the reason is shown
            because = judged.decision.because
            cuts += list_shortened(section, [because], _name_source(judged), LABEL_CHARS)
    return tuple(cuts)


def write_rejected(judged: JudgedDecision, now: datetime) -> Item:
    """A rejected alternative, among what not to try again."""
    decision = judged.decision
    text = quote(decision.text, TEXT_CHARS)
    line = f"- {text.rstrip('.')}"
    because = quote_inside(decision.because, LABEL_CHARS)
    if because:
        line += f': "{because}"'
    day = format_day(decision.changed_at, now)
    by = join_parts(quote(decision.by, WORD_CHARS), day)
    if by:
        line += f" ({by})"
    return Item(line, _name_source(judged))


def _write_decision(judged: JudgedDecision, now: datetime) -> Item:
    name = _read_decision_id(judged)
    if judged.of:
        name += f" of {quote(judged.of, NAME_CHARS)},"
    line = f"{name} {judged.status}: {_write_decided(judged)}"
    source = _name_source(judged)
    if judged.status == "open":
        return Item(line, source)
    verdict, mark = _mark_decision(judged, now)
    return Item.with_end(line, mark, source, verdict)


def _write_decided(judged: JudgedDecision) -> str:
    """What was decided; with the reason where it was rejected."""
    text = quote(judged.decision.text, TEXT_CHARS)
    because = quote_inside(judged.decision.because, LABEL_CHARS)
    if judged.status != "rejected" or not because:
        return end_sentence(text)
    return f'{text.rstrip(".")}, "{because}".'


def _mark_decision(judged: JudgedDecision, now: datetime) -> tuple[str, str]:
    """By evidence that was judged here: a verdict that the file states proves nothing."""
    standing = [each for each in judged.evidence if each.verdict != "gone"]
    if standing:
        worst = _find_worst(standing)
        place = write_short_place(worst)
        return worst.verdict, f" [{worst.verdict}] {place}"
    by = quote(judged.decision.by, WORD_CHARS) or "unknown"
    at = format_moment(judged.decision.changed_at, now)
    return "said", f" [said] {join_parts(by, at)}"


def _read_decision_id(judged: JudgedDecision) -> str:
    """It stands at the margin, where only an id of ours may stand."""
    decision_id = judged.decision.id or ""
    if not _DECISION_ID.fullmatch(decision_id):
        return "D?"
    return decision_id


def _name_source(judged: JudgedDecision) -> str:
    return f"decision {_read_decision_id(judged)}"


def _rank_by_age(judged: JudgedDecision) -> tuple[str, str]:
    return judged.decision.made_at, judged.decision.id or ""


# --- the summary ----------------------------------------------------------------------------------


def make_summary(judged: JudgedContext, now: datetime) -> Section:
    summary = judged.context.summary
    if summary is None:
        return Section("summary", "")
    title = "SUMMARY"
    about = _describe_summary(judged, summary, now)
    if about:
        title += f" ({about})"
    items = [_write_summary_line(line) for line in quote_lines(summary.text)]
    why = f"only the first {PROSE_LINES} lines are shown"
    held = hold_back("summary", items[PROSE_LINES:], why)
    return list_section("summary", title, items[:PROSE_LINES], held=held)


def _describe_summary(judged: JudgedContext, summary: Summary, now: datetime) -> str:
    at = format_moment(summary.updated_at, now)
    by = quote(summary.by, WORD_CHARS)
    commit = quote_commit(judged.context.checkpoint.git_head)
    written = [at, by]
    if commit:
        written.append(f"written at {commit}")
    about = [join_parts(*written)]
    if judged.staleness.stale:
        about.append("stale: holds only after a re-scan of what changed")
    return "; ".join(part for part in about if part)


def _write_summary_line(line: str) -> Item:
    """A summary that says "done" has no evidence for it, so the line is marked."""
    if find_completion(line):
        return Item(f"[said] {line}", "working summary", "said", is_prose=True)
    return Item(f"| {line}", "working summary", is_prose=True)


# --- claims ---------------------------------------------------------------------------------------


def make_claims(judged: JudgedContext, now: datetime, title: str, place: PlaceText) -> Section:
    """The newest three that no longer hold, then those with evidence, then those without."""
    newest_first = sorted(judged.claims, key=_rank_claim_by_age, reverse=True)
    standing = [claim for claim in newest_first if claim.verdict != "gone"]
    changed = [claim for claim in standing if claim.verdict == "changed"]
    unchanged = [claim for claim in standing if claim.verdict != "changed"]
    unchanged.sort(key=lambda claim: claim.verdict == "said")
    doubtful = [_write_claim(claim, now, place) for claim in changed]
    others = [_write_claim(claim, now, place) for claim in unchanged]
    gone = [_cut_gone(claim) for claim in newest_first if claim.verdict == "gone"]
    why = f"only {STALE_SHOWN} stale ones are shown"
    return list_section(
        "claims",
        title,
        [*doubtful[:STALE_SHOWN], *others],
        held=hold_back("claims", doubtful[STALE_SHOWN:], why),
        gone=(*gone, *_list_long_claims(standing)),
    )


def _rank_claim_by_age(claim: JudgedClaim) -> tuple[str, str]:
    return claim.claimed_at, claim.id


def _list_long_claims(claims: Iterable[JudgedClaim]) -> list[Cut]:
    cuts: list[Cut] = []
    for claim in claims:
        source = _name_claim_source(claim)
        cuts += list_shortened("claims", [claim.claim], source, TEXT_CHARS)
    return cuts


def _cut_gone(claim: JudgedClaim) -> Cut:
    text = quote(claim.claim, PROSE_CHARS)
    return Cut("claims", text, _name_claim_source(claim), reason="its evidence is gone")


def _write_claim(claim: JudgedClaim, now: datetime, place: PlaceText) -> Item:
    """The verdict first and the evidence last: both stand even where the text is shortened."""
    verdict = claim.verdict
    if verdict == "said":
        return _write_said_claim(claim, now)
    source = _name_claim_source(claim)
    worst = _find_worst(claim.evidence)
    if verdict == "changed":
        text = quote_inside(claim.claim, TEXT_CHARS)
        end = f'": {place(worst)} {_describe_edit(worst)}; unproven'
        return Item.with_end(f'[changed] "{text}', end, source, verdict)
    text = end_sentence(quote(claim.claim, TEXT_CHARS))
    end = f" {place(worst)}"
    return Item.with_end(f"[{verdict}] {text}", end, source, verdict)


def _write_said_claim(claim: JudgedClaim, now: datetime) -> Item:
    text = end_sentence(quote(claim.claim, TEXT_CHARS))
    at = format_moment(claim.claimed_at, now)
    line = f"[said] {text}"
    if at:
        line += f" {at}"
    return Item(line, _name_claim_source(claim), "said")


def _describe_edit(worst: JudgedEvidence) -> str:
    is_edited = worst.path and (not worst.why or "edited" in worst.why)
    if is_edited:
        return "edited after the claim"
    return worst.why.removeprefix("it ") or "ran on another tree"


def _name_claim_source(claim: JudgedClaim) -> str:
    parts = [f"claim {quote(claim.id, WORD_CHARS)}"]
    for evidence in claim.evidence[:STALE_SHOWN]:
        place = quote(evidence.text, LABEL_CHARS)
        parts.append(f"{place} {evidence.verdict}")
    return join_parts(*parts)


def _find_worst(evidence: Iterable[JudgedEvidence]) -> JudgedEvidence:
    return max(evidence, key=lambda each: VERDICTS.index(each.verdict))


# --- places ---------------------------------------------------------------------------------------


def write_place(evidence: JudgedEvidence) -> str:
    place = quote(evidence.text, PATH_CHARS)
    if evidence.verdict == "moved" and evidence.lines:
        return f"{place} now {evidence.lines_text}"
    return place


def write_short_place(evidence: JudgedEvidence) -> str:
    """Without its folder, which stands in the list of files."""
    folder, _, _ = (evidence.path or "").rpartition("/")
    if not folder:
        return write_place(evidence)
    text = evidence.text.removeprefix(f"{folder}/")
    return write_place(replace(evidence, text=text))


def make_files(judged: JudgedContext, evidence: Sequence[JudgedEvidence]) -> Section:
    """Where to look: pointers first, then the evidence of claims; without files that are gone."""
    files = _list_noted_files(judged, evidence)
    gone = _list_gone_files(judged)
    present = dict.fromkeys(file.text for file in files if file.path not in gone)
    missing = dict.fromkeys(file.text for file in files if file.path in gone)
    items = [Item(text, POINTER) for text in present if text]
    cuts = [Cut("files", text, POINTER, reason="the file is gone") for text in missing]
    return list_section("files", "FILES", items, lead=" ", joined=" · ", gone=tuple(cuts))


def _list_noted_files(judged: JudgedContext, evidence: Sequence[JudgedEvidence]) -> list[NotedFile]:
    files = []
    for pointer in judged.context.pointers:
        text = quote(str(pointer), PATH_CHARS)
        files.append(NotedFile(pointer.path, text))
    for shown in evidence:
        if shown.path:
            text = quote(_write_pointer(shown, shown.path), PATH_CHARS)
            files.append(NotedFile(shown.path, text))
    return files


def _list_gone_files(judged: JudgedContext) -> set[str | None]:
    changes = judged.staleness.changed
    gone: set[str | None] = {change.path for change in changes if change.what == "gone"}
    for claim in judged.claims:
        gone |= {each.path for each in claim.evidence if each.verdict == "gone"}
    return gone


def _write_pointer(evidence: JudgedEvidence, path: str) -> str:
    """The file alone where its lines have changed: their numbers would mislead."""
    names_symbol = "#" in evidence.text[len(path) :]
    if evidence.verdict == "ok" or names_symbol:
        return evidence.text
    return path
