"""`holdfast help`, `holdfast help COMMAND…` and `holdfast help all`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.surfaces.cli.running import PROGRAM, Command, Output, answers


@click.command("help", cls=Command)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@answers
def command(words: tuple[str, ...]) -> Output:
    """Show the commands; `help all` shows every one of them"""
    from holdfast.surfaces.cli.root import root

    context = click.Context(root, info_name=PROGRAM, **root.context_settings)
    if words == ("all",):
        found = list(_list_commands(root, context))
        return Output({"commands": found}, _format_table(found))
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{context.command_path!r} has no commands of its own", context)
        _, found_command, _ = group.resolve_command(context, [word])
        assert found_command is not None
        context = click.Context(found_command, parent=context, info_name=word)
    return Output({"commands": list(_list_commands(context.command, context))}, context.get_help())


def _format_table(found: list[dict[str, str]]) -> str:
    names = [entry["command"].removeprefix(f"{PROGRAM} ") for entry in found]
    width = max(len(name) for name in names)
    rows = zip(names, found, strict=True)
    return "\n".join(f"{name:<{width}} {entry['help']}" for name, entry in rows)


def _list_commands(command: click.Command, context: click.Context) -> Iterator[dict[str, str]]:
    """Everything that can be called from here on, with its one line of help."""
    if not isinstance(command, click.Group):
        yield {"command": context.command_path, "help": command.get_short_help_str(60)}
        return
    for name in command.list_commands(context):
        if found := command.get_command(context, name):
            yield from _list_commands(found, click.Context(found, parent=context, info_name=name))
