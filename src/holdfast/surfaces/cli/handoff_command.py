"""`holdfast handoff show`: the document to continue from, which exists at every moment."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.bundles.sections import NOTHING
from holdfast.surfaces.cli.running import Group, Output, here, prints
from holdfast.usecases.continuation import show_handoff


@click.group("handoff", cls=Group)
def command() -> None:
    """Show what whoever continues here is handed"""


@command.command("show")
@prints
def show(app: App) -> Output:
    """Show it up to the last message of every client here"""
    text, warnings = app.run(show_handoff(app, here()))
    return Output({"text": text, "chars": len(text)}, text or NOTHING, warnings)
