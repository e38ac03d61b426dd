"""Which sections a bundle has, in which order, and how much room each may have. Pure.

What the repository says comes before what was noted (`repository_sections`, `note_sections`); then
what was run and what is to be done (`run_sections`), and what sessions and memories bring
(`session_sections`). `now` and every verdict are arguments. What a rule leaves out or shortens is a
cut with its reason.

Foreign text stands inside lines of ours: cleaned, on one line, behind a mark, and without our own
verdicts in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.bundles.model import Cut, Gathered, Head, Section
from holdfast.bundles.note_sections import (
    make_claims,
    make_decisions,
    make_files,
    make_summary,
    write_place,
    write_short_place,
)
from holdfast.bundles.quoting import NAME_CHARS, quote, quote_lines, short_repo
from holdfast.bundles.repository_sections import (
    make_about,
    make_changed,
    make_repo,
    make_rules,
    make_stale,
    make_stale_since,
    write_notice,
)
from holdfast.bundles.run_sections import (
    find_last_failure,
    make_errors,
    make_failed,
    make_last_pass,
    make_last_run,
    make_next,
    make_works,
)
from holdfast.bundles.session_sections import make_context_sets, make_recalled, make_request
from holdfast.ground.text import plural
from holdfast.workstreams.entries import DECISION_STATUSES
from holdfast.workstreams.model import JudgedContext

# Minimum and maximum of each section, in characters, in the order of rank. Without a minimum a
# section gets what the others left below their maximum, without a maximum only what no other needs.
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

REMINDER = '"Done" needs a path with lines or an observed exit code.'
MORE = "More: repo_context operation=load"


def make_head(gathered: Gathered) -> Head:
    return Head(
        phase=gathered.phase,
        repo=short_repo(gathered.repo),
        branch=quote(gathered.branch, NAME_CHARS),
        at=gathered.now.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ"),
        receipt=gathered.receipt,
        notice=write_notice(gathered),
    )


def make_sections(gathered: Gathered) -> tuple[Section, ...]:
    """The sections that have something to say, in the order in which they are read."""
    budgets = _choose_budgets(gathered)
    parts = [part for part in _list_parts(gathered) if part.title or part.items or part.gone]
    placed = []
    name_before = ""
    for part in parts:
        placed.append(_place(part, name_before, budgets))
        name_before = part.name
    return tuple(placed)


def _choose_budgets(gathered: Gathered) -> Mapping[str, tuple[int, int]]:
    if gathered.judged is None:
        return BUDGETS["local"]
    return BUDGETS[gathered.phase]


def _list_parts(gathered: Gathered) -> list[Section]:
    if gathered.judged is None:
        return _list_local(gathered)
    if gathered.phase == "planning":
        return _list_planning(gathered, gathered.judged)
    return _list_implementation(gathered, gathered.judged)


def _list_local(gathered: Gathered) -> list[Section]:
    return [
        make_rules(gathered.rules),
        make_request(gathered),
        *make_context_sets(gathered),
        make_recalled(gathered),
    ]


def _list_planning(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    last = judged.context.failed_run
    evidence = [shown for claim in judged.claims for shown in claim.evidence]
    claims_title = CLAIMS
    if judged.context.summary:  # claims follow it without a heading of their own
        claims_title = ""
    return [
        make_rules(gathered.rules),
        make_about(judged),
        make_repo(judged),
        make_stale(judged),
        make_changed(judged),
        *make_last_run(last, judged, now),
        make_decisions(judged, now, DECISION_STATUSES),
        make_summary(judged, now),
        make_claims(judged, now, claims_title, write_short_place),
        make_next(judged, now),
        make_files(judged, evidence),
        make_errors(judged, now, has_last_run=last is not None),
        *make_context_sets(gathered),
        make_recalled(gathered),
        _make_elsewhere(gathered, judged),
        Section("more", MORE, pinned=True),
    ]


def _list_implementation(gathered: Gathered, judged: JudgedContext) -> list[Section]:
    now = gathered.now
    last = find_last_failure(judged)
    return [
        make_rules(gathered.rules),
        make_about(judged),
        _make_state(judged, now),
        make_changed(judged),
        *make_last_run(last, judged, now),
        *make_last_pass(judged, now),
        make_request(gathered),
        make_next(judged, now),
        make_decisions(judged, now, ("open", "accepted")),
        make_summary(judged, now),
        make_claims(judged, now, CLAIMS, write_place),
        Section("reminder", REMINDER, pinned=True),
        make_failed(judged, now, last),
        make_works(judged),
        make_files(judged, ()),
        *make_context_sets(gathered),
        make_recalled(gathered),
        Section("more", MORE, pinned=True),
    ]


def _make_state(judged: JudgedContext, now: datetime) -> Section:
    if judged.staleness.stale:
        return make_stale_since(judged, now)
    return make_repo(judged)


def _make_elsewhere(gathered: Gathered, judged: JudgedContext) -> Section:
    """What is known and not part of a plan: the receipt names it as shown in the other bundle."""
    why = "shown in the implementation bundle"
    cuts = []
    if judged.proofs:
        runs = plural(len(judged.proofs), "run")
        cuts.append(Cut("last_run", runs, "proofs", reason=why))
    request = gathered.request
    if request:
        lines = quote_lines(request.text)
        cuts += [Cut("request", line, request.source, reason=why) for line in lines]
    return Section("elsewhere", "", gone=tuple(cuts))


def _place(section: Section, before: str, budgets: Mapping[str, tuple[int, int]]) -> Section:
    """With its budget and rank, and attached to the section before it where it belongs to that."""
    least, most = budgets.get(section.name, (0, 0))
    ranks = [*budgets, section.name]  # what has no budget of its own comes last
    rank = ranks.index(section.name)
    has_heading = section.title == CLAIMS
    belongs = before in BELONGS_TO.get(section.name, ())
    return replace(
        section,
        min_chars=least,
        max_chars=most,
        rank=rank,
        attached=belongs and not has_heading,
    )
