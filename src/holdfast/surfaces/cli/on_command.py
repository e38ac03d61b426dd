"""`holdfast on`: a session that was kept out is captured again."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.running import Command, Output, here, prints
from holdfast.surfaces.cli.switched_session import name_native
from holdfast.usecases.switching import set_off


@click.command("on", cls=Command)
@click.argument("session_id", metavar="[ID]", required=False)
@prints
def command(app: App, session_id: str | None) -> Output:
    """Capture the session again that was switched off"""
    named = name_native(app, session_id)
    switched = app.run(set_off(app, here(), is_off=False, named=named))
    text = f"On again: {words.describe_switched(switched)}. What was said meanwhile stays out."
    session_id = switched.session.id if switched.session else None
    return Output({"session_id": session_id, "is_off": False}, text)
