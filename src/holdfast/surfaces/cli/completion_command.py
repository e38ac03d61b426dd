"""`holdfast completion SHELL`: the script that makes the Tab key work."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfast.surfaces.cli.running import PROGRAM

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell

    For bash: holdfast completion bash >> ~/.bashrc
    """
    from holdfast.surfaces.cli.root import root

    completion = get_completion_class(shell)
    if completion is not None:
        click.echo(completion(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
