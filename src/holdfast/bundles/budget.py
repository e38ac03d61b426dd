"""How much of each section a bundle holds. Pure: the same sections and total give the same answer.

The head's first line and pinned sections stand whole, or the total is refused. The remaining room
is shared in three rounds, in the order of rank: first each section gets its minimum, or its first
item where that is longer; then each gets up to its maximum; then what is left goes to the sections
that still have something to show. A section keeps its items from the first on and counts the rest;
it stands with at least one item or not at all. Prose may end at a word, and so may an item that
would be the only one. Whatever is missing or shortened is a cut with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    known_limits = [limit for limit in limits if limit is not None]
    total = min([TOTALS[phase], *known_limits])
    if total < LEAST:
        problem = f"is too small: a head and pinned rules need {LEAST} characters"
        raise InvalidValueError("limit", total, problem)
    return total


def fit(head: Head, sections: Sequence[Section], total: int) -> Layout:
    shown = [_show_first(section, total) for section in sections]
    room = _find_free_room(head, shown, total)
    has_notice, room = _afford(head.notice, room, total)
    has_legend, room = _afford(_write_legend_for(head, sections), room, total)
    shared = _share_room(shown, room, total)
    return Layout(
        head=head,
        total=total,
        has_notice=has_notice,
        has_legend=has_legend,
        shown=tuple(shared),
    )


def _show_first(section: Section, total: int) -> ShownSection:
    """Before any room is shared."""
    if section.pinned:
        return _show_whole(section)
    return _show_nothing(section, total)


def _find_free_room(head: Head, pinned: Sequence[ShownSection], total: int) -> int:
    pinned_chars = sum(_count_chars(shown) for shown in pinned)
    needed = len(write_head_line(head)) + pinned_chars
    if needed > total:
        problem = f"is too small: the head and the pinned rules need {needed} characters"
        raise InvalidValueError("limit", total, problem)
    return total - needed


def _write_legend_for(head: Head, sections: Sequence[Section]) -> str:
    if head.phase != "planning":
        return ""
    items = [item for section in sections for item in section.items]
    return write_legend(item.verdict for item in items)


def _afford(line: str, room: int, total: int) -> tuple[bool, int]:
    """Lines that explain give way where room is tight: what they explain is worth more."""
    left = room - len(line) - 1
    if line and left >= total // 3:
        return True, left
    return False, room


# --- sharing --------------------------------------------------------------------------------------


def _share_room(shown: list[ShownSection], room: int, total: int) -> list[ShownSection]:
    """Least first, then most, then all that is free, in the order of rank each time.

    A section that takes more may become shorter, because it no longer counts what it leaves out. So
    free room is offered again until no section changes.
    """
    for find_wanted in (_find_least, _find_most):
        room = _offer_room(shown, room, total, find_wanted)
    for _ in shown:
        before = list(shown)
        room = _offer_room(shown, room, total, lambda section: total)
        if shown == before:
            break
    return shown


def _offer_room(
    shown: list[ShownSection], room: int, total: int, find_wanted: Callable[[Section], int]
) -> int:
    """Let each section take what it wants, and return what is left."""
    places = [at for at, each in enumerate(shown) if not each.section.pinned]
    places.sort(key=lambda at: shown[at].section.rank)
    for at in places:
        before = shown[at]
        spare = room + _count_chars(before)
        allowed = max(find_wanted(before.section), len(before.text))
        section_room = min(allowed, spare - len(BETWEEN))
        shown[at] = _fit_section(before.section, section_room, total)
        room = spare - _count_chars(shown[at])
    return room


def _find_least(section: Section) -> int:
    """The minimum, or the length of one whole item; for prose, which may end early, the minimum."""
    least = section.min_chars
    if not least or not section.items:
        return least
    first, *others = section.items
    if first.is_prose:
        return least
    left_out = len(others) + len(section.held)
    text = section.write([first.text], left_out)
    affordable = min(len(text), section.max_chars)
    return max(least, affordable)


def _find_most(section: Section) -> int:
    return section.max_chars


def _count_chars(shown: ShownSection) -> int:
    if not shown.text:
        return 0
    return len(shown.text) + len(BETWEEN)


# --- one section ----------------------------------------------------------------------------------


def _fit_section(section: Section, room: int, total: int) -> ShownSection:
    """The most of it that fits, from its first item on."""
    for count in range(_count_items_that_may_fit(section, room), -1, -1):
        kept = _add_beginning(section, count, room)
        text = _write_kept(section, kept)
        if text and len(text) <= room:
            return _make_shown(section, kept, text, total)
    return _show_nothing(section, total)


def _count_items_that_may_fit(section: Section, room: int) -> int:
    """By their own lengths alone, so that few texts have to be written."""
    sizes = accumulate(len(item.text) for item in section.items)
    return sum(size <= room for size in sizes)


def _write_kept(section: Section, kept: Sequence[Item]) -> str:
    left_out = _count_left_out(section, kept)
    if left_out and not kept:
        return ""
    texts = [item.text for item in kept]
    return section.write(texts, left_out)


def _count_left_out(section: Section, kept: Sequence[Item]) -> int:
    return len(section.items) - len(kept) + len(section.held)


def _add_beginning(section: Section, count: int, room: int) -> tuple[Item, ...]:
    """So many items, and the beginning of the next one if it is prose or would be the only one."""
    kept = section.items[:count]
    if count == len(section.items):
        return kept
    following = section.items[count]
    if kept and not following.is_prose:
        return kept
    texts = [item.text for item in kept]
    left_out = _count_left_out(section, [*kept, following])
    without = section.write([*texts, ""], left_out)
    beginning = _cut_to_beginning(following, room - len(without))
    if beginning is None:
        return kept
    return (*kept, beginning)


def _cut_to_beginning(item: Item, room: int) -> Item | None:
    """As much of an item as fits, with the end that has to stand; a part of a path is of no use."""
    at = len(item.text) - item.keep
    body = item.text[:at]
    end = item.text[at:]
    body_room = room - len(end)
    if body_room < SHORTEST:
        return None
    beginning = cut(body, body_room)
    rest = body[len(beginning.removesuffix(ELLIPSIS)) :]
    ends_at_a_word = not rest or rest.startswith(" ")
    if not item.is_prose and not ends_at_a_word:
        return None
    return replace(item, text=beginning + end)


# --- what became of a section ---------------------------------------------------------------------


def _make_shown(section: Section, kept: tuple[Item, ...], text: str, total: int) -> ShownSection:
    cuts = _list_cuts(section, kept, text, total)
    return ShownSection(
        section=section,
        items=kept,
        left_out=_count_left_out(section, kept),
        text=text,
        cut=(*cuts, *section.held, *section.gone),
    )


def _list_cuts(section: Section, kept: Sequence[Item], text: str, total: int) -> list[Cut]:
    name = section.name
    why = describe_no_room(total)
    rest = section.items[len(kept) :]
    cuts = [Cut(name, item.text, item.source, reason=why) for item in rest]
    is_title_alone = section.title and not section.items and not section.held
    if not text and is_title_alone:
        cuts.append(Cut(name, section.title, OURS, reason=why))
    for item, whole in zip(kept, section.items, strict=False):
        if item != whole:
            cuts.append(Cut(name, whole.text, whole.source, reason=f"shortened; {why}"))
    return cuts


def _show_whole(section: Section) -> ShownSection:
    left_out = len(section.held)
    texts = [item.text for item in section.items]
    return ShownSection(
        section=section,
        items=section.items,
        left_out=left_out,
        text=section.write(texts, left_out),
        cut=(*section.held, *section.gone),
    )


def _show_nothing(section: Section, total: int) -> ShownSection:
    return _make_shown(section, (), "", total)
