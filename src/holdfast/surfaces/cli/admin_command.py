"""`holdfast admin …`: what the owner of a store does."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.ground.settings import hide_password, is_sqlite
from holdfast.storage import migrate
from holdfast.surfaces.cli.running import Group, Output, answers


@click.group("admin", cls=Group)
def command() -> None:
    """Migrate the store"""


@command.command("migrate")
@answers
def migrate_() -> Output:
    """Bring the schema up to date, as the store's owner"""
    # Without `prints`: it stores spooled events first, and would migrate the schema unreported.
    with App() as app:
        store = hide_password(app.settings.database)
        applied = _migrate(app)
    text = f"{store} is up to date"
    if applied:
        text = f"Applied to {store}: {', '.join(applied)}"
    return Output({"database": store, "applied": applied}, text)


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
