"""`holdfast help` and `holdfast help all`."""

from __future__ import annotations

import click

from holdfast.surfaces.cli.running import PROGRAM


@click.command("help")
@click.argument("what", required=False)
def command(what: str | None) -> None:
    """Show the commands; `help all` shows every one of them"""
    from holdfast.surfaces.cli.root import root

    context = click.Context(root, info_name=PROGRAM)
    if what == "all":
        click.echo("\n".join(_lines(root, context, PROGRAM)))
    elif what is None:
        click.echo(root.get_help(context))
    else:
        _, found, _ = root.resolve_command(context, [what])
        click.echo(found.get_help(click.Context(found, parent=context, info_name=what)))


def _lines(group: click.Group, context: click.Context, path: str) -> list[str]:
    lines = []
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            lines += _lines(found, click.Context(found, parent=context, info_name=name), f"{path} {name}")
        elif found is not None:
            lines.append(f"{path} {name:<{34 - len(path)}} {found.get_short_help_str(60)}")
    return lines
