"""The only file that turns memory verbs into queries.

JSON and times are passed as text, the same to both engines.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime

from holdfast.ground import clock
from holdfast.ground import light_json as json
from holdfast.memories.errors import ForeignTableError
from holdfast.memories.model import Memory, make_memory
from holdfast.memories.rules import Kind, Statement, get_words
from holdfast.storage.errors import IdTakenError
from holdfast.storage.queries import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row, Transaction
    from holdfast.storage.queries import Query

QUERIES = Room("memori", __file__, once={"note_use"})


class MemoryStore:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id
        self._adopted: bool | None = None

    async def find(self, memory_id: str) -> Memory | None:
        rows = await self.database.read(QUERIES["find_memory"], *self.owner, memory_id)
        return _make_first(rows)

    async def hold_content(self, tx: Transaction, content_hash: bytes) -> None:
        await tx.run(QUERIES["hold_content"], *self.owner, content_hash)

    async def lock(self, tx: Transaction, memory_id: str) -> Memory | None:
        rows = await tx.run(QUERIES["lock_memory"], *self.owner, memory_id)
        return _make_first(rows)

    async def lock_content(
        self, tx: Transaction, content_hash: bytes, content: str
    ) -> Memory | None:
        rows = await tx.run(QUERIES["lock_content"], *self.owner, content_hash, content)
        return _make_first(rows)

    async def find_tombstone(self, tx: Transaction, content_hash: bytes) -> str | None:
        """The id of the memory that was forgotten with this content."""
        rows = await tx.run(QUERIES["find_tombstone"], *self.owner, content_hash)
        if not rows:
            return None
        memory_id, *_ = rows[0]
        return str(memory_id)

    async def find_tombstones(self, hashes: Iterable[bytes]) -> set[bytes]:
        asked = _as_json([digest.hex() for digest in hashes])
        rows = await self.database.read(QUERIES["find_tombstones"], *self.owner, asked)
        return {digest for (digest,) in rows}

    async def add(self, tx: Transaction, memory_id: str, statement: Statement) -> Memory | None:
        """None when the id is taken."""
        _, developer_id = self.owner
        rows = await tx.run(
            QUERIES["add_memory"],
            *self.owner,
            memory_id,
            statement.user_id or developer_id,
            statement.content,
            statement.content_hash,
            _as_json(statement.words),
            statement.category,
            statement.metadata,
            statement.source_type,
            statement.confidence,
            _as_json(statement.lineage),
            _as_text(statement.last_used_at),
            statement.use_count,
            _as_text(statement.expires_at),
            _as_text(statement.created_at),
            _as_text(statement.updated_at),
        )
        return _make_first(rows)

    async def save(self, tx: Transaction, memory: Memory) -> Memory | None:
        """Its belief, its lineage and its end; nothing else of a memory changes."""
        rows = await tx.run(
            QUERIES["save_judgement"],
            *self.owner,
            memory.id,
            memory.confidence,
            _as_json(memory.lineage),
            _as_text(memory.expires_at),
        )
        return _make_first(rows)

    async def expire(self, memory_id: str) -> Memory | None:
        rows = await self.database.write(QUERIES["expire_memory"], *self.owner, memory_id)
        return _make_first(rows)

    async def forget(
        self, tx: Transaction, memory_id: str, content_hash: bytes, reason: str
    ) -> Memory | None:
        rows = await tx.run(QUERIES["forget_memory"], *self.owner, memory_id, content_hash, reason)
        return _make_first(rows)

    async def list(self, after: str | None, limit: int) -> Sequence[Memory]:
        return await self._list(QUERIES["list_memories"], after, limit)

    async def list_newest(self, below: str | None, limit: int, kind: Kind) -> Sequence[Memory]:
        return await self._list(QUERIES["newest_memories"], below, limit, *kind)

    async def list_matching(self, text: str, after: str, limit: int) -> Sequence[Memory]:
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        return await self._list(QUERIES["matching_memories"], text, escaped, after, limit)

    async def _list(self, query: Query, *values: object) -> Sequence[Memory]:
        rows = await self.database.read(query, *self.owner, *values)
        return [make_memory(row) for row in rows]

    async def count_words(
        self, words: Iterable[str], most: int, now: datetime, kind: Kind
    ) -> tuple[dict[str, int], int]:
        """In how many memories each word is, and how many memories there are; `kuber*` is any word
        that begins so.
        """
        rows = await self.database.read(
            QUERIES["count_words"], *self.owner, _as_json(words), most, clock.to_text(now), *kind
        )
        counts = {word: count for word, count in rows}  # noqa: C416  # a row is not a pair to mypy
        total = counts.pop("")
        return counts, total

    async def find_candidates(
        self,
        words: Iterable[str],
        common_words: Iterable[str],
        limit: int,
        now: datetime,
        kind: Kind,
    ) -> Sequence[tuple[Memory, Iterable[str]]]:
        """Those with one of the words, those with all of the common ones first."""
        rows = await self.database.read(
            QUERIES["find_candidates"],
            *self.owner,
            _as_json(words),
            _as_json(common_words),
            limit,
            clock.to_text(now),
            *kind,
        )
        return [_make_candidate(row) for row in rows]

    async def note_use(self, memory_ids: Iterable[str]) -> None:
        await self.database.write(QUERIES["note_use"], *self.owner, _as_json(memory_ids))

    async def is_adopted(self) -> bool:
        """Asked once: no table changes its maker."""
        if self._adopted is None:
            [(adopted,)] = await self.database.read(QUERIES["find_adoption"], *self.owner)
            self._adopted = bool(adopted)
        return self._adopted

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Another program's table has rules of its own: what those refuse is not a bug of ours."""
        try:
            yield
        except Exception as error:
            refusal = _find_refusal(error)
            if refusal is not None and await self.is_adopted():
                problem, *_ = str(refusal).splitlines()
                raise ForeignTableError(problem) from error
            raise


def _find_refusal(error: Exception) -> BaseException | None:
    """The error of the database's own, if it is one."""
    if isinstance(error, IdTakenError) and error.__cause__ is not None:
        return error.__cause__
    if getattr(error, "sqlstate", None):
        return error
    return None


def _make_first(rows: Sequence[Row]) -> Memory | None:
    if not rows:
        return None
    return make_memory(rows[0])


def _make_candidate(row: Row) -> tuple[Memory, Iterable[str]]:
    memory = make_memory(row)
    *_, stored_words = row
    return memory, get_words(memory, stored_words)


def _as_json(texts: Iterable[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)


def _as_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return clock.to_text(moment)
