"""The budgeter: never over its total, pinned whole, the same bytes again, no heading without an
item, cut only at edges, no free room that a section could use, and it counts right.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bundles import budget, render
from holdfast.bundles.model import Cut, Head, Item, Layout, Section
from holdfast.errors import InvalidValueError
from holdfast.ground.text import ELLIPSIS

HEAD = Head(
    "planning", "acme/invoices", "main", "2026-11-16 09:04Z", "b-7f3a", "The checkout wins."
)

# One number is one text: long words, short words, wide letters, and all lengths from nothing to a
# paragraph.
VOCABULARY = [
    "a",
    "stale",
    "note",
    "über",
    "eleven-letter",
    "·",
    "langeswortchen",
    "says",
    "äöü",
    "what",
    "it",
    "can",
]
words = st.integers(1, 40).map(
    lambda n: " ".join(VOCABULARY[(n * n + k) % len(VOCABULARY)] for k in range(n))
)
verdicts = st.sampled_from([None, "ok", "changed", "said"])
items = st.builds(Item, words, st.just("source"), verdicts, st.booleans()).flatmap(
    lambda item: st.sampled_from([item, replace(item, keep=len(item.text.rpartition(" ")[2]) + 1)])
)
held = st.integers(0, 12).map(
    lambda n: tuple(Cut("s", f"held {k}", "source", "a rule") for k in range(n))
)


def sections(pinned: bool = False) -> st.SearchStrategy[Section]:
    return st.builds(
        Section,
        name=st.sampled_from(["one", "two", "three"]),
        title=st.one_of(st.just(""), words),
        items=st.lists(items, max_size=1 if pinned else 10).map(tuple),
        min_chars=st.integers(0, 600),
        max_chars=st.integers(600, 900),
        pinned=st.just(pinned),
        rank=st.integers(0, 3),
        tail=st.one_of(st.just(""), words),
        lead=st.sampled_from(["\n", " "]),
        joined=st.sampled_from(["\n", " · ", "  "]),
        indent=st.sampled_from(["", "  "]),
        attached=st.booleans(),
        held=st.just(()) if pinned else held,
    )


many = st.lists(sections(), max_size=5)
totals = st.integers(0, 3_000)
several = settings(max_examples=100)


def fit_or_none(parts: list[Section], total: int) -> Layout | None:
    """None where the total is refused, which it is only for what stands whole."""
    try:
        return budget.fit(HEAD, parts, total)
    except InvalidValueError:
        pinned = [
            part.write([item.text for item in part.items], 0) for part in parts if part.pinned
        ]
        assert total < len(render.write_head_line(HEAD)) + sum(len(text) + 2 for text in pinned)
        return None


@several
@given(many, sections(pinned=True), totals)
def test_a_bundle_is_never_longer_than_its_total(parts, pinned, total):
    if layout := fit_or_none([pinned, *parts], total):
        assert len(render.render(layout)) <= total


@several
@given(many, sections(pinned=True), totals)
def test_pinned_items_are_shown_whole_or_the_total_is_refused(parts, pinned, total):
    if layout := fit_or_none([*parts, pinned], total):
        text = render.render(layout)
        assert all(item.text in text for item in pinned.items)
        assert layout.shown[-1].items == pinned.items


@several
@given(many, totals)
def test_the_same_sections_give_the_same_bytes(parts, total):
    first, again = fit_or_none(parts, total), fit_or_none(list(parts), total)
    assert first == again
    if first and again:
        assert render.render(first).encode() == render.render(again).encode()


@several
@given(many, totals)
def test_items_end_only_at_a_word(parts, total):
    for shown in getattr(fit_or_none(parts, total), "shown", ()):
        for item, whole in zip(shown.items, shown.section.items, strict=False):
            if item.text != whole.text:
                end = whole.text[len(whole.text) - whole.keep :]
                begun, mark, rest = item.text.partition(ELLIPSIS)
                assert whole.is_prose or len(shown.items) == 1
                assert (mark, rest) == (ELLIPSIS, end)
                assert whole.text.startswith(f"{begun} ")


@several
@given(many, totals)
def test_items_left_out_are_counted(parts, total):
    for shown in getattr(fit_or_none(parts, total), "shown", ()):
        missing = len(shown.section.items) - len(shown.items) + len(shown.section.held)
        assert shown.left_out == missing
        if shown.text:
            assert (f"+{missing} more" in shown.text) == (missing > 0)
        shortened = sum(
            item != whole for item, whole in zip(shown.items, shown.section.items, strict=False)
        )
        is_lost_title = (
            not shown.text
            and shown.section.title
            and not (shown.section.items or shown.section.held)
        )
        assert len(shown.cut) == missing + shortened + bool(is_lost_title)


@several
@given(many, sections(pinned=True), totals)
def test_no_heading_stands_without_an_item(parts, pinned, total):
    for shown in getattr(fit_or_none([pinned, *parts], total), "shown", ()):
        if shown.text and shown.left_out + len(shown.section.items):
            assert shown.items


@several
@given(many, totals)
def test_no_free_room_remains_that_a_cut_section_could_use(parts, total):
    """With everything else as it is, a section that was cut could not have had more."""
    head = replace(HEAD, phase="implementation", notice="")
    layout = budget.fit(head, parts, total) if total > len(render.write_head_line(head)) else None
    for at, shown in enumerate(getattr(layout, "shown", ())):
        others = [
            shown_section
            for number, shown_section in enumerate(layout.shown)
            if shown_section.text and number != at
        ]
        fixed = [
            Section("fixed", "", (Item(shown_section.text, "source"),), pinned=True)
            for shown_section in others
        ]
        assert budget.fit(head, [*fixed, shown.section], total).shown[-1].text == shown.text


@several
@given(many, totals)
def test_a_section_keeps_its_first_items(parts, total):
    for shown in getattr(fit_or_none(parts, total), "shown", ()):
        kept = [item.source for item in shown.items]
        assert kept == [item.source for item in shown.section.items[: len(kept)]]
        assert [item.text for item in shown.items[:-1]] == [
            i.text for i in shown.section.items[: len(kept)]
        ][:-1]


@several
@given(many, st.integers(500, 2_500))
def test_no_section_gets_less_in_a_larger_bundle_of_its_own(parts, total):
    """Alone in a bundle, more room never shows less."""
    for part in parts:
        small, large = fit_or_none([part], total), fit_or_none([part], total + 200)
        assert small
        assert large
        assert len(small.shown[0].items) <= len(large.shown[0].items)


def make_section(name: str, count: int, *, least: int = 0, most: int = 0) -> Section:
    entries = tuple(Item(f"entry {n:02} of {name}", name) for n in range(count))
    return Section(name, name.upper(), entries, least, most)


def test_each_section_has_its_minimum_before_another_has_more():
    greedy, modest = (
        make_section("greedy", 100, least=100, most=2_000),
        make_section("modest", 4, least=120, most=200),
    )

    layout = budget.fit(HEAD, [greedy, modest], 500)

    assert len(layout.shown[1].items) == 4
    assert layout.shown[0].left_out == 100 - len(layout.shown[0].items)


def test_unused_room_goes_to_a_section_that_was_cut():
    """Beyond its maximum too, because the total is what counts."""
    cut = make_section("cut", 90, least=50, most=100)

    layout = budget.fit(HEAD, [cut, make_section("small", 1, least=50, most=100)], 1_000)

    assert len(layout.shown[0].text) > 700
    assert 1_000 - len(render.render(layout)) < len("\nentry 00 of cut") + budget.SHORTEST


def test_each_section_has_its_first_item_before_another_has_more():
    """Though the item is longer than the minimum, and though the other stands before it."""
    greedy = make_section("greedy", 100, least=20, most=2_000)
    long = Section("long", "LONG", (Item("word " * 24 + "end", "long"),), 50, 200)

    layout = budget.fit(HEAD, [greedy, long], 500)

    assert layout.shown[1].items == long.items


def test_the_section_with_the_higher_rank_gets_room_first_whatever_its_position():
    last = replace(make_section("last", 20, least=100, most=200), rank=1)
    first = make_section("first", 20, least=300, most=400)

    layout = budget.fit(
        replace(HEAD, notice=""), [last, first], len(render.write_head_line(HEAD)) + 310
    )

    assert [len(shown_section.items) for shown_section in layout.shown] == [0, 16]
    assert len(layout.shown[0].cut) == 20


def test_an_item_that_would_stand_alone_is_shortened_and_keeps_its_end():
    text = "[changed] " + "word " * 60 + "end: a.py edited after the claim; unproven"
    claims = Section(
        "claims",
        "CLAIMS",
        (Item(text, "claim", "changed", keep=39), Item("[ok] b. b.py", "claim")),
        90,
        150,
    )
    files = Section("files", "FILES", (Item("x" * 900, "file pointer"),), 90, 150)

    layout = budget.fit(replace(HEAD, notice=""), [claims, files], 450)

    assert layout.shown[0].text.endswith("word…: a.py edited after the claim; unproven\n+1 more")
    assert layout.shown[1].text == ""
    assert {cut_item.reason.partition(";")[0].partition(":")[0] for cut_item in layout.cut} == {
        "no room",
        "shortened",
    }


def test_the_line_below_the_head_is_a_cut_where_it_has_no_room():
    rules = Section("rules", "RULES", (Item("- " + "r" * 250, "pinned rule"),), pinned=True)

    assert [cut_item.text for cut_item in budget.fit(HEAD, [rules], 450).cut] == [HEAD.notice]
    assert budget.fit(HEAD, [rules], 1_000).cut == ()


def test_a_cut_names_its_reason():
    layout = budget.fit(HEAD, [make_section("long", 90, least=100, most=200)], 500)

    assert layout.cut[0].reason == "no room: the bundle may have 500 characters"
    assert layout.cut[0].text == f"entry {90 - layout.shown[0].left_out:02} of long"


def test_a_long_sentence_is_shortened_rather_than_lost():
    section = Section(
        "summary", "SUMMARY", (Item("| " + "word " * 400, "summary", is_prose=True),), 100, 200
    )

    layout = budget.fit(HEAD, [section], 500)

    assert layout.shown[0].text.endswith("word…")
    assert layout.shown[0].left_out == 0
    assert [cut_item.reason for cut_item in layout.cut] == [
        "shortened; no room: the bundle may have 500 characters"
    ]


def test_rules_that_need_more_than_the_total_refuse_it_with_the_figure():
    rules = Section("rules", "RULES", (Item("- " + "r" * 700, "pinned rule"),), pinned=True)

    with pytest.raises(
        InvalidValueError,
        match=r"limit 600 is too small: the head and the pinned rules need \d+ char",
    ):
        budget.fit(HEAD, [rules], 600)


@pytest.mark.parametrize("limit", [449, 1, 0, -5])
def test_a_limit_that_holds_no_rules_is_refused(limit):
    with pytest.raises(
        InvalidValueError, match="is too small: a head and pinned rules need 450 characters"
    ):
        budget.total_for("planning", limit)


@pytest.mark.parametrize(
    ("phase", "limit", "total"),
    [
        ("planning", None, 2_200),
        ("implementation", None, 1_700),
        ("planning", 10_000, 2_200),
        ("implementation", 1_200, 1_200),
    ],
)
def test_a_limit_only_lowers_the_total_of_a_phase(phase, limit, total):
    assert budget.total_for(phase, limit) == total


def test_lines_that_explain_leave_first_where_it_is_tight():
    said = Section("claims", "CLAIMS", (Item("[ok] It works. a.py", "claim", "ok"),), 50, 100)
    rules = Section("rules", "RULES", (Item("- " + "r" * 250, "pinned rule"),), pinned=True)

    assert budget.fit(HEAD, [rules, said], 1_000).has_legend
    assert not budget.fit(HEAD, [rules, said], 450).has_legend
    assert "[ok] It works. a.py" in render.render(budget.fit(HEAD, [rules, said], 450))
