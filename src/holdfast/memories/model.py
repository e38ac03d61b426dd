"""What memories are about: the statement itself, how well it answers a question, and what an import
did.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.ground import clock


@dataclass(frozen=True)
class Memory:
    """A statement that was kept, together with where it came from."""

    id: str
    user_id: str
    content: str
    category: str | None
    metadata: dict[str, Any]
    source_type: str
    confidence: float
    lineage: tuple[str, ...]
    last_used_at: datetime | None
    use_count: int
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    erased_at: datetime | None = None

    @property
    def subject(self) -> str:
        return self.id

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def to_dict(self) -> dict[str, Any]:
        times = {name: getattr(self, name) for name in TIMES}
        texts = {name: clock.to_text(at) if at else None for name, at in times.items()}
        return {**self.__dict__, "lineage": list(self.lineage), **texts}


@dataclass(frozen=True)
class MemoryMatch:
    """A memory that answers a question: `relevance` passed the gate, `score` decided the order."""

    memory: Memory
    relevance: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        return {**self.memory.to_dict(), "relevance": self.relevance, "score": self.score}


@dataclass(frozen=True)
class StoredMemory:
    """The memory, and whether it is new: a text that was known is corroborated instead."""

    memory: Memory
    is_new: bool

    @property
    def subject(self) -> str:
        return self.memory.id

    def to_dict(self) -> dict[str, Any]:
        return {**self.memory.to_dict(), "is_new": self.is_new}


@dataclass(frozen=True)
class MemoryImportReport:
    """What an import brought in, what was there or is to stay out, and each line that could not be
    used.
    """

    imported: int = 0
    known: int = 0
    forgotten: int = 0
    problems: tuple[str, ...] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "problems": list(self.problems)}


TIMES = ("last_used_at", "expires_at", "created_at", "updated_at", "erased_at")


def make_memory(row: Any) -> Memory:
    fields = list(row[:14])
    fields[4], fields[7] = _parse_object(fields[4]), _parse_texts(fields[7])
    fields[6] = round(float(fields[6]), 2)
    fields[8] = _parse_moment(fields[8])
    fields[10:14] = map(_parse_moment, fields[10:14])
    return Memory(*fields)


def _parse_object(text: str) -> dict[str, Any]:
    """Another program's table may have a list there, or a text that is no JSON: it is kept, one
    step further in.
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if value is None or isinstance(value, dict):
        return value or {}
    return {"metadata": value}


def _parse_texts(text: str) -> tuple[str, ...]:
    value = json.loads(text)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _parse_moment(value: str | datetime | None) -> datetime | None:
    return clock.from_text(value) if isinstance(value, str) else value
