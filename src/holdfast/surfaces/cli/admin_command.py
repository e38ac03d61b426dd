"""`holdfast admin …`: what the owner of a store does."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.ground.settings import redacted, sqlite_path
from holdfast.storage import migrate
from holdfast.surfaces.cli.running import Group, Output, prints


@click.group("admin", cls=Group)
def command() -> None:
    """Migrate the store"""


@command.command("migrate")
@prints
def migrate_(app: App) -> Output:
    """Bring the schema up to date, as the store's owner"""
    store = redacted(app.settings.database)
    if sqlite_path(app.settings.database):
        applied: list[str] = []
        _ = app.database  # opening a file brings it up to date
    else:
        applied = app.run(migrate.migrate_postgres(app.settings.database))
    text = f"Applied to {store}: {', '.join(applied)}" if applied else f"{store} is up to date"
    return Output({"database": store, "applied": applied}, text)
