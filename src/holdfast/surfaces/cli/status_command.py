"""`holdfast status`: the store, and whether everything accepted is there."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.settings import Settings, hide_password
from holdfast.ground.user_settings import load_user_settings
from holdfast.storage.accounting import Accounting
from holdfast.surfaces import hook
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, prints

MISSING = "Events are missing. `holdfast session verify` says where; keep the files as they are."


@click.command("status", cls=Command)
@prints
def command(app: App) -> Output:
    """Show the store and its accounts"""
    accounts = app.count()
    settings = app.settings
    failure = hook.find_last_failure(settings.home)
    data = {
        **accounts.to_dict(),
        "workspace": settings.workspace,
        "developer": settings.developer,
        "database": hide_password(settings.database),
        "home": settings.home,
        "last_hook_failure": failure,
    }
    lines = _describe_store(settings, accounts)
    if failure:
        lines.append(f"Hooks      {wording.describe_hook_failure(failure)}")
    warnings = _list_warnings(app, accounts)
    exit_code = 5 if accounts.lost else 0
    return Output(data, "\n".join(lines), warnings, exit_code=exit_code)


def _describe_store(settings: Settings, accounts: Accounting) -> list[str]:
    counts = f"stored {accounts.stored:,} · spooled {accounts.spooled:,} · lost {accounts.lost:,}"
    return [
        f"Store      {hide_password(settings.database)}",
        f"Data       {settings.home}",
        f"Developer  {settings.developer} in workspace {settings.workspace}",
        f"Sessions   {accounts.sessions:,}",
        f"Events     {counts}",
    ]


def _list_warnings(app: App, accounts: Accounting) -> list[str]:
    warnings = []
    if accounts.lost:
        warnings.append(MISSING)
    if accounts.rejected:
        warnings.append(f"{accounts.rejected:,} could not be stored; {app.spool.rejected} says why")
    warnings += _find_settings_problems(app.settings.home)
    warnings += map(wording.describe_waiting, app.spool.list_elsewhere())
    warnings += map(wording.describe_unreadable, app.spool.list_unreadable())
    return warnings


def _find_settings_problems(home: str) -> list[str]:
    """Nothing else of this command needs them, but here a person looks for what is wrong."""
    try:
        load_user_settings(home)
    except HoldfastError as wrong:
        return [wrong.message]
    return []
