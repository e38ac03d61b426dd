"""What memories are about: the statement, how well it answers a question, and what is imported.

Rows become types here. The table may be another program's, whose metadata need not be an object and
whose lineage need not be a list of texts: other metadata is kept inside an object, and of a lineage
only its texts are kept.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.ground import clock
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        values = {**self.__dict__, "lineage": list(self.lineage)}
        for name in TIMES:
            values[name] = _format_moment(values[name])
        return values


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
    """How many were imported, known or forgotten before, and each line that could not be used."""

    imported: int = 0
    known: int = 0
    forgotten: int = 0
    problems: tuple[str, ...] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "problems": list(self.problems)}


COLUMNS = 14
TIMES = ("last_used_at", "expires_at", "created_at", "updated_at", "erased_at")


def make_memory(row: Any) -> Memory:
    """A memory from the first columns of a row; there may be more of them."""
    (
        memory_id,
        user_id,
        content,
        category,
        metadata,
        source_type,
        confidence,
        lineage,
        last_used_at,
        use_count,
        expires_at,
        created_at,
        updated_at,
        erased_at,
    ) = row[:COLUMNS]
    return Memory(
        memory_id,
        user_id,
        content,
        category,
        _parse_object(metadata),
        source_type,
        round(float(confidence), 2),
        _parse_texts(lineage),
        clock.parse_optional(last_used_at),
        use_count,
        clock.parse_optional(expires_at),
        clock.parse(created_at),
        clock.parse(updated_at),
        clock.parse_optional(erased_at),
    )


def _parse_object(text: str) -> dict[str, Any]:
    """Another program's table may have a list, or a text that is not JSON: it is kept inside."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if value is None or isinstance(value, dict):
        return value or {}
    return {"metadata": value}


def _parse_texts(text: str) -> tuple[str, ...]:
    value = json.loads(text)
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def _format_moment(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return clock.to_text(moment)
