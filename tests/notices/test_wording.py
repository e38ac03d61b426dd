"""What a model is told: short, declarative, and one line for each entry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.notices.model import KINDS, WORDS, Match
from holdfast.notices.wording import NOTICE_CHARS, format_day, write_line, write_notice

TEXTS = st.text(st.characters(exclude_characters="\n"), max_size=400)
ENTRIES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["D1", "D999999"]),
        "kind": st.sampled_from(KINDS),
        "text": TEXTS,
        "because": TEXTS,
        "at": st.sampled_from(["2026-11-14T16:02:00Z", "", "soon", "2026-99-01", None]),
        "of": st.sampled_from(["", "feat/x", None]),
    }
)


def test_the_reason_stands_before_the_thing():
    entry = {
        "id": "D2",
        "kind": "rejected",
        "text": "Redis streams",
        "because": "ops won't run another Redis",
        "at": "2026-11-14T16:02:00Z",
    }

    assert write_line(entry, 2026, 300) == (
        """D2 rejected on 14 November because "ops won't run another Redis" (user): Redis streams"""
    )
    merged = {**entry, "of": "feat/queue", "because": ""}
    line = "D2 rejected on 14 November 2026 on feat/queue (user): Redis streams"
    assert write_line(merged, 2027, 300) == line
    assert write_line({"kind": "rule", "text": "No floats."}, 2026, 300) == "rule: No floats."


@given(st.lists(ENTRIES, max_size=6))
def test_however_much_is_found_it_is_short(entries: list[dict[str, Any]]):
    matches = [Match(number, entry, WORDS, "x") for number, entry in enumerate(entries)]

    text, told = write_notice(matches, 2026)

    assert len(text) <= NOTICE_CHARS
    assert told == matches[: len(told)]
    assert len(text.split("\n")) == max(1, len(told))
    assert bool(told) == bool(matches)


@pytest.mark.parametrize("at", [None, "", "yesterday", "2026-13-01", "a-b-c", 5])
def test_what_is_not_a_date_is_left_out(at: object):
    assert format_day(at, 2026) == ""
