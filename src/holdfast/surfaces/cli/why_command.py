"""`holdfast why`: this checkout's last bundle, the source of each line, and what was left out; and
the notices that were given here.
"""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.bundles.errors import ReceiptNotFoundError
from holdfast.bundles.model import BundleExplanation, BundleLine, Cut
from holdfast.ground.text import cut
from holdfast.surfaces.cli.bundle_command import bundles
from holdfast.surfaces.cli.running import Command, Output, here, prints
from holdfast.usecases.told_notices import ExplainedNotice, explain_notices

LINE_CHARS = 100
ELSEWHERE = "No bundle was made in this checkout yet; this is the last one of all."
MOMENTS = {"start": "at the start", "prompt": "at a prompt", "edit": "at an edit"}


@click.command("why", cls=Command)
@click.argument("receipt", required=False, metavar="[RECEIPT]")
@prints
def command(app: App, receipt: str | None) -> Output:
    """Explain the last bundle: source, verdict, what was cut"""
    notices = app.run(explain_notices(app, here()))
    told = {"notices": [notice.to_dict() for notice in notices]}
    try:
        explained = app.run(bundles(app).explain(receipt, worktree=here()))
    except ReceiptNotFoundError:
        if receipt or not notices:
            raise
        return Output(told, _describe_notices(notices))
    warnings = [] if explained.is_here else [ELSEWHERE]
    texts = [_describe(explained), _describe_notices(notices)]
    text = "\n\n".join(filter(None, texts))
    return Output({**explained.to_dict(), **told}, text, warnings)


def _describe_notices(notices: list[ExplainedNotice]) -> str:
    if not notices:
        return ""
    return "\n".join(["Notices, each once per session", *map(_describe_notice, notices)])


def _describe_notice(notice: ExplainedNotice) -> str:
    text = _shorten(notice.text or "(no longer noted here)")
    session = notice.session_id or notice.native_id
    where = f"{MOMENTS[notice.moment]} in {notice.client}"
    return (
        f"  {notice.entry} {notice.kind}: {text}\n"
        f"      {notice.at:%Y-%m-%d %H:%MZ} {where}, session {session}: {notice.why}"
    )


def _describe(explained: BundleExplanation) -> str:
    lines = [_describe_head(explained), ""]
    lines += [_describe_line(line) for line in explained.lines]
    if explained.cut:
        lines += ["", "Left out"]
        lines += [_describe_cut(left_out) for left_out in explained.cut]
    return "\n".join(lines)


def _describe_head(explained: BundleExplanation) -> str:
    parts = [
        f"Receipt {explained.short_id}",
        explained.phase,
        f"{explained.created_at:%Y-%m-%d %H:%MZ}",
        f"{explained.chars:,} of {explained.limit:,} characters, about {explained.tokens:,} tokens",
    ]
    return " · ".join(parts)


def _describe_cut(left_out: Cut) -> str:
    text = _shorten(left_out.text)
    return f"  {text}\n      {left_out.source}: {left_out.reason}"


def _describe_line(line: BundleLine) -> str:
    text = _shorten(line.text)
    if line.source is None:
        return text
    source = f"from {line.source}"
    if line.verdict:
        source += f", {line.verdict}"
    return f"  {text}\n      {source}"


def _shorten(text: str) -> str:
    first, _, _ = text.strip().partition("\n")
    return cut(first, LINE_CHARS)
