"""`holdfast completion SHELL`: the script that makes the Tab key work."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfast.surfaces.cli.running import PROGRAM, Command, Output, answers

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@answers
def command(shell: str) -> Output:
    """Print the completion script of a shell

    For bash: holdfast completion bash >> ~/.bashrc
    """
    from holdfast.surfaces.cli.root import root

    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source()
    return Output({"shell": shell, "script": script}, script)
