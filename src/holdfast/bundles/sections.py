"""Which sections a bundle has, in which order, and how much room each may have. Pure.

What the repository says comes first (`repository_sections`), then what was run and what is to be
done (`run_sections`), what was noted (`note_sections`, and of others `other_notes`), what code has
seen by itself (`seen_sections`), and what sessions and memories bring (`session_sections`). Rank
decides what stays. `now` and every verdict are arguments. What a rule leaves out or shortens is a
cut with its reason.

Foreign text stands inside lines of ours: cleaned, on one line, behind a mark, and without our own
verdicts in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from holdfast.bundles import budget
from holdfast.bundles.cuts import count_unread, hold_back_too_long
from holdfast.bundles.model import LIST_READ, Gathered, Head, Section
from holdfast.bundles.note_sections import (
    make_claims,
    make_decided,
    make_decisions,
    make_files,
    make_goal,
    make_open,
    make_rejected,
    make_summary,
)
from holdfast.bundles.other_notes import make_others
from holdfast.bundles.quoting import NAME_CHARS, quote, short_repo
from holdfast.bundles.render import render
from holdfast.bundles.repository_sections import (
    make_about,
    make_changed,
    make_local_changes,
    make_local_repo,
    make_repo,
    make_rules,
    write_notice,
)
from holdfast.bundles.run_sections import (
    find_last_failure,
    make_errors,
    make_last_pass,
    make_last_run,
    make_next,
    make_works,
)
from holdfast.bundles.seen_sections import (
    make_said,
    make_seen_pass,
    make_seen_run,
    make_seen_works,
)
from holdfast.bundles.session_sections import (
    make_answer,
    make_before,
    make_blocked,
    make_context_sets,
    make_earlier,
    make_environment,
    make_noted_files,
    make_other_notes,
    make_question,
    make_recalled,
    make_remembered_rules,
    make_request,
    make_unfinished,
)
from holdfast.bundles.window import leave_out_kept, leave_out_lines, make_window
from holdfast.ground.frozen import replace
from holdfast.workstreams.entries import DECISION_STATUSES
from holdfast.workstreams.model import CHECKLIST, JudgedContext

# How many characters each section may have before the free room is shared, in the order of rank.
BUDGETS: dict[str, dict[str, int]] = {
    "planning": {
        "about": 200,
        "changed": 300,
        "last_run": 250,
        "request": 600,
        "question": 400,
        "next": 400,
        "blocked": 200,
        "unfinished": 200,
        "decisions": 600,
        "said": 700,
        "remembered_rules": 150,
        "claims": 300,
        "others": 600,
        "goal": 250,
        "files": 300,
        "environment": 120,
        "works": 120,
        "before": 300,
        "answer": 500,
        "earlier": 300,
        "recalled": 300,
        "errors": 150,
        "context_sets": 200,
        "notes": 150,
        "summary": 550,
    },
    "implementation": {
        "about": 200,
        "changed": 200,
        "last_run": 320,
        "request": 600,
        "question": 400,
        "next": 400,
        "blocked": 200,
        "unfinished": 200,
        "open": 200,
        "decided": 400,
        "rejected": 250,
        "said": 700,
        "remembered_rules": 150,
        "claims": 250,
        "others": 600,
        "goal": 200,
        "files": 200,
        "environment": 120,
        "works": 120,
        "before": 300,
        "answer": 500,
        "earlier": 300,
        "recalled": 200,
        "errors": 150,
        "last_pass": 120,
        "context_sets": 200,
        "notes": 150,
        "summary": 300,
    },
}
STATE = ("about", "repo", "changed", "last_run")
ASKED = ("request", "answer", "question", "before", "unfinished")
STEPS = ("next", "blocked", "open")
LAST = ("files", "environment", "works", "context_sets", "last_pass", "goal")
# What follows one of these without an empty line.
BELONGS_TO = {
    "repo": STATE,
    "changed": STATE,
    "last_run": STATE,
    "blocked": STEPS,
    "open": STEPS,
    "answer": ASKED,
    "question": ASKED,
    "before": ASKED,
    "unfinished": ASKED,
    "earlier": ASKED,
    "rejected": ("decided",),
    "files": LAST,
    "environment": LAST,
    "works": LAST,
    "last_pass": LAST,
    "context_sets": LAST,
}

# Which entries of merged branches a section has.
MERGED: dict[str, tuple[str, ...]] = {
    "next": (CHECKLIST,),
    "open": ("open",),
    "decided": ("accepted",),
    "rejected": ("rejected",),
    "decisions": DECISION_STATUSES,
}

MORE = "More: "
OF_NOTES, OF_SESSION = "repo_context operation=load", "session operation=recent"
NOTHING = "Nothing is recorded here yet."
# What a cut is from, by the first word of its source, where the notes in the repository lack it.
NOTED = {"scratchpad", "scratchpads"}
OF_SESSIONS = {"event", "session", *NOTED}
CUT_HERE = "operation=bundle detail=true"


def make_head(gathered: Gathered) -> Head:
    return Head(
        phase=gathered.phase,
        repo=short_repo(gathered.repo),
        branch=quote(gathered.branch, NAME_CHARS),
        at=gathered.now.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ"),
        receipt=gathered.receipt,
        notice=write_notice(gathered),
    )


def lay_out(gathered: Gathered, total: int) -> tuple[Section, ...]:
    """The same for a room, with the calls that show what has none in it."""
    *parts, more = make_sections(gathered)
    layout = budget.fit(make_head(gathered), (*parts, more), total)
    kinds = frozenset(cut.source.partition(" ")[0] for cut in layout.cut)
    title = _write_more(gathered, kinds)
    free = total - len(render(layout)) - (len(title) - len(more.title))
    return (*parts, replace(more, title=title + _name_both_calls(gathered, free)))


def make_sections(gathered: Gathered) -> tuple[Section, ...]:
    """The sections that have something to say, in the order in which they are read."""
    window = make_window(gathered.kept)
    lost, still_there = leave_out_kept(gathered, window)
    parts = [hold_back_too_long(part) for part in _list_parts(lost)]
    counted = [_count_more(part, gathered) for part in parts]
    listed = [*(leave_out_lines(part, window) for part in counted), still_there]
    parts = [part for part in listed if part.title or part.items or part.gone]
    if not says_something(parts):
        parts.append(Section("nothing", NOTHING, pinned=True))
    parts.append(Section("more", _write_more(gathered, frozenset()), pinned=True))
    placed = []
    name_before = ""
    for part in parts:
        placed.append(_place(part, name_before, BUDGETS[gathered.phase]))
        name_before = part.name
    return tuple(placed)


def says_something(parts: Sequence[Section]) -> bool:
    """Whether anything was recorded; what is not committed an agent sees by itself."""
    return any(part.items for part in parts if part.name != "changed")


def _count_more(section: Section, gathered: Gathered) -> Section:
    """What a scratchpad and merged branches have beyond what was taken from them."""
    notes = gathered.notes
    read = f"only the first {LIST_READ} of a list are read"
    counted = count_unread(section, notes.unread.get(section.name, 0), notes.source, read)
    if gathered.judged is None:
        return counted
    more = gathered.judged.inherited.more
    merged = sum(more.get(kind, 0) for kind in MERGED.get(section.name, ()))
    return count_unread(counted, merged, "merged branches", "only the first of them are shown")


def _list_parts(gathered: Gathered) -> list[Section]:
    if gathered.judged is None:
        return _list_local(gathered)
    if gathered.phase == "planning":
        return _list_planning(gathered, gathered.judged)
    return _list_implementation(gathered, gathered.judged)


def _list_local(gathered: Gathered) -> list[Section]:
    return [
        make_rules(gathered.rules),
        make_local_repo(gathered),
        make_local_changes(gathered),
        make_seen_run(gathered),
        make_request(gathered),
        make_answer(gathered),
        make_question(gathered),
        make_before(gathered),
        make_unfinished(gathered),
        make_earlier(gathered),
        make_next(None, gathered),
        make_blocked(gathered),
        make_said(gathered),
        make_remembered_rules(gathered),
        make_noted_files(gathered),
        make_environment(gathered),
        make_seen_works(gathered),
        make_seen_pass(gathered),
        make_context_sets(gathered),
        make_other_notes(gathered),
        make_recalled(gathered),
    ]


def _list_planning(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    last = find_last_failure(judged)
    return [
        make_rules(gathered.rules),
        make_about(judged),
        make_repo(judged),
        make_changed(judged, gathered.notes),
        _fill(make_last_run(last, judged, now), make_seen_run(gathered)),
        make_request(gathered),
        make_answer(gathered),
        make_question(gathered),
        make_before(gathered),
        make_unfinished(gathered),
        make_earlier(gathered),
        make_next(judged, gathered),
        make_blocked(gathered),
        make_decisions(judged, gathered.notes),
        make_said(gathered),
        make_goal(judged),
        make_summary(judged, now),
        make_claims(judged),
        make_others(judged, gathered),
        make_remembered_rules(gathered),
        make_files(judged, gathered),
        make_environment(gathered),
        _fill(make_works(judged), make_seen_works(gathered)),
        make_context_sets(gathered),
        make_other_notes(gathered),
        make_errors(judged, now, last),
        make_recalled(gathered),
    ]


def _list_implementation(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    last = find_last_failure(judged)
    return [
        make_rules(gathered.rules),
        make_about(judged),
        make_repo(judged),
        make_changed(judged, gathered.notes),
        _fill(make_last_run(last, judged, now), make_seen_run(gathered)),
        make_request(gathered),
        make_answer(gathered),
        make_question(gathered),
        make_before(gathered),
        make_unfinished(gathered),
        make_earlier(gathered),
        make_next(judged, gathered),
        make_blocked(gathered),
        make_open(judged),
        make_decided(judged, gathered.notes),
        make_rejected(judged),
        make_said(gathered),
        make_remembered_rules(gathered),
        make_claims(judged),
        make_others(judged, gathered),
        make_goal(judged),
        make_files(judged, gathered),
        make_environment(gathered),
        _fill(make_works(judged), make_seen_works(gathered)),
        _fill(make_last_pass(judged, now), make_seen_pass(gathered)),
        make_context_sets(gathered),
        make_recalled(gathered),
        make_errors(judged, now, last),
        make_other_notes(gathered),
        make_summary(judged, now),
    ]


def _fill(noted: Section, seen: Section) -> Section:
    """What was noted or proved; where nothing was, what code has seen by itself.

    What is left out of the first is listed all the same.
    """
    return noted if noted.items else replace(seen, gone=(*noted.gone, *seen.gone))


def _write_more(gathered: Gathered, kinds: frozenset[str]) -> str:
    """The notes where there are any, else the session; and what shows what was cut, by kind."""
    notes = _name_notes_call(gathered.judged)
    alone = OF_NOTES if gathered.judged else OF_SESSION
    more = MORE + (notes or _name_session_call(gathered) or alone)
    last = gathered.last_session
    if gathered.judged is not None:
        return f"{more} · {CUT_HERE}" if kinds & OF_SESSIONS else more
    if last and last.session_id and kinds & NOTED:
        more += f" · session operation=state session_id={last.session_id}"
    return more


def _name_both_calls(gathered: Gathered, free: int) -> str:
    """The session beside the notes, in room that nothing else fills."""
    call = _name_session_call(gathered)
    added = f" · {call}"
    has_notes = bool(_name_notes_call(gathered.judged))
    return added if has_notes and call and len(added) <= free else ""


def _name_notes_call(judged: JudgedContext | None) -> str:
    if judged is None or not judged.has_notes:
        return ""
    branches = judged.inherited.branches
    if not branches:
        return OF_NOTES
    return f"{OF_NOTES} workstream_id={quote(branches[0], NAME_CHARS)}"


def _name_session_call(gathered: Gathered) -> str:
    """With its id, because a call without one is about the caller's own session.

    Where the last session was asked for nothing, the one that the request is of.
    """
    request, last = gathered.request, gathered.last_session
    session_id = last.session_id if last else ""
    if request and request.to:
        session_id = request.session_id
    return f"{OF_SESSION} session_id={session_id}" if session_id else ""


def _place(section: Section, before: str, budgets: dict[str, int]) -> Section:
    """With its budget and rank, and attached to the section before it where it belongs to that."""
    ranks = [*budgets, section.name]  # what has no budget of its own comes last
    return replace(
        section,
        max_chars=budgets.get(section.name, 0),
        rank=ranks.index(section.name),
        attached=before in BELONGS_TO.get(section.name, ()),
    )
