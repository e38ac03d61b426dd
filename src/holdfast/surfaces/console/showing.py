"""How stored values look on a page: times in the reader's zone, days by name, nothing invisible.

A browser reverses lines, joins characters and drops control characters silently. What a reader
could not see is shown as its escape, in a frame of its own, so that a file name is what it seems.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any

from markupsafe import Markup, escape

from holdfast.clients import find_client
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import UNSEEN, cut, term_safe
from holdfast.observations import parts

LONGEST_ZONE_NAME = 64
UNSEEN_MARK = Markup('<span class="unseen" title="a character that cannot be seen">{}</span>')
CODE = Markup("<code>{}</code>")
COMMAND_KEYS = {"command", "description"}
NOTHING_PRINTED = "(nothing printed)"
SHOWN_ABOVE = ("tool", "agent", "agent_id", "origin", "exit_code", "cut")
_ESCAPED = compile_later(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")


def mark_unseen(text: object) -> Markup:
    """A text with everything unseen made visible."""
    pieces = [_mark_piece(piece) for piece in UNSEEN.split(str(text))]
    return Markup("").join(pieces)


def _mark_piece(text: str) -> Markup:
    if UNSEEN.fullmatch(text):
        return UNSEEN_MARK.format(term_safe(text))
    return escape(text)


def with_code(text: str) -> Markup:
    """A message of ours, with the text between backticks as code."""
    pieces = [mark_unseen(piece) for piece in text.split("`")]
    code = pieces[1::2]
    pieces[1::2] = [CODE.format(piece) for piece in code]
    return Markup("").join(pieces)


def count_unseen(text: str) -> int:
    in_safe_text = _ESCAPED.findall(term_safe(text))
    in_text = _ESCAPED.findall(text)
    return len(in_safe_text) - len(in_text)


# --- times ----------------------------------------------------------------------------------------


@cache
def zone_names() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


def find_zone(name: str | None) -> tzinfo | None:
    """The zone that a browser says it is in; None means the server's own."""
    if not name or len(name) > LONGEST_ZONE_NAME or name not in zone_names():
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def local(at: datetime, zone: tzinfo | None) -> datetime:
    return at.astimezone(zone)


def clock_text(at: datetime, zone: tzinfo | None) -> str:
    return f"{local(at, zone):%H:%M}"


def moment_text(at: datetime, zone: tzinfo | None) -> str:
    """16 Nov 2026, 09:04"""
    there = local(at, zone)
    return f"{there.day} {there:%b %Y, %H:%M}"


def short_moment_text(at: datetime, beside: datetime, zone: tzinfo | None) -> str:
    """The clock alone on the day of a moment that is shown beside it, else with its day."""
    there = local(at, zone)
    if there.date() == local(beside, zone).date():
        return f"{there:%H:%M}"
    return f"{there.day} {there:%b, %H:%M}"


def recent_moment_text(at: datetime, now: datetime, zone: tzinfo | None) -> str:
    """The clock of today, a day of this year without its year, else all of it."""
    if local(at, zone).year == local(now, zone).year:
        return short_moment_text(at, now, zone)
    return moment_text(at, zone)


def at_seconds(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def as_moment(value: object) -> datetime | None:
    """A time from a file that anyone may edit; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    if not 1970 <= at.year <= 9998:  # beyond, a zone could push it out of the calendar
        return None
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    return at


def day_name(day: date, today: date) -> str:
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    name = f"{day:%A}, {day.day} {day:%B}"
    if day.year == today.year:
        return name
    return f"{name} {day.year}"


def span_text(start: datetime, end: datetime) -> str:
    """How long something took, in its one or two largest units."""
    whole = max(int((end - start).total_seconds()), 0)
    all_minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(all_minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    if hours and minutes:
        return f"{hours} h {minutes} min"
    if hours:
        return f"{hours} h"
    if minutes:
        return f"{minutes} min"
    return f"{seconds} s"


def ago_text(at: datetime, now: datetime) -> str:
    """In the largest unit that there are at least two of: 90 min ago, 3 h ago, 2 days ago."""
    minutes = int((now - at).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    return f"{_count_units(minutes)} ago"


def left_text(at: datetime, now: datetime) -> str:
    minutes = int((at - now).total_seconds() // 60)
    if minutes < 1:
        return "less than 1 min left"
    return f"{_count_units(minutes)} left"


def _count_units(minutes: int) -> str:
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60)} days"
    if minutes >= 2 * 60:
        return f"{minutes // 60} h"
    return f"{minutes} min"


# --- clients and numbers --------------------------------------------------------------------------


def client_title(client: str | None) -> str:
    """The name that a program gives itself, if we know the program."""
    if not client:
        return "no client"
    known = find_client(client)
    if known:
        return known.TITLE
    return client


def client_mark(client: str | None, chatmode: str) -> str:
    """Two letters."""
    name = client or chatmode
    letters = [character for character in name if character.isalnum()]
    return "".join(letters[:2]).capitalize() or "?"


def describe_given(of_event: Mapping[str, Any] | None) -> str:
    """What a tool was given; without what the line above it says already."""
    rest = {name: value for name, value in (of_event or {}).items() if name not in SHOWN_ABOVE}
    given = rest.pop("input", None)
    if not given and not rest:
        return ""
    if rest:
        return pretty({"input": given, **rest} if given else rest)
    if isinstance(given, dict) and "command" in given and given.keys() <= COMMAND_KEYS:
        return pretty(given["command"])
    return pretty(given)


def describe_output(content: str) -> str:
    """What a tool answered, as a person would read it in a terminal."""
    printed = parts.find_printed(content)
    if printed is not None:
        return printed or NOTHING_PRINTED
    answer = parts.parse_object(content)
    if not answer:
        return content
    whole = pretty(answer)
    in_short = parts.find_answer(content)
    return f"{in_short}\n\n{whole}" if in_short else whole


def pretty(value: object) -> str:
    """The input of a tool, indented for people."""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def first_words(text: str, most: int = 70) -> str:
    on_one_line = " ".join(text.split())
    return cut(on_one_line, most)
