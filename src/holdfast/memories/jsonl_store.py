"""A store in one file of JSON lines: `data/memory/vectorstore/memories.jsonl`, as another program
keeps it.

An import takes what it can read and names the rest; an export writes the whole file anew, in one
order and one form. That would take from another program what a memory does not keep, so an export
replaces only a file that holds nothing more: one that it wrote, or that was brought in whole. The
journal has the hash of each such file. `TemporalMemoryStore` searches such a file, or a service,
with the same rules.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
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
    """Repeating it changes nothing; what was forgotten stays out. A file without one readable
    memory is refused.
    """
    data, now = _read_file(path), clock.now()
    contents = jsonl.parse_records(data)
    counts = {"imported": 0, "known": 0, "forgotten": 0}
    wrong: dict[int, str] = {one.line_number: one.reason for one in contents.damaged}
    more = 0
    for number, record in zip(contents.line_numbers, contents.records, strict=True):
        try:
            statement = rules.check_record(record, now)
        except InvalidValueError as error:
            wrong[number] = error.message
            continue
        done, kept = await _import_statement(memories, statement, record)
        counts[done] += 1
        more += kept is not None and not rules.is_whole(record, statement, kept)
    problems = [f"Line {number}: {wrong[number]}" for number in sorted(wrong)]
    if problems and not any(counts.values()):
        raise InvalidValueError("File", path, f"holds no memory that can be read ({problems[0]})")
    if not problems and not more:
        await _record_file(memories, data)
    elif more:
        problems.append(
            f"{more:,} of {len(contents.records):,} lines have other keys, ids or texts than this store keeps of them, "
            "so no export replaces this file."
        )
    return MemoryImportReport(**counts, problems=tuple(problems))


async def export_memories(memories: MemoryService, path: str) -> int:
    """Every memory that was not forgotten, the oldest first; the same memories give the same bytes.

    A file that this store neither wrote nor took in whole is left as it is, and so is one with a
    line that it does not know any more: an empty store must never empty somebody's file.
    """
    kept = [memory async for memory in memories.read_memories()]
    with _lock_folder(path):
        if there := _find_file(path):
            unknown = await _count_unknown(
                memories, there, {rules.hash_content(memory.content) for memory in kept}
            )
            if unknown or not await _is_recorded(memories, there):
                raise ExportRefusedError(path, unknown)
        data = "".join(map(_format_line, kept)).encode()
        await _record_file(memories, data)  # before it is there: after a crash it is ours as well
        with _blame_file(path):
            files.write_atomic(path, data)
    return len(kept)


class TemporalMemoryStore:
    """Searches a file of JSON lines, or the memories of a service."""

    def __init__(self, path_or_service: str | os.PathLike[str] | MemoryService = DEFAULT_PATH):
        self.source = path_or_service

    async def search(
        self, query: str, *, limit: int = rules.LIMIT, min_relevance: float = rules.MIN_RELEVANCE
    ) -> list[MemoryMatch]:
        """What answers a question, best first; a file is read as it is now, and one that is missing
        is empty.
        """
        if isinstance(self.source, MemoryService):
            return await self.source.recall(query, limit=limit, min_relevance=min_relevance)
        asked, now = rules.check_query(query), clock.now()
        checked = rules.check_limit(limit), rules.check_share("min_relevance", min_relevance)
        kept = [one for one in self._list_memories(now) if not one.is_expired(now)]
        candidates = [(memory, extract_words(memory.content)) for memory in kept]
        counts = {word: sum(word in has for _, has in candidates) for word in asked}
        weights = rules.weigh(asked, counts, len(kept))
        return rules.rank(candidates, weights, now=now, limit=checked[0], min_relevance=checked[1])

    def _list_memories(self, now: Any) -> list[Memory]:
        found: dict[bytes, Memory] = {}
        for record in jsonl.read_records(os.fspath(self.source)).records:  # type: ignore[arg-type]  # a path, as above
            try:
                statement = rules.check_record(record, now)
            except InvalidValueError:  # another line may be the answer; an import names this one
                continue
            found.setdefault(
                statement.content_hash,
                rules.make_unstored_memory(statement, _choose_id(record, statement), now),
            )
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
    """The file that was named is meant, and not the place where Holdfast keeps its own."""
    try:
        yield
    except (StoreUnreachableError, StoreReadOnlyError) as error:
        raise InvalidValueError("file", path, f"cannot be used: {error.cause}") from error


@contextlib.contextmanager
def _lock_folder(path: str) -> Iterator[None]:
    """Made where it is missing, and locked itself: a lock file would stay beside somebody's file."""
    if not path:
        raise InvalidValueError("file", path, "is no name of a file")
    folder = os.path.dirname(os.path.abspath(path))
    with _blame_file(path):
        files.private_folder(folder)
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise files.translate(error, folder) from error
    with Folder(folder, fd) as place, place.locked():
        yield


async def _record_file(memories: MemoryService, data: bytes) -> None:
    """That a file of these bytes holds nothing but what this store has, or has forgotten."""
    await Journal(memories.db, memories.owner).add(
        MEMORY_FILE, (), {}, entry_id=_make_record_id(memories, data)
    )


async def _is_recorded(memories: MemoryService, data: bytes) -> bool:
    return (
        await Journal(memories.db, memories.owner).find(
            MEMORY_FILE, _make_record_id(memories, data)
        )
        is not None
    )


def _make_record_id(memories: MemoryService, data: bytes) -> str:
    return ids.named_id(MEMORY_FILE, memories.owner.developer_id, canonical.sha256(data).hex())


async def _count_unknown(memories: MemoryService, data: bytes, known: set[bytes]) -> int:
    """Lines that an export would lose: neither kept here nor forgotten here."""
    contents, now = jsonl.parse_records(data), clock.now()
    unknown = len(contents.damaged)
    for record in contents.records:
        try:
            statement = rules.check_record(record, now)
        except InvalidValueError:
            unknown += 1
            continue
        unknown += statement.content_hash not in known and not await memories.was_forgotten(
            statement.content
        )
    return unknown


async def _import_statement(
    memories: MemoryService, statement: Statement, record: Mapping[str, Any]
) -> tuple[str, Memory | None]:
    try:
        added = await memories.add_statement(statement, ids.parse_id(record.get("id")))
    except MemoryForgottenError:
        return "forgotten", None
    return ("imported" if added.is_new else "known"), added.memory


def _choose_id(record: Mapping[str, Any], statement: Statement) -> str:
    given = record.get("id")
    return (
        str(given)
        if isinstance(given, str | int)
        else ids.named_id("memory", statement.content_hash.hex())
    )


def _format_line(memory: Memory) -> str:
    return (
        canonical.canonical_object(
            "memory", rules.as_record(memory), max_bytes=jsonl.MAX_FILE_BYTES
        )
        + "\n"
    )
