"""Time, always with a zone and always in UTC.

The text form has a fixed width, so that it sorts as it reads and hashes the same everywhere.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """2026-11-16T09:04:00.000000Z, whatever zone it came in. `strftime` writes year 226 as 226."""
    there = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{there.isoformat(timespec='microseconds')}Z"


def from_text(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is UTC:
        return moment
    return moment.astimezone(UTC)


def parse(value: str | datetime) -> datetime:
    """A time of a row: SQLite returns a text, PostgreSQL a datetime."""
    if isinstance(value, str):
        return from_text(value)
    return value


def parse_optional(value: str | datetime | None) -> datetime | None:
    if value is None:
        return None
    return parse(value)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970, without a detour over floats."""
    return (moment - EPOCH) // MICROSECOND
