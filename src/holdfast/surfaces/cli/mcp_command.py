"""`holdfast mcp --help`; the server itself is started before the command line is loaded."""

from __future__ import annotations

from importlib.util import find_spec

import click

from holdfast.errors import ExtraMissingError
from holdfast.surfaces.cli.running import Command


@click.command("mcp", cls=Command, speaks_to_programs=True)
def command() -> int:
    """Serve an agent program over stdio

    Agent programs start it. It prints nothing but JSON-RPC, and ends when its input does.
    """
    if find_spec("mcp") is None:
        raise ExtraMissingError("holdfast mcp", "mcp")
    from holdfast.surfaces.mcp import front

    front.main()
