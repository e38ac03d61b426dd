"""Ids: version 7 UUIDs, so that what is written together is together in every index.

The standard library's `uuid` costs a hook more than the append itself, so the few lines are here.
"""

from __future__ import annotations

import os
import time

from holdfast.ground import canonical

# No entry has this id, and none a smaller one.
BEFORE_ALL = "00000000-0000-0000-0000-000000000000"

_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def new_id() -> str:
    """48 bits of milliseconds, 74 random bits: sortable, and not guessable."""
    # A clock before 1970 counts below zero, and a sign is no digit of an id.
    milliseconds = max(time.time_ns() // 1_000_000, 0)
    moment = f"{milliseconds:012x}"
    chance = os.urandom(10).hex()
    variant = _VARIANT[chance[3]]
    return f"{moment[:8]}-{moment[8:]}-7{chance[:3]}-{variant}{chance[4:7]}-{chance[7:19]}"


def named_id(*parts: str) -> str:
    """The same id for the same parts on every machine; a version 8 UUID over a hash."""
    # A byte of a path that is not text is half a surrogate pair here, which UTF-8 refuses.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    digits = canonical.sha256(*encoded).hex()
    variant = _VARIANT[digits[16]]
    time_fields = f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}"
    return f"{time_fields}-{variant}{digits[17:20]}-{digits[20:32]}"


def parse_id(text: object) -> str | None:
    """The canonical form of a UUID, given as a text or as an object, or None for anything else."""
    if type(text).__name__ == "UUID":  # without importing `uuid`, or a driver that has its own
        text = str(text)
    if not isinstance(text, str) or len(text) != 36:
        return None
    if not text[8] == text[13] == text[18] == text[23] == "-":
        return None
    digits = text.replace("-", "")
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        return None
    if len(value) != 16:
        return None
    return text.lower()
