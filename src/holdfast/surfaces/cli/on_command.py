"""`holdfast on`: a session that was kept out is captured again."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.running import Command, Output, here, prints
from holdfast.usecases.switching import set_off


@click.command("on", cls=Command)
@prints
def command(app: App) -> Output:
    """Capture the session again that was switched off"""
    session = app.run(set_off(app, here(), is_off=False))
    text = f"On again: {words.describe_session(session)}."
    return Output({"session_id": session.id, "is_off": False}, text)
