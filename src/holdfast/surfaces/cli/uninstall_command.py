"""`holdfast uninstall`: what `init` has put anywhere comes out again; the data stays."""

from __future__ import annotations

import os

import click

from holdfast.ground.settings import load_settings
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.running import Command, Output, answers, here
from holdfast.surfaces.mcp import offer
from holdfast.usecases import setting_up

NOTHING = "Nothing to remove: no client's settings have anything of Holdfast."
ABSENT = "{} is not there now. Run `holdfast uninstall` again on the branch that has it."


@click.command("uninstall", cls=Command)
@answers
def command() -> Output:
    """Remove Holdfast from every client's settings

    What was stored stays, and the program itself; clients that are running go on.
    """
    settings = load_settings()
    place = setting_up.make_place(settings, here(), offer.list_tools(), os.environ)
    result = setting_up.remove_everything(settings, place)
    lines = [words.describe_removal(change) for change in result.changes]
    if not (lines or result.problems):
        lines = [NOTHING]
    lines.append(f"Your data stays in {words.shorten_path(settings.home)}")
    data = {
        "changes": [words.change_to_dict(change) for change in result.changes],
        "problems": list(result.problems),
        "absent": list(result.absent),
        "home": settings.home,
    }
    exit_code = 5 if result.problems else 0
    absent = [ABSENT.format(words.shorten_path(path)) for path in result.absent]
    return Output(data, "\n".join(lines), [*result.problems, *absent], exit_code=exit_code)
