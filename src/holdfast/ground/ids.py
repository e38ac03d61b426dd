"""Ids: version 7 UUIDs, so that what is written together lies together in every index.

The standard library's `uuid` costs a hook more than the append itself, so the few lines stand here.
"""

from __future__ import annotations

import hashlib
import os
import re
import time

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)


def new_id() -> str:
    """48 bits of milliseconds, 74 random bits: sortable, and nobody guesses one."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    return _grouped(value & ~(0x3 << 62) | 0x2 << 62)


def named_id(*parts: str) -> str:
    """The same id for the same parts on every machine; a version 8 UUID over a hash."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    value = int.from_bytes(digest[:16]) & ~(0xF << 76) | 0x8 << 76
    return _grouped(value & ~(0x3 << 62) | 0x2 << 62)


def parse_id(text: object) -> str | None:
    """The canonical form of a UUID, or None for anything else."""
    if not isinstance(text, str) or len(text) != 36:
        return None
    lowered = text.lower()
    return lowered if _UUID.fullmatch(lowered) else None


def _grouped(value: int) -> str:
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
