"""What the user asked for, word for word, as lines of a bundle. Pure.

A long line is broken, and the mark of what follows says so: without the marks the pieces of a line
are the line. Of a request that is too long the beginning and the end stand, because what matters
most is often said last. So its pieces are listed by their worth, and know where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.bundles.model import LINE_CHARS, Item, LastAnswer, LastRequest, is_from_end
from holdfast.bundles.quoting import PROSE_CHARS, quote, quote_request
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import find_cut

LINE, SAME_LINE = "> ", ">+ "
ANSWER_LINE = "| "
BROKEN = "; >+ goes on with a line"  # said once, where there is such a mark
_SENTENCE_END = compile_later(r"[.!?](?=\s)")
FIRST_PIECES, LAST_PIECES = 370, 180  # more than the longest bundle has room for


def quote_pieces(request: LastRequest) -> list[Item]:
    """The pieces by their worth; those in the middle of a very long request are left out."""
    pieces = [*_list_pieces(request.text, 0, request.source)]
    pieces += _list_pieces(request.end, request.end_at, request.source)
    rest = pieces[FIRST_PIECES:]
    return _order_by_worth([*pieces[:FIRST_PIECES], *rest[-LAST_PIECES:]])


def quote_end(answer: LastAnswer) -> list[Item]:
    """The pieces of a message as one paragraph, from its end on."""
    at = answer.at
    pieces = []
    for piece in break_line(quote(answer.text, PROSE_CHARS), LINE_CHARS - len(ANSWER_LINE)):
        pieces.append(Item(ANSWER_LINE + piece, answer.source, is_prose=True, at=at))
        at += len(piece)
    return pieces[::-1]


def _list_pieces(text: str, at: int, source: str) -> Iterator[Item]:
    for line in quote_request(text):
        mark = LINE
        for piece in break_line(line, LINE_CHARS - len(SAME_LINE)):
            yield Item((mark + piece) if piece else mark.rstrip(), source, is_prose=True, at=at)
            mark = SAME_LINE
            at += len(piece)
        at += 1


def break_line(line: str, max_chars: int) -> list[str]:
    """Behind a sentence or a space if there is one; the pieces one after the other are the line."""
    pieces = []
    while len(line) > max_chars:
        end = _find_sentence_end(line, max_chars) or find_cut(line, max_chars - 1) or max_chars
        end += line[end : end + 1].isspace()
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]


def _find_sentence_end(line: str, max_chars: int) -> int:
    """The last one in the second half, so that no few words are left alone; else 0."""
    ends = [found.end() for found in _SENTENCE_END.finditer(line, max_chars // 2, max_chars)]
    return ends[-1] if ends else 0


def _order_by_worth(pieces: Sequence[Item]) -> list[Item]:
    first, last = 0, len(pieces)
    ordered: list[Item] = []
    while first < last:
        if is_from_end(len(ordered)):
            last -= 1
            ordered.append(pieces[last])
        else:
            ordered.append(pieces[first])
            first += 1
    return ordered
