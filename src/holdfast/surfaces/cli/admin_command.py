"""`holdfast admin …`: what the owner of a store does.

Who may reach the store may act for anyone in it, so none of these commands needs a token.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from holdfast.app import App
from holdfast.errors import Action, HoldfastError
from holdfast.ground import clock
from holdfast.ground.settings import hide_password, is_sqlite
from holdfast.ground.text import plural
from holdfast.identity.model import Token
from holdfast.identity.scopes import SCOPES
from holdfast.storage import migrate
from holdfast.surfaces.cli import team_wording
from holdfast.surfaces.cli.confirming import confirm
from holdfast.surfaces.cli.running import Group, Output, answers, prints
from holdfast.team.model import PRIVATE, PUBLIC, VISIBILITIES, Developer
from holdfast.usecases import administration, operation
from holdfast.usecases.operation import Prunable

ONLY_SEEN = "`admin token list HANDLE` lists those of a private one"
ONLY_OWN = "This store shows a developer only their own: {}'s"
SECONDS_CHARS = len("2026-01-01T00:00:00")
WAITING = "{} events wait in the spool of this machine and are not in it"


@click.group("admin", cls=Group)
def command() -> None:
    """Migrate the store, let people in, and audit the exchange"""


@command.command("migrate")
@answers
def migrate_() -> Output:
    """Bring the schema up to date, as the store's owner"""
    # Without `prints`: it stores spooled events first, and would migrate the schema unreported.
    with App() as app:
        store = _name_store(app)
        applied = _migrate(app)
    text = f"{store} is up to date"
    if applied:
        text = f"Applied to {store}: {', '.join(applied)}"
    return Output({"database": store, "applied": applied}, text)


@command.command("audit")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=200, help="Of each, newest; default 200"
)
@prints
def audit(app: App, limit: int) -> Output:
    """List what was published, and who called what"""
    is_whole = is_sqlite(app.settings.database)
    contexts = app.run(app.scope.own_team.list_stored_contexts(limit))
    usage = app.run(app.scope.own_team.list_usage(limit))
    data = {
        "covers": "workspace" if is_whole else "developer",
        "contexts": [context.to_dict() for context in contexts],
        "usage": [event.to_dict() for event in usage],
    }
    text = team_wording.describe_audit(contexts, usage, clock.now())
    notes = [] if is_whole else [ONLY_OWN.format(app.settings.developer)]
    return Output(data, text, notes)


# --- who may come in ------------------------------------------------------------------------------


@command.group("workspace", cls=Group)
def workspace() -> None:
    """Add the workspaces of this store"""


@workspace.command("add")
@click.argument("slug")
@prints
def add_workspace(app: App, slug: str) -> Output:
    """Make a workspace known to this store"""
    is_new = app.run(administration.add_workspace(app, slug))
    store = _name_store(app)
    text = f"Workspace {slug} was added to {store} before"
    if is_new:
        text = f"Added workspace {slug} to {store}"
    return Output({"workspace": slug, "is_new": is_new, "database": store}, text)


@command.group("developer", cls=Group)
def developer() -> None:
    """Add developers to HOLDFAST_WORKSPACE, and hide them"""


@developer.command("add")
@click.argument("handle")
@click.option("--private", is_flag=True, help="Hidden from the others")
@prints
def add_developer(app: App, handle: str, private: bool) -> Output:
    """Add a developer to the workspace"""
    visibility = PRIVATE if private else PUBLIC
    added = app.run(administration.add_developer(app, handle, visibility))
    return _describe_developer(app, added, "Added")


@developer.command("set")
@click.argument("handle")
@click.option("--visibility", type=click.Choice(VISIBILITIES), required=True, help="Who sees them")
@prints
def set_developer(app: App, handle: str, visibility: str) -> Output:
    """Change whether others see a developer"""
    changed = app.run(administration.set_visibility(app, handle, visibility))
    return _describe_developer(app, changed, "Set")


@command.group("token", cls=Group)
def token() -> None:
    """Make, list and revoke tokens of developers"""


@token.command("add")
@click.argument("handle")
@click.option("--agent", default="agent", help="What will use it; default agent")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What it may do, each once"
)
@prints
def add_token(app: App, handle: str, agent: str, scopes: tuple[str, ...]) -> Output:
    """Make a token for a developer and print it once"""
    made = app.run(administration.add_token(app, handle, agent, scopes))
    known, store = made.token, _name_store(app)
    data = {**known.to_dict(), "token": made.text, "database": store}
    aside = f"{known.id} of {known.handle}, for {known.agent}: {', '.join(known.scopes)}"
    return Output(data, made.text, aside=f"{aside}. It is in {store}, and is shown only now.")


@token.command("list")
@click.argument("handle", required=False)
@prints
def list_tokens(app: App, handle: str | None) -> Output:
    """List tokens, of one developer or of all that are seen"""
    found = app.run(administration.list_tokens(app, handle))
    text = "\n".join(map(_describe_token, found)) or "No tokens."
    notes = [] if handle else [ONLY_SEEN]
    return Output([known.to_dict() for known in found], text, notes)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@prints
def revoke_token(app: App, token_id: str) -> Output:
    """End a token, and all that it has granted"""
    revoked = app.run(administration.revoke_token(app, token_id))
    store = _name_store(app)
    text = f"Revoked {revoked.id} of {revoked.handle} ({revoked.agent}) in {store}"
    return Output({**revoked.to_dict(), "database": store}, text)


def _describe_developer(app: App, found: Developer, verb: str) -> Output:
    store = _name_store(app)
    text = f"{verb} {found.handle} in {app.settings.workspace} of {store}: {found.visibility}"
    data = {**found.person.to_dict(), "visibility": found.visibility, "database": store}
    return Output(data, text)


def _name_store(app: App) -> str:
    """Where a command has written: the settings may name another store than was meant."""
    return hide_password(app.settings.database)


def _describe_token(known: Token) -> str:
    used = "never used"
    if known.last_used_at is not None:
        used = f"used {_as_day(known.last_used_at)}"
    parts = [known.id, known.handle, known.agent, " ".join(known.scopes)]
    parts += [f"made {_as_day(known.created_at)}", used]
    if known.granted_by is not None:
        parts.append(f"granted by {known.granted_by}")
    if known.expires_at is not None:
        parts.append(f"ends {_as_day(known.expires_at)}")
    if known.revoked_at is not None:
        parts.append(f"revoked {_as_day(known.revoked_at)}")
    return "  ".join(parts)


def _as_day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%MZ}"


# --- the store ------------------------------------------------------------------------------------


@command.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@answers
def backup_(file: Path) -> Output:
    """Copy the whole store into a new file, while it is used"""
    # Without `prints`: a role that may read everything writes nothing.
    with App() as app:
        as_of = clock.now()
        app.run_unopened(operation.back_up(app.settings, file.absolute()))
        size = file.stat().st_size
        waiting = _count_waiting(app)
        store = _name_store(app)
    data = {
        "file": str(file.absolute()),
        "database": store,
        "bytes": size,
        "as_of": clock.to_text(as_of),
        "spooled": waiting,
    }
    text = f"Copied {store} to {file}: all that was stored before {as_of:%Y-%m-%d %H:%M:%SZ}"
    return Output(data, text, [WAITING.format(waiting)] if waiting else [])


@command.command("prune")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    required=True,
    metavar="DATE",
    help="What ended before this day or time, in UTC",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be erased")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def prune(app: App, before: datetime, dry_run: bool, yes: bool) -> Output:
    """Erase contents of what ended before a date

    Of the whole workspace: contents of sessions, receipts, published contexts, claims and
    handoffs. Numbers and hashes stay, so that logs still verify. This cannot be undone.
    """
    moment = before.replace(tzinfo=UTC)
    found = app.run(operation.find_prunable(app, moment))
    if dry_run or found.is_empty:
        return _describe_pruned(app, moment, found, "Would erase", dry_run=dry_run)
    if not yes:
        click.echo(_describe_prunable(app, found, "To erase"), err=True)
        confirm("Erase this permanently?", Action("prune.confirmed", before=_as_time(moment)))
    done = app.run(operation.prune(app, moment))
    return _describe_pruned(app, moment, done, "Erased", dry_run=False)


def _describe_pruned(
    app: App, before: datetime, counts: Prunable, verb: str, *, dry_run: bool
) -> Output:
    data = {
        "database": _name_store(app),
        "workspace": app.settings.workspace,
        "before": clock.to_text(before),
        "dry_run": dry_run,
        **counts.to_dict(),
    }
    if counts.is_empty:
        return Output(data, f"Nothing that ended before {_as_time(before)} has contents.")
    lines = [_describe_prunable(app, counts, verb)]
    if not dry_run:
        lines.append("Backups that were made before still hold it.")
    return Output(data, "\n".join(lines))


def _describe_prunable(app: App, counts: Prunable, verb: str) -> str:
    parts = [plural(count, name.removesuffix("s")) for name, count in counts.to_dict().items()]
    place = f"{app.settings.workspace} of {_name_store(app)}"
    return f"{verb} in {place}: the contents of {', '.join(parts)}"


def _as_time(moment: datetime) -> str:
    return clock.to_text(moment)[:SECONDS_CHARS]


def _count_waiting(app: App) -> int:
    with suppress(HoldfastError):
        return app.spool.count_spooled()
    return 0


def _migrate(app: App) -> list[str]:
    """The names of what was applied. Opening a file brings it up to date by itself."""
    if not is_sqlite(app.settings.database):
        return app.run_unopened(migrate.migrate_postgres(app.settings.database, report=_report))
    from holdfast.storage.sqlite import SqliteDatabase

    assert isinstance(app.database, SqliteDatabase)
    return app.database.applied


def _report(step: str) -> None:
    """For a person: adopting a large table takes its time."""
    if not click.get_current_context().meta["json"]:
        click.echo(step, err=True)
