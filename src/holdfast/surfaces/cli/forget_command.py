"""`holdfast forget …`: erasure, with a look before it."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.ground.settings import sqlite_path
from holdfast.ground.text import term_safe
from holdfast.sessions.model import SessionEvent
from holdfast.storage import migrate
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, prints

SHOWN_EVENTS = 20


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
    found = app.run(app.sessions.find_events_to_forget(event_ids=event_ids, session_id=session, match=match))
    elsewhere = app.run(app.sessions.list_sessions_with_text(match)) if match is not None else []
    if session is not None:
        elsewhere = [one.id for one in app.run(app.sessions.list_thread(session)) if one.id != session]
    if dry_run:
        return _output(app, found, session, elsewhere, erased=0, dry_run=True)
    if not yes and (found or session):
        click.echo(term_safe(_preview(found, session)), err=True)
        click.confirm("Erase this for good?", abort=True, err=True)
    erased = app.run(app.sessions.forget_events([event.id for event in found]))
    if session is not None:
        app.run(app.sessions.forget_session(session))
    return _output(app, found, session, elsewhere, erased=erased, dry_run=False)


def _preview(found: list[SessionEvent], session: str | None) -> str:
    more = [f"       … and {len(found) - SHOWN_EVENTS:,} more"] if len(found) > SHOWN_EVENTS else []
    rest = ["The session's scratchpad, name and context sets"] if session else []
    events = [f"{wording.plural(len(found), 'event')}:", *map(wording.event_line, found[:SHOWN_EVENTS]), *more]
    return "\n".join([*(events if found else []), *rest])


def _output(
    app: App, found: list[SessionEvent], session: str | None, elsewhere: list[str], *, erased: int, dry_run: bool
) -> Output:
    path = sqlite_path(app.settings.database)
    backups = migrate.backups(path) if path else []
    data = {
        "dry_run": dry_run,
        "erased": erased,
        "event_ids": [event.id for event in found],
        "backups": backups,
        "elsewhere": elsewhere,
    }
    warnings = [
        f"The scratchpad, name or context of session {one} may hold it too: `holdfast forget --session {one}`"
        for one in elsewhere
    ]
    if not found and session is None:
        return Output(data, "Nothing to erase: no event that still has its content matches.", warnings)
    lines = [f"Would erase:\n{_preview(found, session)}"] if dry_run else [_sentence(erased, session)]
    if holding := [*backups, *([app.spool.rejected] if app.spool.count_rejected() else [])]:
        lines += ["These files may still hold it:", *(f"  {file}" for file in holding)]
    lines.append("Backups that you made yourself still hold it.")
    return Output(data, "\n".join(lines), warnings)


def _sentence(erased: int, session: str | None) -> str:
    return f"Erased {wording.plural(erased, 'event')}{' and the rest of the session' if session else ''}."
