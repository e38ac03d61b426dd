"""How much of each section a bundle holds. Pure: the same sections and total give the same answer.

The head's first line and pinned sections stand whole, or the total is refused. What is left goes round three times, in
the order of the sections: each gets what fits into its minimum, then into its maximum, then into whatever nobody else
wanted. So a long summary cannot push out the decisions, and nothing stays empty while something was cut.

A section keeps its items from the first on. The first that has no room ends it: prose is shortened at a word, anything
else is left out whole, and what is missing is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.bundles.model import Cut, Head, Item, Layout, Section, Shown
from holdfast.bundles.render import BETWEEN, head_line, legend
from holdfast.errors import InvalidValueError
from holdfast.ground.text import cut

LEAST = 450
SHORTEST = 40  # less of a sentence says nothing
OURS = "holdfast"
TOTALS = {"planning": 2_200, "implementation": 1_700}


def total_for(phase: str, *limits: int | None) -> int:
    """The phase's own total, or less where a client or a caller takes less."""
    total = min([TOTALS[phase], *(limit for limit in limits if limit is not None)])
    if total < LEAST:
        raise InvalidValueError("limit", total, f"is too small: a head and pinned rules need {LEAST} characters")
    return total


def fit(head: Head, sections: Sequence[Section], total: int) -> Layout:
    shown = [_whole(section) if section.pinned else _absent(section) for section in sections]
    room = total - len(head_line(head)) - sum(map(_cost, shown))
    if room < 0:
        raise InvalidValueError(
            "limit", total, f"is too small: the head and the pinned rules need {total - room} characters"
        )
    explained = legend(item.verdict for section in sections for item in section.items)
    has_notice, room = _afford(head.notice, room, total)
    has_legend, room = _afford(explained, room, total)
    return Layout(head, total, has_notice, has_legend, tuple(_share(shown, room, total)))


def _afford(line: str, room: int, total: int) -> tuple[bool, int]:
    """Lines that explain are worth less than what they explain: they take nothing where it is tight."""
    left = room - len(line) - 1
    return (True, left) if line and left >= total // 3 else (False, room)


def _share(shown: list[Shown], room: int, total: int) -> list[Shown]:
    for turn in ("min_chars", "max_chars", None):
        for at, one in enumerate(shown):
            if one.section.pinned:
                continue
            spare = room + _cost(one)
            wanted = total if turn is None else getattr(one.section, turn)
            shown[at] = _fit_section(one.section, min(wanted, spare - len(BETWEEN)), total)
            room = spare - _cost(shown[at])
    return shown


def _fit_section(section: Section, room: int, total: int) -> Shown:
    """The most of it that fits, from its first item on."""
    items = section.items
    for count in range(len(items), -1, -1):
        missing = len(items) - count + len(section.held)
        kept = _with_shortened(section, count, missing, room)
        if len(text := section.written([item.text for item in kept], missing - (len(kept) - count))) <= room and text:
            return _shown(section, kept, text, total)
    return _absent(section, total)


def _with_shortened(section: Section, count: int, missing: int, room: int) -> tuple[Item, ...]:
    """So many items, and the beginning of the next one where that is prose and there is room for it."""
    kept, rest = section.items[:count], section.items[count:]
    if not rest or not rest[0].is_prose:
        return kept
    left = room - len(section.written([*(item.text for item in kept), ""], missing - 1))
    if left < SHORTEST:
        return kept
    return (*kept, replace(rest[0], text=cut(rest[0].text, left)))


def _shown(section: Section, kept: tuple[Item, ...], text: str, total: int) -> Shown:
    full = f"no room: the bundle may have {total:,} characters"
    rest = section.items[len(kept) :]
    cuts = [Cut(section.name, item.text, item.source, full) for item in rest]
    if not text and section.title and not section.items:
        cuts.append(Cut(section.name, section.title, OURS, full))
    for item, whole in zip(kept, section.items, strict=False):
        if item != whole:
            cuts.append(Cut(section.name, whole.text, whole.source, f"shortened; {full}"))
    return Shown(section, kept, len(rest) + len(section.held), text, (*cuts, *section.held, *section.gone))


def _whole(section: Section) -> Shown:
    text = section.written([item.text for item in section.items], len(section.held))
    return Shown(section, section.items, len(section.held), text, (*section.held, *section.gone))


def _absent(section: Section, total: int = 0) -> Shown:
    return _shown(section, (), "", total)


def _cost(shown: Shown) -> int:
    return len(shown.text) + len(BETWEEN) if shown.text else 0
