"""Documents that a room keeps as they were at one moment: what was saved, proven, handed over.

A file in a repository can be lost with its worktree, and a text that was given to an agent must be
explained later. So each is stored here once, never changed, and found again by its id or as the
newest about its subject.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from holdfast.ground import canonical, clock, ids
from holdfast.ground.frozen import dataclass
from holdfast.ground.off_loop import off_loop
from holdfast.storage.errors import IdTakenError
from holdfast.storage.queries import STORAGE as QUERIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row

CONTENT_BYTES = 4 << 20
PAGE = 500


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
        """Store a document; the same id again returns the first one unchanged."""
        row = await self._make_row(kind, subject, content, entry_id)
        rows = await self.database.write(QUERIES["keep_entry"], *row)
        return _parse_kept(rows)

    async def try_add(
        self,
        kind: str,
        subject: Sequence[str],
        content: dict[str, Any],
        *,
        entry_id: str,
        seconds: float,
    ) -> JournalEntry:
        """The same, where a store that stays busy is an error and not worth the wait."""
        row = await self._make_row(kind, subject, content, entry_id)
        rows = await self.database.try_transaction(
            lambda tx: tx.run(QUERIES["keep_entry"], *row), seconds
        )
        return _parse_kept(rows)

    async def _make_row(
        self, kind: str, subject: Sequence[str], content: dict[str, Any], entry_id: str | None
    ) -> tuple[str, ...]:
        text = await off_loop(canonical.canonical_object, kind, content, max_bytes=CONTENT_BYTES)
        return *self.owner, entry_id or ids.new_id(), kind, _format_subject(subject), text

    async def find(self, kind: str, entry_id: str) -> JournalEntry | None:
        known_id = ids.parse_id(entry_id)
        if known_id is None:
            return None
        rows = await self.database.read(QUERIES["find_entry"], *self.owner, kind, known_id)
        if not rows:
            return None
        [row] = rows
        return _parse_entry(row)

    async def newest(self, kind: str, subject: Sequence[str], limit: int = 1) -> list[JournalEntry]:
        rows = await self.database.read(
            QUERIES["newest_entries"], *self.owner, kind, _format_subject(subject), limit
        )
        return await off_loop(_parse_entries, rows)

    async def newest_of_each(
        self, kind: str, beginning: Sequence[str], limit: int
    ) -> list[JournalEntry]:
        """The newest about each subject that begins with these parts and has more."""
        start = _format_subject(beginning).removesuffix("]") + ","
        end = start[:-1] + "-"  # the character after a comma
        rows = await self.database.read(
            QUERIES["newest_by_subject"], *self.owner, kind, start, end, limit
        )
        return await off_loop(_parse_entries, rows)

    async def newest_of_kind(self, kind: str, limit: int) -> list[JournalEntry]:
        rows = await self.database.read(QUERIES["newest_of_kind"], *self.owner, kind, limit)
        return await off_loop(_parse_entries, rows)

    async def read_with_text(self, text: str) -> AsyncIterator[tuple[str, str]]:
        """Ids and kinds of what holds a text, as the stored JSON has it or as a reader sees it.

        Page by page; what is erased meanwhile puts nothing out of step.
        """
        quoted = canonical.canonical_json("text", text, max_bytes=CONTENT_BYTES)
        written, after = quoted[1:-1], ids.BEFORE_ALL
        query = QUERIES["entries_with_text"]
        while rows := await self.database.read(query, *self.owner, written, after, PAGE):
            for entry_id, kind in rows:
                yield entry_id, kind
            after = entry_id

    async def erase(self, entry_id: str) -> bool:
        rows = await self.database.write(QUERIES["erase_entry"], *self.owner, entry_id)
        return bool(rows)

    async def count_receipts(self, before: datetime) -> int:
        """Those from before a time that still have their text."""
        moment = clock.to_text(before)
        [(count,)] = await self.database.read(QUERIES["count_receipts"], *self.owner, moment)
        return int(count)

    async def erase_receipts(self, before: datetime) -> None:
        moment = clock.to_text(before)
        await self.database.write(QUERIES["erase_receipts"], *self.owner, moment)


def _format_subject(parts: Sequence[str]) -> str:
    return canonical.canonical_json("subject", list(parts), max_bytes=CONTENT_BYTES)


def _parse_kept(rows: Sequence[Row]) -> JournalEntry:
    if not rows:
        raise IdTakenError
    [row] = rows
    return _parse_entry(row)


def _parse_entries(rows: Sequence[Row]) -> list[JournalEntry]:
    return [_parse_entry(row) for row in rows]


def _parse_entry(row: Row) -> JournalEntry:
    entry_id, subject, content, created_at, erased_at = row
    parsed = None
    if erased_at is None:
        parsed = canonical.parse_json("journal", content)
    return JournalEntry(entry_id, subject, parsed, clock.parse(created_at))
