"""Times in the reader's zone, and nothing that hides."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

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


def test_an_emoji_of_several_stays_whole():
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    heart = "\u2764\ufe0f\u200d\U0001f525"

    assert showing.mark_unseen(family + heart) == family + heart
    assert "\\u200d" in showing.mark_unseen("pay\u200dpal \U0001f469\u200d \u200d\U0001f469")


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


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (None, ""),
        ({"agent_id": "a1", "agent": "Explore"}, ""),
        ({"tool": "Bash", "input": {"command": "ls -l"}, "exit_code": 0}, "ls -l"),
        ({"tool": "Bash", "input": {"command": "ls", "description": "Look"}}, "ls"),
        ({"tool": "Read", "input": {"path": "a"}}, '{\n  "path": "a"\n}'),
        ({"tool": "B", "input": "a", "ok": 1}, '{\n  "input": "a",\n  "ok": 1\n}'),
        ({"tool": "Bash", "is_error": True}, '{\n  "is_error": true\n}'),
    ],
)
def test_what_a_tool_was_given_is_shown_without_what_the_title_says(
    parts: dict[str, Any] | None, expected: str
):
    assert showing.describe_given(parts) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain\ntext", "plain\ntext"),
        ('{"stdout": "a\\nb", "stderr": "", "interrupted": false}', "a\nb"),
        ('{"stdout": "a", "stderr": "b"}', "a\nb"),
        ('{"stdout": "", "stderr": ""}', showing.NOTHING_PRINTED),
        ('{"stdout": "cut \\"here\\" \\u00e4', 'cut "here" ä'),
        ('{"stdout": "cut in an escape \\u00', "cut in an escape "),
        ('{"stdout": "cut after \\', "cut after "),
        ('{"type": "text", "file": {"content": "line 1\\n"}}', "line 1\n"),
        ('{"a": 1}', '{\n  "a": 1\n}'),
        ('{"status": "launched"}', 'launched\n\n{\n  "status": "launched"\n}'),
        ("{not an object", "{not an object"),
        ('{"stdout": 3}', showing.NOTHING_PRINTED),
    ],
)
def test_what_a_tool_printed_is_shown_as_in_a_terminal(content: str, expected: str):
    assert showing.describe_output(content) == expected


@given(st.text(), st.integers(0, 200))
def test_an_output_that_is_cut_anywhere_is_shown_as_far_as_it_goes(printed: str, length: int):
    whole = json.dumps({"stdout": printed, "stderr": ""}, ensure_ascii=False)
    content = whole[:length]

    shown = showing.describe_output(content)

    assert shown in (content, showing.NOTHING_PRINTED) or printed.startswith(shown)


def test_a_short_moment_names_its_day_only_where_that_is_another_one():
    """Both in the zone of the reader."""
    began = datetime(2026, 11, 16, 21, 30, tzinfo=UTC)
    helsinki = showing.find_zone("Europe/Helsinki")

    assert showing.short_moment_text(began + timedelta(minutes=5), began, helsinki) == "23:35"
    later = began + timedelta(hours=1)
    assert showing.short_moment_text(later, began, helsinki) == "17 Nov, 00:30"
    assert showing.short_moment_text(later, began, UTC) == "22:30"


def test_a_recent_moment_is_as_short_as_it_can_be():
    now = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)

    assert showing.recent_moment_text(now - timedelta(hours=1), now, UTC) == "08:04"
    assert showing.recent_moment_text(now - timedelta(days=1), now, UTC) == "17 Nov, 09:04"
    assert showing.recent_moment_text(now - timedelta(days=365), now, UTC) == "18 Nov 2025, 09:04"
