"""`holdfast check memory`: the clients' own memory files, checked against this checkout."""

from __future__ import annotations

import os

import click

from holdfast.ground.masking import Mask
from holdfast.ground.settings import load_settings
from holdfast.surfaces import memory_wording as words
from holdfast.surfaces.cli.running import Group, Output, answers, current_folder, here
from holdfast.usecases import client_memory

SHOWN = 20


@click.group("check", cls=Group)
def command() -> None:
    """Check what the clients remember themselves"""


@command.command("memory")
@answers
def memory() -> Output:
    """Check the clients' own memory against this checkout

    Reads CLAUDE.md, AGENTS.md, GEMINI.md and the memory folders of the clients; changes nothing.
    """
    found = client_memory.check_memory(current_folder(), os.environ)
    check = client_memory.mask_check(found, Mask(load_settings().home))
    root = here()
    return Output(
        words.check_to_dict(check), _describe(check, root), words.list_problems(check, root)
    )


def _describe(check: client_memory.MemoryCheck, root: str) -> str:
    if not check.files:
        return words.NOTHING_READ
    lines = [f"{words.describe_counts(check.counts)} ({words.describe_extent(check)})"]
    stale = words.list_shown(check, root)
    for note in stale[:SHOWN]:
        lines += ["", f"{note.verdict:<8} {note.place}  {note.title}", f'  "{note.quote}"']
        lines += [f"  {problem}" for problem in note.problems]
        lines.append(f"  {note.advice}")
    if len(stale) > SHOWN:
        lines += ["", f"+{len(stale) - SHOWN:,} more; --json lists all"]
    return "\n".join(lines)
