"""What a bundle left out, as prose: for the clients whose models read only the text.

Every text stands quoted on a line of ours. Those of others stand between two markers, as they would
in the bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holdfast.ground.fence import PREFIX, mark_others, one_line
from holdfast.surfaces.mcp.answer import READ_CHARS, count_fitting

if TYPE_CHECKING:
    from holdfast.bundles.model import Bundle, Cut

CUT_CHARS = 2_000
AROUND_CHARS = 300  # the title, the two markers and the note about the rest
OTHERS = "others"


def describe_cuts(bundle: Bundle, fence_key: bytes) -> str:
    """The bundle, then what is not in it, as far as an answer has room."""
    lines = [_write_cut(cut) for cut in bundle.cut]
    if not lines:
        return bundle.text
    room = READ_CHARS - len(bundle.text) - AROUND_CHARS
    count = count_fitting((len(line) + 1 for line in lines), room)
    shown = list(zip(bundle.cut[:count], lines, strict=False))
    text = "\n".join([bundle.text, "", "NOT IN IT", *_list_lines(shown, fence_key)])
    if count == len(lines):
        return text
    return f"{text}\n+{len(lines) - count} more: ask the person to run `holdfast why {bundle.id}`"


def _list_lines(shown: Sequence[tuple[Cut, str]], fence_key: bytes) -> Iterator[str]:
    yield from (line for cut, line in shown if cut.section != OTHERS)
    foreign = [line for cut, line in shown if cut.section == OTHERS]
    if foreign:
        first, last = mark_others(fence_key, foreign)
        yield from (first, *foreign, last)


def _write_cut(cut: Cut) -> str:
    return f"{PREFIX}{cut.section}: {one_line(cut.text, CUT_CHARS)} ({cut.reason})"
