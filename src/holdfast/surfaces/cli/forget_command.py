"""`holdfast forget …`: erasure, with a look before it."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground.settings import sqlite_path
from holdfast.sessions.model import SessionEvent
from holdfast.storage import migrate
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, prints


@click.command("forget", cls=Command)
@click.argument("event_ids", nargs=-1, metavar="[ID]...")
@click.option("--session", "session_id", metavar="ID", help="Everything a session holds")
@click.option("--match", metavar="TEXT", help="Every event that contains this text")
@click.option("--dry-run", is_flag=True, help="Only show what would be erased")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def command(
    app: App, event_ids: tuple[str, ...], session_id: str | None, match: str | None, dry_run: bool, yes: bool
) -> Output:
    """Erase what should never have been stored

    Contents go, numbers and hashes stay, so that the log still verifies. This cannot be undone.
    """
    if not event_ids and session_id is None and match is None:
        raise InvalidValueError("What to forget", "", "is not given; name event ids, --session or --match")
    session = app.run(app.sessions.find_session(session_id)).id if session_id is not None else None
    found = app.run(app.sessions.find_events_to_forget(event_ids=event_ids, session_id=session, match=match))
    if dry_run:
        return _output(app, found, session, erased=0, dry_run=True)
    if not yes and (found or session):
        click.echo(_preview(found, session), err=True)
        click.confirm("Erase this for good?", abort=True, err=True)
    erased = app.run(app.sessions.forget_events([event.id for event in found]))
    if session is not None:
        app.run(app.sessions.forget_session(session))
    return _output(app, found, session, erased=erased, dry_run=False)


def _preview(found: list[SessionEvent], session: str | None) -> str:
    rest = ["… and the session's scratchpad, name and context"] if session else []
    return "\n".join([f"{wording.plural(len(found), 'event')}:", *map(wording.event_line, found[:20]), *rest])


def _output(app: App, found: list[SessionEvent], session: str | None, *, erased: int, dry_run: bool) -> Output:
    path = sqlite_path(app.settings.database)
    backups = migrate.backups(path) if path else []
    data = {"dry_run": dry_run, "erased": erased, "event_ids": [event.id for event in found], "backups": backups}
    lines = [_preview(found, session) if dry_run else f"Erased {wording.plural(erased, 'event')}."]
    if backups:
        lines += ["These backups still hold it:", *(f"  {backup}" for backup in backups)]
    else:
        lines.append("Backups that you made yourself still hold it.")
    return Output(data, "\n".join(lines))
