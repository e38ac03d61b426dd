"""How much of each section a bundle holds. Pure: the same sections and total give the same answer.

The head's first line and pinned sections stand whole, or the total is refused. The remaining room
goes to the other sections in the order of rank, in two passes: in the first each may fill its
maximum, in the second all that is left. Where an item does not fit, as much of it stands as room
allows, and the pass is over: nothing of a lower rank stands while something of a higher rank was
cut for room. Lines are shortened first (`LINES`), at last to their first clauses, so that more of
them stand. A section keeps its items from the first on and counts the rest. The last line names the
sections that are left out whole. Whatever is missing or shortened is a cut with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from holdfast.bundles.clauses import cut_after_word, is_turned_before, keep_turn
from holdfast.bundles.model import (
    CONTINUED,
    LINE_CHARS,
    NARROW_CHARS,
    OURS,
    Cut,
    Head,
    Item,
    Layout,
    Section,
    ShownSection,
    describe_no_room,
    ends_at_word,
)
from holdfast.bundles.render import BETWEEN, render, write_head_line, write_legend
from holdfast.errors import InvalidValueError
from holdfast.ground import light_json as json
from holdfast.ground.frozen import replace
from holdfast.ground.text import ELLIPSIS, cut

LEAST = 450
SHORTEST = 40  # less of a sentence says nothing
ESCAPES, STEP = 22, 50  # escaped characters that fit beside a tenth of the text, and the next try
# How long a line may be: shorter where room is short, and in the end only its first clauses.
LINES = (LINE_CHARS, 160, 130, NARROW_CHARS, 80)
NAMES_CHARS = 40  # of the sections that are left out
SHORT_NAMES = {
    "context_sets": "sets",
    "remembered_rules": "remembered",
    "last_run": "last run",
    "last_pass": "last pass",
    "notes": "scratchpad",
    "others": "notes of others",
    "before": "request before",
    "answer": "last answer",
    "question": "what it replies to",
    "earlier": "earlier requests",
}
FILLED_AGAIN = 3  # so often at most, because less room may leave out more
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
    """Where JSON escapes so much that its bound is passed, notes get marks that cost less.

    If these are not enough, the text is shorter, as long as at least half of it stands.
    """
    layout = _fit_into(head, sections, total, total)
    if _is_within_bound(layout):
        return layout
    softened = [section.soften_quotes() for section in sections]
    tries = [_fit_into(head, softened, total, total)]
    most = total - STEP
    while most >= max(LEAST, total // 2) and not _is_within_bound(tries[-1]):
        tries.append(_fit_into(head, softened, total, most))
        most -= STEP
    return tries[-1] if _is_within_bound(tries[-1]) else tries[0]


def _is_within_bound(layout: Layout) -> bool:
    """Whether the text as JSON leaves room for the rest of an answer."""
    text = render(layout)
    escaped = len(json.dumps(text, ensure_ascii=False)) - len(text)
    return escaped <= len(text) // 10 + ESCAPES


def _fit_into(head: Head, sections: Sequence[Section], total: int, most: int) -> Layout:
    room = _find_free_room(head, sections, total) - (total - most)
    has_notice, room = _afford(head.notice, room, total)
    has_legend, room = _afford(_write_legend_for(head, sections), room, total)
    no_room = describe_no_room(total, most)
    page, left_out = _fill_and_name_rest(sections, room)
    return Layout(
        head=head,
        total=total,
        most=most,
        has_notice=has_notice,
        has_legend=has_legend,
        shown=tuple(_show(page, at, whole, no_room) for at, whole in enumerate(sections)),
        left_out=left_out,
    )


def _find_free_room(head: Head, sections: Sequence[Section], total: int) -> int:
    pinned = [_write(section, section.items) for section in sections if section.pinned]
    needed = len(write_head_line(head)) + sum(map(_count_chars, pinned))
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


def _fill_and_name_rest(sections: Sequence[Section], room: int) -> tuple[_Page, str]:
    """The room of what the last line adds is kept free before the page is filled again."""
    most = min(NAMES_CHARS, room // 20)
    shortened = _Shortened(sections)
    page = _fill_page(shortened, room)
    names = _name_left_out(page, most)
    kept_free = 0
    for _ in range(FILLED_AGAIN):
        if not names or len(names) <= kept_free:
            break
        kept_free = len(names)
        page = _fill_page(shortened, room - kept_free - len(" ()"))
        names = _name_left_out(page, most)
    return page, _name_left_out(page, kept_free)


def _name_left_out(page: _Page, max_chars: int) -> str:
    """The sections without a line, with the number of their items, as far as they fit."""
    names = ""
    for section, text in zip(page.sections, page.texts, strict=True):
        name = SHORT_NAMES.get(section.name, section.name)
        lead = f"{names}, " if names else ""
        longer = f"{lead}{name} {_count_left_out(section, ())}"
        has_more = section.items or section.unread
        if has_more and not text and len(longer) <= max_chars:
            names = longer
    return names


class _Shortened:
    """Sections with shorter lines, each length made once however often a page is filled."""

    def __init__(self, sections: Sequence[Section]):
        self.sections = sections
        self.by_length: dict[int, list[Section]] = {}

    def get(self, line_chars: int) -> list[Section]:
        if line_chars not in self.by_length:
            self.by_length[line_chars] = [each.shorten(line_chars) for each in self.sections]
        return self.by_length[line_chars]


def _fill_page(shortened: _Shortened, room: int) -> _Page:
    """With lines as long as they may be while the first pass shows everything that it should."""
    for line_chars in LINES:
        page = _Page(shortened.get(line_chars), room)
        if page.fill():
            break
    page.reclaim()
    page.lengthen(shortened.sections)
    return page


# --- sharing --------------------------------------------------------------------------------------


class _Page:
    """What stands of each section so far, by its place, and the room that is left."""

    def __init__(self, sections: Sequence[Section], room: int):
        self.sections, self.room = sections, room
        self.kept = [_choose_pinned(section) for section in sections]
        self.texts = [_write_pinned(section) for section in sections]

    def fill(self) -> bool:
        """Whether the first pass was enough for what each section may have in it."""
        places = self._list_by_rank()
        is_enough = self._fill_once(places, _count_first)
        self._fill_once(places, _count_all)
        return is_enough

    def reclaim(self) -> None:
        """Fill the room that was counted for empty lines between sections that are attached."""
        for before, at in pairwise(range(len(self.sections))):
            if self.sections[at].attached and self.texts[before] and self.texts[at]:
                self.room += len(BETWEEN) - 1
        self._fill_once(self._list_by_rank(), _count_all)

    def lengthen(self, whole: Sequence[Section]) -> None:
        """Give the room that is left to lines that were shortened, by rank."""
        for at in self._list_by_rank():
            for number, item in enumerate(whole[at].items[: len(self.kept[at])]):
                self._lengthen_item(at, number, item)

    def _lengthen_item(self, at: int, number: int, whole: Item) -> None:
        shown = self.kept[at][number]
        longer = whole.shorten(min(LINE_CHARS, len(shown.text) + self.room))
        if len(longer.text) > len(shown.text):
            self._place(at, (*self.kept[at][:number], longer, *self.kept[at][number + 1 :]))

    def _list_by_rank(self) -> list[int]:
        places = [at for at, section in enumerate(self.sections) if not section.pinned]
        return sorted(places, key=lambda at: self.sections[at].rank)

    def _fill_once(self, places: Sequence[int], count: Callable[[Section], int]) -> bool:
        """Whether everything that was wanted stands whole."""
        return all(self._add(at, count(self.sections[at])) for at in places)

    def _add(self, at: int, wanted: int) -> bool:
        section = self.sections[at]
        if not section.items and wanted:
            return not section.title or self._place(at, ())
        step = 1  # twice as many each time: a quoted text may have hundreds of short lines
        while len(self.kept[at]) < wanted:
            count = min(len(self.kept[at]) + step, wanted)
            if self._place(at, section.items[:count]):
                step *= 2
            elif step > 1:
                step = 1
            else:
                self._place_beginning(at, count)
                return False
        return True

    def _place(self, at: int, kept: tuple[Item, ...]) -> bool:
        text = _write(self.sections[at], kept)
        left = self._find_room(at) - _count_chars(text)
        if left < 0:
            return False
        self.room = left
        self.kept[at] = kept
        self.texts[at] = text
        return True

    def _place_beginning(self, at: int, count: int) -> None:
        """As much of the item that does not fit as there is room for."""
        section = self.sections[at]
        *whole, last = section.items[:count]
        without = _write(section, (*whole, replace(last, text="")))
        room = self._find_room(at) - _count_chars(without)
        if section.joined != "\n":
            room -= len(CONTINUED)  # it may have to begin on a line of its own
        shorten = _cut_to_beginning
        if section.takes_from_end(len(whole)):
            shorten = _cut_to_end
        part = shorten(last, room)
        if part is not None:
            self._place(at, (*whole, part))

    def _find_room(self, at: int) -> int:
        """What there is for the whole section."""
        return self.room + _count_chars(self.texts[at])


def _choose_pinned(section: Section) -> tuple[Item, ...]:
    return section.items if section.pinned else ()


def _write_pinned(section: Section) -> str:
    return _write(section, section.items) if section.pinned else ""


def _count_first(section: Section) -> int:
    """How many items the first pass may show: up to the maximum, but one in any case."""
    if not section.max_chars:
        return 0
    sizes = accumulate(len(item.text) for item in section.items)
    return max(1, sum(size <= section.max_chars for size in sizes))


def _count_all(section: Section) -> int:
    return max(1, len(section.items))


def _write(section: Section, kept: Sequence[Item]) -> str:
    left_out = _count_left_out(section, kept)
    if left_out and not kept:
        return ""
    return section.write(kept, left_out)


def _count_left_out(section: Section, kept: Sequence[Item]) -> int:
    return len(section.items) - len(kept) + len(section.held) + section.unread


def _count_chars(text: str) -> int:
    if not text:
        return 0
    return len(text) + len(BETWEEN)


def _cut_to_beginning(item: Item, room: int) -> Item | None:
    """As much of an item as fits, with the end that has to stand; a part of a path is of no use."""
    at = len(item.text) - item.keep
    body = item.text[:at]
    end = item.text[at:]
    body_room = room - len(end)
    if body_room < SHORTEST:
        return None
    shorten = cut if item.is_prose else cut_after_word
    shown = _leave_short_reason(item, body, body_room)
    beginning = keep_turn(body, shorten(shown, body_room), body_room)
    if beginning is None or not (item.is_prose or ends_at_word(beginning, body)):
        return None
    return replace(item, text=beginning + end)


def _cut_to_end(item: Item, room: int) -> Item | None:
    """As much of the end of a quoted line as fits, from a word on that does not turn it."""
    mark, _, words = item.text.partition(" ")
    left = room - len(f"{mark} {ELLIPSIS}")
    if left < SHORTEST:
        return None
    start = max(0, len(words) - left)
    start = words.find(" ", start) + 1 or start
    if is_turned_before(words, start):
        return None
    return replace(item, text=f"{mark} {ELLIPSIS}{words[start:]}", at=item.at + start)


def _leave_short_reason(item: Item, body: str, room: int) -> str:
    if not item.why_at or room >= item.why_at + SHORTEST:
        return body
    return body[: item.why_at].removesuffix(ELLIPSIS) + ELLIPSIS


# --- what became of a section ---------------------------------------------------------------------


def _show(page: _Page, at: int, section: Section, no_room: str) -> ShownSection:
    kept, text = page.kept[at], page.texts[at]
    return ShownSection(
        section=section,
        items=tuple(section.arrange(kept)),
        left_out=_count_left_out(section, kept),
        text=text,
        cut=(*_list_cuts(section, kept, text, no_room), *section.held, *section.gone),
    )


def _list_cuts(section: Section, kept: Sequence[Item], text: str, no_room: str) -> list[Cut]:
    name = section.name
    first = _count_first(section)
    cuts = []
    for number, item in enumerate(section.items[len(kept) :], start=len(kept)):
        why = no_room
        if number >= first:
            why = f"after the first {section.max_chars} characters of its section; {no_room}"
        cuts.append(Cut(name, item.text, item.source, reason=why))
    if not text and section.title and not section.items and not section.held:
        cuts.append(Cut(name, section.title, OURS, reason=no_room))
    for item, whole in zip(kept, section.items, strict=False):
        if item != whole:
            cuts.append(Cut(name, whole.text, whole.source, reason=f"shortened; {no_room}"))
    return cuts
