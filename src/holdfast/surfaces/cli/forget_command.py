"""`holdfast forget …`: erasure, with a look before it."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.settings import sqlite_path
from holdfast.ground.text import term_safe
from holdfast.ground.user_settings import load_user_settings
from holdfast.memories.model import Memory
from holdfast.sessions.model import SessionEvent
from holdfast.storage import migrate
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, find_session, here, prints

SHOWN_EVENTS = 20
FILE_BYTES = 32 << 20
NOTHING = "Nothing to erase: no event, memory or document that still has its content matches."
DOCUMENTS = {"repo_context": "saved context", "proof": "proof", "receipt": "receipt", "round": "round step"}
LABELS_STAY = "The session's chatmode, user, workflow, skill, branch and working tree stay: labels cannot be erased."


class NobodyAnsweredError(HoldfastError):
    """To a script the same as a no; only that a script can do something about it."""

    code = "aborted"


class Wanted(NamedTuple):
    """What to forget: exactly one of the three."""

    event_ids: tuple[str, ...]
    session: str | None
    match: str | None


class Found(NamedTuple):
    """What of it there is: events, memories, and documents of the journal by their kind."""

    events: list[SessionEvent]
    memories: list[Memory]
    documents: dict[str, str]

    @property
    def is_nothing(self) -> bool:
        return not (self.events or self.memories or self.documents)


class Remains(NamedTuple):
    """Where it may still be: sessions, copies of the store, and files in which it was found or may be."""

    sessions: list[str]
    backups: list[str]
    files: list[str]


@click.command("forget", cls=Command)
@click.argument("event_ids", nargs=-1, metavar="[ID]...")
@click.option("--session", "session_id", metavar="ID", help="Everything a session holds")
@click.option("--match", metavar="TEXT", help="Every event and memory with this text, in this case")
@click.option("--dry-run", is_flag=True, help="Only show what would be erased")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def command(
    app: App, event_ids: tuple[str, ...], session_id: str | None, match: str | None, dry_run: bool, yes: bool
) -> Output:
    """Erase what should never have been stored

    Contents go, numbers and hashes stay, so that the log still verifies. This cannot be undone.
    """
    if sum((bool(event_ids), session_id is not None, match is not None)) != 1:
        raise click.UsageError(
            "Say what to forget: ids of events, memories or documents, --session or --match, one of the three"
        )
    session = find_session(app, session_id).id if session_id is not None else None
    wanted = Wanted(event_ids, session, match)
    found = _find(app, wanted)
    if dry_run:
        return _output(wanted, found, _remains(app, wanted), erased=0, dry_run=True)
    if not yes and (session or not found.is_nothing):
        _ask(wanted, found)
    erased = app.run(app.scope.sessions.forget_events([event.id for event in found.events]))
    for memory in found.memories:
        app.run(app.scope.memories.forget(memory.id))
    for entry_id in found.documents:
        app.run(app.scope.journal.erase(entry_id))
    if session is not None:
        app.run(app.scope.sessions.forget_session(session))
    # Only now: while the question was open, somebody may have resumed the session.
    return _output(wanted, found, _remains(app, wanted), erased=erased, dry_run=False)


def _find(app: App, wanted: Wanted) -> Found:
    named, memories = _memories(app, wanted)
    documents = _documents(app, wanted)
    others = [one for one in wanted.event_ids if one not in named and one not in documents]
    events = app.run(
        app.scope.sessions.find_events_to_forget(event_ids=others, session_id=wanted.session, match=wanted.match)
    )
    return Found(events, memories, documents)


def _documents(app: App, wanted: Wanted) -> dict[str, str]:
    """Saved contexts, proofs, receipts and rounds, as the journal has them."""
    if wanted.match is not None:
        return dict(app.run(app.scope.journal.list_with_text(wanted.match)))
    named = ((one, kind) for one in wanted.event_ids for kind in DOCUMENTS)
    return {one: kind for one, kind in named if (entry := app.run(app.scope.journal.find(kind, one))) and entry.content}


def _memories(app: App, wanted: Wanted) -> tuple[set[str], list[Memory]]:
    """Which of the ids are memories, forgotten ones among them, and what of memories there is to erase."""
    named = [memory for one in wanted.event_ids if (memory := app.run(app.scope.memories.find_memory(one)))]
    matching = [] if wanted.match is None else app.run(app.scope.memories.list_memories_with_text(wanted.match))
    live = {memory.id: memory for memory in [*named, *matching] if memory.erased_at is None}
    return {memory.id for memory in named}, list(live.values())


def _ask(wanted: Wanted, found: Found) -> None:
    click.echo(term_safe(_preview(found, wanted.session)), err=True)
    try:
        click.confirm("Erase this for good?", abort=True, err=True)
    except click.Abort as error:
        if error.__context__:  # nobody has ended the line of the question
            click.echo(err=True)
        if not isinstance(error.__context__, EOFError):  # a no, or Ctrl-C
            raise
        again = f"holdfast forget {_as_typed(wanted)} --yes"
        message = f"Nothing was changed: nobody was there to answer. Add --yes to erase without a question: `{again}`."
        raise NobodyAnsweredError(message, next_actions=[again]) from None


def _as_typed(wanted: Wanted) -> str:
    """Without the text: it is what should not be shown again."""
    if wanted.match is not None:
        return "--match TEXT"
    return "ID…" if wanted.session is None else f"--session {wanted.session}"


def _remains(app: App, wanted: Wanted) -> Remains:
    sessions: list[str] = []
    if wanted.match is not None:
        sessions = app.run(app.scope.sessions.list_sessions_with_text(wanted.match))
        spooled = app.spool.places_with_text(wanted.match)
    else:
        spooled = [app.spool.rejected] if app.spool.count_rejected() else []
    if wanted.session is not None:
        sessions = [
            one.id for one in app.run(app.scope.sessions.list_thread(wanted.session)) if one.id != wanted.session
        ]
    path = sqlite_path(app.settings.database)
    places = [*spooled, *_unscrubbed(app), *_context_files(app, wanted.match)]
    return Remains(sessions, migrate.backups(path) if path else [], places)


def _context_files(app: App, match: str | None) -> list[str]:
    """What lies in the repository is the person's to change, and git's history keeps it."""
    folder = os.path.join(here(), load_user_settings(app.settings.home).context_folder)
    if match is None or not os.path.isdir(folder):
        return []
    written = json.dumps(match, ensure_ascii=False)[1:-1].encode()
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    return [path for path in paths if written in (files.find_bytes(path, max_bytes=FILE_BYTES) or b"")]


def _unscrubbed(app: App) -> list[str]:
    """SQLite's log, while a reader keeps it from being emptied."""
    owed = getattr(app.database, "owes_scrub", False)
    return [f"{sqlite_path(app.settings.database)}-wal"] if owed else []


def _preview(found: Found, session: str | None) -> str:
    events, memories = found.events, found.memories
    more = [f"       … and {len(events) - SHOWN_EVENTS:,} more"] if len(events) > SHOWN_EVENTS else []
    rest = ["The session's scratchpad, name and context sets"] if session else []
    lines = [f"{wording.plural(len(events), 'event')}:", wording.event_list(events[:SHOWN_EVENTS]), *more]
    kept = [f"{_count_of(memories)}:", *map(wording.memory_line, memories[:SHOWN_EVENTS])]
    documents = _document_counts(found)
    return "\n".join([*(lines if events else []), *(kept if memories else []), *documents, *rest])


def _document_counts(found: Found) -> list[str]:
    kinds = list(found.documents.values())
    return [wording.plural(kinds.count(kind), name) for kind, name in DOCUMENTS.items() if kind in kinds]


def _count_of(memories: list[Memory]) -> str:
    return f"{len(memories):,} {'memory' if len(memories) == 1 else 'memories'}"


def _output(wanted: Wanted, found: Found, remains: Remains, *, erased: int, dry_run: bool) -> Output:
    data = {
        "dry_run": dry_run,
        "erased": erased,
        "event_ids": [event.id for event in found.events],
        "memory_ids": [memory.id for memory in found.memories],
        "document_ids": list(found.documents),
        "backups": remains.backups,
        "elsewhere": [*remains.sessions, *remains.files],
    }
    warnings = [
        f"The scratchpad, name or context of session {one} may hold it too: `holdfast forget --session {one}`"
        for one in remains.sessions
    ]
    is_nothing = found.is_nothing and wanted.session is None
    lines = [NOTHING] if is_nothing else [_done(wanted, found, erased=erased, dry_run=dry_run)]
    # Copies of the whole store are worth a word only where there was something to erase.
    if holding := [*([] if is_nothing else remains.backups), *remains.files]:
        lines += ["These files may still hold it:", *(f"  {file}" for file in holding)]
    lines += [] if is_nothing else ["Backups that you made yourself still hold it."]
    return Output(data, "\n".join(lines), warnings)


def _done(wanted: Wanted, found: Found, *, erased: int, dry_run: bool) -> str:
    labels = f"\n{LABELS_STAY}" if wanted.session else ""
    if dry_run:
        return f"Would erase:\n{_preview(found, wanted.session)}{labels}"
    rest = " and the session's scratchpad, name and context sets" if wanted.session else ""
    others = [*([_count_of(found.memories)] if found.memories else []), *_document_counts(found)]
    counts = [*([wording.plural(erased, "event")] if erased or not others else []), *others]
    return f"Erased {' and '.join(counts)}{rest}.{labels}"
