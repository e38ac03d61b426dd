"""The verbs on memories: check by rule, one transaction, return a frozen type.

A statement is stored once for each developer: the same text again corroborates what is known. What
was forgotten stays forgotten, because the hash of its text is kept. In another program's table the
same text may stand in several rows, or come back after it was forgotten, so such a table is read
with more care (`is_adopted`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

from holdfast.errors import HoldfastError
from holdfast.ground import clock, ids, settings
from holdfast.ground import light_json as json
from holdfast.ground.light_typing import TypeVar
from holdfast.memories import rules
from holdfast.memories.errors import MemoryForgottenError, MemoryNotFoundError
from holdfast.memories.model import Memory, MemoryMatch, StoredMemory
from holdfast.memories.store import MemoryStore
from holdfast.storage.opening import as_database, find_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Task
    from datetime import datetime
    from typing import Any

    from holdfast.ground.masking import Mask
    from holdfast.memories.rules import Kind, Statement
    from holdfast.storage.database import Transaction

T = TypeVar("T")

PAGE = 500

# Held here, because a loop only keeps weak references to its tasks.
_use_tasks: set[Task[None]] = set()


class MemoryService:
    """Keeps memories of one developer of one workspace, and finds them again.

    Takes what `open_database` gives, or a plain `asyncpg.Pool` on a database that was migrated
    before.
    """

    def __init__(
        self, db_pool: Any, *, owner: settings.Owner | None = None, mask: Mask | None = None
    ):
        self.db = as_database(db_pool)
        self.owner = owner or find_owner(db_pool)
        self.mask = mask
        self.store = MemoryStore(self.db, self.owner)

    # --- keeping ----------------------------------------------------------------------------------

    async def remember(
        self,
        content: str,
        *,
        category: str | None = None,
        source_type: str = "explicit",
        ttl_days: int | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
    ) -> StoredMemory:
        """Keep a statement; a known one is corroborated instead, a forgotten one is refused."""
        checked = rules.check_statement(
            content, category, source_type, ttl_days, metadata, clock.now()
        )
        session = _check_session(session_id)
        statement = self._mask(rules.with_source(checked, user_id, session))

        async def work(tx: Transaction) -> StoredMemory:
            known = await self._lock_known(tx, statement)
            if known is None:
                added = await self._add(tx, statement)
                return StoredMemory(added, is_new=True)
            repeated = rules.repeat(known, statement.expires_at, session)
            saved = await self._save(tx, known, repeated)
            return StoredMemory(saved, is_new=False)

        return await self._write(work)

    async def add_statement(
        self, statement: Statement, memory_id: str | None = None
    ) -> StoredMemory:
        """Add another program's statement as it is, without its secrets, or return the known one; a
        forgotten one is refused.
        """
        statement = self._mask(statement)

        async def work(tx: Transaction) -> StoredMemory:
            known = await self._lock_known(tx, statement)
            if known:
                return StoredMemory(known, is_new=False)
            added = await self._add(tx, statement, memory_id)
            return StoredMemory(added, is_new=True)

        return await self._write(work)

    async def corroborate(self, memory_id: str, session_id: str | None = None) -> Memory:
        """Believe it more: the same was stated again."""
        return await self._judge(memory_id, rules.corroborate, session_id)

    async def contradict(self, memory_id: str, session_id: str | None = None) -> Memory:
        """Believe it less: the opposite was stated."""
        return await self._judge(memory_id, rules.contradict, session_id)

    async def expire(self, memory_id: str) -> Memory:
        """From now on it answers no question; expired again, it stays as it is."""
        checked = _check_id(memory_id)
        async with self.store.writing():
            expired = await self.store.expire(checked)
        return _require(expired, memory_id)

    # --- finding ----------------------------------------------------------------------------------

    async def find_memory(self, memory_id: str) -> Memory | None:
        checked = rules.check_id(memory_id)
        if checked is None:
            return None
        return await self.store.find(checked)

    async def get_memory(self, memory_id: str) -> Memory:
        found = await self.store.find(_check_id(memory_id))
        return _require(found, memory_id)

    async def recall(
        self,
        query: str,
        *,
        limit: int = rules.LIMIT,
        min_relevance: float = rules.MIN_RELEVANCE,
        namespace: str | None = None,
        category: str | None = None,
    ) -> list[MemoryMatch]:
        """What answers a question, best first; nothing where no memory is relevant enough."""
        words = rules.check_query(query)
        most = rules.check_limit(limit)
        least = rules.check_share("min_relevance", min_relevance)
        kind = rules.check_kind(namespace, category)
        found = await self._find_answers(query, words, kind, most, least)
        if found:
            await self._note_use([match.memory.id for match in found])
        return found

    async def list_memories(
        self,
        limit: int = PAGE,
        below: str | None = None,
        *,
        namespace: str | None = None,
        category: str | None = None,
    ) -> Sequence[Memory]:
        """Newest first, expired ones too; `below` is the last id of the page before."""
        checked = rules.check_limit(limit)
        kind = rules.check_kind(namespace, category)
        last = None
        if below is not None:
            newer = await self.get_memory(below)
            last = newer.id
        found: list[Memory] = []
        while page := await self.store.list_newest(last, checked, kind):
            found += await self._drop_forgotten(page)
            last = page[-1].id
            is_last_page = len(page) < checked
            if is_last_page or len(found) >= checked:
                break
        return found[:checked]

    async def read_memories(self) -> AsyncIterator[Memory]:
        """All of them, the oldest first."""
        async for page in self._read_pages():
            for memory in await self._drop_forgotten(page):
                yield memory

    async def is_adopted(self) -> bool:
        """Whether the table is older than Holdfast: it then has no row-level security, and all
        developers share its rows.
        """
        return await self.store.is_adopted()

    # --- forgetting -------------------------------------------------------------------------------

    async def list_memories_with_text(self, match: str, after: str = "") -> Sequence[Memory]:
        """A page of those that hold a piece of text exactly as it is written, in any part."""
        return await self.store.list_matching(rules.check_match(match), after, PAGE)

    async def was_forgotten(self, content: str) -> bool:
        """Whether exactly this statement was erased once, and so is not kept again."""
        masked = self.mask.mask_text(content) if self.mask else content
        digest = rules.hash_content(masked)

        async def work(tx: Transaction) -> bool:
            memory_id = await self.store.find_tombstone(tx, digest)
            return memory_id is not None

        return await self.db.transaction(work)

    async def forget(self, memory_id: str, *, reason: str = "asked for") -> Memory:
        """Erase the text for good, in every row; its hash stays, so that it is not stored again."""
        checked_id = _check_id(memory_id)
        why = rules.check_label("reason", reason)
        known = _require(await self.store.find(checked_id), memory_id)
        digest = rules.hash_content(known.content)
        same = await self._list_same_content(digest)

        async def work(tx: Transaction) -> dict[str, Memory]:
            return await self._erase_rows(tx, {checked_id, *same}, digest, why)

        rows = await self._write(work)
        await self.db.scrub()
        forgotten = _require(rows.get(checked_id), memory_id)
        if forgotten.erased_at is None:  # its own program has changed the text in between
            return await self.forget(memory_id, reason=reason)
        return forgotten

    # --- within -----------------------------------------------------------------------------------

    def _mask(self, statement: Statement) -> Statement:
        """Before it is compared: what was forgotten was masked too."""
        if self.mask is None:
            return statement
        masked = self.mask.mask_text(statement.content)
        metadata = self.mask.mask_value(json.loads(statement.metadata))
        return rules.with_texts(statement, masked, metadata)

    async def _find_answers(
        self, query: str, asked: Sequence[str], kind: Kind, limit: int, min_relevance: float
    ) -> list[MemoryMatch]:
        now = clock.now()
        counts, total = await self._count_words(asked, kind, now)
        if not any(counts.values()):
            return []
        candidates = await self._find_candidates(counts, kind, now)
        weights = rules.weigh(counts, counts, total)
        return rules.rank(
            candidates, weights, now=now, limit=limit, min_relevance=min_relevance, query=query
        )

    async def _count_words(
        self, asked: Sequence[str], kind: Kind, now: datetime
    ) -> tuple[dict[str, int], int]:
        """A word that no memory has may be the beginning of one."""
        counts, total = await self.store.count_words(asked, rules.MOST_COUNTED, now, kind)
        beginnings = rules.list_beginnings(counts)
        if not beginnings:
            return counts, total
        begun, _ = await self.store.count_words(beginnings, rules.MOST_COUNTED, now, kind)
        return rules.with_beginnings(counts, begun), total

    async def _find_candidates(
        self, counts: Mapping[str, int], kind: Kind, now: datetime
    ) -> list[tuple[Memory, Iterable[str]]]:
        """Memories that have one of these words, each with all words that it has."""
        found = await self.store.find_candidates(
            rules.choose_words(counts),
            rules.choose_common_words(counts),
            rules.CANDIDATES,
            now,
            kind,
        )
        kept = await self._drop_forgotten([memory for memory, _ in found])
        kept_ids = {memory.id for memory in kept}
        return [(memory, has) for memory, has in found if memory.id in kept_ids]

    async def _drop_forgotten(self, memories: Sequence[Memory]) -> Sequence[Memory]:
        """In another program's table a text that was forgotten may be stored again."""
        if not memories or not await self.store.is_adopted():
            return memories
        hashes = [rules.hash_content(memory.content) for memory in memories]
        forgotten = await self.store.find_tombstones(hashes)
        hashed = zip(memories, hashes, strict=True)
        return [memory for memory, digest in hashed if digest not in forgotten]

    async def _list_same_content(self, digest: bytes) -> list[str]:
        """Rows with the same content; only another program's table has several."""
        same: list[str] = []
        if not await self.store.is_adopted():
            return same
        async for page in self._read_pages():
            same += [memory.id for memory in page if rules.hash_content(memory.content) == digest]
        return same

    async def _erase_rows(
        self, tx: Transaction, row_ids: Iterable[str], digest: bytes, reason: str
    ) -> dict[str, Memory]:
        """The content is locked before its rows, as to remember it; the rows in order of id, as to
        note their use. So no two of these calls wait for each other.
        """
        await self.store.hold_content(tx, digest)
        rows: dict[str, Memory] = {}
        for row_id in sorted(row_ids):
            row = await self.store.lock(tx, row_id)
            if row is not None and _has_content(row, digest):
                row = await self.store.forget(tx, row_id, digest, reason)
            if row is not None:
                rows[row_id] = row
        return rows

    async def _read_pages(self) -> AsyncIterator[Sequence[Memory]]:
        after = None
        while page := await self.store.list(after, PAGE):
            yield page
            after = page[-1].id

    async def _write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async with self.store.writing():
            return await self.db.transaction(work)

    async def _lock_known(self, tx: Transaction, statement: Statement) -> Memory | None:
        """The memory with this content, locked until the end; what was forgotten is refused."""
        known = await self.store.lock_content(tx, statement.content_hash, statement.content)
        forgotten_id = await self.store.find_tombstone(tx, statement.content_hash)
        if forgotten_id is not None:
            raise MemoryForgottenError(forgotten_id)
        return known

    async def _add(
        self, tx: Transaction, statement: Statement, memory_id: str | None = None
    ) -> Memory:
        """Under its own id, or under a new one where that is taken."""
        added = None
        if memory_id:
            added = await self.store.add(tx, memory_id, statement)
        if added is None:
            added = await self.store.add(tx, ids.new_id(), statement)
        return _require(added, memory_id)

    async def _judge(
        self, memory_id: str, rule: Callable[[Memory, str | None], Memory], session_id: str | None
    ) -> Memory:
        checked = _check_id(memory_id)
        session = _check_session(session_id)

        async def work(tx: Transaction) -> Memory:
            found = await self.store.lock(tx, checked)
            known = _require(found, memory_id)
            if known.erased_at is not None:
                raise MemoryNotFoundError(memory_id)
            changed = rule(known, session)
            return await self._save(tx, known, changed)

        return await self._write(work)

    async def _save(self, tx: Transaction, known: Memory, changed: Memory) -> Memory:
        if changed == known:
            return known
        saved = await self.store.save(tx, changed)
        return _require(saved, known.id)

    async def _note_use(self, memory_ids: list[str]) -> None:
        """After the answer where a loop runs; no error of it is reported."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or asyncio._get_running_loop() is None:
            await self._try_note_use(memory_ids)
            return
        task = asyncio.create_task(self._try_note_use(memory_ids))
        _use_tasks.add(task)
        task.add_done_callback(_use_tasks.discard)

    async def _try_note_use(self, memory_ids: list[str]) -> None:
        with contextlib.suppress(HoldfastError, OSError):  # no answer depends on it
            async with self.store.writing():
                await self.store.note_use(memory_ids)


async def finish_noting() -> None:
    """Wait until what was recalled so far counts as used."""
    import asyncio

    loop = asyncio.get_running_loop()
    tasks = [task for task in _use_tasks if task.get_loop() is loop]
    await asyncio.gather(*tasks)


def _check_id(memory_id: object) -> str:
    checked = rules.check_id(memory_id)
    if checked is None:
        raise MemoryNotFoundError(memory_id)
    return checked


def _check_session(session_id: object) -> str | None:
    if session_id is None:
        return None
    return rules.check_label("session_id", session_id)


def _has_content(memory: Memory, digest: bytes) -> bool:
    return memory.erased_at is None and rules.hash_content(memory.content) == digest


def _require(memory: Memory | None, memory_id: object) -> Memory:
    if memory is None:
        raise MemoryNotFoundError(memory_id)
    return memory
