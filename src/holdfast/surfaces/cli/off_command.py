"""`holdfast off`: keep the session that runs here out of everything."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.running import Command, Output, here, prints
from holdfast.usecases.switching import set_off


@click.command("off", cls=Command)
@prints
def command(app: App) -> Output:
    """Keep the session that runs here out of everything"""
    session = app.run(set_off(app, here(), is_off=True))
    text = f"Off: {words.describe_session(session)}. `holdfast on` takes it in again."
    stored = f"What was stored before stays; `holdfast forget --session {session.id}` erases it"
    return Output({"session_id": session.id, "is_off": True}, text, [stored])
