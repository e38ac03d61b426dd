"""`holdfast status`: the store, and whether everything accepted is there."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.settings import redacted
from holdfast.ground.user_settings import load_user_settings
from holdfast.surfaces import hook
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, prints


@click.command("status", cls=Command)
@prints
def command(app: App) -> Output:
    """Show the store and its accounts"""
    accounts = app.count()
    store = redacted(app.settings.database)
    owner = {"workspace": app.settings.workspace, "developer": app.settings.developer}
    lines = [
        f"Store      {store}",
        f"Data       {app.settings.home}",
        f"Developer  {app.settings.developer} in workspace {app.settings.workspace}",
        f"Sessions   {accounts.sessions:,}",
        f"Events     stored {accounts.stored:,} · spooled {accounts.spooled:,} · lost {accounts.lost:,}",
    ]
    failure = hook.find_last_failure(app.settings.home)
    lines += [f"Hooks      {wording.describe_hook_failure(failure)}"] if failure else []
    warnings = []
    if accounts.lost:
        warnings.append(
            "Events are missing. `holdfast session verify` says where; keep the files as they are."
        )
    if accounts.rejected:
        warnings.append(f"{accounts.rejected:,} could not be stored; {app.spool.rejected} says why")
    warnings += _find_settings_problems(app.settings.home)
    warnings += map(wording.describe_waiting, app.spool.list_elsewhere())
    warnings += map(wording.describe_unreadable, app.spool.list_unreadable())
    place = {"database": store, "home": app.settings.home}
    data = {**accounts.to_dict(), **owner, **place, "last_hook_failure": failure}
    return Output(data, "\n".join(lines), warnings, exit_code=5 if accounts.lost else 0)


def _find_settings_problems(home: str) -> list[str]:
    """Nothing else of this command needs them, but here a person looks for what is wrong."""
    try:
        load_user_settings(home)
    except HoldfastError as wrong:
        return [wrong.message]
    return []
