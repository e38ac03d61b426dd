"""The moment as a number and as a text; `datetime` would cost a hook a millisecond."""

from __future__ import annotations

import time


def now_microseconds() -> int:
    return time.time_ns() // 1000


_last_second = (0, "1970-01-01T00:00:00")


def stamp(microseconds: int) -> str:
    """2026-11-16T09:04:00.000000Z: the same text that `clock.to_text` writes."""
    global _last_second
    seconds, rest = divmod(microseconds, 1_000_000)
    known, text = _last_second
    if seconds != known:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _last_second = seconds, text
    return f"{text}.{rest:06d}Z"
