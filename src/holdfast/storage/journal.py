"""Documents that a room keeps as they were at one moment: what was saved, proven, handed over.

A file in a repository can be lost with its worktree, and a text that an agent was handed must be
explained later. So each is written down here once, never changed, and found again by its id or as
the newest about its subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.ground import canonical, clock, ids
from holdfast.storage.errors import IdTakenError
from holdfast.storage.queries import STORAGE as QUERIES

if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row

CONTENT_BYTES = 4 << 20


@dataclass(frozen=True)
class JournalEntry:
    id: str
    subject: str
    content: dict[str, Any] | None  # None once it was forgotten
    created_at: datetime


class Journal:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    async def add(
        self,
        kind: str,
        subject: Sequence[str],
        content: dict[str, Any],
        *,
        entry_id: str | None = None,
    ) -> JournalEntry:
        """One document more; the same id again gives the first, whatever is brought now."""
        text = canonical.canonical_object(kind, content, max_bytes=CONTENT_BYTES)
        identity = entry_id or ids.new_id()
        rows = await self.database.write(
            QUERIES["keep_entry"], *self.owner, identity, kind, _format_subject(subject), text
        )
        if not rows:
            raise IdTakenError
        return _parse_entry(rows[0])

    async def find(self, kind: str, entry_id: str) -> JournalEntry | None:
        if (known := ids.parse_id(entry_id)) is None:
            return None
        rows = await self.database.read(QUERIES["find_entry"], *self.owner, kind, known)
        return _parse_entry(rows[0]) if rows else None

    async def newest(self, kind: str, subject: Sequence[str], limit: int = 1) -> list[JournalEntry]:
        rows = await self.database.read(
            QUERIES["newest_entries"], *self.owner, kind, _format_subject(subject), limit
        )
        return [_parse_entry(row) for row in rows]

    async def newest_of_kind(self, kind: str, limit: int) -> list[JournalEntry]:
        rows = await self.database.read(QUERIES["newest_of_kind"], *self.owner, kind, limit)
        return [_parse_entry(row) for row in rows]

    async def list_with_text(self, text: str) -> list[tuple[str, str]]:
        """Ids and kinds of what holds a text, as it stands in the stored JSON or as a reader sees
        it.
        """
        written = canonical.canonical_json("text", text, max_bytes=CONTENT_BYTES)[1:-1]
        rows = await self.database.read(QUERIES["entries_with_text"], *self.owner, written)
        return [(row[0], row[1]) for row in rows]

    async def erase(self, entry_id: str) -> bool:
        return bool(await self.database.write(QUERIES["erase_entry"], *self.owner, entry_id))


def _format_subject(parts: Sequence[str]) -> str:
    return canonical.canonical_json("subject", list(parts), max_bytes=CONTENT_BYTES)


def _parse_entry(row: Row) -> JournalEntry:
    content = None if row[4] is not None else canonical.parse_json("journal", row[2])
    return JournalEntry(
        row[0], row[1], content, clock.from_text(row[3]) if isinstance(row[3], str) else row[3]
    )
