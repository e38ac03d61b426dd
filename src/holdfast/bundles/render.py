"""A bundle as text: who and when, how to read it, then the sections. Pure, and our own words only
state.

A line that begins at the margin is ours. Whatever somebody else wrote stands behind a mark of ours,
so that nobody can write a section of his own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.bundles.model import BundleLine, Head, Layout, ShownSection
from holdfast.ground.fence import one_line

if TYPE_CHECKING:
    from holdfast.bundles.model import Bundle

BETWEEN = "\n\n"
ID_CHARS = 80
LEGEND = {
    "ok": "evidence unchanged",
    "moved": "same text, new lines",
    "changed": "no longer matches",
    "said": "quoted, no evidence",
}


def write_head_line(head: Head) -> str:
    where = [part for part in (head.repo, head.branch) if part]
    return " · ".join([f"HOLDFAST {head.phase}", *where, head.at, f"receipt {head.receipt}"])


def write_legend(verdicts: Iterable[str | None]) -> str:
    """Only for the marks that a reader may meet."""
    met = set(verdicts)
    return " · ".join(
        f"[{verdict}] {meaning}" for verdict, meaning in LEGEND.items() if verdict in met
    )


def render(layout: Layout) -> str:
    text = "\n".join(line.text for line in list_head_lines(layout))
    is_joined = False  # whether the section right before this one stands there
    for shown in layout.shown:
        if shown.text:
            text += ("\n" if shown.section.attached and is_joined else BETWEEN) + shown.text
        is_joined = bool(shown.text)
    return text


def list_head_lines(layout: Layout) -> list[BundleLine]:
    texts = [write_head_line(layout.head)]
    if layout.has_notice:
        texts.append(layout.head.notice)
    if layout.has_legend:
        items = [item for shown in layout.shown for item in shown.section.items]
        texts.append(write_legend(item.verdict for item in items))
    return [BundleLine("head", text) for text in texts if text]


def explain_lines(layout: Layout) -> list[BundleLine]:
    """What stands in the bundle, in order: ours without a source, each item with its own."""
    lines = list_head_lines(layout)
    for shown in layout.shown:
        if shown.text:
            lines += _explain_section(shown)
    return lines


def _explain_section(shown: ShownSection) -> list[BundleLine]:
    section = shown.section
    items = [BundleLine(section.name, item.text, item.source, item.verdict) for item in shown.items]
    more = f"+{shown.left_out} more" if shown.left_out else ""
    ends = [BundleLine(section.name, text) for text in (more, section.tail.strip()) if text]
    title = [BundleLine(section.name, section.title)] if section.title else []
    return [*title, *items, *ends]


def prefix_instruction(
    instruction: str, bundle: Bundle | None, native_ids: Mapping[str, str] | None = None
) -> str:
    """An instruction for an agent that a program starts itself; without a bundle it stays as it is."""
    if bundle is None:
        return instruction
    known = [
        f"{one_line(client, ID_CHARS)} {one_line(id_, ID_CHARS)}"
        for client, id_ in sorted((native_ids or {}).items())
    ]
    sessions = [f"NATIVE SESSIONS (may be gone): {' · '.join(known)}"] if known else []
    return BETWEEN.join([bundle.text, *sessions, f"INSTRUCTION\n{instruction}"])
