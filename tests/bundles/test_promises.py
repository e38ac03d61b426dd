"""What every bundle promises, whatever was noted: within its limit, rules whole, stale always
shown, no heading without an item, everything shown or cut, and the same bytes again.
"""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bundles import budget, render, sections
from holdfast.bundles.model import (
    Gathered,
    LastRequest,
    LastSession,
    Layout,
    RecalledMemory,
    ShownSection,
    WorkingNotes,
)
from holdfast.errors import InvalidValueError
from holdfast.workstreams.entries import ContextFields
from holdfast.workstreams.model import JudgedContext, NotedChange, Staleness
from tests.bundles.situations import (
    HEAD,
    IMPLEMENTATION,
    KEY,
    NOW,
    RULES,
    WRITTEN_AT,
    at,
    claim,
    decision,
    evidence,
    make_context,
    proof,
)

PADDING = "and so on as far as it goes"
LONG = (False, False, False, True)
TOKEN = re.compile(r"tok\d+")
FIELDS = (
    "working_summary",
    "last_run",
    "checklist",
    "feature_request",
    "file_pointers",
    "last_errors",
)


class Notes:
    """Numbered words, so that each note can be found again; each as long as a chance decides."""

    def __init__(self, draw):
        self.draw, self.numbers = draw, itertools.count()

    def text(self) -> str:
        begun = (
            f"tok{next(self.numbers)} {PADDING[: self.draw(st.integers(0, len(PADDING)))]}".strip()
        )
        return (
            f"{begun} {PADDING * 9} tok{next(self.numbers)}"
            if self.draw(st.sampled_from(LONG))
            else begun
        )

    def several(self, most: int) -> list[str]:
        return [self.text() for _ in range(self.draw(st.integers(0, most)))]


@st.composite
def situations(draw) -> Gathered:
    """Everything that can be noted, in any number; a word is in one place only."""
    notes, phase = Notes(draw), draw(st.sampled_from(["planning", "implementation"]))
    run = {"status": "failed", "failed_step": notes.text(), "next_action": notes.text()}
    run |= {"error": "\n".join(notes.several(6)), "at": at(16, 12, draw(st.integers(0, 59)))}
    errors = [
        {"failed_step": text, "error": "\n".join(notes.several(5)), "at": at(15, 9, n)}
        for n, text in enumerate(notes.several(10))
    ]
    leads = st.sampled_from(["", "Goal: ", "Next: "])
    sentences = [draw(leads) + text for text in notes.several(30)]
    fields = {
        "feature_request": notes.text(),
        "working_summary": {
            "text": "\n".join(["goal", *sentences]),
            "updated_at": at(14, 17, 42),
        },
        "checkpoint": {"git_head": WRITTEN_AT},
        "checklist": notes.several(10),
        "file_pointers": [text.replace(" ", "_") for text in notes.several(10)],
        "last_errors": errors,
        **({"last_run": run} if draw(st.booleans()) else {}),
    }
    verdicts = st.sampled_from(["ok", "moved", "changed", "gone"])
    statuses = st.sampled_from(["open", "accepted", "rejected"])
    whose = st.booleans()
    changed = [NotedChange(text.replace(" ", "_"), "changed", 3, 1) for text in notes.several(6)]
    is_stale = draw(st.booleans())
    context = make_context(phase, fields, notes=tuple(notes.several(2)))
    foreign = draw(st.sets(st.sampled_from(FIELDS)))
    judged = JudgedContext(
        context=context,
        staleness=Staleness(
            is_stale,
            ("files",) if is_stale else (),
            9,
            tuple(changed),
            4,
            draw(st.integers(1, 9)),
            2,
        ),
        claims=tuple(
            replace(claim(n, text, evidence("a.py#b", draw(verdicts))), is_own=draw(whose))
            for n, text in enumerate(notes.several(12))
        ),
        decisions=tuple(
            replace(decision(n, text, draw(statuses)), is_own=draw(whose))
            for n, text in enumerate(notes.several(12))
        ),
        head=HEAD,
        tree="now",
        shared_decisions=tuple(
            decision(n, text, draw(statuses), of="main") for n, text in enumerate(notes.several(6))
        ),
        of_others=ContextFields(**{name: getattr(context.fields, name) for name in foreign}),
        # A plan does not show what passed last.
        proofs=tuple(
            proof(n, text, draw(st.integers(0, 1)), at(16, 12, draw(st.integers(0, 59))))
            for n, text in enumerate(notes.several(8 if phase == "implementation" else 0))
        ),
    )
    steps, blockers, files, decided, others = (tuple(notes.several(4)) for _ in range(5))
    return Gathered(
        now=NOW,
        phase=phase,
        receipt="b-7f3a",
        repo=KEY.repo,
        branch=KEY.branch,
        judged=judged if draw(st.integers(0, 5)) else None,
        rules=("r" * draw(st.integers(1, 349)),),
        context_sets={
            notes.text(): notes.several(5),
            "ports": notes.several(5),
            "files": notes.several(5),
        },
        request=LastRequest("\n".join(["go on", *notes.several(3)]), "event", NOW),
        last_session=LastSession("codex", NOW, "answered at", environment=notes.text()),
        notes=WorkingNotes(
            source="scratchpad",
            task=notes.text(),
            next_steps=steps,
            blockers=blockers,
            files=tuple(text.replace(" ", "_") for text in files),
            decisions=decided,
            others=others,
        ),
        recalled=tuple(
            RecalledMemory(text, "memory", "explicit", NOW, draw(st.sampled_from(["", "rule"])))
            for text in notes.several(5)
        ),
    )


def laid_out(gathered: Gathered, total: int) -> Layout | None:
    """None where the limit is refused, which it is only for what stands whole."""
    head, parts = sections.make_head(gathered), sections.make_sections(gathered)
    try:
        return budget.fit(head, parts, total)
    except InvalidValueError:
        pinned = [part.write(part.items, 0) for part in parts if part.pinned]
        assert (
            total
            < len(render.write_head_line(head)) + sum(len(text) + 2 for text in pinned if text)
            <= 900
        )
        return None


limits = st.one_of(st.integers(450, 2_200), st.sampled_from([1_700, 2_200]))


@settings(max_examples=60)
@given(situations(), limits)
def test_every_bundle_keeps_its_promises(gathered, limit):
    layout = laid_out(gathered, limit)
    if layout is None:
        return
    text = render.render(layout)

    assert len(text) <= limit
    assert f"- {gathered.rules[0]}" in text
    assert text == render.render(laid_out(gathered, limit))
    for shown in layout.shown:
        assert shown.items or not shown.text or not (shown.section.items or shown.left_out)
        assert not shown.text or says_what_is_left_out(shown) == is_incomplete(shown)
    missing = [shown for shown in layout.shown if shown.section.items and not shown.text]
    assert bool(layout.left_out) <= bool(missing)
    if limit >= 1_200:
        assert bool(missing) == text.endswith(f" ({layout.left_out})")
    if gathered.judged:
        [repo] = [line for line in text.splitlines() if line.startswith("REPO HEAD ")]
        assert WRITTEN_AT[:7] in repo
        assert ("STALE" in repo) == bool(gathered.judged.staleness.changed)


def says_what_is_left_out(shown: ShownSection) -> bool:
    if shown.section.verbatim:
        return " characters left out; whole at More" in shown.text or "before this" in shown.text
    return f"+{shown.left_out} more" in shown.text


def is_incomplete(shown: ShownSection) -> bool:
    """Items are counted; of a quoted text a shortened piece is missing as well."""
    if shown.section.verbatim:
        return [*shown.items] != shown.section.arrange(shown.section.items)
    return shown.left_out > 0


@settings(max_examples=60)
@given(situations(), limits)
def test_no_claim_is_shown_as_true_whose_evidence_changed_or_is_gone(gathered, limit):
    layout = laid_out(gathered, limit)
    if layout is None or gathered.judged is None:
        return
    lines = render.render(layout).splitlines()

    for judged in gathered.judged.claims:
        token = judged.claim.split()[0]
        shown = [line for line in lines if re.search(rf"\b{token}\b", line)]
        if judged.verdict == "gone":
            assert not shown
        if judged.verdict == "changed":
            assert all(re.match(r"(?:\| )?\[changed\] [\"']", line) for line in shown)


@settings(max_examples=60)
@given(situations(), limits)
def test_a_stale_summary_is_marked_wherever_it_stands(gathered, limit):
    layout = laid_out(gathered, limit)
    if layout is None or gathered.judged is None or not gathered.judged.staleness.stale:
        return
    of_summary = [
        shown for shown in layout.shown for item in shown.items if item.source == "working summary"
    ]

    assert all("[older tree]" in each.text or "stale" in each.text for each in of_summary)


@settings(max_examples=60)
@given(situations())
def test_notes_of_others_stand_only_between_the_markers(gathered):
    layout = laid_out(gathered, budget.TOTALS[gathered.phase])
    if layout is None or gathered.judged is None:
        return
    own, others = split_by_fence(layout.shown)

    for judged in (*gathered.judged.claims, *gathered.judged.decisions):
        words = judged.claim if hasattr(judged, "claim") else judged.decision.text
        token = re.compile(rf"\b{words.split()[0]}\b")
        outside, inside = bool(token.search(own)), bool(token.search(others))
        assert not (outside and not judged.is_own)
        assert not (inside and judged.is_own)


def split_by_fence(sections_shown: tuple[ShownSection, ...]) -> tuple[str, str]:
    own = [shown.text for shown in sections_shown if shown.section.name != "others"]
    fenced = [shown.text for shown in sections_shown if shown.section.name == "others"]
    return "\n".join(own), "\n".join(fenced)


@settings(max_examples=60)
@given(situations(), limits)
def test_everything_gathered_is_shown_or_listed_as_cut(gathered, limit):
    layout = laid_out(gathered, limit)
    if layout is None:
        return
    judged = gathered.judged
    told = render.render(layout) + "\n".join(cut_item.text for cut_item in layout.cut)
    notes = gathered.notes
    if judged is None:  # sharing gates decisions
        notes = replace(notes, decisions=())
    sets = tuple(gathered.context_sets.values())
    given_ = repr(replace(gathered, context_sets=sets, judged=None, notes=notes))
    given_ += repr(judged) if judged else ""

    missing = set(TOKEN.findall(given_)) - set(TOKEN.findall(told))

    assert not missing


@settings(max_examples=60)
@given(situations())
def test_context_sets_push_nothing_of_a_higher_rank_out(gathered):
    """With or without them, what counts more than they do stands as it did, if shortened.

    Only the last line, which names what is left out, may take the room of the last two. The set of
    files stands among the files, which count more.
    """
    if gathered.judged is None:
        return
    total = budget.TOTALS[gathered.phase]
    files = {"files": gathered.context_sets["files"]}
    variants = (gathered, replace(gathered, context_sets=files))
    layouts = [laid_out(variant, total) for variant in variants]
    with_sets, without = [count_first_items(layout) for layout in layouts if layout]

    assert sum(without.values()) - sum(with_sets.values()) <= 2
    if all(not layout.left_out for layout in layouts if layout):
        assert with_sets == without


def count_first_items(layout: Layout) -> dict[str, int]:
    """Of each section that comes before context sets, at most what it gets first."""
    counts = {}
    for shown in layout.shown:
        section = shown.section
        names = list(sections.BUDGETS[layout.head.phase])
        if section.name in names[: names.index("context_sets")]:
            counts[section.name] = min(len(shown.items), 1)
    return counts


@pytest.mark.parametrize("limit", [*range(500, 1_100, 50), 1_700])
def test_a_noted_file_that_changed_makes_the_head_stale_at_every_limit(limit):
    text = render.render(laid_out(IMPLEMENTATION, limit))

    assert "REPO HEAD 9c41e2d; 3 uncommitted. STALE IN PART: 3 of 4 noted files.\n" in text


def test_a_full_implementation_bundle_shows_something_of_every_section_that_counts():
    """Rules as long as they may be, decisions of a hundred characters, claims that fell: a heading
    has an item, in the order of rank.
    """
    long = "a decision that somebody has described at some length, so that nobody asks again"
    judged = replace(
        IMPLEMENTATION.judged,
        decisions=tuple(decision(n, f"{long} {n}", "accepted") for n in range(6)),
        claims=tuple(
            claim(
                n,
                f"Part {n} is checked twice",
                evidence(f"src/part{n}.py#x", "changed" if n < 4 else "ok"),
            )
            for n in range(12)
        ),
    )
    gathered = replace(
        IMPLEMENTATION, judged=judged, rules=("r" * 347,), context_sets={"endpoints": ["/r/a"] * 10}
    )

    layout = laid_out(gathered, 1_700)
    shown = {shown_section.section.name: shown_section for shown_section in layout.shown}

    for name in ("changed", "last_run", "request", "next", "decided", "rejected"):
        assert shown[name].items, name
    assert len(shown["next"].items) == 4
    assert not shown["context_sets"].text

    layout = laid_out(replace(gathered, rules=RULES), 1_700)
    shown = {shown_section.section.name: shown_section for shown_section in layout.shown}

    assert shown["claims"].items[0].verdict == "changed"
