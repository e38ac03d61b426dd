"""What a model is told: declarative, short, and nothing that was not said. Pure."""

from __future__ import annotations

from holdfast.ground.text import cut
from holdfast.notices.model import NOTICE_CHARS as NOTICE_CHARS
from holdfast.notices.model import RULE, STALE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.notices.model import Match

LEAST_CHARS = 80  # an entry that would get less room waits for another moment
BECAUSE_CHARS = 120
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def write_notice(matches: Sequence[Match], year: int) -> tuple[str, list[Match]]:
    """As many as fit, one a line, and which those are."""
    lines: list[str] = []
    told: list[Match] = []
    room = NOTICE_CHARS
    for match in matches:
        if room < LEAST_CHARS:
            break
        line = write_line(match.entry, year, room)
        lines.append(line)
        told.append(match)
        room -= len(line) + 1
    return "\n".join(lines), told


def write_line(entry: Mapping[str, Any], year: int, most: int) -> str:
    """The reason stands in front of the thing: it is what convinces."""
    if entry["kind"] == RULE:
        return cut(f"rule: {entry['text']}", most)
    if entry["kind"] == STALE:
        return cut(f"stale note {entry['id']} says {entry['text']}", most)
    lead = f"{entry['id']} {entry['kind']}"
    day = format_day(entry.get("at"), year)
    if day:
        lead += f" on {day}"
    if entry.get("of"):
        lead += f" on {entry['of']}"
    because = entry.get("because")
    if because:
        lead += f' because "{cut(because, BECAUSE_CHARS)}"'
    return cut(f"{lead} (user): {entry['text']}", most)


def format_day(at: object, year: int) -> str:
    """14 November, with the year where that is another; empty for what is not a date."""
    text = str(at)[:10]
    parts = text.split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return ""
    number, month, day = (int(part) for part in parts)
    if not 1 <= month <= len(MONTHS):
        return ""
    written = f"{day} {MONTHS[month - 1]}"
    return written if number == year else f"{written} {number}"
