"""`holdfast why`: this checkout's last bundle line by line, with where each line is from and what was left out."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.bundles.model import Explained, Line
from holdfast.ground.text import cut
from holdfast.surfaces.cli.bundle_command import bundles
from holdfast.surfaces.cli.running import Command, Output, here, prints

LINE_CHARS = 100
ELSEWHERE = "No bundle was made in this checkout yet; this is the last one of all."


@click.command("why", cls=Command)
@click.argument("receipt", required=False, metavar="[RECEIPT]")
@prints
def command(app: App, receipt: str | None) -> Output:
    """Explain the last bundle: source, verdict, what was cut"""
    explained = app.run(bundles(app).explain(receipt, worktree=here()))
    return Output(explained.to_dict(), _text(explained), () if explained.is_here else (ELSEWHERE,))


def _text(explained: Explained) -> str:
    when = f"{explained.created_at:%Y-%m-%d %H:%MZ}"
    size = f"{explained.chars:,} of {explained.limit:,} characters, about {explained.tokens:,} tokens"
    lines = [f"Receipt {explained.short_id} · {explained.phase} · {when} · {size}", ""]
    lines += [_line(one) for one in explained.lines]
    if explained.cut:
        lines += ["", "Left out"]
        lines += [f"  {cut(_first(one.text), LINE_CHARS)}\n      {one.source}: {one.reason}" for one in explained.cut]
    return "\n".join(lines)


def _line(line: Line) -> str:
    text = cut(_first(line.text), LINE_CHARS)
    if line.source is None:
        return text
    verdict = f", {line.verdict}" if line.verdict else ""
    return f"  {text}\n      from {line.source}{verdict}"


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
