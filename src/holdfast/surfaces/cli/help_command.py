"""`holdfast help`, `holdfast help COMMAND…` and `holdfast help all`."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import click

from holdfast.surfaces.cli.running import PROGRAM, Command, Output, answers
from holdfast.surfaces.cli.wording import LEAST_CHARS, find_columns


@click.command("help", cls=Command)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@answers
def command(words: tuple[str, ...]) -> Output:
    """Show the commands; `help all` shows every one of them"""
    from holdfast.surfaces.cli.root import root

    context = click.Context(root, info_name=PROGRAM, **root.context_settings)
    if words == ("all",):
        found = list(_list_commands(context))
        return Output({"commands": found}, _format_table(found))
    for word in words:
        context = _enter_command(context, word)
    below = list(_list_commands(context))
    return Output({"commands": below}, context.get_help())


def _enter_command(context: click.Context, word: str) -> click.Context:
    group = context.command
    if not isinstance(group, click.Group):
        raise click.UsageError(f"{context.command_path!r} has no commands of its own", context)
    _, found, _ = group.resolve_command(context, [word])
    assert found is not None
    return click.Context(found, parent=context, info_name=word)


def _format_table(found: list[dict[str, str]]) -> str:
    table = {}
    for entry in found:
        name = entry["command"].removeprefix(f"{PROGRAM} ")
        table[name] = entry["help"]
    width = max(map(len, table))
    room = max(find_columns() - width - 1, LEAST_CHARS)
    lines = []
    for name, text in table.items():
        first, *rest = wrap(text, room) or [""]
        lines.append(f"{name:<{width}} {first}")
        lines += [f"{'':<{width}} {line}" for line in rest]
    return "\n".join(lines)


def _list_commands(context: click.Context) -> Iterator[dict[str, str]]:
    """Everything that can be called from here on, with its one line of help."""
    command = context.command
    if not isinstance(command, click.Group):
        yield {"command": context.command_path, "help": command.get_short_help_str(60)}
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None:
            below = click.Context(found, parent=context, info_name=name)
            yield from _list_commands(below)
