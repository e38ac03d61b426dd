"""The clients' own memory as a source: checked against a checkout, and found from other clients.

It is read where it lies at the time of the question, and nothing of it is stored. A client never
gets back what it loads itself. What a session's start pays for is here; the look at the repository,
which asks git, is loaded only by those who wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from holdfast.clients import CLIENTS
from holdfast.clients.memory_files import MemoryFile, MemoryPlace, list_paths, read_memory
from holdfast.ground import clock
from holdfast.ground.fence import one_line
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.worktree import find_main_worktree, find_worktree
from holdfast.memories import rules
from holdfast.memories.model import Memory, MemoryMatch
from holdfast.memories.words import SHORT_FORMS, extract_words, measure_meaning
from holdfast.workstreams.errors import NoRepositoryError
from holdfast.workstreams.note_text import CODE, NOTE_CHARS, PATH, ClientNote, split_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ground.masking import Mask
    from holdfast.workstreams.note_judging import CheckedNote, MemoryCounts

MOST_NOTES = 10_000
MOST_RECALLED_FROM = 2_000  # notes in which an answer is looked for
MOST_AT_A_START = 500  # for a session that waits for it
BEGINNING_CHARS = 4
LEAST_WORDS = 3  # of a note that says something by itself
SOURCE_TYPE = "tool_output"


@dataclass(frozen=True)
class FileNotes:
    file: MemoryFile
    notes: tuple[ClientNote, ...]


@dataclass(frozen=True)
class NoteMatch:
    """A note that answers a question, as a memory that is stored nowhere; `by` says whose it is."""

    memory: Memory
    relevance: float
    score: float
    by: str

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.memory.to_dict(),
            "relevance": self.relevance,
            "score": self.score,
            "verdict": "said",
            "by": self.by,
        }


@dataclass(frozen=True)
class MemoryCheck:
    """Every note of every file, judged; `is_whole` says whether there were no more."""

    files: tuple[MemoryFile, ...]
    notes: tuple[CheckedNote, ...]
    counts: MemoryCounts
    is_whole: bool


def read_notes(
    folder: str,
    environment: Mapping[str, str],
    limit: int = MOST_NOTES,
    *,
    clients: Sequence[str] = CLIENTS,
    without: str | None = None,
) -> list[FileNotes]:
    """The files of these clients but those that one client loads itself, with their notes."""
    left = limit
    found = []
    for file in read_memory(_make_place(folder, environment), clients):
        if without is not None and without in file.loaded_by:
            continue
        notes = split_notes(file.text, left) if file.text and left else []
        left -= len(notes)
        found.append(FileNotes(file, tuple(notes)))
    return found


def _make_place(folder: str, environment: Mapping[str, str]) -> MemoryPlace:
    worktree = find_worktree(folder)
    return MemoryPlace(
        user_folder=environment.get("HOME") or os.path.expanduser("~"),
        environment=environment,
        folder=os.path.realpath(folder),
        worktree=worktree,
        main_worktree=find_main_worktree(worktree),
    )


# --- checking -------------------------------------------------------------------------------------


def check_memory(folder: str, environment: Mapping[str, str]) -> MemoryCheck:
    """What the memory files that apply to a folder say, against its checkout. Only reads."""
    from holdfast.workstreams.note_judging import count_notes

    read = read_notes(folder, environment)
    notes = _check(folder, read)
    total = sum(len(each.notes) for each in read)
    return MemoryCheck(
        files=tuple(each.file for each in read),
        notes=notes,
        counts=count_notes(notes),
        is_whole=total < MOST_NOTES,
    )


def check_notes_of(
    client: str, folder: str, environment: Mapping[str, str], created: Collection[str] = ()
) -> tuple[list[str], list[CheckedNote]]:
    """The files that a client looks for or loads, and their notes about this repository, judged.

    Not what is written for all repositories: which one it means is not known. `created`: files
    that an edit has made just now, which were missing before it.
    """
    place = _make_place(folder, environment)
    paths = list_paths(place, client)
    read = read_notes(folder, environment, clients=[client])
    paths += [each.file.path for each in read]
    root = os.path.join(place.worktree, "")
    here = [each for each in read if each.file.is_own or each.file.path.startswith(root)]
    checked = _check(folder, here, created) if here else ()
    return list(dict.fromkeys(paths)), list(checked)


def _check(
    folder: str, read: Sequence[FileNotes], created: Collection[str] = ()
) -> tuple[CheckedNote, ...]:
    from holdfast.ground import git
    from holdfast.workstreams.note_facts import NamedIn, gather_facts
    from holdfast.workstreams.note_judging import judge_note

    repository = git.find_repository(folder)
    if repository is None:
        raise NoRepositoryError(folder)
    names = {note: tuple(note.list_names()) for each in read for note in each.notes}
    named = [
        NamedIn(
            each.file.path,
            each.file.modified_at,
            tuple(name for note in each.notes for name in names[note]),
        )
        for each in read
        if each.notes
    ]
    facts = gather_facts(repository, named, created)
    return tuple(
        judge_note(
            note,
            names[note],
            facts,
            file=each.file.path,
            title=each.file.title,
            written_at=each.file.modified_at,
        )
        for each in read
        for note in each.notes
    )


# --- recall ---------------------------------------------------------------------------------------


def recall_notes(
    query: str,
    folder: str,
    environment: Mapping[str, str],
    *,
    client: str | None,
    limit: int = rules.LIMIT,
    min_relevance: float = rules.MIN_RELEVANCE,
    is_quick: bool = False,
) -> list[NoteMatch]:
    """Notes of other clients that answer a question, through the same gate as memories.

    Without those whose names are gone. `is_quick`: git is not asked; a note leaves where a file
    that it names is missing beside its neighbours.
    """
    most = MOST_AT_A_START if is_quick else MOST_RECALLED_FROM
    read = read_notes(folder, environment, most, without=client)
    found = _rank(query, read, limit, min_relevance)
    if not found:
        return []
    if is_quick:
        kept = [key for key in found if not _names_missing_file(key[1], folder)]
    else:
        kept = _drop_gone(folder, found)
    return [found[key] for key in kept]


Found = dict[tuple[MemoryFile, ClientNote], NoteMatch]


def _rank(query: str, read: Sequence[FileNotes], limit: int, min_relevance: float) -> Found:
    asked = rules.check_query(query)
    beginnings = _list_beginnings(asked)
    telling = {}
    for each in read:
        for note in each.notes:
            if note.kind != CODE and _may_answer(note.text, beginnings):
                has = extract_words(note.text)
                if len(has) >= LEAST_WORDS:
                    telling[each.file, note] = has
    counts = {word: sum(word in has for has in telling.values()) for word in asked}
    if not any(counts.values()):
        return {}
    weights = rules.weigh(asked, counts, sum(len(each.notes) for each in read))
    keys = {}
    candidates = []
    for key, has in telling.items():
        if not has.isdisjoint(asked):
            memory = _make_memory(*key)
            keys[memory.id] = key
            candidates.append((memory, has))
    ranked = rules.rank(
        candidates,
        weights,
        now=clock.now(),
        limit=limit,
        min_relevance=min_relevance,
        query=query,
    )
    found = {}
    for match in ranked:
        if match.relevance >= min_relevance:  # else it is there only beside a better one
            key = keys[match.memory.id]
            found[key] = NoteMatch(match.memory, match.relevance, match.score, key[0].title)
    return found


def _list_beginnings(asked: Sequence[str]) -> list[str]:
    """How the words begin in a text that can be an answer: endings differ, and some are short."""
    telling = [word for word in asked if measure_meaning(word) == 1]
    beginnings = {word[:BEGINNING_CHARS] for word in telling}
    for short, long in SHORT_FORMS.items():
        if long[:BEGINNING_CHARS] in beginnings:
            beginnings.add(short)
    return sorted(beginnings)


def _may_answer(text: str, beginnings: Sequence[str]) -> bool:
    """A quick look: to find the words of every note takes ten times as long."""
    lowered = text.lower()
    return not text.isascii() or any(beginning in lowered for beginning in beginnings)


def _make_memory(file: MemoryFile, note: ClientNote) -> Memory:
    """As a memory that is stored nowhere: its id is the place where it is read."""
    written_at = datetime.fromtimestamp(file.modified_at, UTC)
    return Memory(
        id=f"{file.path}:{note.first}",
        user_id="",
        content=one_line(note.text, NOTE_CHARS),
        category=None,
        metadata={},
        source_type=SOURCE_TYPE,
        confidence=rules.CONFIDENCE,
        lineage=(),
        last_used_at=None,
        use_count=0,
        expires_at=None,
        created_at=written_at,
        updated_at=written_at,
    )


def _names_missing_file(note: ClientNote, folder: str) -> bool:
    """Of a path from the top whose first folder is here; others may be meant from elsewhere."""
    root = find_worktree(folder)
    for name in note.list_names():
        first, slash, _ = name.text.partition("/")
        if name.kind != PATH or not slash or not first or name.text.startswith(("~", ".")):
            continue
        is_here = os.path.isdir(os.path.join(root, first))
        if is_here and not os.path.lexists(os.path.join(root, name.text)):
            return True
    return False


def _drop_gone(folder: str, found: Found) -> list[tuple[MemoryFile, ClientNote]]:
    """Outside of a repository nothing can be gone."""
    read = [FileNotes(file, (note,)) for file, note in found]
    try:
        checked = _check(folder, read)
    except NoRepositoryError:
        return list(found)
    pairs = zip(found, checked, strict=True)
    return [key for key, note in pairs if note.verdict != "gone"]


def merge_matches(
    stored: Sequence[MemoryMatch],
    noted: Sequence[NoteMatch],
    *,
    limit: int = rules.LIMIT,
    min_relevance: float = rules.MIN_RELEVANCE,
) -> list[MemoryMatch | NoteMatch]:
    """The best of both first; a memory that passed only beside another stands behind all notes."""
    passed = [match for match in stored if match.relevance >= min_relevance]
    rest = [match for match in stored if match.relevance < min_relevance]
    best: list[MemoryMatch | NoteMatch] = [*passed, *noted]
    best.sort(key=lambda match: -match.score)
    return [*best, *rest][:limit] if noted else [*stored]


def mask_check(check: MemoryCheck, mask: Mask) -> MemoryCheck:
    """Without the secrets of the files, which are shown and never stored."""
    masked = []
    for checked in check.notes:
        note = replace(checked.note, text=mask.mask_text(checked.note.text))
        masked.append(replace(checked, note=note))
    return replace(check, notes=tuple(masked))


def mask_matches(noted: Sequence[NoteMatch], mask: Mask) -> list[NoteMatch]:
    """Without their secrets, as everything that is stored."""
    masked = []
    for match in noted:
        memory = replace(match.memory, content=mask.mask_text(match.memory.content))
        masked.append(replace(match, memory=memory))
    return masked
