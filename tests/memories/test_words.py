"""The words of a text: the same for every engine, and found from either side."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memories import words
from holdfast.memories.words import WORD_CHARS, extract_words, measure_meaning, stem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The migrations are migrating", {"the", "ar", "migrat"}),
        ("max_connections", {"max", "connect", "maxconnect"}),
        ("maxConnections", {"max", "connect", "maxconnect"}),
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("src/holdfast/app.py", {"src", "holdfast", "app", "py", "apppi"}),
        ("re-run", {"re", "run", "rerun"}),
        ("don't use it, we're fine", {"dont", "us", "it", "were", "fine"}),
        ("Größe, naïve, CAFÉ", {"gross", "naiv", "cafe"}),
        ("Python 3.11", {"python", "3", "11", "311"}),
        ("数据库", {"数据", "据库"}),
        ("第5版", {"第", "5", "版"}),
        ("हिन्दी में", {"हिन्दी", "में"}),
        ("the db config of prod", {"the", "of", "databas", "configur", "product"}),
        ("C++ and -Xmx4g", {"c", "and", "xmx4g"}),
        ("--- 🙂", {"u2d", "u1f642"}),
        ("to be or not to be", {"to", "be", "or", "not"}),
    ],
)
def test_a_text_has_these_words(text: str, expected: set[str]):
    assert extract_words(text) == expected


@pytest.mark.parametrize(
    "family",
    [
        "deploy deploys deployed deploying deployment deployments",
        "configure configured configures configuring configuration configurations",
        "retry retries retried retrying",
        "policy policies",
        "connect connected connecting connection connections",
        "hash hashes hashed hashing",
        "index indexes indexed indexing",
        "rotate rotated rotates rotating rotation",
        "render rendered rendering",
    ],
)
def test_a_family_of_words_has_one_stem(family: str):
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("word", ["as", "is", "7", "ünder", "数据", "x86", ""])
def test_a_word_that_is_not_english_is_not_stemmed(word: str):
    assert stem(word) == word


@given(st.text())
def test_any_text_has_words_that_both_engines_take(text: str):
    """ASCII in them is letters and digits, so neither index cuts them and no quote closes early."""
    for word in extract_words(text):
        assert 0 < len(word) <= WORD_CHARS
        assert all(character.isalnum() for character in word if character.isascii())
        assert not any(character.isspace() for character in word)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_and_spaces_do_not_matter(text: str):
    lowered = text.lower()

    assert extract_words(f"  {lowered}\n") == extract_words(lowered)
    assert extract_words(lowered) == extract_words(unicodedata.normalize("NFC", lowered))


@given(st.text(), st.text())
def test_two_texts_side_by_side_have_the_words_of_both(first: str, second: str):
    """The letters that end each text are there so that neither consists of signs alone."""
    first, second = f"{first} a", f"{second} b"

    assert extract_words(f"{first} \n {second}") == extract_words(first) | extract_words(second)


@given(st.text().filter(str.strip))
def test_every_text_that_is_not_empty_has_words(text: str):
    assert extract_words(text)


def test_the_small_words_of_a_sentence_mean_less_than_its_subject():
    assert measure_meaning("the") < measure_meaning("want") < measure_meaning("port") == 1


@given(st.from_regex(r"[a-z]{1,30}", fullmatch=True))
def test_a_stem_is_never_longer_than_its_word_by_more_than_a_letter(word: str):
    assert 0 < len(stem(word)) <= len(word) + 1


def test_the_stem_of_a_small_word_begins_as_the_word_does():
    """Small words are looked up by their first two letters."""
    small = (words._LIGHT_WORDS + words._FUNCTION_WORDS).split()

    assert [word for word in small if stem(word)[:2] != word[:2]] == []
    assert measure_meaning(stem("nothing")) == words.LIGHT_SHARE
    assert measure_meaning(stem("a")) == words.FUNCTION_SHARE
