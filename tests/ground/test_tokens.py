"""How long a text is for a model, about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.tokens import CHARS_PER_TOKEN, tokens


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("x" * 400, 100)]
)
def test_tokens_are_about_one_per_four_characters(text: str, count: int):
    assert tokens(text) == count


@given(st.text(), st.text())
def test_no_text_costs_nothing_and_together_they_cost_no_more(first: str, second: str):
    assert (tokens(first) > 0) == bool(first)
    assert tokens(first + second) <= tokens(first) + tokens(second)
    assert len(first) <= tokens(first) * CHARS_PER_TOKEN
