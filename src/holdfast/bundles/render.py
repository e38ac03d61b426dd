"""A bundle as text: a head, how to read it, then the sections. Pure.

A line that begins at the margin is ours, and our own lines only state facts. Foreign text stands
behind a mark of ours, so that it cannot pass for a section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.bundles.model import BundleLine, Head, Item, Layout, ShownSection
from holdfast.ground.fence import one_line
from holdfast.ground.frozen import replace

TYPE_CHECKING = False
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
    parts = [
        f"HOLDFAST {head.phase}",
        *where,
        head.at,
        f"receipt {head.receipt}",
    ]
    return " · ".join(parts)


def write_legend(verdicts: Iterable[str | None]) -> str:
    """Only for the marks that stand in the bundle."""
    used = set(verdicts)
    marks = [mark for mark in LEGEND if mark in used]
    return " · ".join(f"[{mark}] {LEGEND[mark]}" for mark in marks)


def render(layout: Layout) -> str:
    head_lines = [line.text for line in list_head_lines(layout)]
    text = "\n".join(head_lines)
    has_neighbour = False  # whether the section right before this one is shown
    for shown in layout.shown:
        if shown.text:
            space = BETWEEN
            if shown.section.attached and has_neighbour:
                space = "\n"
            text += space + shown.text
        has_neighbour = bool(shown.text)
    if layout.left_out:
        text += f" ({layout.left_out})"
    return text


def list_head_lines(layout: Layout) -> list[BundleLine]:
    texts = [write_head_line(layout.head)]
    if layout.has_notice:
        texts.append(layout.head.notice)
    if layout.has_legend:
        items = [item for shown in layout.shown for item in shown.section.items]
        legend = write_legend(item.verdict for item in items)
        texts.append(legend)
    return [BundleLine("head", text) for text in texts if text]


def explain_lines(layout: Layout) -> list[BundleLine]:
    """The lines of the bundle in order; our own have no source, items have theirs."""
    lines = list_head_lines(layout)
    for shown in layout.shown:
        if shown.text:
            lines += _explain_section(shown)
    if layout.left_out:
        lines[-1] = replace(lines[-1], text=f"{lines[-1].text} ({layout.left_out})")
    return lines


def _explain_section(shown: ShownSection) -> list[BundleLine]:
    section = shown.section
    name = section.name
    listed = section.list_lines(shown.items, shown.left_out)
    lines = [_explain_line(name, text, item) for text, item in listed]
    if section.title:
        lines.insert(0, BundleLine(name, section.title))
    tail = section.tail.strip()
    if tail:
        lines.append(BundleLine(name, tail))
    return lines


def _explain_line(name: str, text: str, item: Item | None) -> BundleLine:
    if item is None:
        return BundleLine(name, text)
    return BundleLine(name, text, item.source, item.verdict)


def prefix_instruction(
    instruction: str, bundle: Bundle | None, native_ids: Mapping[str, str] | None = None
) -> str:
    """An instruction for an agent that a program starts, with the bundle, if any, before it."""
    if bundle is None:
        return instruction
    parts = [bundle.text]
    if native_ids:
        parts.append(_write_native_sessions(native_ids))
    parts.append(f"INSTRUCTION\n{instruction}")
    return BETWEEN.join(parts)


def _write_native_sessions(native_ids: Mapping[str, str]) -> str:
    known = []
    for client, native_id in sorted(native_ids.items()):
        name = one_line(client, ID_CHARS)
        known.append(f"{name} {one_line(native_id, ID_CHARS)}")
    return f"NATIVE SESSIONS (may be gone): {' · '.join(known)}"
