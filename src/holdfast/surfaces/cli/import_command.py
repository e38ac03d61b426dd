"""`holdfast import`: what other programs have kept."""

from __future__ import annotations

import os

import click

from holdfast.app import App
from holdfast.ground.text import plural
from holdfast.sessions.caco import import_caco
from holdfast.surfaces.cli.running import Command, Output, prints, run_write

SOURCES = ("caco",)


@click.command("import", cls=Command)
@click.option(
    "--client",
    "clients",
    multiple=True,
    type=click.Choice(SOURCES),
    help="Only from these programs",
)
@prints
def command(app: App, clients: tuple[str, ...]) -> Output:
    """Import what another program has stored

    So far: session names, hints and context sets of ~/.caco/sessions. Repeating it changes nothing.
    """
    folder = os.path.expanduser("~/.caco/sessions")
    report = run_write(app, "session.import", lambda scope: import_caco(scope.sessions, folder))
    imported = plural(report.imported, "session")
    text = f"Imported {imported}; {report.known:,} known already."
    if not (report.imported or report.known or report.problems):
        text = f"Nothing to import: {folder} holds no sessions."
    return Output(report.to_dict(), text, report.problems)
