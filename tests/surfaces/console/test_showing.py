"""Times in the reader's zone, and nothing that hides."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.text import term_safe
from holdfast.surfaces.console import showing

AT = datetime(2026, 11, 16, 22, 30, tzinfo=UTC)


def test_an_invisible_character_is_shown_as_a_marked_escape():
    shown = showing.mark_unseen("invoice\u202efdp.exe<b>")

    assert "\\u202e" in shown
    assert 'class="unseen"' in shown
    assert "\u202e" not in shown
    assert "&lt;b&gt;" in shown


@given(st.text(st.characters(blacklist_categories=())))
def test_no_text_ever_becomes_markup(text: str):
    shown = str(showing.mark_unseen(text))
    own = '<span class="unseen" title="a character that cannot be seen">'

    bare = shown.replace(own, "").replace("</span>", "")
    assert "<" not in bare
    assert ">" not in bare
    assert '"' not in bare
    assert term_safe(shown) == shown


def test_unseen_characters_are_counted_and_written_escapes_are_not():
    assert showing.count_unseen("a\u200bb\x1b") == 2
    assert showing.count_unseen(r"a\u200b") == 0


def test_text_between_backticks_is_code():
    assert showing.with_code("run `ls <x>` now") == "run <code>ls &lt;x&gt;</code> now"


def test_times_are_the_readers():
    helsinki = showing.find_zone("Europe/Helsinki")

    assert showing.moment_text(AT, helsinki) == "17 Nov 2026, 00:30"
    assert showing.clock_text(AT, helsinki) == "00:30"


@pytest.mark.parametrize(
    "name", [None, "", "Mars/Olympus", "../../etc/passwd", "America", "x" * 100, "\x00"]
)
def test_an_unknown_time_zone_is_not_found(name: str | None):
    assert showing.find_zone(name) is None


def test_days_have_names():
    today = date(2026, 11, 16)

    assert showing.day_name(today, today) == "Today"
    assert showing.day_name(date(2026, 11, 15), today) == "Yesterday"
    assert showing.day_name(date(2026, 11, 12), today) == "Thursday, 12 November"
    assert showing.day_name(date(2025, 11, 12), today) == "Wednesday, 12 November 2025"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (5, "5 s"),
        (65, "1 min"),
        (3600, "1 h"),
        (3900, "1 h 5 min"),
        (200_000, "2 days"),
        (-5, "0 s"),
    ],
)
def test_a_span_has_the_two_words_that_matter(seconds: int, expected: str):
    assert showing.span_text(AT, AT + timedelta(seconds=seconds)) == expected


def test_a_client_has_its_own_name_and_two_letters():
    assert showing.client_title("claude") == "Claude Code"
    assert showing.client_title("mine") == "mine"
    assert showing.client_title(None) == "no client"
    assert showing.client_mark("codex", "x") == "Co"
    assert showing.client_mark(None, "architect") == "Ar"
    assert showing.client_mark("<>", "x") == "?"


def test_words_are_cut_for_people():
    assert showing.first_words("  a\n b  ") == "a b"
    assert showing.pretty({"ü": 1}) == '{\n  "ü": 1\n}'
    assert showing.pretty("as it is") == "as it is"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-11-16T22:30:00Z", AT),
        ("2026-11-16T22:30:00", AT),
        ("2026-11-17T00:30:00+02:00", AT),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-12:00", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_time_from_a_file_is_a_time_or_nothing(value: object, expected: datetime | None):
    assert showing.as_moment(value) == expected
