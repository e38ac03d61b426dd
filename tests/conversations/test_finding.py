"""Which of several is meant by a few words: found with a slip, and never chosen by a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.conversations.finding import (
    VOCABULARY_CHARS,
    Entry,
    choose,
    list_words,
    make_vocabulary,
    rank,
)

WEBHOOK = Entry("1", "Webhook retry", "debug Attempts were counted from zero", "give up after 8")
LEDGER = Entry("2", "Ledger export", "plan Quarterly numbers", "use the webhook table as a source")
SCHEMA = Entry("3", "Database schema", "review Foreign keys", "nothing of interest")
ENTRIES = (WEBHOOK, LEDGER, SCHEMA)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("webhook", ["1", "2"]),  # a title says more than a text
        ("Webhook RETRY", ["1"]),
        ("webhok", ["1"]),  # a letter left out
        ("webhhook", ["1"]),  # one twice
        ("wehbook", ["1"]),  # two swapped
        ("webheok", ["1"]),  # one changed
        ("schem", ["3"]),
        ("debug", ["1"]),
        ("quarterly export", ["2"]),
        ("webhook nothing", []),  # every word has to be found
        ("zebra", []),
    ],
)
def test_every_word_is_found_as_it_is_begun_or_with_one_slip(query: str, ids: list[str]):
    assert [found.id for found in rank(query, ENTRIES)] == ids


def test_one_that_fits_better_than_all_others_is_chosen_and_of_equal_ones_none():
    assert choose(rank("webhook", ENTRIES)) == "1"
    assert choose(rank("e", ENTRIES)) is None
    twins = (WEBHOOK, Entry("4", "Webhook retry", "debug Attempts were counted from zero"))
    assert choose(rank("webhook retry", twins)) is None


@pytest.mark.parametrize("query", ["", "  ", "*", '"AND" OR (', "🦊", "%", "\\", "-- ;"])
def test_operators_quotes_and_pictures_are_only_text(query: str):
    assert all(word.isalnum() for word in list_words(query))
    rank(query, ENTRIES)


def test_of_a_very_long_query_the_first_words_count():
    long = "webhook " * 2_000 + " ".join(f"word{number}" for number in range(5_000))

    assert len(list_words(long)) == 20
    assert rank(long, ENTRIES) == []


@given(st.text(max_size=60))
def test_any_title_is_found_by_itself(title: str):
    entry = Entry("own", title)
    assert bool(rank(title, [entry])) == bool(list_words(title))


words = st.lists(st.sampled_from(["retry", "Retry", "webhook", "a_b", "é", "İ", "x" * 30, "-"]))


@given(words.map(" ".join), words.map("-".join))
def test_a_text_is_found_by_its_vocabulary_as_by_itself(text: str, query: str):
    whole, short = (Entry("1", "", "", part) for part in (text, make_vocabulary(text)))

    assert rank(query, [whole]) == rank(query, [short])


def test_a_vocabulary_is_bounded_and_names_each_word_once():
    assert make_vocabulary("Retry, retry; and give up. RETRY!") == "retry and give up"
    assert len(make_vocabulary(" ".join(map(str, range(100_000))))) == VOCABULARY_CHARS
    assert len(make_vocabulary("x" * 1_000_000)) == 100
