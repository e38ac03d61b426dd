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
from holdfast.bundles.model import Gathered, LastRequest, Layout, RecalledMemory
from holdfast.errors import InvalidValueError
from holdfast.workstreams.model import JudgedContext, NotedChange, Staleness
from tests.bundles.situations import (
    HEAD,
    IMPLEMENTATION,
    KEY,
    NOW,
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
    fields = {
        "feature_request": notes.text(),
        "working_summary": {
            "text": "\n".join(["goal", *notes.several(60)]),
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
    changed = [NotedChange(text.replace(" ", "_"), "changed", 3, 1) for text in notes.several(6)]
    is_stale = draw(st.booleans())
    judged = JudgedContext(
        context=make_context(phase, fields, notes=tuple(notes.several(2))),
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
            claim(n, text, evidence("a.py#b", draw(verdicts)))
            for n, text in enumerate(notes.several(12))
        ),
        decisions=tuple(
            decision(n, text, draw(statuses)) for n, text in enumerate(notes.several(12))
        ),
        head=HEAD,
        tree="now",
        shared_decisions=tuple(
            decision(n, text, draw(statuses), of="main") for n, text in enumerate(notes.several(6))
        ),
        # They are not part of a planning bundle, and counted together.
        proofs=tuple(
            proof(n, text, draw(st.integers(0, 1)), at(16, 12, draw(st.integers(0, 59))))
            for n, text in enumerate(notes.several(8 if phase == "implementation" else 0))
        ),
    )
    return Gathered(
        now=NOW,
        phase=phase,
        receipt="b-7f3a",
        repo=KEY.repo,
        branch=KEY.branch,
        judged=judged if draw(st.integers(0, 5)) else None,
        rules=("r" * draw(st.integers(1, 349)),),
        context_sets={notes.text(): notes.several(5), "ports": notes.several(5)},
        request=LastRequest("\n".join(["go on", *notes.several(3)]), "event", NOW),
        recalled=tuple(
            RecalledMemory(text, "memory", "explicit", NOW) for text in notes.several(5)
        ),
    )


def laid_out(gathered: Gathered, total: int) -> Layout | None:
    """None where the limit is refused, which it is only for what stands whole."""
    head, parts = sections.make_head(gathered), sections.make_sections(gathered)
    try:
        return budget.fit(head, parts, total)
    except InvalidValueError:
        pinned = [
            part.write([item.text for item in part.items], 0) for part in parts if part.pinned
        ]
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
        assert not shown.text or (shown.left_out > 0) == (f"+{shown.left_out} more" in shown.text)
    if gathered.judged and gathered.judged.staleness.stale:
        said = text[: text.index("STALE") + 200]
        assert WRITTEN_AT[:7] in said
        assert "HEAD" in said
        assert " files noted here" in said


@settings(max_examples=60)
@given(situations(), limits)
def test_everything_gathered_is_shown_or_listed_as_cut(gathered, limit):
    layout = laid_out(gathered, limit)
    if layout is None:
        return
    judged = gathered.judged
    told = render.render(layout) + "\n".join(cut_item.text for cut_item in layout.cut)
    given_ = repr(
        replace(gathered, context_sets=tuple(gathered.context_sets.values()), judged=None)
    )
    given_ += repr(judged) if judged else ""

    missing = set(TOKEN.findall(given_)) - set(TOKEN.findall(told))

    assert not missing


@settings(max_examples=60)
@given(situations())
def test_context_sets_push_nothing_out(gathered):
    """With or without them, everything else of a workstream's bundle stands as it did."""
    if gathered.judged is None:
        return
    total = budget.TOTALS[gathered.phase]
    both = [laid_out(variant, total) for variant in (gathered, replace(gathered, context_sets={}))]

    names = (
        "about",
        "last_run",
        "changed",
        "decisions",
        "claims",
        "failed",
        "next",
        "request",
        "last_pass",
    )
    texts = [
        [
            shown_section.text
            for shown_section in layout.shown
            if shown_section.section.name in names
        ]
        for layout in both
        if layout
    ]

    assert texts[0] == texts[1]


@pytest.mark.parametrize("limit", [*range(500, 1_100, 50), 1_700])
def test_a_stale_context_is_marked_stale_at_every_limit(limit):
    text = render.render(laid_out(IMPLEMENTATION, limit))

    assert (
        "CHANGED since these notes (12:50, 9c41e2d): STALE IN PART, 3 of the 4 files noted here"
        in text
    )


def test_a_full_implementation_bundle_shows_something_of_every_section():
    """Rules as long as they may be, decisions of a hundred characters, claims that fell: a heading
    has an item.
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
        IMPLEMENTATION, judged=judged, rules=("r" * 347,), context_sets={"files": ["/r/a.md"] * 10}
    )

    layout = laid_out(gathered, 1_700)
    shown = {shown_section.section.name: shown_section for shown_section in layout.shown}

    for name in (
        "changed",
        "last_run",
        "last_pass",
        "request",
        "next",
        "decisions",
        "claims",
        "failed",
    ):
        assert shown[name].items, name
    assert len(shown["next"].items) == 3
    assert shown["claims"].items[0].verdict == "changed"
    assert not shown["context_sets"].text
