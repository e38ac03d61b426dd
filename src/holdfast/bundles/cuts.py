"""What a rule leaves out of a section or shortens, with the reason; and list sections. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.bundles.model import LINE_CHARS, Cut, Item, Section
from holdfast.bundles.quoting import PROSE_CHARS, quote
from holdfast.ground.frozen import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def list_section(
    name: str,
    title: str,
    items: Sequence[Item],
    *,
    held: Sequence[Cut] = (),
    **more: Any,
) -> Section:
    """A section with a heading, which is left out where there are no items."""
    if not items:
        title = ""
    return Section(name, title, tuple(items), held=tuple(held), **more)


def count_unread(section: Section, unread: int, source: str, why: str) -> Section:
    """With the number of further entries, which were not looked at one by one."""
    if not unread:
        return section
    cut = Cut(section.name, f"{unread:,} more entries", source, reason=why)
    return replace(section, unread=section.unread + unread, gone=(*section.gone, cut))


def hold_back(section: str, items: Iterable[Item], why: str) -> tuple[Cut, ...]:
    return tuple(Cut(section, item.text, item.source, reason=why) for item in items)


def hold_back_too_long(section: Section) -> Section:
    """Without the items that would say the opposite on a line that ends early."""
    if section.pinned:
        return section
    why = f"a line has {LINE_CHARS} characters, and a part of it would say something else"
    room = LINE_CHARS
    if section.lead == " " and section.joined != " · ":  # its lines begin behind the title
        room -= len(section.title) + 1
    short: list[Item] = []
    long: list[Item] = []
    for item in section.items:
        is_short = len(item.shorten(room).text) <= room
        (short if is_short else long).append(item)
    if not long:
        return section
    held = (*section.held, *hold_back(section.name, long, why))
    return replace(section, items=tuple(short), held=held, title=section.title if short else "")


def list_cut_lines(section: str, noted: Iterable[tuple[object, Item]]) -> tuple[Cut, ...]:
    """Of texts and their lines, those that are not whole there."""
    why = f"shortened: a line has {LINE_CHARS} characters"
    whole = [(quote(text, PROSE_CHARS), item) for text, item in noted]
    return tuple(
        Cut(section, text, item.source, reason=why) for text, item in whole if text not in item.text
    )


def list_shortened(
    section: str, texts: Iterable[object], source: str, max_chars: int
) -> tuple[Cut, ...]:
    """What is shortened before any budget, because one long note would hide all the others."""
    why = f"shortened: it may have {max_chars} characters here"
    long = [quote(text, PROSE_CHARS) for text in texts if _is_long(text, max_chars)]
    # A text may be long only by characters that are not quoted.
    still_long = [text for text in long if _is_long(text, max_chars)]
    return tuple(Cut(section, text, source, reason=why) for text in still_long)


def _is_long(text: object, max_chars: int) -> bool:
    return isinstance(text, str) and len(text) > max_chars
