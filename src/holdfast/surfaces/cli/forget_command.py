"""`holdfast forget …`: erasure, with a look before it."""

from __future__ import annotations

from typing import NamedTuple

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.settings import sqlite_path
from holdfast.ground.text import term_safe
from holdfast.sessions.model import SessionEvent
from holdfast.storage import migrate
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, prints

SHOWN_EVENTS = 20
NOTHING = "Nothing to erase: no event that still has its content matches."
LABELS_STAY = "The session's chatmode, user, workflow, skill, branch and working tree stay: labels cannot be erased."


class NobodyAnsweredError(HoldfastError):
    """To a script the same as a no; only that a script can do something about it."""

    code = "aborted"


class Wanted(NamedTuple):
    """What to forget: exactly one of the three."""

    event_ids: tuple[str, ...]
    session: str | None
    match: str | None


class Remains(NamedTuple):
    """Where it may still be: sessions, copies of the store, and files in which it was found or may be."""

    sessions: list[str]
    backups: list[str]
    files: list[str]


@click.command("forget", cls=Command)
@click.argument("event_ids", nargs=-1, metavar="[ID]...")
@click.option("--session", "session_id", metavar="ID", help="Everything a session holds")
@click.option("--match", metavar="TEXT", help="Every event with this text, in this case")
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
        raise click.UsageError("Say what to forget: event ids, --session or --match, one of the three")
    session = app.run(app.sessions.find_session(session_id)).id if session_id is not None else None
    wanted = Wanted(event_ids, session, match)
    found = app.run(app.sessions.find_events_to_forget(event_ids=event_ids, session_id=session, match=match))
    if dry_run:
        return _output(wanted, found, _remains(app, wanted), erased=0, dry_run=True)
    if not yes and (found or session):
        _ask(wanted, found)
    erased = app.run(app.sessions.forget_events([event.id for event in found]))
    if session is not None:
        app.run(app.sessions.forget_session(session))
    # Only now: while the question was open, somebody may have resumed the session.
    return _output(wanted, found, _remains(app, wanted), erased=erased, dry_run=False)


def _ask(wanted: Wanted, found: list[SessionEvent]) -> None:
    click.echo(term_safe(_preview(found, wanted.session)), err=True)
    try:
        click.confirm("Erase this for good?", abort=True, err=True)
    except click.Abort as error:
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
        sessions = app.run(app.sessions.list_sessions_with_text(wanted.match))
        spooled = app.spool.places_with_text(wanted.match)
    else:
        spooled = [app.spool.rejected] if app.spool.count_rejected() else []
    if wanted.session is not None:
        sessions = [one.id for one in app.run(app.sessions.list_thread(wanted.session)) if one.id != wanted.session]
    path = sqlite_path(app.settings.database)
    return Remains(sessions, migrate.backups(path) if path else [], [*spooled, *_unscrubbed(app)])


def _unscrubbed(app: App) -> list[str]:
    """SQLite's log, while a reader keeps it from being emptied."""
    owed = getattr(app.database, "owes_scrub", False)
    return [f"{sqlite_path(app.settings.database)}-wal"] if owed else []


def _preview(found: list[SessionEvent], session: str | None) -> str:
    more = [f"       … and {len(found) - SHOWN_EVENTS:,} more"] if len(found) > SHOWN_EVENTS else []
    rest = ["The session's scratchpad, name and context sets"] if session else []
    events = [f"{wording.plural(len(found), 'event')}:", *map(wording.event_line, found[:SHOWN_EVENTS]), *more]
    return "\n".join([*(events if found else []), *rest])


def _output(wanted: Wanted, found: list[SessionEvent], remains: Remains, *, erased: int, dry_run: bool) -> Output:
    data = {
        "dry_run": dry_run,
        "erased": erased,
        "event_ids": [event.id for event in found],
        "backups": remains.backups,
        "elsewhere": [*remains.sessions, *remains.files],
    }
    warnings = [
        f"The scratchpad, name or context of session {one} may hold it too: `holdfast forget --session {one}`"
        for one in remains.sessions
    ]
    is_nothing = not found and wanted.session is None
    lines = [NOTHING] if is_nothing else [_done(wanted, found, erased=erased, dry_run=dry_run)]
    # Copies of the whole store are worth a word only where there was something to erase.
    if holding := [*([] if is_nothing else remains.backups), *remains.files]:
        lines += ["These files may still hold it:", *(f"  {file}" for file in holding)]
    lines += [] if is_nothing else ["Backups that you made yourself still hold it."]
    return Output(data, "\n".join(lines), warnings)


def _done(wanted: Wanted, found: list[SessionEvent], *, erased: int, dry_run: bool) -> str:
    labels = f"\n{LABELS_STAY}" if wanted.session else ""
    if dry_run:
        return f"Would erase:\n{_preview(found, wanted.session)}{labels}"
    rest = " and the session's scratchpad, name and context sets" if wanted.session else ""
    return f"Erased {wording.plural(erased, 'event')}{rest}.{labels}"
