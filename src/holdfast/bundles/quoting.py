"""Foreign text inside our lines: cleaned, on one line, and without our own verdicts. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from holdfast.bundles.clauses import keep_turn
from holdfast.bundles.model import LINE_CHARS
from holdfast.ground.fence import keep_words, one_line
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.bundles.model import Gathered

NAME_CHARS, WORD_CHARS, LABEL_CHARS = 60, 40, 120
TEXT_CHARS, PATH_CHARS, PROSE_CHARS = 200, 180, 8_000
READ_TIMES = 20  # so many times the shown length is read; only unseen characters fill more
COMMIT_CHARS = 7

_OUR_MARK = compile_later(r"\[(?=\s*(?:ok|moved|changed|gone|said)\s*\])", re.IGNORECASE)
_COMMIT_ID = compile_later(r"[0-9a-f]{40,64}")


def quote(value: object, max_chars: int) -> str:
    """Foreign text that is safe inside a line of ours: its `[ok]` becomes `(ok]`."""
    if not isinstance(value, str):
        value = ""
    text = one_line(value[: READ_TIMES * max_chars], max_chars)
    return _OUR_MARK.sub("(", text)


def quote_inside(value: object, max_chars: int) -> str:
    """The same, to stand between quotation marks."""
    return quote(value, max_chars).replace('"', "'")


def quote_lines(text: object) -> list[str]:
    """The lines of a text that are not blank; only its beginning, where it is too long."""
    if not isinstance(text, str):
        return []
    quoted = [quote(line, PROSE_CHARS) for line in text[:PROSE_CHARS].splitlines()]
    return [line for line in quoted if line]


def quote_request(text: object) -> list[str]:
    """The lines of what the user said, from the first to the last one that is not blank.

    The user's words are not those of a stranger, so angle brackets and backticks stay. Each line
    stands behind a mark of ours; only our verdicts and the tags of clients are changed.
    """
    if not isinstance(text, str):
        return []
    words = _OUR_MARK.sub("(", keep_words(text[:PROSE_CHARS]))
    lines = [line.rstrip() for line in words.split("\n")]
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def quote_commit(value: object) -> str:
    return quote(value, WORD_CHARS)[:COMMIT_CHARS]


def write_line(lead: str, text: str, *, keep: int = 0) -> str:
    """A text on one line of ours, on which `keep` characters follow.

    It is longer where a part of it would say the opposite: such an item is left out.
    """
    room = LINE_CHARS - len(lead) - keep
    return lead + (keep_turn(text, cut(text, room), room) or text)


def write_output(lead: str, text: str) -> str:
    """What a program printed, as far as it fits."""
    return lead + cut(text, LINE_CHARS - len(lead))


def write_path(gathered: Gathered, path: str) -> str:
    text = quote(path, PATH_CHARS)
    if path in gathered.missing:
        text += " (missing)"
    return text


def join_parts(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def format_moment(value: object, now: datetime) -> str:
    """An absolute time, as short as the day in the head allows; empty for what is not a time."""
    at = _parse_moment(value)
    if at is None:
        return ""
    today = now.astimezone(UTC)
    if at.date() == today.date():
        return at.strftime("%H:%M")
    if at.year == today.year:
        return at.strftime("%m-%d %H:%M")
    return f"{at.year:04}-{at:%m-%d}"


def format_if_older(value: object, now: datetime) -> str:
    """The moment and a space behind it; empty for one of the day in the head."""
    moment = format_moment(value, now)
    return "" if len(moment) <= len("09:00") else f"{moment} "


def format_day(value: object, now: datetime) -> str:
    """The same without the hour, where the day is enough."""
    return format_moment(value, now).partition(" ")[0]


def short_repo(repo: str) -> str:
    """Owner and name; of a repository without a remote the beginning of its first commit."""
    if _COMMIT_ID.fullmatch(repo):
        return f"repository {repo[:COMMIT_CHARS]}"
    steps = repo.rstrip("/").split("/")
    return quote("/".join(steps[-2:]), NAME_CHARS)


def _parse_moment(value: object) -> datetime | None:
    try:
        if not isinstance(value, datetime):
            value = datetime.fromisoformat(str(value))
        if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
