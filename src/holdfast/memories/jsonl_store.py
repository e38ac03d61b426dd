"""Memories in a file of JSON lines, `data/memory/vectorstore/memories.jsonl`, of another program.

An import takes what it can read and reports the rest; an export writes the whole file again, in one
order and one form. That would remove what a memory does not keep, so an export replaces only a file
that holds nothing more: one that it wrote, or that was imported completely. The journal has the
hash of each such file. `TemporalMemoryStore` searches a file or a service, with the same rules.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError, StoreReadOnlyError, StoreUnreachableError
from holdfast.ground import canonical, clock, files, ids, jsonl
from holdfast.ground.errors import FileMissingError
from holdfast.ground.folder import Folder
from holdfast.memories import rules
from holdfast.memories.errors import ExportRefusedError, MemoryForgottenError
from holdfast.memories.model import Memory, MemoryImportReport, MemoryMatch
from holdfast.memories.service import MemoryService
from holdfast.memories.words import extract_words
from holdfast.storage.journal import Journal

if TYPE_CHECKING:
    from holdfast.memories.rules import Statement

DEFAULT_PATH = "data/memory/vectorstore/memories.jsonl"
MEMORY_FILE = "memory_file"


async def import_memories(memories: MemoryService, path: str) -> MemoryImportReport:
    """Can be repeated; what was forgotten stays out. A file with no readable memory is refused."""
    data = _read_file(path)
    now = clock.now()
    contents = jsonl.parse_records(data)
    counts = {"imported": 0, "known": 0, "forgotten": 0}
    wrong: dict[int, str] = {line.line_number: line.reason for line in contents.damaged}
    more = 0
    for number, record in zip(contents.line_numbers, contents.records, strict=True):
        try:
            statement = rules.check_record(record, now)
        except InvalidValueError as error:
            wrong[number] = error.message
            continue
        done, kept = await _import_statement(memories, statement, record)
        counts[done] += 1
        if kept is not None and not rules.is_whole(record, statement, kept):
            more += 1
    problems = [f"Line {number}: {wrong[number]}" for number in sorted(wrong)]
    if problems and not any(counts.values()):
        problem = f"holds no memory that can be read ({problems[0]})"
        raise InvalidValueError("File", path, problem)
    if not problems and not more:
        await _record_file(memories, data)
    elif more:
        problems.append(
            f"{more:,} of {len(contents.records):,} lines have other keys, ids or texts than "
            "this store keeps of them, so no export replaces this file."
        )
    return MemoryImportReport(**counts, problems=tuple(problems))


async def export_memories(memories: MemoryService, path: str) -> int:
    """Every memory that was not forgotten, the oldest first; the same memories give the same bytes.

    A file that this store neither wrote nor imported completely is left as it is, and so is one
    with an unknown line: an empty store must never empty a user's file.
    """
    kept = [memory async for memory in memories.read_memories()]
    with _lock_folder(path):
        await _check_replaceable(memories, path, kept)
        data = "".join(map(_format_line, kept)).encode()
        await _record_file(memories, data)  # before it is written: after a crash it is ours as well
        with _blame_file(path):
            files.write_atomic(path, data)
    return len(kept)


async def _check_replaceable(memories: MemoryService, path: str, kept: Sequence[Memory]) -> None:
    data = _find_file(path)
    if not data:
        return
    known = {rules.hash_content(memory.content) for memory in kept}
    unknown = await _count_unknown(memories, data, known)
    if unknown or not await _is_recorded(memories, data):
        raise ExportRefusedError(path, unknown)


class TemporalMemoryStore:
    """Searches a file of JSON lines, or the memories of a service."""

    def __init__(self, path_or_service: str | os.PathLike[str] | MemoryService = DEFAULT_PATH):
        self.source = path_or_service

    async def search(
        self, query: str, *, limit: int = rules.LIMIT, min_relevance: float = rules.MIN_RELEVANCE
    ) -> list[MemoryMatch]:
        """What answers a question, best first; a file is read now, and a missing one is empty."""
        if isinstance(self.source, MemoryService):
            return await self.source.recall(query, limit=limit, min_relevance=min_relevance)
        asked = rules.check_query(query)
        now = clock.now()
        most = rules.check_limit(limit)
        least = rules.check_share("min_relevance", min_relevance)
        kept = [memory for memory in self._list_memories(now) if not memory.is_expired(now)]
        candidates = [(memory, extract_words(memory.content)) for memory in kept]
        counts = _count_words(asked, [has for _, has in candidates])
        weights = rules.weigh(counts, counts, len(kept))
        return rules.rank(
            candidates, weights, now=now, limit=most, min_relevance=least, query=query
        )

    def _list_memories(self, now: Any) -> list[Memory]:
        found: dict[bytes, Memory] = {}
        for record in jsonl.read_records(os.fspath(self.source)).records:  # type: ignore[arg-type]  # a path, as above
            try:
                statement = rules.check_record(record, now)
            except InvalidValueError:  # another line may be the answer; an import reports this one
                continue
            memory_id = _choose_id(record, statement)
            memory = rules.make_unstored_memory(statement, memory_id, now)
            found.setdefault(statement.content_hash, memory)
        return list(found.values())


def _read_file(path: str) -> bytes:
    if not os.path.lexists(path):
        raise FileMissingError(path)
    return _find_file(path)


def _find_file(path: str) -> bytes:
    with _blame_file(path):
        return files.find_bytes(path, max_bytes=jsonl.MAX_FILE_BYTES) or b""


@contextlib.contextmanager
def _blame_file(path: str) -> Iterator[None]:
    """An error of the file that was named is not an error of Holdfast's own store."""
    try:
        yield
    except (StoreUnreachableError, StoreReadOnlyError) as error:
        raise InvalidValueError("file", path, f"cannot be used: {error.cause}") from error


@contextlib.contextmanager
def _lock_folder(path: str) -> Iterator[None]:
    """Made where it is missing, and locked itself: a lock file would stay beside a user's file."""
    if not path:
        raise InvalidValueError("file", path, "is not the name of a file")
    absolute = os.path.abspath(path)
    folder = os.path.dirname(absolute)
    with _blame_file(path):
        files.private_folder(folder)
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise files.translate(error, folder) from error
    with Folder(folder, fd) as place, place.locked():
        yield


async def _record_file(memories: MemoryService, data: bytes) -> None:
    """That a file of these bytes holds only what this store has, or has forgotten."""
    journal = Journal(memories.db, memories.owner)
    entry_id = _make_record_id(memories, data)
    await journal.add(MEMORY_FILE, (), {}, entry_id=entry_id)


async def _is_recorded(memories: MemoryService, data: bytes) -> bool:
    journal = Journal(memories.db, memories.owner)
    entry_id = _make_record_id(memories, data)
    entry = await journal.find(MEMORY_FILE, entry_id)
    return entry is not None


def _make_record_id(memories: MemoryService, data: bytes) -> str:
    digest = canonical.sha256(data)
    return ids.named_id(MEMORY_FILE, memories.owner.developer_id, digest.hex())


async def _count_unknown(memories: MemoryService, data: bytes, known: set[bytes]) -> int:
    """Lines that an export would lose: neither kept here nor forgotten here."""
    contents = jsonl.parse_records(data)
    now = clock.now()
    unknown = len(contents.damaged)
    for record in contents.records:
        try:
            statement = rules.check_record(record, now)
        except InvalidValueError:
            unknown += 1
            continue
        if statement.content_hash in known:
            continue
        if not await memories.was_forgotten(statement.content):
            unknown += 1
    return unknown


async def _import_statement(
    memories: MemoryService, statement: Statement, record: Mapping[str, Any]
) -> tuple[str, Memory | None]:
    memory_id = ids.parse_id(record.get("id"))
    try:
        added = await memories.add_statement(statement, memory_id)
    except MemoryForgottenError:
        return "forgotten", None
    if added.is_new:
        return "imported", added.memory
    return "known", added.memory


def _count_words(asked: Iterable[str], texts: Sequence[frozenset[str]]) -> dict[str, int]:
    """As the store counts them: a word that no memory has may be the beginning of one."""
    counts = {word: sum(word in has for has in texts) for word in asked}
    begun = {}
    for beginning in rules.list_beginnings(counts):
        letters = beginning.removesuffix("*")
        begun[beginning] = sum(any(word.startswith(letters) for word in has) for has in texts)
    return rules.with_beginnings(counts, begun)


def _choose_id(record: Mapping[str, Any], statement: Statement) -> str:
    given = record.get("id")
    if isinstance(given, str | int):
        return str(given)
    return ids.named_id("memory", statement.content_hash.hex())


def _format_line(memory: Memory) -> str:
    record = rules.as_record(memory)
    text = canonical.canonical_object("memory", record, max_bytes=jsonl.MAX_FILE_BYTES)
    return f"{text}\n"
