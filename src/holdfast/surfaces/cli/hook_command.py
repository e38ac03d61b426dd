"""`holdfast hook --help`; the hook itself never comes here."""

from __future__ import annotations

import click

from holdfast.clients import CLIENTS
from holdfast.surfaces import hook
from holdfast.surfaces.cli.running import Command


@click.command("hook", cls=Command, speaks_to_programs=True)
@click.argument("client", metavar="CLIENT")
@click.argument("event", metavar="EVENT")
@click.option("--project", is_flag=True, help="Do nothing for a person who never ran init")
def command(client: str, event: str, project: bool) -> int:
    """Take an event from an agent program, as JSON on stdin

    It prints nothing and always exits with 0, so that it never stops an agent.
    """
    return hook.main([client, event, *([hook.BROUGHT] if project else [])])


command.epilog = f"Clients: {', '.join(CLIENTS)}"
