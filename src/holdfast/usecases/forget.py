"""Erasing what should never have been stored, in every room that may hold it.

First what there is to erase is found, so that a person can look at it; then it is erased; then the
places are listed that may still hold it and that are not ours to change, or not yet.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast.clients import list_clients
from holdfast.conversations.store import FOLDER as CONVERSATIONS
from holdfast.errors import HoldfastError, PartlyDoneError
from holdfast.ground import files
from holdfast.ground import light_json as json
from holdfast.ground.groups import in_groups
from holdfast.ground.settings import sqlite_path
from holdfast.ground.text import plural
from holdfast.ground.user_settings import NAME as SETTINGS
from holdfast.ground.user_settings import load_user_settings
from holdfast.memories.jsonl_store import DEFAULT_PATH as MEMORIES_PATH
from holdfast.storage import migrate
from holdfast.usecases.catching_up import list_transcripts
from holdfast.usecases.conversing import open_everywhere
from holdfast.workstreams.dashboard import escape_line
from holdfast.workstreams.store import DASHBOARD_PATH

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.memories.model import Memory
    from holdfast.scope import Scope
    from holdfast.sessions.model import SessionEvent

FILE_BYTES = 32 << 20
DOCUMENT_KINDS = ("repo_context", "proof", "receipt", "round")
EVENTS_AT_ONCE = 500
SHOWN = 20
IDS_SHOWN = 1000

T = TypeVar("T")


@dataclass(frozen=True)
class ToForget:
    """What to erase, exactly one of three: entries by id, a session, or all that holds a text."""

    ids: tuple[str, ...] = ()
    session_id: str | None = None
    match: str | None = None


@dataclass(frozen=True)
class Erasable:
    """What of it is stored: how much, and the first of it to look at.

    A text may be in more places than fit into memory, so they are counted and not kept.
    """

    events: tuple[SessionEvent, ...] = ()
    event_ids: tuple[str, ...] = ()
    event_count: int = 0
    memories: tuple[Memory, ...] = ()
    memory_ids: tuple[str, ...] = ()
    memory_count: int = 0
    document_ids: tuple[str, ...] = ()
    document_counts: Mapping[str, int] = field(default_factory=dict)  # by kind
    shared_ids: tuple[str, ...] = ()  # contexts, claims, handoffs and shown sessions of one's own
    shared_counts: Mapping[str, int] = field(default_factory=dict)
    session_ids: tuple[str, ...] = ()  # with it in their scratchpad, name or context sets
    session_count: int = 0

    @property
    def is_empty(self) -> bool:
        counts = (self.event_count, self.memory_count, self.session_count)
        return not (any(counts) or self.document_counts or self.shared_counts)


@dataclass
class Erased:
    """What was erased so far; each number grows when its transaction is durable."""

    events: int = 0
    memories: int = 0
    documents: int = 0
    shared: int = 0
    sessions: int = 0

    @property
    def is_anything(self) -> bool:
        counts = (self.events, self.memories, self.documents, self.shared, self.sessions)
        return any(counts)

    def describe(self) -> str:
        parts: list[str] = []
        if self.events:
            parts.append(plural(self.events, "event"))
        if self.memories:
            parts.append(count_memories(self.memories))
        if self.documents:
            parts.append(plural(self.documents, "document"))
        if self.shared:
            parts.append(f"{self.shared:,} of what was published, claimed or handed over")
        if self.sessions:
            parts.append(f"the own texts of {plural(self.sessions, 'session')}")
        return f"Erased {', '.join(parts)}"


@dataclass(frozen=True)
class Remains:
    """Where it may still be: sessions, copies of the store, and other files."""

    sessions: tuple[str, ...]
    backups: tuple[str, ...]
    files: tuple[str, ...]


def count_memories(count: int) -> str:
    noun = "memory" if count == 1 else "memories"
    return f"{count:,} {noun}"


async def find_erasable(scope: Scope, wanted: ToForget) -> Erasable:
    named = await _sort_ids(scope, wanted)
    memories: _First[Memory] = _First()
    async for memory in _read_memories(scope, wanted, named):
        memories.add(memory.id, memory)
    events: _First[SessionEvent] = _First()
    async for event in _read_events(scope, wanted, named):
        events.add(event.id, event)
    documents: _First[str] = _First()
    kinds: Counter[str] = Counter()
    async for entry_id, kind in _read_documents(scope, wanted, named):
        documents.add(entry_id, entry_id)
        kinds[kind] += 1
    shared: _First[str] = _First()
    shared_kinds: Counter[str] = Counter()
    async for entry_id, kind in _read_shared(scope, wanted, named):
        shared.add(entry_id, entry_id)
        shared_kinds[kind] += 1
    sessions: _First[str] = _First()
    async for session_id in _read_sessions(scope, wanted):
        sessions.add(session_id, session_id)
    return Erasable(
        events=tuple(events.values),
        event_ids=tuple(events.ids),
        event_count=events.count,
        memories=tuple(memories.values),
        memory_ids=tuple(memories.ids),
        memory_count=memories.count,
        document_ids=tuple(documents.ids),
        document_counts=kinds,
        shared_ids=tuple(shared.ids),
        shared_counts=shared_kinds,
        session_ids=tuple(sessions.ids),
        session_count=sessions.count,
    )


async def erase_messages(app: App, wanted: ToForget, worktree: str) -> list[str]:
    """Erase what was saved into the folders of conversations, before the log forgets its words.

    Returns the files of repositories that held it, because git may keep what they were.
    """
    scope = app.scope
    named = await _sort_ids(scope, wanted)
    worktrees: dict[str, str] = {}  # by session
    held: set[str] = set()
    async for group in in_groups(_read_events(scope, wanted, named), EVENTS_AT_ONCE):
        for session_id in {event.session_id for event in group}.difference(worktrees):
            session = await scope.sessions.get_session(session_id)
            worktrees[session_id] = session.worktree or worktree
        there = {worktrees[event.session_id] for event in group}
        conversations = open_everywhere(app, {worktree, *there})
        held.update(await conversations.forget_messages([event.id for event in group]))
    return sorted(held)


async def erase(scope: Scope, wanted: ToForget) -> Erased:
    """Erase it for good, a part at a time; where that stops, the error says what was erased."""
    done = Erased()
    try:
        await _erase(scope, wanted, done)
    except HoldfastError as error:
        if done.is_anything:
            raise PartlyDoneError(done.describe(), error) from error
        raise
    return done


async def _erase(scope: Scope, wanted: ToForget, done: Erased) -> None:
    named = await _sort_ids(scope, wanted)
    events = _read_events(scope, wanted, named)
    async for group in in_groups(events, EVENTS_AT_ONCE):
        done.events += await scope.sessions.forget_events([event.id for event in group])
    async for memory in _read_memories(scope, wanted, named):
        await scope.memories.forget(memory.id)
        done.memories += 1
    async for entry_id, _ in _read_documents(scope, wanted, named):
        await scope.journal.erase(entry_id)
        done.documents += 1
    async for entry_id, kind in _read_shared(scope, wanted, named):
        await scope.own_team.forget_words(entry_id, kind)
        done.shared += 1
    await scope.database.scrub()
    async for session_id in _read_sessions(scope, wanted):
        await scope.sessions.forget_text(session_id, wanted.match or "")
        done.sessions += 1
    if wanted.session_id is not None:
        done.events += await scope.sessions.forget_session(wanted.session_id)
        done.sessions += 1
        await scope.own_team.store.erase_words(wanted.session_id)  # what is shown of it


async def find_remains(app: App, wanted: ToForget, worktree: str) -> Remains:
    """Where what was erased may still be."""
    path = sqlite_path(app.settings.database)
    places = _find_in_spool(app, wanted.match)
    places += _find_unscrubbed(app, path)
    places += _find_other_files(app, wanted.match, worktree)
    sessions = await _find_sessions(app.scope, wanted)
    backups = migrate.backups(path) if path else []
    return Remains(sessions=tuple(sessions), backups=tuple(backups), files=tuple(places))


# --- what is stored -------------------------------------------------------------------------------


class _First(Generic[T]):
    """How many there are, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.values: list[T] = []
        self.ids: list[str] = []

    def add(self, value_id: str, value: T) -> None:
        self.count += 1
        if self.count <= SHOWN:
            self.values.append(value)
        if self.count <= IDS_SHOWN:
            self.ids.append(value_id)


@dataclass(frozen=True)
class _NamedIds:
    memories: tuple[Memory, ...]
    documents: tuple[tuple[str, str], ...]
    shared: tuple[tuple[str, str], ...]
    event_ids: tuple[str, ...]


async def _sort_ids(scope: Scope, wanted: ToForget) -> _NamedIds:
    """An id is that of a memory, of a document, of something published, claimed or handed over or,
    where it is none of them, of an event.
    """
    memories: list[Memory] = []
    documents: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    event_ids: list[str] = []
    for entry_id in dict.fromkeys(wanted.ids):
        memory = await scope.memories.find_memory(entry_id)
        kind = await _find_kind(scope, entry_id)
        words = await scope.own_team.find_words(entry_id)
        if memory is not None:
            memories.append(memory)
        if kind is not None:
            documents.append((entry_id, kind))
        if words is not None and words[1]:
            shared.append((entry_id, words[0]))
        if memory is None and kind is None and words is None:
            event_ids.append(entry_id)
    return _NamedIds(tuple(memories), tuple(documents), tuple(shared), tuple(event_ids))


async def _find_kind(scope: Scope, entry_id: str) -> str | None:
    for kind in DOCUMENT_KINDS:
        entry = await scope.journal.find(kind, entry_id)
        if entry is not None and entry.content:
            return kind
    return None


async def _read_events(
    scope: Scope, wanted: ToForget, named: _NamedIds
) -> AsyncIterator[SessionEvent]:
    for event in await scope.sessions.find_events_to_forget(event_ids=named.event_ids):
        yield event
    async for event in scope.sessions.read_events_to_forget(
        session_id=wanted.session_id, match=wanted.match
    ):
        yield event


async def _read_memories(scope: Scope, wanted: ToForget, named: _NamedIds) -> AsyncIterator[Memory]:
    for memory in named.memories:
        if memory.erased_at is None:
            yield memory
    after = ""
    while wanted.match is not None and (
        page := await scope.memories.list_memories_with_text(wanted.match, after)
    ):
        for memory in page:
            yield memory
        after = page[-1].id


async def _read_documents(
    scope: Scope, wanted: ToForget, named: _NamedIds
) -> AsyncIterator[tuple[str, str]]:
    """Saved contexts, proofs, receipts and rounds of the journal, as (id, kind)."""
    for document in named.documents:
        yield document
    if wanted.match is not None:
        async for document in scope.journal.read_with_text(wanted.match):
            yield document


async def _read_shared(
    scope: Scope, wanted: ToForget, named: _NamedIds
) -> AsyncIterator[tuple[str, str]]:
    """What this store has of what was published, claimed, handed over or shown, as (id, kind)."""
    for entry in named.shared:
        yield entry
    if wanted.match is not None:
        async for entry in scope.own_team.read_words_with_text(wanted.match):
            yield entry


async def _read_sessions(scope: Scope, wanted: ToForget) -> AsyncIterator[str]:
    if wanted.match is not None:
        async for session_id in scope.sessions.read_sessions_with_text(wanted.match):
            yield session_id


def clear_notices(app: App) -> None:
    """What was looked up and told at hooks may have its words, and is made again."""
    from holdfast.notices import store

    store.clear(app.settings.home)


# --- where it may still be ------------------------------------------------------------------------


async def _find_sessions(scope: Scope, wanted: ToForget) -> list[str]:
    """The sessions that a forgotten one was copied from, or into."""
    if wanted.session_id is None:
        return []
    related = await scope.sessions.list_related_sessions(wanted.session_id)
    return [session.id for session in related if session.id != wanted.session_id]


def _find_in_spool(app: App, match: str | None) -> list[str]:
    if match is not None:
        return app.spool.places_with_text(match)
    if app.spool.count_rejected() == 0:
        return []
    return [app.spool.rejected]


def _find_unscrubbed(app: App, path: str | None) -> list[str]:
    """SQLite's log, while a reader keeps it from being emptied."""
    owes_scrub = getattr(app.database, "owes_scrub", False)
    if not owes_scrub:
        return []
    return [f"{path}-wal"]


def _find_other_files(app: App, match: str | None, worktree: str) -> list[str]:
    """Files of the repository are the person's to change, and git's history keeps them."""
    if match is None:
        return []
    user = load_user_settings(app.settings.home)
    paths = [os.path.join(worktree, DASHBOARD_PATH), os.path.join(worktree, MEMORIES_PATH)]
    paths += _list_files(os.path.join(worktree, user.context_folder))
    paths += _list_files(os.path.join(worktree, CONVERSATIONS))
    paths += _list_files(os.path.join(app.settings.home, CONVERSATIONS))
    paths.append(os.path.join(app.settings.home, SETTINGS))
    paths += _list_transcripts(app.settings.home, worktree)
    forms = _list_forms(match)
    return [path for path in paths if _holds(path, forms)]


def _list_transcripts(home: str, worktree: str) -> list[str]:
    """What the clients have written down themselves is theirs, and ours to name."""
    found = []
    for client in list_clients():
        found += [each.path for each in list_transcripts(home, client, worktree, since=0.0)]
    return list(dict.fromkeys(found))


def _list_files(folder: str) -> list[str]:
    """Also those that a merge or a rescue left there."""
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.join(place, name) for name in sorted(names)]
    return found


def _list_forms(match: str) -> set[bytes]:
    """As it is, as JSON has it, and as the page for people escapes it."""
    quoted = json.dumps(match, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(match)[1:-1]
    forms = (match, quoted, ascii_only, escape_line(match, len(match)))
    return {form.encode() for form in forms}


def _holds(path: str, forms: Iterable[bytes]) -> bool:
    """A file that is too large, a link or not readable is not known to hold it."""
    with suppress(HoldfastError):
        data = files.find_bytes(path, max_bytes=FILE_BYTES) or b""
        return any(form in data for form in forms)
    return False
