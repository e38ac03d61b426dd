"""The budgeter: never over its total, pinned whole, the same bytes again, no heading without an
item, cut only at edges, nothing of a lower rank before a higher one, no free room, and it counts
right.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bundles import budget, render
from holdfast.bundles.model import (
    LINE_CHARS,
    NARROW_CHARS,
    Cut,
    Head,
    Item,
    Layout,
    Section,
    ShownSection,
)
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
    "because",
    "wait;",
]
words = st.integers(1, 40).map(
    lambda n: " ".join(VOCABULARY[(n * n + k) % len(VOCABULARY)] for k in range(n))
)
verdicts = st.sampled_from([None, "ok", "changed", "said"])
ends = st.sampled_from(["", " [moved]"])
plain_items = st.builds(Item.with_end, words, ends, st.just("source"), verdicts)
reasoned_items = st.builds(Item.with_reason, words, words, ends, st.just("source"), verdicts)
items = st.builds(
    lambda item, is_prose: replace(item, is_prose=is_prose),
    st.one_of(plain_items, reasoned_items),
    st.booleans(),
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
        max_chars=st.sampled_from([0, 50, 300, 900]),
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
        pinned = [part.write(part.items, 0) for part in parts if part.pinned]
        assert total < len(render.write_head_line(HEAD)) + sum(len(text) + 2 for text in pinned)
        return None


def list_shown(parts: list[Section], total: int) -> tuple[ShownSection, ...]:
    layout = fit_or_none(parts, total)
    return layout.shown if layout else ()


def list_by_rank(shown: Sequence[ShownSection]) -> list[ShownSection]:
    unpinned = [each for each in shown if not each.section.pinned]
    return sorted(unpinned, key=lambda each: each.section.rank)


def count_first(section: Section, line_chars: int) -> int:
    """How many items a section may have before any other has more: at least one."""
    if not section.max_chars:
        return 0
    room = section.max_chars
    count = 0
    for item in section.shorten(line_chars).items:
        room -= len(item.text)
        if room < 0:
            break
        count += 1
    return min(max(count, 1), len(section.items))


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
def test_items_end_only_at_a_word_and_keep_their_end(parts, total):
    for shown in list_shown(parts, total):
        for item, whole in zip(shown.items, shown.section.items, strict=False):
            assert item.keep == whole.keep
            at = len(whole.text) - whole.keep
            assert item.text.endswith(whole.text[at:])
            body = item.text[: len(item.text) - item.keep]
            assert is_cut_at_words(body, whole.text[:at], whole.why_at)


def is_cut_at_words(body: str, whole: str, why_at: int) -> bool:
    """A text and its reason end early each by itself, and only after a word."""
    if not why_at:
        return is_beginning(body, whole)
    text, colon, why = body.partition(": ")
    if not colon:
        return is_beginning(body, whole)
    return is_beginning(text, whole[:why_at]) and is_beginning(why, whole[why_at + 2 :])


def is_beginning(text: str, whole: str) -> bool:
    if not text.endswith(ELLIPSIS):
        return text == whole
    begun = text.removesuffix(ELLIPSIS).removesuffix(":")
    rest = whole.removeprefix(begun)
    return whole.startswith(begun) and rest.startswith((" ", ": ", "; "))


@several
@given(many, totals)
def test_items_left_out_are_counted(parts, total):
    for shown in list_shown(parts, total):
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
    for shown in list_shown([pinned, *parts], total):
        if shown.text and shown.left_out + len(shown.section.items):
            assert shown.items


@several
@given(many, totals)
def test_a_section_keeps_its_first_items(parts, total):
    for shown in list_shown(parts, total):
        for item, whole in zip(shown.items, shown.section.items, strict=False):
            assert item.source == whole.source
            assert item.text.split()[0].startswith(whole.text.split()[0].rstrip(f":{ELLIPSIS}"))


@several
@given(many, totals)
def test_nothing_of_a_lower_rank_stands_while_a_higher_one_lacks_what_it_gets_first(parts, total):
    is_short = False
    for shown in list_by_rank(list_shown(parts, total)):
        assert not (is_short and shown.text)
        wanted = count_first(shown.section, LINE_CHARS)
        is_short = is_short or len(shown.items) < wanted


@several
@given(many, totals)
def test_nothing_beyond_what_comes_first_stands_while_a_higher_rank_has_not_all(parts, total):
    """What a section has beyond its maximum is filled in the order of rank too."""
    is_incomplete = False
    for shown in list_by_rank(list_shown(parts, total)):
        most = count_first(shown.section, min(budget.LINES))
        assert not (is_incomplete and len(shown.items) > most)
        is_incomplete = is_incomplete or len(shown.items) < len(shown.section.items)


@several
@given(many, totals)
def test_a_line_is_never_longer_than_it_may_be(parts, total):
    for shown in list_shown(parts, total):
        assert not [
            item for item in shown.items if len(item.text) > LINE_CHARS and not item.is_prose
        ]


@several
@given(many, totals)
def test_no_room_remains_in_which_the_next_item_could_begin(parts, total):
    layout = fit_or_none(parts, total)
    if layout is None:
        return
    by_rank = list_by_rank(layout.shown)
    incomplete = [each for each in by_rank if len(each.items) < len(each.section.items)]
    if not incomplete:
        return
    next_first = [
        each
        for each in incomplete
        if len(each.items) < count_first(each.section, min(budget.LINES))
    ]
    free = total - len(render.render(layout))
    candidates = [*next_first[:1], *incomplete[:1]]
    assert any(free < count_least_room(each) + 60 for each in candidates)


def count_least_room(shown: ShownSection) -> int:
    """For the next item's beginning, with the heading where none stands yet."""
    section = shown.section
    following = section.items[len(shown.items)]
    text = section.write([*shown.items, Item("", "source")], shown.left_out - 1)
    return len(text) - len(shown.text) + following.keep


@several
@given(many, st.integers(500, 2_500))
def test_no_section_gets_less_in_a_larger_bundle_of_its_own(parts, total):
    """Alone in a bundle, more room never shows less: as many lines, or longer ones."""
    for part in parts:
        small, large = fit_or_none([part], total), fit_or_none([part], total + 200)
        assert small
        assert large
        assert len(small.shown[0].text) <= len(large.shown[0].text) + LINE_CHARS


def make_section(name: str, count: int, *, most: int = 0, rank: int = 0) -> Section:
    entries = tuple(Item(f"entry {n:02} of {name}", name) for n in range(count))
    return Section(name, name.upper(), entries, max_chars=most, rank=rank)


def test_each_section_has_its_maximum_before_another_has_more():
    greedy = make_section("greedy", 100, most=100)
    modest = make_section("modest", 4, most=200, rank=1)

    layout = budget.fit(HEAD, [greedy, modest], 500)

    assert len(layout.shown[1].items) == 4
    assert len(layout.shown[0].items) > 100 // len("entry 00 of greedy")
    assert layout.shown[0].left_out == 100 - len(layout.shown[0].items)


def test_unused_room_goes_to_a_section_that_was_cut():
    """Beyond its maximum too, because the total is what counts."""
    cut = make_section("cut", 90, most=100)

    layout = budget.fit(HEAD, [cut, make_section("small", 1, most=100, rank=1)], 1_000)

    assert len(layout.shown[0].text) > 700
    assert 1_000 - len(render.render(layout)) < len("\nentry 00 of cut") + budget.SHORTEST


def test_each_section_has_its_first_item_before_another_has_more():
    """Though the item is longer than the maximum, and though the other stands before it."""
    greedy = make_section("greedy", 100, most=20)
    long = Section("long", "LONG", (Item("word " * 24 + "end", "long"),), max_chars=50, rank=1)

    layout = budget.fit(HEAD, [greedy, long], 500)

    assert layout.shown[1].items == long.items


def test_the_section_with_the_higher_rank_gets_room_first_whatever_its_position():
    last = make_section("last", 20, most=200, rank=1)
    first = make_section("first", 20, most=400)

    layout = budget.fit(
        replace(HEAD, notice=""), [last, first], len(render.write_head_line(HEAD)) + 310
    )

    assert [len(shown.items) for shown in layout.shown] == [0, 15]
    assert len(layout.shown[0].cut) == 20


def test_lines_are_shortened_before_any_is_left_out():
    """Ten lines of which five fit at full length all stand at a shorter one."""
    long = tuple(Item("word " * 38 + "end", "source") for _ in range(10))
    section = Section("long", "LONG", long, max_chars=2_000)

    layout = budget.fit(replace(HEAD, notice=""), [section], 1_400)

    shown = layout.shown[0]
    assert shown.left_out == 0
    lengths = [len(item.text) for item in shown.items]
    assert lengths == sorted(lengths, reverse=True), "what room is left goes to the first"
    assert all(item.text.endswith("word…") for item in shown.items)
    assert len(shown.cut) == 10


def test_lines_end_after_a_clause_before_any_is_left_out():
    """Eight lines of which five fit with a part of their reasons all stand without these."""
    reason = "because it was asked for by finance in the meeting of last week, and by nobody else"
    decided = [
        Item(f"D{n} The letter of level {n} is sent on its own day, {reason}", "source")
        for n in range(8)
    ]
    section = Section("decided", "DECIDED", tuple(decided), max_chars=2_000)

    layout = budget.fit(replace(HEAD, notice=""), [section], 560)

    texts = [item.text for item in layout.shown[0].items]
    assert texts[-1] == "D7 The letter of level 7 is sent on its own day…"
    assert len(texts) == 8
    assert len(layout.cut) == 8


def test_a_line_without_clauses_becomes_no_shorter_than_a_narrow_one():
    plain = Item("word " * 38 + "end", "source")
    reasoned = Item.with_reason("text " * 20, "why " * 40, " [ok]", "source")

    assert plain.shorten(80) == plain.shorten(NARROW_CHARS)
    assert reasoned.shorten(80) == reasoned.shorten(NARROW_CHARS)


def test_a_narrow_line_has_whole_clauses_of_a_text_and_of_its_reason():
    text = "Letters leave at 08:00 in the morning, since the bank opens then"
    why = "the printer is free at that hour of the day; later it is busy"
    item = Item.with_reason(text, why, " [ok]", "source")

    short = item.shorten(100)

    assert short.text == (
        "Letters leave at 08:00 in the morning…: the printer is free at that hour of the day… [ok]"
    )
    assert short.shorten(100) == short


def test_a_shortened_item_keeps_its_reason_and_its_end():
    item = Item.with_reason("text " * 60, "why " * 60, " [moved] a.py", "decision D1", "moved")

    short = item.shorten(LINE_CHARS)

    text, why = short.text.split(": ")
    assert len(short.text) <= LINE_CHARS
    assert text.endswith("text…")
    assert why.endswith("why… [moved] a.py")
    assert len(text) >= LINE_CHARS // 2 - 10
    assert short.shorten(LINE_CHARS) == short


def test_a_short_reason_leaves_the_room_to_the_text():
    item = Item.with_reason("text " * 60, "it is faster", "", "decision D1")

    short = item.shorten(LINE_CHARS).text

    assert short.endswith("text…: it is faster")
    assert len(short) > LINE_CHARS - 10


def test_the_first_item_that_has_no_room_begins_in_what_is_left_and_keeps_its_end():
    text = "[changed] " + "word " * 60 + "end: a.py edited after the claim; unproven"
    claims = Section(
        "claims",
        "CLAIMS",
        (Item(text, "claim", "changed", keep=39), Item("[ok] b. b.py", "claim")),
        max_chars=150,
    )
    files = Section("files", "FILES", (Item("x" * 900, "file pointer"),), max_chars=150, rank=1)

    head = replace(HEAD, phase="implementation", notice="")
    layout = budget.fit(head, [claims, files], len(render.write_head_line(head)) + 120)

    assert layout.shown[0].text.endswith("word…: a.py edited after the claim; unproven\n+1 more")
    assert layout.shown[1].text == ""
    assert {cut_item.reason.partition(";")[0].partition(":")[0] for cut_item in layout.cut} == {
        "no room",
        "after the first 150 characters of its section",
        "shortened",
    }


def test_a_part_of_a_path_is_not_shown():
    files = Section("files", "FILES", (Item("x" * 190, "file pointer"),), max_chars=150)

    layout = budget.fit(replace(HEAD, notice=""), [files], len(render.write_head_line(HEAD)) + 150)

    assert layout.shown[0].text == ""


def test_the_line_below_the_head_is_a_cut_where_it_has_no_room():
    rules = Section("rules", "RULES", (Item("- " + "r" * 250, "pinned rule"),), pinned=True)

    assert [cut_item.text for cut_item in budget.fit(HEAD, [rules], 450).cut] == [HEAD.notice]
    assert budget.fit(HEAD, [rules], 1_000).cut == ()


def test_a_cut_names_its_reason():
    layout = budget.fit(HEAD, [make_section("long", 90, most=2_000)], 500)

    assert layout.cut[0].reason == "no room: the bundle may have 500 characters"
    assert layout.cut[0].text == f"entry {90 - layout.shown[0].left_out:02} of long"

    beyond = budget.fit(HEAD, [make_section("long", 90, most=200)], 500)

    assert beyond.cut[0].reason == (
        "after the first 200 characters of its section; no room: the bundle may have 500 characters"
    )


def test_a_long_sentence_is_shortened_rather_than_lost():
    section = Section(
        "summary",
        "SUMMARY",
        (Item("| " + "word " * 400, "summary", is_prose=True),),
        max_chars=200,
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
    said = Section("claims", "CLAIMS", (Item("[ok] It works. a.py", "claim", "ok"),), 100)
    rules = Section("rules", "RULES", (Item("- " + "r" * 250, "pinned rule"),), pinned=True)

    assert budget.fit(HEAD, [rules, said], 1_000).has_legend
    assert not budget.fit(HEAD, [rules, said], 450).has_legend
    assert "[ok] It works. a.py" in render.render(budget.fit(HEAD, [rules, said], 450))


def test_room_that_is_left_goes_to_lines_that_were_shortened():
    """Where the next item cannot even begin, the ones before it stand longer."""
    words = "a line with many words that goes on and on " * 4
    items = tuple(Item(f"{number} {words[:150]}", "source") for number in range(6))
    layout = budget.fit(HEAD, [Section("one", "", items, max_chars=2_000)], 1_000)

    text = render.render(layout)
    lengths = [len(item.text) for item in layout.shown[0].items]

    assert len(text) > 900
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > min(budget.LINES)


def make_of(name: str, items: tuple[Item, ...], *, rank: int) -> Section:
    return Section(name, name.upper(), items, max_chars=2_000, rank=rank)


def fits_an_answer(text: str) -> bool:
    """Whether an answer that holds it keeps to 1.1 times the text and 150 characters."""
    data = {"bundle": {"id": "0" * 36, "text": text}}
    answer = {"status": "ok", "data": data, "warnings": [], "next_actions": []}
    return len(json.dumps(answer, ensure_ascii=False)) <= 1.1 * len(text) + 150


def test_notes_full_of_quotes_are_shown_with_marks_that_json_does_not_escape():
    noted = tuple(Item(f'{number} maps "a" to "b" in "c"', "source") for number in range(90))

    layout = budget.fit(HEAD, [make_of("notes", noted, rank=0)], 1_700)

    text = render.render(layout)
    assert "1 maps 'a' to 'b' in 'c'" in text
    assert len(text) > 1_650
    assert fits_an_answer(text)
    assert all(cut.reason.endswith("may have 1,700 characters") for cut in layout.cut)


def test_a_verbatim_text_keeps_its_quotes_and_is_shorter_so_that_its_json_is_not_too_long():
    plain = tuple(Item(f"{number} a line that holds no quotes", "source") for number in range(20))
    pasted = tuple(Item(f'> {{"key": "{number}", "a": "b"}}', "event") for number in range(60))
    request = replace(make_of("request", pasted, rank=1), verbatim=True)

    layout = budget.fit(HEAD, [make_of("plain", plain, rank=0), request], 1_700)

    text = render.render(layout)
    assert '{"key": "1"' in text
    assert 900 < len(text) < 1_650
    assert fits_an_answer(text)
    assert any("because JSON escapes so many of them" in cut.reason for cut in layout.cut)


def test_a_text_of_little_but_backslashes_stays_as_long_as_it_may_be():
    """No shorter text would keep the bound, and half a text is worth less than a few characters."""
    noted = tuple(Item(f"{number} " + "\\d \\w " * 12, "source") for number in range(60))

    assert len(render.render(budget.fit(HEAD, [make_of("notes", noted, rank=0)], 1_700))) > 1_600


@several
@given(many, totals)
def test_the_answer_with_a_text_is_not_much_longer_than_the_text(parts, total):
    layout = fit_or_none(parts, total)
    if layout and total > budget.LEAST + budget.STEP:
        text = render.render(layout)
        assert layout.most > total // 2
        assert fits_an_answer(text) or layout.most == total


def test_sections_that_are_left_out_whole_are_named_in_the_last_line():
    entries = tuple(Item(f"{n} " + "words " * 14, "source") for n in range(12))
    first = Section("next", "NEXT", entries, max_chars=900, rank=1)
    low = [Section(name, name.upper(), entries[:5], rank=2) for name in ("files", "notes")]
    more = Section("more", "More: load", pinned=True)

    layout = budget.fit(HEAD, [first, *low, more], 700)

    text = render.render(layout)
    assert text.endswith("\nMore: load (files 5, scratchpad 5)")
    assert len(text) <= 700
    assert render.explain_lines(layout)[-1].text == "More: load (files 5, scratchpad 5)"
