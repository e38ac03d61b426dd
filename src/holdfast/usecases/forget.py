"""Erasing what should never have been stored, in every room that may hold it.

First what there is to erase is found, so that a person can look at it; then it is erased; then the
places are listed that may still hold it and that are not ours to change, or not yet.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.ground import files
from holdfast.ground.settings import sqlite_path
from holdfast.ground.user_settings import load_user_settings
from holdfast.storage import migrate

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.memories.model import Memory
    from holdfast.scope import Scope
    from holdfast.sessions.model import SessionEvent

FILE_BYTES = 32 << 20
DOCUMENT_KINDS = ("repo_context", "proof", "receipt", "round")


@dataclass(frozen=True)
class ToForget:
    """What to erase, exactly one of three: entries by id, a session, or all that holds a text."""

    ids: tuple[str, ...] = ()
    session_id: str | None = None
    match: str | None = None


@dataclass(frozen=True)
class Erasable:
    """What of it is stored: events, memories, and documents of the journal as (id, kind)."""

    events: tuple[SessionEvent, ...]
    memories: tuple[Memory, ...]
    documents: tuple[tuple[str, str], ...]

    @property
    def is_empty(self) -> bool:
        return not (self.events or self.memories or self.documents)


@dataclass(frozen=True)
class Remains:
    """Where it may still be: sessions, copies of the store, and other files."""

    sessions: tuple[str, ...]
    backups: tuple[str, ...]
    files: tuple[str, ...]


async def find_erasable(scope: Scope, wanted: ToForget) -> Erasable:
    """An id is that of a memory, of a document or, where it is neither, of an event."""
    named = await _find_memories(scope, wanted.ids)
    documents = await _find_documents(scope, wanted)
    known = {memory.id for memory in named}
    known.update(entry_id for entry_id, _ in documents)
    event_ids = [entry_id for entry_id in wanted.ids if entry_id not in known]
    events = await scope.sessions.find_events_to_forget(
        event_ids=event_ids, session_id=wanted.session_id, match=wanted.match
    )
    memories = list(named)
    if wanted.match is not None:
        memories += await scope.memories.list_memories_with_text(wanted.match)
    stored = {memory.id: memory for memory in memories if memory.erased_at is None}
    return Erasable(tuple(events), tuple(stored.values()), tuple(documents))


async def erase(scope: Scope, wanted: ToForget, found: Erasable) -> int:
    """Erase it for good, and return how many events that were."""
    event_ids = [event.id for event in found.events]
    erased = await scope.sessions.forget_events(event_ids)
    for memory in found.memories:
        await scope.memories.forget(memory.id)
    for entry_id, _ in found.documents:
        await scope.journal.erase(entry_id)
    if wanted.session_id is not None:
        await scope.sessions.forget_session(wanted.session_id)
    return erased


async def find_remains(app: App, wanted: ToForget, worktree: str) -> Remains:
    """Where what was erased may still be."""
    path = sqlite_path(app.settings.database)
    places = _find_in_spool(app, wanted.match)
    places += _find_unscrubbed(app, path)
    places += _find_context_files(app, wanted.match, worktree)
    sessions = await _find_sessions(app.scope, wanted)
    backups = migrate.backups(path) if path else []
    return Remains(sessions=tuple(sessions), backups=tuple(backups), files=tuple(places))


# --- what is stored -------------------------------------------------------------------------------


async def _find_memories(scope: Scope, ids: tuple[str, ...]) -> list[Memory]:
    """Those of the ids that are memories, forgotten ones among them."""
    memories = []
    for memory_id in ids:
        memory = await scope.memories.find_memory(memory_id)
        if memory is not None:
            memories.append(memory)
    return memories


async def _find_documents(scope: Scope, wanted: ToForget) -> list[tuple[str, str]]:
    """Saved contexts, proofs, receipts and rounds, as the journal has them."""
    if wanted.match is not None:
        return await scope.journal.list_with_text(wanted.match)
    found = []
    for entry_id in wanted.ids:
        for kind in DOCUMENT_KINDS:
            entry = await scope.journal.find(kind, entry_id)
            if entry is not None and entry.content:
                found.append((entry_id, kind))
    return found


# --- where it may still be ------------------------------------------------------------------------


async def _find_sessions(scope: Scope, wanted: ToForget) -> list[str]:
    """Those that hold the text outside of events, or that share a forgotten one's thread."""
    if wanted.match is not None:
        return await scope.sessions.list_sessions_with_text(wanted.match)
    if wanted.session_id is None:
        return []
    thread = await scope.sessions.list_thread(wanted.session_id)
    return [session.id for session in thread if session.id != wanted.session_id]


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


def _find_context_files(app: App, match: str | None, worktree: str) -> list[str]:
    """Files of the repository are the person's to change, and git's history keeps them."""
    user = load_user_settings(app.settings.home)
    folder = os.path.join(worktree, user.context_folder)
    if match is None or not os.path.isdir(folder):
        return []
    quoted = json.dumps(match, ensure_ascii=False)
    text = quoted[1:-1].encode()
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    paths = [os.path.join(folder, name) for name in names]
    return [path for path in paths if _holds(path, text)]


def _holds(path: str, text: bytes) -> bool:
    data = files.find_bytes(path, max_bytes=FILE_BYTES) or b""
    return text in data
