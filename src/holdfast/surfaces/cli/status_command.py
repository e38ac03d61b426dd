"""`holdfast status`: the store, and whether everything accepted is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import click

from holdfast.app import App
from holdfast.clients import find_client, list_clients
from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground.frozen import asdict
from holdfast.ground.settings import Settings, hide_password
from holdfast.storage.accounting import Accounting, Waiting
from holdfast.storage.enrolment import Enrolment
from holdfast.surfaces import hook, hook_log
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli import team_wording as team_words
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, describe_error, here, prints
from holdfast.surfaces.mcp import offer
from holdfast.usecases import setting_up, switching, transcripts
from holdfast.usecases.errors import SwitchableSession
from holdfast.usecases.exchange import (
    OwnPart,
    count_own_part,
    is_exchange_on,
    look_at_server,
)
from holdfast.usecases.setting_up import ClientUse

SHOWN_OFF = 3
NO_CLIENT = "Clients    none is set up; `holdfast init` does it"
NOT_HERE = "Here       hooks do nothing in this folder; `holdfast init` switches them on"
MISSING = "Events are missing. `holdfast session verify` says where; keep the files as they are."
OLDER = "           in the newest {sessions:,} sessions; `holdfast session verify` checks all"


@click.command("status", cls=Command)
@prints
def command(app: App) -> Output:
    """Show what is stored, and what each client costs"""
    try:
        accounts = app.count()
    except Unavailable as error:
        return _describe_outage(app, error)
    settings = app.settings
    uses = _list_uses(settings)
    failure = hook_log.find_last_failure(settings.home)
    ignored = hook_log.list_ignored(settings.home)
    data = {
        **accounts.to_dict(),
        "workspace": settings.workspace,
        "developer": settings.developer,
        "database": hide_password(settings.database),
        "home": settings.home,
        "last_hook_failure": failure,
        "ignored_hooks": [{"client": client, "hook": name} for client, name in ignored],
        "clients": [asdict(use) for use in uses],
        "tools_tokens": offer.count_tokens(),
    }
    lines = _describe_store(settings, accounts)
    in_project = setting_up.list_project_clients(settings.home, here())
    lines += _describe_clients(uses, in_project)
    if uses and Enrolment(settings.home).find(here()) is None:
        lines.append(NOT_HERE)
    off = _list_sessions_off(app)
    lines += _describe_off(off)
    data["off_sessions"] = [asdict(session) for session in off]
    state = look_at_server(app)
    data["team_server"] = state.to_dict() if state else None
    lines += [team_words.describe_server(state)] if state else []
    part = None if state and state.problem else _find_own_part(app)
    data["team"] = team_words.own_part_to_dict(part) if part else None
    lines += [team_words.describe_own_part(part)] if part else []
    if failure:
        lines.append(f"Hooks      {wording.describe_hook_failure(failure)}")
    lines += [f"Hooks      {_describe_ignored(client, name)}" for client, name in ignored]
    warnings = _list_warnings(app, accounts)
    warnings += team_words.describe_refused(state.refused) if state else []
    exit_code = 5 if accounts.lost or accounts.dropped else 0
    return Output(data, "\n".join(lines), warnings, exit_code=exit_code)


def _find_own_part(app: App) -> OwnPart | None:
    """None where the exchange is off, or its settings cannot be read; a note says that."""
    with suppress(HoldfastError):
        if app.run(is_exchange_on(app)):
            return app.run(count_own_part(app.scope))
    return None


def _list_sessions_off(app: App) -> list[SwitchableSession]:
    try:
        return app.run(switching.list_sessions_off(app, here()))
    except HoldfastError:  # a list that cannot be read is named in a note
        return []


def _describe_off(off: Sequence[SwitchableSession]) -> list[str]:
    if not off:
        return []
    lines = [f"Off        {session.describe()}" for session in off[:SHOWN_OFF]]
    if len(off) > SHOWN_OFF:
        lines.append(f"           and {len(off) - SHOWN_OFF:,} more in this folder")
    return [*lines, "           kept out of everything; `holdfast on ID` takes one in again"]


def _list_uses(settings: Settings) -> list[ClientUse]:
    place = setting_up.make_place(settings, here(), offer.list_tools(), os.environ)
    return setting_up.list_uses(settings.home, place)


def _describe_clients(uses: Sequence[ClientUse], in_project: Sequence[str]) -> list[str]:
    if not uses and not in_project:
        return [NO_CLIENT]
    titles = map(setting_up.find_title, in_project)
    lines = [f"{title}: hooks in this repository's files" for title in titles]
    for use in uses:
        lines += words.describe_use(use)
    tools = f"about {offer.count_tokens():,} tokens a session"
    lines.append(f"Tools: {tools}, where all of them are loaded")
    first, *rest = lines
    return [f"Clients    {first}", *(f"           {line}" for line in rest)]


def _describe_ignored(client_name: str, event_name: str) -> str:
    text = f"unknown event {event_name} of {client_name} was ignored"
    client = find_client(client_name)
    if client is None:
        return text
    return f"{text}; known: {', '.join(hook.list_known(client))}"


def _describe_outage(app: App, error: Unavailable) -> Output:
    """The error as every command reports it, and what is known without the store."""
    try:
        waiting = app.spool.count_waiting()
    except HoldfastError:  # the spool is not readable either
        raise error from None
    data = {**describe_error(error), **asdict(waiting)}
    text = f"Events     spooled {waiting.spooled:,} · dropped {waiting.dropped:,}"
    warnings = _list_losses(app, waiting)
    return Output(data, text, warnings, exit_code=error.exit_code, error=error)


def _list_losses(app: App, waiting: Waiting) -> list[str]:
    warnings = []
    if waiting.at_risk:
        warnings.append(wording.describe_at_risk(waiting))
    if waiting.dropped:
        warnings.append(wording.describe_dropped(waiting, app.spool.list_counters()))
    return warnings


def _describe_store(settings: Settings, accounts: Accounting) -> list[str]:
    more = "+" if accounts.has_older_sessions else ""
    stored = f"stored {accounts.stored:,}{more}"
    lines = [
        f"Store      {hide_password(settings.database)}",
        f"Data       {settings.home}",
        f"Developer  {settings.developer} in workspace {settings.workspace}",
        f"Sessions   {accounts.sessions:,}{more}",
        f"Events     {stored} · spooled {accounts.spooled:,} · lost {accounts.lost:,}",
    ]
    if accounts.has_older_sessions:
        lines.append(OLDER.format(sessions=accounts.sessions))
    return lines


def _list_warnings(app: App, accounts: Accounting) -> list[str]:
    warnings = []
    if accounts.lost:
        warnings.append(MISSING)
    if accounts.rejected:
        warnings.append(f"{accounts.rejected:,} could not be stored; {app.spool.rejected} says why")
    warnings += _list_losses(app, accounts)
    warnings += _list_left_out(app)
    # Nothing else of this command needs them, but here a person looks for what is wrong.
    warnings += setting_up.list_settings_problems(app.settings.home)
    warnings += map(wording.describe_waiting, app.spool.list_elsewhere())
    warnings += map(wording.describe_unreadable, app.spool.list_unreadable())
    return warnings


def _list_left_out(app: App) -> list[str]:
    store = app.scope.sessions.store
    warnings = []
    for client in list_clients():
        count = app.run(transcripts.count_left_out(store, client.NAME))
        if count:
            warnings.append(f"Unreadable places in transcripts of {client.TITLE}: {count:,}")
    return warnings
