"""`holdfast completion SHELL`: the script that makes the Tab key work."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfast.surfaces.cli.running import PROGRAM, Command, Output, answers

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@answers
def command(shell: str) -> Output:
    """Print the completion script of a shell

    Run the line of your shell once, then open a new one:

    \b
      holdfast completion bash >> ~/.bashrc
      holdfast completion zsh >> ~/.zshrc      # below the line with compinit
      holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    from holdfast.surfaces.cli.root import root

    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source()
    return Output({"shell": shell, "script": script}, script)
