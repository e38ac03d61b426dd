"""How much of each section a bundle holds. Pure: the same sections and total give the same answer.

The head's first line and pinned sections stand whole, or the total is refused. What is left goes
round three times, in the order of rank: first each section gets its minimum, and its first item
though that is longer; then each has up to its maximum; then whoever still has something gets
whatever nobody else wanted. A section keeps its items from the first on and counts the rest, and it
stands with one of them at least or not at all. Prose may end at a word, and so may an item that
would be the only one. Whatever is not there, or not whole, is a cut with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from holdfast.bundles.model import (
    OURS,
    Cut,
    Head,
    Item,
    Layout,
    Section,
    ShownSection,
    describe_no_room,
)
from holdfast.bundles.render import BETWEEN, write_head_line, write_legend
from holdfast.errors import InvalidValueError
from holdfast.ground.text import ELLIPSIS, cut

LEAST = 450
SHORTEST = 40  # less of a sentence says nothing
TOTALS = {"planning": 2_200, "implementation": 1_700}


def total_for(phase: str, *limits: int | None) -> int:
    """The phase's own total, or less where a client or a caller takes less."""
    total = min([TOTALS[phase], *(limit for limit in limits if limit is not None)])
    if total < LEAST:
        raise InvalidValueError(
            "limit", total, f"is too small: a head and pinned rules need {LEAST} characters"
        )
    return total


def fit(head: Head, sections: Sequence[Section], total: int) -> Layout:
    shown = [
        _show_whole(section) if section.pinned else _show_nothing(section, total)
        for section in sections
    ]
    room = total - len(write_head_line(head)) - sum(map(_count_chars, shown))
    if room < 0:
        raise InvalidValueError(
            "limit",
            total,
            f"is too small: the head and the pinned rules need {total - room} characters",
        )
    marks = (item.verdict for section in sections for item in section.items)
    has_notice, room = _afford(head.notice, room, total)
    has_legend, room = _afford(write_legend(marks) if head.phase == "planning" else "", room, total)
    return Layout(head, total, has_notice, has_legend, tuple(_share_room(shown, room, total)))


def _afford(line: str, room: int, total: int) -> tuple[bool, int]:
    """Lines that explain are worth less than what they explain: they take nothing where it is
    tight.
    """
    left = room - len(line) - 1
    return (True, left) if line and left >= total // 3 else (False, room)


def _share_room(shown: list[ShownSection], room: int, total: int) -> list[ShownSection]:
    places = [at for at, each in enumerate(shown) if not each.section.pinned]
    by_rank = sorted(places, key=lambda at: shown[at].section.rank)
    for wanted in (_find_least, _find_most, lambda section: total):
        for at in by_rank:
            section, spare = shown[at].section, room + _count_chars(shown[at])
            allowed = max(wanted(section), len(shown[at].text))
            shown[at] = _fit_section(section, min(allowed, spare - len(BETWEEN)), total)
            room = spare - _count_chars(shown[at])
    return shown


def _find_least(section: Section) -> int:
    """The minimum, or what one whole item takes; prose may end early, so the minimum is enough for
    it.
    """
    if not section.min_chars or not section.items or section.items[0].is_prose:
        return section.min_chars
    first = section.write([section.items[0].text], len(section.items) - 1 + len(section.held))
    return max(section.min_chars, min(len(first), section.max_chars))


def _find_most(section: Section) -> int:
    return section.max_chars


def _fit_section(section: Section, room: int, total: int) -> ShownSection:
    """The most of it that fits, from its first item on."""
    most = sum(size <= room for size in accumulate(len(item.text) for item in section.items))
    for count in range(most, -1, -1):
        kept = _add_beginning(section, count, room)
        missing = len(section.items) - len(kept) + len(section.held)
        text = section.write([item.text for item in kept], missing) if kept or not missing else ""
        if text and len(text) <= room:
            return _make_shown(section, kept, text, total)
    return _show_nothing(section, total)


def _add_beginning(section: Section, count: int, room: int) -> tuple[Item, ...]:
    """So many items, and the beginning of the next one where that is prose, or where it would be
    the only one.
    """
    kept, rest = section.items[:count], section.items[count:]
    if not rest or (kept and not rest[0].is_prose):
        return kept
    without = section.write([*(item.text for item in kept), ""], len(rest) - 1 + len(section.held))
    beginning = _cut_to_beginning(rest[0], room - len(without))
    return (*kept, beginning) if beginning else kept


def _cut_to_beginning(item: Item, room: int) -> Item | None:
    """As much of an item as there is room for, with what has to stand at its end; a path is no use
    in part.
    """
    at = len(item.text) - item.keep
    body, end = item.text[:at], item.text[at:]
    if room - len(end) < SHORTEST:
        return None
    begun = cut(body, room - len(end))
    is_at_a_word = body[len(begun.removesuffix(ELLIPSIS)) :][:1] in ("", " ")
    return replace(item, text=begun + end) if item.is_prose or is_at_a_word else None


def _make_shown(section: Section, kept: tuple[Item, ...], text: str, total: int) -> ShownSection:
    full = describe_no_room(total)
    rest = section.items[len(kept) :]
    cuts = [Cut(section.name, item.text, item.source, full) for item in rest]
    if not text and section.title and not (section.items or section.held):
        cuts.append(Cut(section.name, section.title, OURS, full))
    for item, whole in zip(kept, section.items, strict=False):
        if item != whole:
            cuts.append(Cut(section.name, whole.text, whole.source, f"shortened; {full}"))
    return ShownSection(
        section, kept, len(rest) + len(section.held), text, (*cuts, *section.held, *section.gone)
    )


def _show_whole(section: Section) -> ShownSection:
    texts = [item.text for item in section.items]
    text = section.write(texts, len(section.held))
    return ShownSection(
        section, section.items, len(section.held), text, (*section.held, *section.gone)
    )


def _show_nothing(section: Section, total: int) -> ShownSection:
    return _make_shown(section, (), "", total)


def _count_chars(shown: ShownSection) -> int:
    return len(shown.text) + len(BETWEEN) if shown.text else 0
