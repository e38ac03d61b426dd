"""What was gathered becomes sections. Pure; `now` and every verdict are arguments.

What the repository says comes before what was noted: where HEAD is and whether these notes are stale is pinned, what
changed stands first, and the summary is marked. A claim whose evidence changed is never shown as true, and one whose
evidence is gone is not shown at all. Of what went stale only the worst three are shown, because a reader who meets ten
warnings reads none. Whatever a rule leaves out or shortens here is a cut with its reason.

Words of others stand inside lines of ours: cleaned, on one line, behind a mark, and without our own verdicts in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from holdfast.bundles.model import Cut, Gathered, Head, Item, Recalled, Section
from holdfast.ground.fence import one_line
from holdfast.workstreams.completion import claims_completion
from holdfast.workstreams.model import (
    DECISION_STATUSES,
    VERDICTS,
    JudgedClaim,
    JudgedContext,
    JudgedEvidence,
    NotedChange,
    Proof,
)

# Minimum and maximum of each section, in characters; who is served first stands first. Without a minimum a section has
# what the others left below their maximum, without a maximum only what nobody else wanted.
BUDGETS: dict[str, dict[str, tuple[int, int]]] = {
    "planning": {
        "about": (60, 200),
        "last_run": (100, 200),
        "changed": (100, 300),
        "decisions": (400, 600),
        "claims": (150, 250),
        "failed": (60, 150),
        "next": (100, 250),
        "context_sets": (0, 0),
        "summary": (350, 550),
        "files": (200, 300),
        "recalled": (0, 300),
    },
    "implementation": {
        "about": (60, 200),
        "last_run": (100, 250),
        "changed": (100, 300),
        "request": (100, 200),
        "failed": (100, 200),
        "next": (250, 400),
        "claims": (100, 250),
        "decisions": (100, 200),
        "last_pass": (50, 150),
        "context_sets": (0, 0),
        "files": (50, 200),
        "works": (40, 120),
        "summary": (0, 200),
        "recalled": (0, 200),
    },
    "local": {
        "request": (100, 400),
        "context_sets": (50, 300),
        "recalled": (0, 300),
    },
}
CLAIMS = "CLAIMS"
EDITED = "the summary was edited without a checkpoint of its own"
STATE = ("about", "repo", "stale", "changed")
BELONGS_TO = {
    "repo": STATE,
    "stale": STATE,
    "changed": STATE,
    "last_run": STATE,
    "last_pass": (*STATE, "last_run"),
    "claims": ("summary",),
    "reminder": ("claims",),
    "works": ("failed",),
    "context_sets": ("context_sets",),
}

STALE_SHOWN = 3
DECISIONS_SHOWN = 5
SHARED_SHOWN = 3
STEPS_SHOWN = 3
ERRORS_SHOWN = 3
COMMANDS_SHOWN = 2
OUTPUT_LINES = 3

NAME_CHARS, WORD_CHARS, LABEL_CHARS = 60, 40, 120
TEXT_CHARS, PATH_CHARS, PROSE_CHARS = 200, 300, 8_000
PROSE_LINES = 40
READ_TIMES = 20  # of a text, so many times what is shown of it is read; only what is unseen fills more than that

_OUR_MARK = re.compile(r"\[(?=\s*(?:ok|moved|changed|gone|said)\s*\])", re.IGNORECASE)
_WORDS = re.compile(r"\w")
_DECISION_ID = re.compile(r"D[0-9]{1,7}")
_COMMIT_ID = re.compile(r"[0-9a-f]{40,64}")
_WORST_FIRST = ("gone", "changed", "new")


def head_of(gathered: Gathered) -> Head:
    return Head(
        phase=gathered.phase,
        repo=short_repo(gathered.repo),
        branch=foreign(gathered.branch, NAME_CHARS),
        at=gathered.now.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ"),
        receipt=gathered.receipt,
        notice=_notice(gathered),
    )


def sections_of(gathered: Gathered) -> tuple[Section, ...]:
    """The sections that have something to say, in the order in which they are read."""
    if gathered.judged is None:
        parts = [_rules(gathered.rules), _request(gathered), *_context_sets(gathered), _recalled(gathered)]
    elif gathered.phase == "planning":
        parts = _planning(gathered, gathered.judged)
    else:
        parts = _implementation(gathered, gathered.judged)
    budgets = BUDGETS["local" if gathered.judged is None else gathered.phase]
    telling = [part for part in parts if part.title or part.items or part.gone]
    before = ["", *(part.name for part in telling)]
    return tuple(_placed(part, name, budgets) for part, name in zip(telling, before, strict=False))


def _planning(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now, failed = gathered.now, _failed_last(judged)
    return [
        _rules(gathered.rules),
        _about(judged),
        _repo(judged),
        Section("stale", _stale_title(judged) if judged.staleness.stale else "", pinned=True),
        _changed(judged),
        *([_failed_run(failed, now)] if failed else []),
        _decisions(judged, now, DECISION_STATUSES),
        _summary(judged, now),
        _claims(judged, now, "" if judged.context.summary else CLAIMS, _short_place),
        _next(judged, now),
        _files(judged, [one for claim in judged.claims for one in claim.evidence]),
        _errors(judged, now, failed),
        *_context_sets(gathered),
        _recalled(gathered),
        _told_elsewhere(gathered, judged),
        Section("more", "More: repo_context operation=load", pinned=True),
    ]


def _implementation(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    last, passed = _runs(judged)
    return [
        _rules(gathered.rules),
        _about(judged),
        Section("stale", _changed_title(judged, now), pinned=True) if judged.staleness.stale else _repo(judged),
        _changed(judged),
        *([_last_run(last, judged, now) if isinstance(last, Proof) else _failed_run(last, now)] if last else []),
        *([_last_pass(passed, judged, now)] if passed else []),
        _request(gathered),
        _next(judged, now),
        _decisions(judged, now, ("open", "accepted")),
        _summary(judged, now),
        _claims(judged, now, CLAIMS, _place),
        Section("reminder", '"Done" needs a path with lines or an observed exit code.', pinned=True),
        _failed(judged, now, last),
        _works(judged),
        _files(judged, ()),
        *_context_sets(gathered),
        _recalled(gathered),
        Section("more", "More: repo_context operation=load", pinned=True),
    ]


def _placed(section: Section, before: str, budgets: Mapping[str, tuple[int, int]]) -> Section:
    """With its budget and rank, and closed up to the section that it belongs to where that one is right before it."""
    least, most = budgets.get(section.name, (0, 0))
    rank = list(budgets).index(section.name) if section.name in budgets else len(budgets)
    attached = before in BELONGS_TO.get(section.name, ()) and section.title != CLAIMS
    return replace(section, min_chars=least, max_chars=most, rank=rank, attached=attached)


def _listed(name: str, title: str, items: Sequence[Item], held: Sequence[Cut] = (), **more: Any) -> Section:
    """A section with a heading, which is none where nothing stands below it."""
    return Section(name, title if items else "", tuple(items), held=tuple(held), **more)


def _told_elsewhere(gathered: Gathered, judged: JudgedContext) -> Section:
    """What is known and no part of a plan: its place is the other bundle, and the receipt says so."""
    why = "told in the implementation bundle"
    runs = [Cut("last_run", _count(len(judged.proofs), "run"), "proofs", why)] if judged.proofs else []
    asked = [Cut("request", line, one.source, why) for one in [gathered.request] if one for line in _lines(one.text)]
    return Section("elsewhere", "", gone=(*runs, *asked))


# --- words of others ---------------------------------------------------------------------------------------


def foreign(value: object, max_chars: int) -> str:
    """Somebody else's words, fit to stand inside a line of ours; `(ok]` is not a verdict."""
    text = value[: READ_TIMES * max_chars] if isinstance(value, str) else ""
    return _OUR_MARK.sub("(", one_line(text, max_chars))


def moment(value: object, now: datetime) -> str:
    """An absolute time, as short as it stays clear on the day in the head; nothing for what is no time."""
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    today = now.astimezone(UTC)
    if at.date() == today.date():
        return at.strftime("%H:%M")
    return at.strftime("%m-%d %H:%M") if at.year == today.year else f"{at.year:04}-{at:%m-%d}"


def day(value: object, now: datetime) -> str:
    """The same without the hour, where the day says enough."""
    return moment(value, now).partition(" ")[0]


def short_repo(repo: str) -> str:
    """Owner and name; of a repository without a remote the beginning of its first commit."""
    if _COMMIT_ID.fullmatch(repo):
        return repo[:7]
    return foreign("/".join(repo.rstrip("/").split("/")[-2:]), NAME_CHARS)


def _lines(text: object) -> list[str]:
    """The lines of a text that say something; of one that is longer than any door takes, the beginning."""
    cleaned = text[:PROSE_CHARS].splitlines() if isinstance(text, str) else []
    return [line for line in (foreign(line, PROSE_CHARS) for line in cleaned) if line]


def _held(section: str, items: Iterable[Item], why: str) -> tuple[Cut, ...]:
    return tuple(Cut(section, item.text, item.source, why) for item in items)


def _shortened(section: str, texts: Iterable[tuple[object, str]], max_chars: int) -> tuple[Cut, ...]:
    """What has its `…` before any budget, because one long note would hide all the others."""
    why = f"shortened: it may have {max_chars} characters here"
    long = ((text, source) for text, source in texts if isinstance(text, str) and len(text) > max_chars)
    whole = ((foreign(text, PROSE_CHARS), source) for text, source in long)
    return tuple(Cut(section, text, source, why) for text, source in whole if len(text) > max_chars)


def _sentence(text: str) -> str:
    return text if text[-1:] in ("", ".", "?", "!", "…") else f"{text}."


def _commit(value: object) -> str:
    return foreign(value, WORD_CHARS)[:7]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


# --- rules and repository ----------------------------------------------------------------------------------


def _notice(gathered: Gathered) -> str:
    if gathered.judged is not None and gathered.phase == "planning":
        return "Earlier sessions' notes, checked against this checkout just now. The checkout wins."
    checked = "Checked against this checkout; the checkout wins."
    local = "Kept on this machine; not checked against any checkout."
    return (local if gathered.judged is None else checked) + _last_session(gathered)


def _last_session(gathered: Gathered) -> str:
    if (last := gathered.last_session) is None:
        return ""
    how = "" if last.is_answered else " without a final answer"
    return f" Last session: {foreign(last.client, WORD_CHARS)}; its log ends {moment(last.ends_at, gathered.now)}{how}."


def _rules(rules: Sequence[str]) -> Section:
    items = [Item(f"- {foreign(rule, PROSE_CHARS)}", "pinned rule") for rule in rules]
    return Section("rules", "RULES" if items else "", tuple(items), pinned=True)


def _about(judged: JudgedContext) -> Section:
    """Which line of work it is, and what is the matter with its notes."""
    context = judged.context
    label = foreign(context.fields.get("feature_request"), LABEL_CHARS)
    name = "" if context.key.workstream_id == context.key.branch else foreign(context.key.workstream_id, NAME_CHARS)
    which = f"WORKSTREAM {name}".rstrip() + (f': "{label}"' if label else "")
    notes = [note for note in (context.read_only, *context.notes) if note]
    items = [Item(which, "repo context")] if name or label else []
    items += [Item(f"NOTE: {foreign(note, TEXT_CHARS)}", "repo context") for note in notes]
    long = [*_shortened("about", [(context.fields.get("feature_request"), "repo context")], LABEL_CHARS)]
    long += _shortened("about", ((note, "repo context") for note in notes), TEXT_CHARS)
    return Section("about", "", tuple(items), gone=tuple(long))


def _repo(judged: JudgedContext) -> Section:
    summary, staleness = judged.context.summary, judged.staleness
    head = f"HEAD {_commit(judged.head)}" if judged.head else "no commit yet"
    state = "" if staleness.stale or summary is None else " Fresh: the contents are those of these notes."
    saved = "" if summary else " No summary was saved yet."
    return Section("repo", f"REPO: {_joined(head, _since(judged))}; {_uncommitted(judged)}.{state}{saved}", pinned=True)


def _since(judged: JudgedContext) -> str:
    written_at, commits = _commit(judged.context.checkpoint.get("git_head")), judged.staleness.commits
    if judged.context.summary is None or not judged.head:
        return ""
    if commits is None:
        return f"these notes were written at {written_at or 'no commit'}, which is not known here"
    return (
        f"{_count(commits, 'commit')} after these notes ({written_at})" if commits else "where these notes were written"
    )


def _uncommitted(judged: JudgedContext) -> str:
    number = judged.staleness.uncommitted
    return f"{_count(number, 'file')} uncommitted" if number else "nothing uncommitted"


def _stale_title(judged: JudgedContext) -> str:
    if "files" not in judged.staleness.reasons:
        return f"STALE: {EDITED}."
    return f"{_how_stale(judged)}: {_of_noted(len(judged.staleness.changed), judged.staleness.noted)}."


def _changed_title(judged: JudgedContext, now: datetime) -> str:
    """The same with what it is measured against, in one line."""
    context, staleness = judged.context, judged.staleness
    at = _joined(moment((context.summary or {}).get("updated_at"), now), _commit(context.checkpoint.get("git_head")))
    later = "" if staleness.commits is None else f", {_count(staleness.commits, 'commit')} later"
    head = "HEAD unchanged" if staleness.commits == 0 else f"HEAD {_commit(judged.head)}{later}"
    is_edited = "files" not in staleness.reasons
    what = EDITED if is_edited else _noted(len(staleness.changed), staleness.noted)
    return f"CHANGED since these notes ({at}): {_how_stale(judged)}, {what}; {head}; {_uncommitted(judged)}"


def _how_stale(judged: JudgedContext) -> str:
    found, noted = len(judged.staleness.changed), judged.staleness.noted
    return "STALE" if found == noted else "STALE IN PART" if found else "STALE ELSEWHERE"


def _of_noted(found: int, noted: int) -> str:
    return f"{_noted(found, noted)} changed" if noted else "no file is noted here"


def _noted(found: int, noted: int) -> str:
    if not noted:
        return "no noted file"
    if found == noted:
        return "the 1 file noted here" if noted == 1 else f"all {noted:,} files noted here"
    which = f"{found:,} of the" if found else "none of the"
    return f"{which} {_count(noted, 'file')} noted here"


def _changed(judged: JudgedContext) -> Section:
    """The worst first: what is gone, then what changed most. That these notes are stale is said before it."""
    staleness = judged.staleness
    items = [Item(_change(one), "git") for one in sorted(staleness.changed, key=_by_weight)]
    held = _held("changed", items[STALE_SHOWN:], f"only the worst {STALE_SHOWN} are shown")
    others = _others(judged) if staleness.stale else ""
    if not items:
        return Section("changed", "", (Item(others, "git"),) if others else (), indent="  ")
    title = "" if staleness.stale else f"CHANGED: {_of_noted(len(items), staleness.noted)}."
    tail = f"  {others}" if others else ""
    return Section("changed", title, tuple(items[:STALE_SHOWN]), tail=tail, indent="  ", held=held)


def _by_weight(change: NotedChange) -> tuple[int, int, str]:
    kind = _WORST_FIRST.index(change.what) if change.what in _WORST_FIRST else len(_WORST_FIRST)
    return kind, -((change.added or 0) + (change.removed or 0)), change.path


def _change(change: NotedChange) -> str:
    lines = (
        f" +{change.added or 0} -{change.removed or 0}"
        if change.added is not None or change.removed is not None
        else ""
    )
    what = lines if change.what == "changed" and lines else f" {foreign(change.what, WORD_CHARS)}"
    if not change.is_committed:
        return f"{foreign(change.path, PATH_CHARS)}{what}, uncommitted"
    by = _joined(_commit(change.commit), foreign(change.author, WORD_CHARS))
    return f"{foreign(change.path, PATH_CHARS)}{what}" + (f" ({by})" if by else "")


def _others(judged: JudgedContext) -> str:
    others = judged.staleness.others
    if others is None:
        return "How many other files changed is not known here."
    if not others:
        return ""
    return f"{_count(others, 'other file')} changed; none is noted here."


# --- decisions, summary, claims ----------------------------------------------------------------------------


def _decisions(judged: JudgedContext, now: datetime, statuses: Sequence[str]) -> Section:
    """Open ones first, then the newest; those of the other phase and of other branches after one's own.

    Where there are too many, accepted ones stay out first: what is open or was ruled out would be tried again.
    """
    own = _in_order(judged.decisions, statuses)
    shared = _in_order(judged.shared_decisions, statuses)
    kept = sorted(own, key=lambda one: _status(one) == "accepted")[:DECISIONS_SHOWN]
    rest = [one for one in own if one not in kept]
    items = [_decision(one, now) for one in (*(one for one in own if one in kept), *shared[:SHARED_SHOWN])]
    older = [_decision(one, now) for one in [*rest, *shared[SHARED_SHOWN:]]]
    held = _held("decisions", older, "only the last ones are shown")
    return _listed("decisions", "DECISIONS", items, held, gone=_long_decisions("decisions", (*own, *shared)))


def _long_decisions(section: str, decisions: Sequence[Mapping[str, Any]]) -> tuple[Cut, ...]:
    texts, reasons = (
        [(one.get(name), f"decision {_decision_id(one)}") for one in decisions if name == "text" or _is_rejected(one)]
        for name in ("text", "because")
    )
    return (*_shortened(section, texts, TEXT_CHARS), *_shortened(section, reasons, LABEL_CHARS))


def _is_rejected(decision: Mapping[str, Any]) -> bool:
    return _status(decision) == "rejected"


def _in_order(decisions: Iterable[Mapping[str, Any]], statuses: Sequence[str]) -> list[Mapping[str, Any]]:
    found = [one for one in decisions if _status(one) in statuses]
    newest_first = sorted(
        found, key=lambda one: (str(one.get("created_at") or ""), str(one.get("id") or "")), reverse=True
    )
    return sorted(newest_first, key=lambda one: _status(one) != "open")


def _status(decision: Mapping[str, Any]) -> str:
    status = decision.get("status")
    return status if status in DECISION_STATUSES else "open"


def _decision(decision: Mapping[str, Any], now: datetime) -> Item:
    whose = f" of {foreign(decision['of'], NAME_CHARS)}," if decision.get("of") else ""
    name, status, text = _decision_id(decision), _status(decision), foreign(decision.get("text"), TEXT_CHARS)
    because = foreign(decision.get("because"), LABEL_CHARS).replace('"', "'") if status == "rejected" else ""
    said = f'{text.rstrip(".")}, "{because}".' if because else _sentence(text)
    verdict, mark = _decision_mark(decision, now) if status != "open" else (None, "")
    return Item(f"{name}{whose} {status}: {said}{mark}", f"decision {name}", verdict, keep=len(mark))


def _decision_id(decision: Mapping[str, Any]) -> str:
    """It stands at the margin, so it is an id or nothing."""
    found = decision.get("id")
    return found if isinstance(found, str) and _DECISION_ID.fullmatch(found) else "D?"


def _decision_mark(decision: Mapping[str, Any], now: datetime) -> tuple[str, str]:
    """By evidence that was judged here; a verdict that only stands in the file is anybody's."""
    shown = [one for one in decision.get("evidence") or () if isinstance(one, JudgedEvidence) and one.verdict != "gone"]
    if shown:
        worst = max(shown, key=lambda one: VERDICTS.index(one.verdict))
        return worst.verdict, f" [{worst.verdict}] {_short_place(worst)}"
    by = _joined(foreign(decision.get("by"), WORD_CHARS) or "unknown", moment(_updated_at(decision), now))
    return "said", f" [said] {by}"


def _updated_at(entry: Mapping[str, Any]) -> object:
    return entry.get("updated_at") or entry.get("created_at") or ""


def _summary(judged: JudgedContext, now: datetime) -> Section:
    summary = judged.context.summary
    if summary is None:
        return Section("summary", "")
    at = _commit(judged.context.checkpoint.get("git_head"))
    written = _joined(
        moment(summary.get("updated_at"), now), foreign(summary.get("by"), WORD_CHARS), at and f"written at {at}"
    )
    stale = "stale: holds only after a re-scan of what changed" if judged.staleness.stale else ""
    about = "; ".join(part for part in (written, stale) if part)
    items = [_summary_line(line) for line in _lines(summary.get("text"))]
    held = _held("summary", items[PROSE_LINES:], f"only the first {PROSE_LINES} lines are shown")
    return _listed("summary", f"SUMMARY ({about})" if about else "SUMMARY", items[:PROSE_LINES], held)


def _summary_line(line: str) -> Item:
    """Whoever wrote "done" into a summary has shown nothing for it."""
    if claims_completion(line):
        return Item(f"[said] {line}", "working summary", "said", is_prose=True)
    return Item(f"| {line}", "working summary", is_prose=True)


def _claims(judged: JudgedContext, now: datetime, title: str, place: Callable[[JudgedEvidence], str]) -> Section:
    """What no longer holds first, and of that only the newest three; then what is shown, then what was only said."""
    newest = sorted(judged.claims, key=lambda one: (one.claimed_at, one.id), reverse=True)
    doubtful = [_claim(one, now, place) for one in newest if one.verdict == "changed"]
    proven = sorted(newest, key=lambda one: one.verdict == "said")  # what was only said is worth least
    others = [_claim(one, now, place) for one in proven if one.verdict not in ("changed", "gone")]
    held = _held("claims", doubtful[STALE_SHOWN:], f"only {STALE_SHOWN} stale ones are shown")
    gone = [
        Cut("claims", foreign(one.claim, PROSE_CHARS), _claim_source(one), "its evidence is gone")
        for one in newest
        if one.verdict == "gone"
    ]
    short = _shortened(
        "claims", ((one.claim, _claim_source(one)) for one in newest if one.verdict != "gone"), TEXT_CHARS
    )
    return _listed("claims", title, (*doubtful[:STALE_SHOWN], *others), held, gone=(*gone, *short))


def _claim(claim: JudgedClaim, now: datetime, place: Callable[[JudgedEvidence], str]) -> Item:
    """Its verdict first and what it rests on last: both stand even where its words are shortened."""
    text, verdict, source = foreign(claim.claim, TEXT_CHARS), claim.verdict, _claim_source(claim)
    if verdict == "said":
        at = moment(claim.claimed_at, now)
        return Item(f"[said] {_sentence(text)}" + (f" {at}" if at else ""), source, verdict)
    worst = max(claim.evidence, key=lambda one: VERDICTS.index(one.verdict))
    if verdict == "changed":
        is_edited = worst.path and (not worst.why or "edited" in worst.why)
        what = "edited after the claim" if is_edited else worst.why.removeprefix("it ") or "ran on another tree"
        quoted, end = text.replace('"', "'"), f'": {place(worst)} {what}; unproven'
        return Item(f'[changed] "{quoted}{end}', source, verdict, keep=len(end))
    end = f" {place(worst)}"
    return Item(f"[{verdict}] {_sentence(text)}{end}", source, verdict, keep=len(end))


def _claim_source(claim: JudgedClaim) -> str:
    places = [f"{foreign(one.text, LABEL_CHARS)} {one.verdict}" for one in claim.evidence[:STALE_SHOWN]]
    return _joined(f"claim {foreign(claim.id, WORD_CHARS)}", *places)


def _place(evidence: JudgedEvidence) -> str:
    now = f" now L{evidence.lines[0]}-L{evidence.lines[1]}" if evidence.verdict == "moved" and evidence.lines else ""
    return foreign(evidence.text, PATH_CHARS) + now


def _short_place(evidence: JudgedEvidence) -> str:
    """Without its folder, which stands in the list of files."""
    folder = (evidence.path or "").rpartition("/")[0]
    text = evidence.text.removeprefix(f"{folder}/") if folder else evidence.text
    return _place(JudgedEvidence(text, evidence.verdict, evidence.path, evidence.lines))


def _files(judged: JudgedContext, evidence: Sequence[JudgedEvidence]) -> Section:
    """Where to look: pointers first, then what claims rest on. A file that is gone is no pointer."""
    gone = {one.path for claim in judged.claims for one in claim.evidence if one.verdict == "gone"}
    gone |= {change.path for change in judged.staleness.changed if change.what == "gone"}
    named = [(one.partition("#")[0], one) for one in map(str, judged.context.pointers)]
    named += [(one.path or "", _pointer(one)) for one in evidence if one.path]
    there = dict.fromkeys(foreign(text, PATH_CHARS) for path, text in named if path not in gone)
    lost = dict.fromkeys(foreign(text, PATH_CHARS) for path, text in named if path in gone)
    cuts = tuple(Cut("files", text, "file pointer", "the file is gone") for text in lost)
    items = [Item(text, "file pointer") for text in there if text]
    return _listed("files", "FILES", items, lead=" ", joined=" · ", gone=cuts)


def _pointer(evidence: JudgedEvidence) -> str:
    """Lines that no longer are what they were lead nowhere; the file does."""
    path = evidence.path or ""
    return evidence.text if evidence.verdict == "ok" or "#" in evidence.text[len(path) :] else path


# --- runs, requests, steps ---------------------------------------------------------------------------------


def _runs(judged: JudgedContext) -> tuple[Proof | Mapping[str, Any] | None, Proof | None]:
    """The last run where that did not pass, noted or seen here, and the last that passed."""
    here = sorted(
        (one for one in judged.proofs if one.branch == judged.context.key.branch), key=lambda one: (one.ran_at, one.id)
    )
    passed = next((one for one in reversed(here) if one.passed), None)
    noted = _failed_last(judged)
    if noted and (not here or str(noted.get("at") or "") >= here[-1].ran_at):
        return noted, passed
    return here[-1] if here and not here[-1].passed else None, passed


def _failed_last(judged: JudgedContext) -> Mapping[str, Any] | None:
    run = judged.context.last_run or {}
    return run if run.get("status") == "failed" else None


def _failed_run(run: Mapping[str, Any], now: datetime) -> Section:
    what = f"LAST RUN {moment(run.get('at'), now)} failed at: {foreign(run.get('failed_step'), LABEL_CHARS)}"
    after = foreign(run.get("next_action"), TEXT_CHARS)
    error = [Item(f"  > {line}", "last run", is_prose=True) for line in _lines(run.get("error"))]
    items = [Item(what, "last run"), *([Item(f"  Next: {after}", "last run", is_prose=True)] if after else [])]
    held = _held("last_run", error[OUTPUT_LINES:], f"only the first {OUTPUT_LINES} lines of an error are shown")
    short = [*_shortened("last_run", [(run.get("failed_step"), "last run")], LABEL_CHARS)]
    short += _shortened("last_run", [(run.get("next_action"), "last run")], TEXT_CHARS)
    return Section("last_run", "", (*items, *error[:OUTPUT_LINES]), held=held, gone=tuple(short))


def _last_run(proof: Proof, judged: JudgedContext, now: datetime) -> Section:
    """With the end of what it printed; the rest of an output is no note, and its receipt says that there is more."""
    source, runs = f"proof {proof.id}", [one for one in judged.proofs if one.command == proof.command]
    often = f", failed {sum(not one.passed for one in runs)} of {len(runs)}" if len(runs) > 1 else ""
    how = f" → {_outcome(proof)}{often}"
    lines = [one for one in map(_output_line, proof.output_tail.splitlines()) if one]
    items = [Item(f"LAST RUN {moment(proof.ran_at, now)} {_command(proof)}{how}", source, keep=len(how))]
    items += [Item(f"  > {line}", source, is_prose=True) for line in lines[-OUTPUT_LINES:]]
    before = [f"{_count(len(lines) - OUTPUT_LINES, 'line')} of its output"] if len(lines) > OUTPUT_LINES else []
    gone = tuple(Cut("last_run", text, source, f"only the last {OUTPUT_LINES} are shown") for text in before)
    return Section("last_run", "", tuple(items), gone=gone)


def _output_line(line: str) -> str:
    return foreign(line, TEXT_CHARS) if _WORDS.search(line) else ""


def _last_pass(proof: Proof, judged: JudgedContext, now: datetime) -> Section:
    where = "on this tree" if proof.tree == judged.tree else "on an older tree: proves nothing now"
    how = f" → exit 0, {where}"
    text = f"LAST PASS {moment(proof.ran_at, now)} {_command(proof)}{how}"
    return Section("last_pass", "", (Item(text, f"proof {proof.id}", keep=len(how)),))


def _outcome(proof: Proof) -> str:
    return f"exit {proof.exit_code}" + (", while files changed: proves nothing" if proof.exit_code == 0 else "")


def _command(proof: Proof) -> str:
    return foreign(" ".join(map(str, proof.command)), LABEL_CHARS)


def _request(gathered: Gathered) -> Section:
    if (request := gathered.request) is None:
        return Section("request", "")
    items = [Item(f"> {line}", request.source, is_prose=True) for line in _lines(request.text)]
    held = _held("request", items[PROSE_LINES:], f"only the first {PROSE_LINES} lines are shown")
    title = f"LAST REQUEST (user, {moment(request.said_at, gathered.now)}, verbatim)"
    return _listed("request", title, items[:PROSE_LINES], held)


def _next(judged: JudgedContext, now: datetime) -> Section:
    """Its own time is not kept: it is as old as the notes, or older."""
    said = [(one, "checklist") for one in judged.context.checklist]
    steps = [step for step in (foreign(one, LABEL_CHARS) for one, _ in said) if step]
    items = [Item(f"{number}. {step}", "checklist") for number, step in enumerate(steps, 1)]
    held = _held("next", items[STEPS_SHOWN:], f"only the next {STEPS_SHOWN} are shown")
    at = moment(judged.context.fields.get("updated_at"), now)
    title = f"NEXT (the agent's own list{f', {at} or before' if at else ''})"
    short = _shortened("next", said, LABEL_CHARS)
    return _listed("next", title, items[:STEPS_SHOWN], held, joined="  ", gone=short)


def _failed(judged: JudgedContext, now: datetime, last: Proof | Mapping[str, Any] | None) -> Section:
    """What not to try again: what failed and was not run again, rejected alternatives, commands, older errors."""
    ruled_out = _in_order([*judged.decisions, *judged.shared_decisions], ["rejected"])
    is_told = last.command if isinstance(last, Proof) else None
    failing = [runs for runs in _by_command(judged) if not runs[-1].passed and runs[-1].command != is_told]
    errors = _errors(judged, now, None if isinstance(last, Proof) else last)
    noted = [one for one in errors.items if one.source == "last run"]
    items = [*noted, *(_rejected(one, now) for one in ruled_out), *(_never_passed(runs, now) for runs in failing)]
    gone = (*_long_decisions("failed", ruled_out), *errors.gone)
    return _listed("failed", "FAILED OR REJECTED BEFORE", [*items, *errors.items[len(noted) :]], errors.held, gone=gone)


def _rejected(decision: Mapping[str, Any], now: datetime) -> Item:
    because = foreign(decision.get("because"), LABEL_CHARS).replace('"', "'")
    by = _joined(foreign(decision.get("by"), WORD_CHARS), day(_updated_at(decision), now))
    text = f"- {foreign(decision.get('text'), TEXT_CHARS).rstrip('.')}" + (f': "{because}"' if because else "")
    return Item(text + (f" ({by})" if by else ""), f"decision {_decision_id(decision)}")


def _never_passed(runs: Sequence[Proof], now: datetime) -> Item:
    last, failed = runs[-1], sum(not run.passed for run in runs)
    how = f": {_outcome(last)}, {failed} of {len(runs)}, last {day(last.ran_at, now)}"
    return Item(f"- {_command(last)}{how}", f"proof {last.id}", keep=len(how))


def _errors(judged: JudgedContext, now: datetime, told: Mapping[str, Any] | None) -> Section:
    """The last errors, newest first, without the one that is told as the last run; its next step only it has."""
    run = _failed_last(judged)
    older = [one for one in judged.context.entries("last_errors") if not run or one.get("at") != run.get("at")]
    found = [(one, "last errors") for one in reversed(older)]
    found = [(run, "last run"), *found] if run and not told else found
    items = [_error(one, now, source) for one, source in found]
    held = _held("failed", items[ERRORS_SHOWN:], f"only the last {ERRORS_SHOWN} errors are shown")
    said = [(one.get(name), source) for one, source in found for name in ("failed_step", "next_action")]
    rest = [(line, source) for one, source in found for line in _lines(one.get("error"))[1:]]
    gone = [Cut("failed", line, source, "only the first line of an older error is shown") for line, source in rest]
    gone += _shortened("failed", [*said, *((_first(one), source) for one, source in found)], LABEL_CHARS)
    return _listed("failed", "FAILED BEFORE", items[:ERRORS_SHOWN], held, gone=tuple(gone))


def _first(error: Mapping[str, Any]) -> str:
    return next(iter(_lines(error.get("error"))), "")


def _error(error: Mapping[str, Any], now: datetime, source: str) -> Item:
    said = foreign(_first(error), LABEL_CHARS)
    after, at = foreign(error.get("next_action"), LABEL_CHARS), day(error.get("at"), now)
    text = f"- {foreign(error.get('failed_step'), LABEL_CHARS)}: {said}" + (f"; next: {after}" if after else "")
    return Item(text + (f" ({at})" if at else ""), source)


def _works(judged: JudgedContext) -> Section:
    """Commands whose newest run passed, the most often tried first."""
    known = _by_command(judged)
    good = [runs for runs in known if runs[-1].passed]
    good.sort(key=lambda runs: -len(runs))
    items = [
        Item(f"{_command(runs[-1])} ({sum(run.passed for run in runs)} of {len(runs)})", f"proof {runs[-1].id}")
        for runs in good
    ]
    held = _held("works", items[COMMANDS_SHOWN:], f"only {COMMANDS_SHOWN} commands are shown")
    long = _shortened("works", ((" ".join(runs[-1].command), f"proof {runs[-1].id}") for runs in known), LABEL_CHARS)
    return _listed("works", "WORKS HERE:", items[:COMMANDS_SHOWN], held, lead=" ", joined=" · ", gone=long)


def _by_command(judged: JudgedContext) -> list[list[Proof]]:
    runs: dict[tuple[str, ...], list[Proof]] = {}
    for proof in sorted(judged.proofs, key=lambda one: (one.ran_at, one.id)):
        runs.setdefault(proof.command, []).append(proof)
    return [runs[command] for command in sorted(runs)]


# --- context sets and memories -----------------------------------------------------------------------------


def _context_sets(gathered: Gathered) -> list[Section]:
    """Each set on a line of its own; what is not text is not shown."""
    sections = []
    for name, entries in sorted(gathered.context_sets.items()):
        items = [Item(text, gathered.context_source) for one in entries if (text := foreign(one, PATH_CHARS))]
        short = _shortened("context_sets", ((one, gathered.context_source) for one in entries), PATH_CHARS)
        title = f"SET {foreign(name, WORD_CHARS)}:"
        sections.append(_listed("context_sets", title, items, lead=" ", joined=" · ", gone=short))
    return sections


def _recalled(gathered: Gathered) -> Section:
    items = [_memory(one, gathered.now) for one in gathered.recalled]
    short = _shortened("recalled", ((one.text, one.source) for one in gathered.recalled), TEXT_CHARS)
    return _listed("recalled", f"RECALLED ({len(items)} passed the relevance gate)", items, gone=short)


def _memory(one: Recalled, now: datetime) -> Item:
    by = _joined(foreign(one.by, WORD_CHARS), day(one.learned_at, now))
    mark = f" [{one.verdict}] {by}"
    return Item(f"- {_sentence(foreign(one.text, TEXT_CHARS))}{mark}", one.source, one.verdict, keep=len(mark))
