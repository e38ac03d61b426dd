"""Which sentences of a person are quoted, by a table that was written before the rule."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import prose
from holdfast.observations.sayings import (
    SAYINGS_PER_TEXT,
    Saying,
    drop_superseded,
    find_sayings,
    quote_event,
)

TABLE = json.loads(Path(__file__).with_name("sayings.json").read_text())
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
QUOTED = [(kind, text) for rows in TABLE["quoted"].values() for kind, text in rows]
NOT_QUOTED = [text for rows in TABLE["not quoted"].values() for text in rows]


def describe(sayings: list[Saying]) -> list[list[str]]:
    return [[saying.kind, saying.text] for saying in sayings]


@pytest.mark.parametrize(("kind", "text"), QUOTED)
def test_a_number_or_a_refusal_is_quoted_whole(kind: str, text: str):
    assert describe(find_sayings(text)) == [[kind, text]]


@pytest.mark.parametrize("text", NOT_QUOTED)
def test_other_sentences_are_not_quoted(text: str):
    assert describe(find_sayings(text)) == []


@pytest.mark.parametrize("prompt", TABLE["prompts"], ids=lambda prompt: prompt["about"])
def test_of_a_prompt_only_the_words_of_the_person_are_quoted(prompt: dict[str, Any]):
    assert describe(find_sayings(prompt["text"])) == prompt["sayings"]


@pytest.mark.parametrize("row", TABLE["revised"], ids=lambda row: row["said"][-1])
def test_a_number_that_was_revised_later_leaves(row: dict[str, list[str]]):
    said = [saying for text in row["said"] for saying in find_sayings(text)]

    assert [saying.text for saying in drop_superseded(said)] == row["stay"]


def test_sentences_that_were_written_after_the_rule_are_mostly_right():
    """A measure of the rule on what it was not made for: 34 of 40, and it was not changed since."""
    rows = TABLE["written after the rule"]
    found = [(kind, find_sayings(text)) for kind, text in rows]
    right = [[saying.kind for saying in sayings] == [kind] * bool(kind) for kind, sayings in found]

    assert len(rows) == 40
    assert sum(right) >= 34


# --- order, bounds and sources --------------------------------------------------------------------


def collapse(text: str) -> str:
    return " ".join(text.split())


WORDS = st.sampled_from(
    ["don't", "use", "30 s", "8 attempts", "no", "`x`", "\n", "- ", "```\n", "Redis.", "never!",
     '"', "不要", "８次", "。", "must", "the", "?", "@@ -1 +1 @@\n", "{", "|", "e.g.",
     ";", ":", "<tag>\n"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(WORDS, max_size=60).map(" ".join))


@given(text=TEXTS)
def test_a_saying_is_a_part_of_what_was_said(text: str):
    whole = collapse(text)
    begin = 0
    for saying in find_sayings(text):
        begin = whole.index(saying.text, begin)
        assert len(saying.text) <= prose.SENTENCE_CHARS


@given(value=st.one_of(st.none(), st.integers(), st.binary(), st.lists(st.text()), st.floats()))
def test_what_is_no_text_says_nothing(value: object):
    assert find_sayings(value) == []


@given(texts=st.lists(TEXTS, max_size=8))
def test_dropping_what_was_revised_keeps_the_order_and_is_done_once(texts: list[str]):
    said = [saying for text in texts for saying in find_sayings(text)]

    kept = drop_superseded(said)

    places = [max(i for i, other in enumerate(said) if other is saying) for saying in kept]
    assert places == sorted(places)
    assert drop_superseded(kept) == kept


def test_of_many_sayings_the_most_worthy_stay_in_their_order():
    refusals = [f"Don't touch module {chr(97 + i)}, because it is frozen." for i in range(15)]
    plain = [f"The default is {i}." for i in range(10)]

    found = find_sayings("\n".join([*plain, *refusals]))

    assert len(found) == SAYINGS_PER_TEXT
    assert [saying.text for saying in found] == [*plain[:5], *refusals]


def test_reasons_and_units_rank_above_others():
    texts = [
        "Don't use Redis, because ops refuses it.",
        "Don't use Redis.",
        "Set the timeout to 30 seconds.",
        "The default is 5.",
    ]

    assert [find_sayings(text)[0].worth for text in texts] == [3, 2, 3, 1]


def test_of_a_very_long_prompt_the_beginning_and_the_end_are_read():
    middle = "Don't touch the middle.\n" * 10_000

    found = find_sayings(f"Don't touch the beginning.\n{middle}Don't touch the end.")

    assert [saying.text for saying in found] == [
        "Don't touch the beginning.",
        "Don't touch the middle.",
        "Don't touch the end.",
    ]


def test_the_end_of_a_long_paste_in_a_fence_is_not_spoken():
    paste = "do not change this line\n" * 2_000

    found = find_sayings(f"What is this?\n```\n{paste}```\nLeave the API alone.")

    assert [saying.text for saying in found] == ["Leave the API alone."]


def test_a_prompt_of_one_endless_line_is_left_out():
    assert find_sayings("never do this " * 10_000) == []


def test_a_long_sentence_is_cut_at_its_semicolons_only():
    filler = "and this goes on and on without an end for the reader " * 5
    text = f"Never use floats; {filler}; keep the old API"

    assert [saying.text for saying in find_sayings(text)] == [
        "Never use floats;",
        collapse(f"{filler};"),
        "keep the old API",
    ]
    assert find_sayings(f"never {filler * 2}") == []


def make_event(content: object, event_type: str = "user_message", parts: Any = None) -> Any:
    return SimpleNamespace(
        sequence=7, type=event_type, content=content, parts=parts, happened_at=NOW
    )


def test_a_saying_names_its_event():
    (saying,) = quote_event(make_event("Don't touch the migrations."))

    assert saying.sequence == 7


@pytest.mark.parametrize(
    ("event_type", "parts"),
    [
        ("model_message", None),
        ("user_message", {"agent_id": "a1"}),
        ("user_message", {"origin": "task-notification"}),
    ],
)
def test_what_no_person_said_is_not_quoted(event_type: str, parts: Any):
    assert quote_event(make_event("Don't touch the migrations.", event_type, parts)) == []


@given(content=st.one_of(st.none(), st.text()), parts=st.one_of(st.none(), st.integers()))
def test_no_event_is_too_odd_to_be_looked_at(content: object, parts: object):
    quote_event(make_event(content, parts=parts))


@pytest.mark.parametrize(
    "pasted",
    [
        "HOLDFAST planning · main · b-1\nRULES\n- Never use 9 workers.\nMore: session recent\n",
        '<teammate-message teammate_id="x">\nnever use Redis\n</teammate-message>\n',
        "npm warn deprecated foo: never use this\n",
        "Warning: do not use 3 of these in production\n",
    ],
)
def test_what_was_pasted_before_a_request_is_not_said_by_the_person(pasted):
    assert find_sayings(f"{pasted}Please look at it.") == []


@pytest.mark.parametrize(
    ("text", "is_given"),
    [
        ("Let the first one go out after ten.", True),
        ("Let the first one go out after ten days, please", True),
        ("Make it three", True),
        ("After two days of work it was still red.", False),
        ("I have tried it twice.", False),
        ("Use two files for it.", False),
    ],
)
def test_a_number_in_words_that_sets_something_is_given(text, is_given):
    assert bool(find_sayings(text)) == is_given
