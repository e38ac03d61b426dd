"""What was noted: decisions, the summary, claims with their verdicts, and where to look. Pure.

A claim whose evidence changed is never shown as true, and one whose evidence is gone is not shown.
Decisions that are open or rejected matter more than accepted ones: without them a reader tries the
same again. Verdicts come from evidence that was judged here and not from what a file states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_cut_lines, list_section, list_shortened
from holdfast.bundles.model import (
    FILES,
    LINE_CHARS,
    STALE_SHOWN,
    Cut,
    Gathered,
    Item,
    Section,
    WorkingNotes,
)
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PATH_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    format_moment,
    join_parts,
    quote,
    quote_inside,
    write_line,
    write_path,
)
from holdfast.bundles.seen_sections import list_seen_files
from holdfast.bundles.summary import SummaryParts, split_summary
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.workstreams.completion import find_completion
from holdfast.workstreams.entries import DECISION_STATUSES, Summary
from holdfast.workstreams.model import (
    SUMMARY,
    VERDICTS,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
)
from holdfast.workstreams.staleness import EDITED

POINTER = "file pointer"
GONE = "its evidence is gone"

_DECISION_ID = compile_later(r"D[0-9]{1,7}")


@dataclass(frozen=True)
class NotedFile:
    """A file that a note or a claim names, and the text that it is shown as."""

    path: str
    text: str


# --- decisions ------------------------------------------------------------------------------------


def make_decisions(judged: JudgedContext, notes: WorkingNotes) -> Section:
    """For a plan: every status in one list, open ones first, then the newest."""
    known = list_decisions(judged)
    items = [_write_with_status(each) for each in order_decisions(known, DECISION_STATUSES)]
    noted = _list_decided_in_session(notes)
    return list_section(
        "decisions",
        "DECISIONS",
        [*items, *(item for _, item in noted)],
        gone=(*list_long_decisions("decisions", known), *list_cut_lines("decisions", noted)),
    )


def make_open(judged: JudgedContext) -> Section:
    waiting = order_decisions(list_decisions(judged), ["open"])
    items = [_write_decision(each, "OPEN ") for each in waiting]
    return Section("open", "", tuple(items), gone=list_long_decisions("open", waiting))


def make_decided(judged: JudgedContext, notes: WorkingNotes) -> Section:
    accepted = order_decisions(list_decisions(judged), ["accepted"])
    items = [_write_decision(each) for each in accepted]
    noted = _list_decided_in_session(notes)
    return list_section(
        "decided",
        "DECIDED",
        [*items, *(item for _, item in noted)],
        gone=(*list_long_decisions("decided", accepted), *list_cut_lines("decided", noted)),
    )


def _list_decided_in_session(notes: WorkingNotes) -> list[tuple[str, Item]]:
    """What a scratchpad names as decided, and the line of each."""
    lines = [write_line("- ", quote(text, PROSE_CHARS)) for text in notes.decisions]
    items = [Item(line, notes.source) for line in lines]
    return list(zip(notes.decisions, items, strict=True))


def make_rejected(judged: JudgedContext) -> Section:
    ruled_out = order_decisions(list_decisions(judged), ["rejected"])
    return list_section(
        "rejected",
        "REJECTED",
        [_write_rejected(each) for each in ruled_out],
        gone=list_long_decisions("rejected", ruled_out),
    )


def list_decisions(judged: JudgedContext) -> list[JudgedDecision]:
    """One's own: of this workstream, of the other phase, of merged branches."""
    return [each for each in list_all_decisions(judged) if each.is_own]


def list_all_decisions(judged: JudgedContext) -> list[JudgedDecision]:
    """Those of the branch that is named once for all come without its name."""
    inherited = judged.inherited
    merged = [
        replace(each, of=inherited.name_origin(each.of) or None) for each in inherited.decisions
    ]
    return [*judged.decisions, *judged.shared_decisions, *merged]


def list_all_claims(judged: JudgedContext) -> list[JudgedClaim]:
    inherited = judged.inherited
    merged = [replace(each, of=inherited.name_origin(each.of) or None) for each in inherited.claims]
    return [*judged.claims, *merged]


def order_decisions(
    decisions: Iterable[JudgedDecision], statuses: Sequence[str]
) -> list[JudgedDecision]:
    """Open ones first, then those of this work, then the newest."""
    found = [each for each in decisions if each.status in statuses]
    found.sort(key=_rank_by_age, reverse=True)
    found.sort(key=lambda each: each.of is not None)
    return sorted(found, key=lambda each: each.status != "open")


def list_long_decisions(section: str, decisions: Sequence[JudgedDecision]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for judged in decisions:
        texts = [judged.decision.text, judged.decision.because]
        cuts += list_shortened(section, texts, _name_source(judged), TEXT_CHARS)
    return tuple(cuts)


def _write_decision(judged: JudgedDecision, lead: str = "") -> Item:
    return _write_decided(judged, f"{lead}{_name_decision(judged)} ")


def _write_with_status(judged: JudgedDecision) -> Item:
    return _write_decided(judged, f"{_name_decision(judged)} {judged.status}: ")


def _write_rejected(judged: JudgedDecision) -> Item:
    lead = "- "
    if judged.of:
        lead = f"- ({quote(judged.of, NAME_CHARS)}) "
    return _write_decided(judged, lead)


def _write_decided(judged: JudgedDecision, lead: str) -> Item:
    verdict, mark = _mark_decision(judged)
    text = lead + quote(judged.decision.text, PROSE_CHARS)
    because = quote(judged.decision.because, PROSE_CHARS)
    item = Item.with_reason(text, because, mark, _name_source(judged), verdict)
    return item.shorten(LINE_CHARS)


def _name_decision(judged: JudgedDecision) -> str:
    name = _read_decision_id(judged)
    if judged.of:
        name += f" ({quote(judged.of, NAME_CHARS)})"
    return name


def _mark_decision(judged: JudgedDecision) -> tuple[str | None, str]:
    """By evidence that was judged here: a verdict that the file states proves nothing."""
    standing = [each for each in judged.evidence if each.verdict != "gone"]
    if standing:
        worst = _find_worst(standing)
        place = write_short_place(worst)
        return worst.verdict, f" [{worst.verdict}] {place}"
    if _says_done(judged.decision.text or ""):
        return "said", " [said]"
    return None, ""


def _says_done(text: str) -> bool:
    """In what of it can be shown: the rest costs time and marks nothing."""
    return find_completion(text[:LINE_CHARS]) is not None


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


def split_own_summary(judged: JudgedContext) -> SummaryParts:
    summary = judged.context.summary
    if summary is None or SUMMARY in judged.foreign:
        return SummaryParts()
    return split_summary(summary.text)


def mark_summary(judged: JudgedContext) -> str:
    """What stands beside a sentence of a summary that was not saved for these contents."""
    if not judged.staleness.stale:
        return ""
    if "files" in judged.staleness.reasons:
        return " [older tree]"
    return " [edited]"


def make_goal(judged: JudgedContext) -> Section:
    """What the work is for, and what not."""
    title = f"GOAL{mark_summary(judged)}"
    sentences = split_own_summary(judged).list_goals()
    lines = [write_line("", goal, keep=len(title) + 1) for goal in sentences]
    items = [Item(line, "working summary", is_prose=True) for line in lines]
    gone = list_cut_lines("goal", zip(sentences, items, strict=True))
    return list_section("goal", title, items, lead=" ", joined=" ", gone=gone)


def make_summary(judged: JudgedContext, now: datetime) -> Section:
    """The rest of it: its goal and its next steps have places of their own."""
    summary = judged.context.summary
    lines = split_own_summary(judged).rest
    items = [_write_summary_line(line) for line in lines]
    if summary is None or not items:
        return Section("summary", "")
    title = f"SUMMARY ({_describe_summary(judged, summary, now)})"
    gone = list_cut_lines("summary", zip(lines, items, strict=True))
    return list_section("summary", title, items, gone=gone)


def _describe_summary(judged: JudgedContext, summary: Summary, now: datetime) -> str:
    parts = [format_moment(summary.updated_at, now)]
    if judged.staleness.stale:
        parts.append(f"stale: {_describe_staleness(judged)}")
    if summary.failing:
        parts.append(f"saved while `{quote(summary.failing, LABEL_CHARS)}`")
    return join_parts(*parts)


def _describe_staleness(judged: JudgedContext) -> str:
    if "files" in judged.staleness.reasons:
        return "written on another tree"
    return EDITED


def _write_summary_line(line: str) -> Item:
    """A summary that says "done" has no evidence for it, so the line is marked."""
    if _says_done(line):
        return Item(write_line("[said] ", line), "working summary", "said", is_prose=True)
    return Item(write_line("| ", line), "working summary", is_prose=True)


# --- claims ---------------------------------------------------------------------------------------


def make_claims(judged: JudgedContext) -> Section:
    """The newest three that no longer hold, then those with evidence, then those without."""
    known = [claim for claim in list_all_claims(judged) if claim.is_own]
    newest_first = sorted(known, key=_rank_claim_by_age, reverse=True)
    newest_first.sort(key=lambda claim: claim.of is not None)  # those of other branches follow
    standing = [claim for claim in newest_first if claim.verdict != "gone"]
    changed = [claim for claim in standing if claim.verdict == "changed"]
    unchanged = [claim for claim in standing if claim.verdict != "changed"]
    unchanged.sort(key=lambda claim: claim.verdict == "said")
    doubtful = [write_claim(claim) for claim in changed]
    lost = [claim for claim in newest_first if claim.verdict == "gone"]
    gone = [cut_claim("claims", claim, GONE) for claim in lost]
    why = f"only {STALE_SHOWN} stale ones are shown"
    return list_section(
        "claims",
        _title_claims(standing, changed, only_merged=not judged.claims),
        [*doubtful[:STALE_SHOWN], *map(write_claim, unchanged)],
        held=hold_back("claims", doubtful[STALE_SHOWN:], why),
        gone=(*gone, *_list_long_claims(standing)),
    )


def _title_claims(
    standing: Sequence[JudgedClaim], changed: Sequence[JudgedClaim], *, only_merged: bool
) -> str:
    """Of merged branches only what holds is known here, so no number says how much does not."""
    hold = sum(claim.holds for claim in standing)
    counts = [f"{hold} hold"]
    if changed:
        counts.insert(0, f"{len(changed)} changed")
    told = f"{len(standing)}: {join_parts(*counts)}"
    if only_merged:
        told = "that hold here"
    return f'CLAIMS {told} ("done" needs lines or an exit code)'


def _rank_claim_by_age(claim: JudgedClaim) -> tuple[str, str]:
    return claim.claimed_at, claim.id


def _list_long_claims(claims: Iterable[JudgedClaim]) -> list[Cut]:
    cuts: list[Cut] = []
    for claim in claims:
        source = _name_claim_source(claim)
        cuts += list_shortened("claims", [claim.claim], source, TEXT_CHARS)
    return cuts


def cut_claim(section: str, claim: JudgedClaim, why: str) -> Cut:
    text = quote(claim.claim, PROSE_CHARS)
    return Cut(section, text, _name_claim_source(claim), reason=why)


def write_claim(claim: JudgedClaim) -> Item:
    """The verdict first and the evidence last: both stand even where the text is shortened."""
    verdict = claim.verdict
    source = _name_claim_source(claim)
    lead = f"[{verdict}] "
    if claim.of:
        lead += f"({quote(claim.of, NAME_CHARS)}) "
    text = quote(claim.claim, PROSE_CHARS)
    if verdict == "said":
        return Item(write_line(lead, text), source, verdict)
    worst = _find_worst(claim.evidence)
    text = text.rstrip(".")
    end = f", {_write_place_beside(worst, text)}"
    if verdict == "changed":
        text = quote_inside(text, PROSE_CHARS)
        lead += '"'
        end = f'": {write_short_place(worst)} {_describe_edit(worst)}'
    line = write_line(lead, text, keep=len(end))
    return Item.with_end(line, end, source, verdict)


def _describe_edit(worst: JudgedEvidence) -> str:
    is_edited = worst.path and (not worst.why or "edited" in worst.why)
    if is_edited:
        return "edited since"
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


def _write_place_beside(evidence: JudgedEvidence, text: str) -> str:
    """The file alone, where the text itself names the function or the class in it."""
    place = write_short_place(evidence)
    file, hash_mark, symbol = place.partition("#")
    name = symbol.rpartition(".")[2]
    is_plain_word = name.isalpha() and name.islower()
    if hash_mark and (f"{name}(" in text or (name in text and not is_plain_word)):
        return file
    return place


def make_files(judged: JudgedContext, gathered: Gathered) -> Section:
    """The set, what is in progress, pointers, then the evidence of claims and what was seen."""
    files = name_each_once([*list_noted_paths(gathered), *list_files(judged, own=True)])
    gone = _list_gone_files(judged)
    first = list_set_files(gathered)
    texts = {item.text for item in first}
    others = [file for file in files if file.text not in texts]
    present = dict.fromkeys(file.text for file in others if file.path not in gone)
    missing = dict.fromkeys(file.text for file in files if file.path in gone)
    items = [*first, *(Item(text, POINTER) for text in present if text)]
    items += list_seen_files(gathered, {file.path for file in files})
    gone_files = [Cut("files", text, POINTER, reason="the file is gone") for text in missing]
    long = list_shortened("files", [file.path for file in files], POINTER, PATH_CHARS)
    cut = (*list_shortened_set_files(gathered), *gone_files, *long)
    return list_section("files", "FILES", items, lead=" ", joined=" · ", gone=cut)


def name_each_once(files: Sequence[NotedFile]) -> list[NotedFile]:
    """Without a file's bare name where a place in it is named too."""
    named = {file.path for file in files if file.text.startswith(f"{file.path}#")}
    return [file for file in files if file.text != file.path or file.path not in named]


def list_set_files(gathered: Gathered) -> list[Item]:
    """What a session was told to be reminded of comes first."""
    texts = [write_path(gathered, path) for path in _list_set_paths(gathered)]
    return [Item(text, gathered.context_source) for text in texts if text]


def list_shortened_set_files(gathered: Gathered) -> tuple[Cut, ...]:
    return list_shortened("files", _list_set_paths(gathered), gathered.context_source, PATH_CHARS)


def _list_set_paths(gathered: Gathered) -> list[str]:
    entries: Sequence[object] = gathered.context_sets.get(FILES, ())
    return [entry for entry in entries if isinstance(entry, str)]


def list_noted_paths(gathered: Gathered) -> list[NotedFile]:
    """What the scratchpad names, and the set of files does not."""
    notes = gathered.notes
    noted = [*notes.in_progress[1:], *notes.files]  # the first stands beside the task
    paths = [path for path in noted if path not in gathered.context_sets.get(FILES, ())]
    return [NotedFile(path, write_path(gathered, path)) for path in paths]


def describe_age(gathered: Gathered) -> str:
    """When steps and blockers were noted, where something was asked for after that."""
    noted_at, request = gathered.notes.noted_at, gathered.request
    if noted_at is None or request is None or noted_at >= request.said_at:
        return ""
    return f" (noted {format_moment(noted_at, gathered.now)})"


def list_files(judged: JudgedContext, *, own: bool) -> list[NotedFile]:
    """The pointers and the evidence of claims: one's own, or those of others."""
    pointers = judged.own_pointers if own else judged.of_others.file_pointers or ()
    files = [NotedFile(pointer.path, quote(str(pointer), PATH_CHARS)) for pointer in pointers]
    claims = [claim for claim in judged.claims if claim.is_own == own]
    for shown in [shown for claim in claims for shown in claim.evidence]:
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
