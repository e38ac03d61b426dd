"""`holdfast off`: keep the session that runs here out of everything."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.running import Command, Output, here, prints
from holdfast.surfaces.cli.switched_session import name_native
from holdfast.usecases.switching import set_off


@click.command("off", cls=Command)
@click.argument("session_id", metavar="[ID]", required=False)
@prints
def command(app: App, session_id: str | None) -> Output:
    """Keep the session that runs here out of everything"""
    named = name_native(app, session_id)
    switched = app.run(set_off(app, here(), is_off=True, named=named))
    text = f"Off: {words.describe_switched(switched)}. `holdfast on` takes it in again."
    if switched.session is None:
        return Output({"session_id": None, "is_off": True}, text)
    session_id = switched.session.id
    stored = f"What was stored before stays; `holdfast forget --session {session_id}` erases it"
    return Output({"session_id": session_id, "is_off": True}, text, [stored])
