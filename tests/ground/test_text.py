"""Text for people: nothing unseen reaches a terminal, and a cut never splits what a reader sees as
one.
"""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.text import cut, plural, term_safe

# Every character, halves of surrogate pairs too, and often the ones that join or hide.
ANY_TEXT = st.text(
    st.characters()
    | st.sampled_from(
        "ab \n\t\x1b\x7f\x9b\u200d\u202e\u0301\ufe0f\U0001f469\U0001f3fd\U0001f1e9\ud83d\ude00"
    )
)
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
GERMANY, FRANCE = "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"


# --- terminals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\x0db"),
        ("a\x7fb", "a\\x7fb"),
        ("a\x00b", "a\\x00b"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"),
        ("pay\u200bpal", "pay\\u200bpal"),
        ("\ufefftext", "\\ufefftext"),
        ("one\u2028two", "one\\u2028two"),
        ("\ud83d", "\\ud83d"),
        ("hi\U000e0041", "hi\\U000e0041"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert term_safe(text) == shown


@pytest.mark.parametrize(
    "text", ["", "plain", "tab\tand\nnewline", "Größe 東京 naïve \U0001f600 ❤️", "back\\slash \\x1b"]
)
def test_clean_text_comes_back_as_it_is(text: str) -> None:
    assert term_safe(text) == text


@given(ANY_TEXT)
def test_safe_text_has_no_control_but_tab_and_newline_and_stays_the_same(text: str) -> None:
    safe = term_safe(text)

    assert not [
        c for c in safe if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} and c not in "\n\t"
    ]
    assert not [
        c
        for c in safe
        if unicodedata.bidirectional(c) in BIDI_CONTROLS or "\U000e0000" <= c <= "\U000e007f"
    ]
    assert term_safe(safe) == safe
    safe.encode()


BIDI_CONTROLS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


# --- cutting --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "max_chars", "result"),
    [
        ("short", 5, "short"),
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("a verylongwordwithoutanyspace", 10, "a verylon…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("abcdef", -3, ""),
        ("one   two", 5, "one…"),
        ("      ", 3, "…"),
    ],
)
def test_a_cut_falls_between_words_where_one_is_near(
    text: str, max_chars: int, result: str
) -> None:
    assert cut(text, max_chars) == result


@pytest.mark.parametrize(
    ("text", "max_chars", "result"),
    [
        ("xe\u0301y", 3, "x…"),
        ("x" + FAMILY + "y", 5, "x…"),
        ("x\U0001f44d\U0001f3fdy", 3, "x…"),
        ("x❤\ufe0fy", 3, "x…"),
        ("x" + GERMANY + FRANCE, 3, "x…"),
        ("x" + GERMANY + FRANCE, 4, "x" + GERMANY + "…"),
        ("x\ud83d\ude00y", 3, "x…"),
        ("xxx\r\ny", 5, "xxx…"),
        ("x\u1112\u1161\u11abyy", 4, "x…"),
        ("e" + "\u0301" * 50, 10, "…"),
        ("a \u0301bcdef", 4, "a…"),
    ],
)
def test_a_cut_never_splits_what_a_reader_sees_as_one(
    text: str, max_chars: int, result: str
) -> None:
    assert cut(text, max_chars) == result


@given(ANY_TEXT, st.integers(-2, 40))
def test_a_cut_is_never_over_the_limit_and_says_that_something_is_missing(
    text: str, max_chars: int
) -> None:
    result = cut(text, max_chars)

    assert len(result) <= max(0, max_chars)
    assert result == text if len(text) <= max_chars else text.startswith(result.removesuffix("…"))
    assert len(text) <= max_chars or max_chars < 1 or result.endswith("…")


@given(ANY_TEXT, st.integers(2, 40))
def test_no_combining_mark_loses_its_base(text: str, max_chars: int) -> None:
    kept = len(cut(text, max_chars)) - 1
    rest = text[kept:].lstrip() if len(text) > max_chars else ""

    assert not rest or kept == 0 or not unicodedata.combining(rest[0]) or text[kept].isspace()


@pytest.mark.parametrize(
    ("text", "max_chars", "result"),
    [
        (
            "x\U0001f1e6\U0001f1ffyy",
            3,
            "x…",
        ),  # the first and the last letter that flags are spelt with
        ("x\ud83dyyyy", 3, "x\ud83d…"),  # half a pair is joined to nothing
        ("xx\ude00yyy", 3, "xx…"),
        ("xxx\nyyyy", 6, "xxx…"),
    ],
)
def test_a_cut_at_flags_half_pairs_and_line_ends_gives_the_expected_text(
    text: str, max_chars: int, result: str
) -> None:
    assert cut(text, max_chars) == result


def test_a_number_stands_before_its_noun_in_singular_or_plural() -> None:
    assert plural(1, "event") == "1 event"
    assert plural(0, "event") == "0 events"
    assert plural(19_480, "event") == "19,480 events"
