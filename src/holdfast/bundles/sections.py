"""What was gathered becomes sections. Pure; `now` and every verdict are arguments.

What the repository says comes before what was noted: where something changed, that stands first and the summary is
marked. A claim whose evidence changed is never shown as true, and one whose evidence is gone is not shown at all. Of
what went stale only the worst three are shown, because a reader who meets ten warnings reads none.

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
from holdfast.workstreams.model import (
    DECISION_STATUSES,
    VERDICTS,
    JudgedClaim,
    JudgedContext,
    JudgedEvidence,
    NotedChange,
    Proof,
)

# Minimum and maximum of each section, in characters.
BUDGETS: dict[str, dict[str, tuple[int, int]]] = {
    "planning": {
        "repo": (150, 300),
        "changed": (150, 350),
        "decisions": (400, 600),
        "summary": (350, 550),
        "claims": (150, 250),
        "files": (200, 300),
        "recalled": (0, 300),
    },
    "implementation": {
        "repo": (100, 200),
        "changed": (150, 300),
        "last_run": (100, 200),
        "last_pass": (50, 150),
        "request": (100, 200),
        "next": (150, 250),
        "decisions": (100, 200),
        "summary": (0, 200),
        "claims": (100, 250),
        "failed": (100, 200),
        "works": (80, 120),
        "recalled": (0, 200),
    },
}
OTHERS = (50, 200)  # whatever has no budget of its own
CLAIMS = "CLAIMS"
BELONGS_TO = {
    "changed": ("repo",),
    "last_run": ("repo", "changed"),
    "last_pass": ("repo", "changed", "last_run"),
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
    telling = [part for part in parts if part.title or part.items or part.gone]
    before = ["", *(part.name for part in telling)]
    return tuple(_placed(part, name, gathered.phase) for part, name in zip(telling, before, strict=False))


def _planning(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    return [
        _rules(gathered.rules),
        _repo(judged),
        _changed(judged, _stale_title(judged)),
        _decisions(judged, now, DECISION_STATUSES),
        _summary(judged, now),
        _claims(judged, now, "" if judged.context.summary else CLAIMS, _short_place),
        _files(judged),
        *_context_sets(gathered),
        _recalled(gathered),
        Section("more", "More: repo_context operation=load", pinned=True),
    ]


def _implementation(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now, stale = gathered.now, judged.staleness.stale
    return [
        _rules(gathered.rules),
        Section("repo", "") if stale else _repo(judged),
        _changed(judged, _changed_title(judged, now) if stale else _stale_title(judged)),
        *_runs(judged, now),
        _request(gathered),
        _next(judged),
        _decisions(judged, now, ("open", "accepted")),
        _summary(judged, now),
        _claims(judged, now, CLAIMS, _place),
        Section("reminder", '"Done" needs a path with lines or an observed exit code.', pinned=True),
        _failed(judged, now),
        _works(judged),
        *_context_sets(gathered),
        _recalled(gathered),
        Section("more", "More: repo_context operation=load", pinned=True),
    ]


def _placed(section: Section, before: str, phase: str) -> Section:
    """With its budget, and closed up to the section that it belongs to where that one is right before it."""
    least, most = BUDGETS[phase].get(section.name, OTHERS)
    attached = before in BELONGS_TO.get(section.name, ()) and section.title != CLAIMS
    return replace(section, min_chars=least, max_chars=most, attached=attached)


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
    """The lines of a text that say something, as far as anybody could be shown them."""
    cleaned = text[:PROSE_CHARS].splitlines() if isinstance(text, str) else []
    return [line for line in (foreign(line, PROSE_CHARS) for line in cleaned) if line][:PROSE_LINES]


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


def _repo(judged: JudgedContext) -> Section:
    context, staleness = judged.context, judged.staleness
    head = f"HEAD {_commit(judged.head)}" if judged.head else "no commit yet"
    state = "" if staleness.stale or context.summary is None else " Fresh: the contents are those of these notes."
    saved = "" if context.summary else " No summary was saved yet."
    label = foreign(context.fields.get("feature_request"), LABEL_CHARS)
    name = "" if context.key.workstream_id == context.key.branch else foreign(context.key.workstream_id, NAME_CHARS)
    about = (
        [Item(f"Workstream {name}".rstrip() + (f': "{label}"' if label else ""), "repo context")]
        if name or label
        else []
    )
    notes = [note for note in (context.read_only, *context.notes) if note]
    items = [*about, *(Item(f"Note: {foreign(note, TEXT_CHARS)}", "repo context") for note in notes)]
    title = f"REPO: {_joined(head, _since(judged))}; {_uncommitted(judged)}.{state}{saved}"
    return Section("repo", title, tuple(items), indent="  ")


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
    found, noted = len(judged.staleness.changed), judged.staleness.noted
    if not judged.staleness.stale:
        return f"CHANGED: {_of_noted(found, noted)}." if found else ""
    if "files" not in judged.staleness.reasons:
        return "STALE: the summary was edited without a checkpoint of its own."
    how = "STALE" if found == noted else "STALE IN PART" if found else "STALE ELSEWHERE"
    return f"{how}: {_of_noted(found, noted)}."


def _changed_title(judged: JudgedContext, now: datetime) -> str:
    context, commits = judged.context, judged.staleness.commits
    at = _joined(moment((context.summary or {}).get("updated_at"), now), _commit(context.checkpoint.get("git_head")))
    later = "" if commits is None else f", {_count(commits, 'commit')} later"
    head = "HEAD unchanged" if commits == 0 else f"HEAD {_commit(judged.head)}{later}"
    noted = _noted(len(judged.staleness.changed), judged.staleness.noted)
    return f"CHANGED since these notes ({at}): {noted}; {head}; {_uncommitted(judged)}"


def _of_noted(found: int, noted: int) -> str:
    return f"{_noted(found, noted)} changed" if noted else "no file is noted here"


def _noted(found: int, noted: int) -> str:
    if not noted:
        return "no noted file"
    if found == noted:
        return "the 1 file noted here" if noted == 1 else f"all {noted:,} files noted here"
    which = f"{found:,} of the" if found else "none of the"
    return f"{which} {_count(noted, 'file')} noted here"


def _changed(judged: JudgedContext, title: str) -> Section:
    """The worst first: what is gone, then what changed most."""
    items = [Item(_change(one), "git") for one in sorted(judged.staleness.changed, key=_by_weight)]
    reason = f"only the worst {STALE_SHOWN} are shown"
    held = tuple(Cut("changed", item.text, item.source, reason) for item in items[STALE_SHOWN:])
    tail = _others(judged) if judged.staleness.stale else ""
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
        return "  How many other files changed is not known here."
    if not others:
        return ""
    return f"  {_count(others, 'other file')} changed; none is noted here."


# --- decisions, summary, claims ----------------------------------------------------------------------------


def _decisions(judged: JudgedContext, now: datetime, statuses: Sequence[str]) -> Section:
    """Open ones first, then the newest; those of the other phase after one's own.

    Where there are too many, accepted ones stay out first: what is open or was ruled out would be tried again.
    """
    own = _in_order(judged.decisions, statuses)
    shared = _in_order(judged.shared_decisions, statuses)
    kept = sorted(own, key=lambda one: _status(one) == "accepted")[:DECISIONS_SHOWN]
    rest = [one for one in own if one not in kept]
    other = "planning" if judged.context.phase == "implementation" else "implementation"
    items = [_decision(one, now, "") for one in own if one in kept]
    items += [_decision(one, now, f" of {other},") for one in shared[:SHARED_SHOWN]]
    older = [_decision(one, now, "") for one in [*rest, *shared[SHARED_SHOWN:]]]
    held = tuple(Cut("decisions", one.text, one.source, "only the last ones are shown") for one in older)
    return Section("decisions", "DECISIONS" if items else "", tuple(items), held=held)


def _in_order(decisions: Iterable[Mapping[str, Any]], statuses: Sequence[str]) -> list[Mapping[str, Any]]:
    found = [one for one in decisions if _status(one) in statuses]
    newest_first = sorted(
        found, key=lambda one: (str(one.get("created_at") or ""), str(one.get("id") or "")), reverse=True
    )
    return sorted(newest_first, key=lambda one: _status(one) != "open")


def _status(decision: Mapping[str, Any]) -> str:
    status = decision.get("status")
    return status if status in DECISION_STATUSES else "open"


def _decision(decision: Mapping[str, Any], now: datetime, whose: str) -> Item:
    name, status, text = _decision_id(decision), _status(decision), foreign(decision.get("text"), TEXT_CHARS)
    because = foreign(decision.get("because"), LABEL_CHARS).replace('"', "'") if status == "rejected" else ""
    said = f'{text.rstrip(".")}, "{because}".' if because else _sentence(text)
    verdict, mark = _decision_mark(decision, now) if status != "open" else (None, "")
    return Item(f"{name}{whose} {status}: {said}{mark}", f"decision {name}", verdict)


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
    items = [Item(f"| {line}", "working summary", is_prose=True) for line in _lines(summary.get("text"))]
    title = f"SUMMARY ({about})" if about else "SUMMARY"
    return Section("summary", title if items else "", tuple(items))


def _claims(judged: JudgedContext, now: datetime, title: str, place: Callable[[JudgedEvidence], str]) -> Section:
    """What no longer holds first, and of that only the newest three."""
    newest = sorted(judged.claims, key=lambda one: (one.claimed_at, one.id), reverse=True)
    doubtful = [_claim(one, now, place) for one in newest if one.verdict == "changed"]
    others = [_claim(one, now, place) for one in newest if one.verdict not in ("changed", "gone")]
    held = [
        Cut("claims", one.text, one.source, f"only {STALE_SHOWN} stale ones are shown")
        for one in doubtful[STALE_SHOWN:]
    ]
    gone = [
        Cut("claims", foreign(one.claim, TEXT_CHARS), _claim_source(one), "its evidence is gone")
        for one in newest
        if one.verdict == "gone"
    ]
    items = (*doubtful[:STALE_SHOWN], *others)
    return Section("claims", title if items else "", items, held=tuple(held), gone=tuple(gone))


def _claim(claim: JudgedClaim, now: datetime, place: Callable[[JudgedEvidence], str]) -> Item:
    text, verdict = foreign(claim.claim, TEXT_CHARS), claim.verdict
    if verdict == "said":
        at = moment(claim.claimed_at, now)
        return Item(f"[said] {_sentence(text)}" + (f" {at}" if at else ""), _claim_source(claim), verdict)
    worst = max(claim.evidence, key=lambda one: VERDICTS.index(one.verdict))
    if verdict == "changed":
        what = "edited after the claim" if worst.path else "ran on another tree"
        quoted = text.replace('"', "'")
        return Item(f'[changed] "{quoted}": {place(worst)} {what}; unproven', _claim_source(claim), verdict)
    return Item(f"[{verdict}] {_sentence(text)} {place(worst)}", _claim_source(claim), verdict)


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


def _files(judged: JudgedContext) -> Section:
    """Where to look: pointers first, then what claims rest on. A file that is gone is no pointer."""
    evidence = [one for claim in judged.claims for one in claim.evidence]
    gone = {one.path for one in evidence if one.verdict == "gone"}
    gone |= {change.path for change in judged.staleness.changed if change.what == "gone"}
    named = [(one.partition("#")[0], one) for one in map(str, judged.context.pointers)]
    named += [(one.path, _pointer(one)) for one in evidence if one.path]
    there = dict.fromkeys(foreign(text, PATH_CHARS) for path, text in named if path not in gone)
    lost = dict.fromkeys(foreign(text, PATH_CHARS) for path, text in named if path in gone)
    cuts = tuple(Cut("files", text, "file pointer", "the file is gone") for text in lost)
    items = tuple(Item(text, "file pointer") for text in there if text)
    return Section("files", "FILES" if items else "", items, lead=" ", joined=" · ", gone=cuts)


def _pointer(evidence: JudgedEvidence) -> str:
    """Lines that no longer are what they were lead nowhere; the file does."""
    path = evidence.path or ""
    return evidence.text if evidence.verdict == "ok" or "#" in evidence.text[len(path) :] else path


# --- runs, requests, steps ---------------------------------------------------------------------------------


def _runs(judged: JudgedContext, now: datetime) -> list[Section]:
    """The last run and, where that is another one, the last that passed."""
    here = sorted(
        (one for one in judged.proofs if one.branch == judged.context.key.branch), key=lambda one: (one.ran_at, one.id)
    )
    passes = [one for one in here if one.passed]
    failed = _failed_last(judged)
    sections = []
    if failed and (not here or str(failed.get("at") or "") >= here[-1].ran_at):
        sections.append(_failed_run(failed, now))
    elif here and not here[-1].passed:
        sections.append(_last_run(here[-1], now))
    return [*sections, _last_pass(passes[-1], judged, now)] if passes else sections


def _failed_last(judged: JudgedContext) -> Mapping[str, Any] | None:
    run = judged.context.last_run or {}
    return run if run.get("status") == "failed" else None


def _failed_run(run: Mapping[str, Any], now: datetime) -> Section:
    title = f"LAST RUN {moment(run.get('at'), now)} failed at: {foreign(run.get('failed_step'), LABEL_CHARS)}"
    lines = _lines(run.get("error"))[:OUTPUT_LINES]
    after = foreign(run.get("next_action"), TEXT_CHARS)
    items = [Item(f"Next: {after}", "last run", is_prose=True)] if after else []
    items += [Item(f"> {line}", "last run", is_prose=True) for line in lines]
    return Section(
        "last_run", title, tuple(items) or (Item("No error was noted.", "last run"),), indent="  ", attached=True
    )


def _last_run(proof: Proof, now: datetime) -> Section:
    doubt = ", while files changed: proves nothing" if proof.exit_code == 0 else ""
    title = f"LAST RUN {moment(proof.ran_at, now)} {_command(proof)} → exit {proof.exit_code}{doubt}"
    lines = [foreign(line, TEXT_CHARS) for line in proof.output_tail.splitlines() if _WORDS.search(line)][
        -OUTPUT_LINES:
    ]
    items = [Item(f"> {line}", f"proof {proof.id}", is_prose=True) for line in lines if line]
    return Section(
        "last_run", title, tuple(items) or (Item("No output.", f"proof {proof.id}"),), indent="  ", attached=True
    )


def _last_pass(proof: Proof, judged: JudgedContext, now: datetime) -> Section:
    where = "on this tree" if proof.tree == judged.tree else "on an older tree: proves nothing now"
    text = f"LAST PASS {moment(proof.ran_at, now)} {_command(proof)} → exit 0, {where}"
    return Section("last_pass", "", (Item(text, f"proof {proof.id}"),))


def _command(proof: Proof) -> str:
    return foreign(" ".join(map(str, proof.command)), LABEL_CHARS)


def _request(gathered: Gathered) -> Section:
    if (request := gathered.request) is None:
        return Section("request", "")
    items = [Item(f"> {line}", request.source, is_prose=True) for line in _lines(request.text)]
    title = f"LAST REQUEST (user, {moment(request.said_at, gathered.now)}, verbatim)"
    return Section("request", title if items else "", tuple(items))


def _next(judged: JudgedContext) -> Section:
    steps = [step for step in (foreign(one, LABEL_CHARS) for one in judged.context.checklist) if step]
    items = [Item(f"{number}. {step}", "checklist") for number, step in enumerate(steps, 1)]
    held = tuple(
        Cut("next", one.text, one.source, f"only the next {STEPS_SHOWN} are shown") for one in items[STEPS_SHOWN:]
    )
    return Section(
        "next", "NEXT (the agent's own list)" if items else "", tuple(items[:STEPS_SHOWN]), joined="  ", held=held
    )


def _failed(judged: JudgedContext, now: datetime) -> Section:
    """What not to try again: alternatives that were rejected, commands that never passed, the last errors."""
    rejected = [_rejected(one, now) for one in _in_order([*judged.decisions, *judged.shared_decisions], ["rejected"])]
    never = [
        _never_passed(runs, now)
        for runs in _by_command(judged)
        if len(runs) > 1 and not any(run.passed for run in runs)
    ]
    shown = _failed_last(judged)
    older = [one for one in judged.context.entries("last_errors") if not shown or one.get("at") != shown.get("at")]
    errors = [_error(one, now) for one in reversed(older[-ERRORS_SHOWN:])]
    items = (*rejected, *never, *errors)
    return Section("failed", "FAILED OR REJECTED BEFORE" if items else "", items)


def _rejected(decision: Mapping[str, Any], now: datetime) -> Item:
    because = foreign(decision.get("because"), LABEL_CHARS).replace('"', "'")
    by = _joined(foreign(decision.get("by"), WORD_CHARS), day(_updated_at(decision), now))
    text = f"- {foreign(decision.get('text'), TEXT_CHARS).rstrip('.')}" + (f': "{because}"' if because else "")
    return Item(text + (f" ({by})" if by else ""), f"decision {_decision_id(decision)}")


def _never_passed(runs: Sequence[Proof], now: datetime) -> Item:
    last = runs[-1]
    text = f"- {_command(last)}: exit {last.exit_code}, {len(runs)} of {len(runs)}, last {day(last.ran_at, now)}"
    return Item(text, f"proof {last.id}")


def _error(error: Mapping[str, Any], now: datetime) -> Item:
    said = foreign(next(iter(_lines(error.get("error"))), ""), LABEL_CHARS)
    at = day(error.get("at"), now)
    text = f"- {foreign(error.get('failed_step'), LABEL_CHARS)}: {said}"
    return Item(text + (f" ({at})" if at else ""), "last errors")


def _works(judged: JudgedContext) -> Section:
    """Commands whose newest run passed, the most often tried first."""
    good = [runs for runs in _by_command(judged) if runs[-1].passed]
    good.sort(key=lambda runs: -len(runs))
    items = [
        Item(f"{_command(runs[-1])} ({sum(run.passed for run in runs)} of {len(runs)})", f"proof {runs[-1].id}")
        for runs in good[:COMMANDS_SHOWN]
    ]
    return Section("works", "WORKS HERE:" if items else "", tuple(items), lead=" ", joined=" · ")


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
        items = tuple(Item(text, gathered.context_source) for one in entries if (text := foreign(one, PATH_CHARS)))
        title = f"SET {foreign(name, WORD_CHARS)}:" if items else ""
        sections.append(Section("context_sets", title, items, lead=" ", joined=" · "))
    return sections


def _recalled(gathered: Gathered) -> Section:
    items = tuple(_memory(one, gathered.now) for one in gathered.recalled)
    return Section("recalled", f"RECALLED ({len(items)} passed the relevance gate)" if items else "", items)


def _memory(one: Recalled, now: datetime) -> Item:
    by = _joined(foreign(one.by, WORD_CHARS), day(one.learned_at, now))
    return Item(f"- {_sentence(foreign(one.text, TEXT_CHARS))} [{one.verdict}] {by}", one.source, one.verdict)
