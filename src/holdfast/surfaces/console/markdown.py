"""An agent's answer as the Markdown that agents write, made into HTML that is safe to show.

Everything is escaped; the tags are the few of `TAGS`, and no attribute but a link's has a value of
the text. Only what parses as a plain web address becomes a link. HTML in an answer is text, and so
is Markdown that is not known here: nothing that was written is left out.

Each line is looked at a fixed number of times for each level of nesting, of which there are few,
and what is between two marks is looked for once. So a hostile text takes as long as any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.surfaces.console.links import web_link
from holdfast.surfaces.console.showing import mark_unseen

MOST_LEVELS = 8  # of lists and quotations inside each other
MOST_OPEN = 12  # marks of emphasis inside each other
GIST_READ, GIST_CHARS = 600, 110
FIRST_HEADING, LAST_HEADING = 3, 6  # a page has headings of its own above these

_BLOCK_TAGS = "p h3 h4 h5 h6 ul ol li pre blockquote hr div table thead tbody tr th td"
_INLINE_TAGS = "em strong del code a span"
TAGS = frozenset(f"{_BLOCK_TAGS} {_INLINE_TAGS}".split())

_HEADING = compile_later(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = compile_later(r"( *)(`{3,}|~{3,})([^`]*)")
_ITEM = compile_later(r"( *)([-*+]|\d{1,9}[.)])( +(?=\S)| *$)(.*)")
_QUOTE = compile_later(r" {0,3}> ?")
_DELIMITER = compile_later(r":?-+:?")
_CELL_END = compile_later(r"(?<!\\)\|")
_TICKS = compile_later("`+")
_INLINE = compile_later(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|!?\[(?P<words>[^\[\]\n]{1,500})\]\((?P<address>[^\s()<>]{1,2000})\)"
    r"|(?P<bare>https?://[^\s<>\"'`*|\\^{}\[\]]+)"
    r"|(?P<mark>\*{1,3}|_{1,3}|~~)"
)
_AFTER_ADDRESS = ".,;:!?_~"
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_CODE = Markup("<code>{}</code>")
_BLOCK = Markup("<pre{}><code>{}</code></pre>")
_LANGUAGE = Markup(' data-language="{}"')
_LINK = Markup('<a href="{}" title="{}" rel="noopener noreferrer" target="_blank">{}</a>')
_EMPHASIS = {1: ("em",), 2: ("strong",), 3: ("strong", "em")}

Block = tuple[Markup, int]  # and the line after it
Reader = Callable[[Sequence[str], int, int], Block | None]


def render(text: str) -> Markup:
    lines = text.replace("\r\n", "\n").split("\n")
    return _render_lines(lines, 0)


def find_gist(text: str) -> str:
    """How an answer begins, on one line and without its marks: text, to be escaped as any."""
    apart = str(render(text[:GIST_READ])).replace("><", "> <")
    return cut(Markup(apart).striptags(), GIST_CHARS)


# --- blocks ---------------------------------------------------------------------------------------


def _render_lines(lines: Sequence[str], level: int) -> Markup:
    blocks = []
    at = 0
    while at < len(lines):
        block, at = _read_block(lines, at, level)
        blocks.append(block)
    return Markup("").join(blocks)


def _read_block(lines: Sequence[str], at: int, level: int) -> Block:
    if not lines[at].strip():
        return Markup(""), at + 1
    for read in READERS:
        block = read(lines, at, level)
        if block is not None:
            return block
    return _read_paragraph(lines, at, level)


def _read_paragraph(lines: Sequence[str], at: int, level: int) -> Block:
    """At least a line, and those that follow as long as they begin nothing else."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _begins_block(lines, end, level):
        end += 1
    words = "\n".join(line.strip(" \t") for line in lines[at:end])
    return Markup("<p>{}</p>").format(render_inline(words)), end


def _begins_block(lines: Sequence[str], at: int, level: int) -> bool:
    line = lines[at]
    if _HEADING.fullmatch(line) or _FENCE.fullmatch(line) or _is_rule(line):
        return True
    if level < MOST_LEVELS and (_QUOTE.match(line) or _ITEM.fullmatch(line)):
        return True
    return _is_table(lines, at)


def _read_fence(lines: Sequence[str], at: int, level: int) -> Block | None:
    """To its closing mark, else to the end: an answer may be cut in the middle of it."""
    found = _FENCE.fullmatch(lines[at])
    if not found:
        return None
    indent, mark, language = len(found[1]), found[2], found[3].strip()
    code = []
    end = at + 1
    while end < len(lines) and not _closes(lines[end], mark):
        code.append(_cut_indent(lines[end], indent))
        end += 1
    name = _LANGUAGE.format(language) if language else ""
    return _BLOCK.format(name, mark_unseen("\n".join(code))), end + 1


def _closes(line: str, mark: str) -> bool:
    """By at least as many of the same sign, and nothing else."""
    rest = line.strip()
    return rest.startswith(mark) and not rest.strip(mark[0])


def _cut_indent(line: str, most: int) -> str:
    return line[min(_indent_of(line), most) :]


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _read_indented(lines: Sequence[str], at: int, level: int) -> Block | None:
    if level or _indent_of(lines[at]) < 4 or _ITEM.fullmatch(lines[at]):
        return None
    end = at
    while end < len(lines) and _indent_of(lines[end]) >= 4:
        end += 1
    code = "\n".join(line[4:] for line in lines[at:end])
    return _BLOCK.format("", mark_unseen(code)), end


def _read_heading(lines: Sequence[str], at: int, level: int) -> Block | None:
    found = _HEADING.fullmatch(lines[at])
    if not found:
        return None
    size = min(FIRST_HEADING - 1 + len(found[1]), LAST_HEADING)
    words = found[2].rstrip().rstrip("#").rstrip() or found[2]
    return Markup("<h{0}>{1}</h{0}>").format(size, render_inline(words)), at + 1


def _read_rule(lines: Sequence[str], at: int, level: int) -> Block | None:
    return (Markup("<hr>"), at + 1) if _is_rule(lines[at]) else None


def _is_rule(line: str) -> bool:
    signs = line.replace(" ", "")
    return len(signs) >= 3 and signs[0] in "-*_" and not signs.strip(signs[0])


def _read_quote(lines: Sequence[str], at: int, level: int) -> Block | None:
    if level >= MOST_LEVELS or not _QUOTE.match(lines[at]):
        return None
    inner = []
    end = at
    while end < len(lines) and (found := _QUOTE.match(lines[end])):
        inner.append(lines[end][found.end() :])
        end += 1
    quoted = _render_lines(inner, level + 1)
    return Markup("<blockquote>{}</blockquote>").format(quoted), end


# --- lists ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Item:
    """The line that a list's item begins with."""

    margin: int
    mark: str
    indent: int  # of what belongs to it, as far as it is cut off
    text: str

    @property
    def is_numbered(self) -> bool:
        return self.mark[0].isdigit()


def _find_item(line: str) -> _Item | None:
    found = _ITEM.fullmatch(line)
    if not found or _is_rule(line):
        return None
    margin, gap = len(found[1]), len(found[3])
    indent = margin + len(found[2]) + (gap if gap <= 4 else 1)
    text = found[4]
    for written, shown in _BOXES.items():
        if text.startswith(written):
            text = shown + text.removeprefix(written)
    return _Item(margin, found[2], indent, text)


def _read_list(lines: Sequence[str], at: int, level: int) -> Block | None:
    first = _find_item(lines[at]) if level < MOST_LEVELS else None
    if first is None:
        return None
    items = []
    item: _Item | None = first
    while item is not None and _is_beside(item, first):
        body, at = _read_body(lines, at + 1, item)
        items.append(Markup("<li>{}</li>").format(_render_lines(body, level + 1)))
        item = _find_item(lines[at]) if at < len(lines) else None
    listed = Markup("").join(items)
    if not first.is_numbered:
        return Markup("<ul>{}</ul>").format(listed), at
    start = int(first.mark[:-1])
    number = Markup(' start="{}"').format(start) if start != 1 else ""
    return Markup("<ol{}>{}</ol>").format(number, listed), at


def _is_beside(item: _Item, first: _Item) -> bool:
    return item.is_numbered == first.is_numbered and item.margin < first.margin + 2


def _read_body(lines: Sequence[str], at: int, item: _Item) -> tuple[list[str], int]:
    """The lines of an item, without their indent, and the line after them.

    Two spaces are enough, also behind a number: that is how agents write. After an empty line, only
    what is indented belongs to it, or the list goes on with its next item.
    """
    body = [item.text]
    while at < len(lines):
        following = _skip_empty(lines, at)
        is_over = following == len(lines)
        if is_over or not _belongs(lines[following], item, after_gap=following > at):
            is_next = not is_over and _find_item(lines[following]) is not None
            return body, following if is_next or is_over else at
        body += [""] * (following - at)
        body.append(_cut_indent(lines[following], item.indent))
        at = following + 1
    return body, at


def _skip_empty(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _belongs(line: str, item: _Item, *, after_gap: bool) -> bool:
    if _indent_of(line) >= item.margin + 2:
        return True
    begins_other = _HEADING.fullmatch(line) or _FENCE.fullmatch(line) or _QUOTE.match(line)
    is_other = begins_other or _is_rule(line) or _ITEM.fullmatch(line)
    return not after_gap and not is_other


# --- tables ---------------------------------------------------------------------------------------


def _is_table(lines: Sequence[str], at: int) -> bool:
    """A line of cells, and below it as many cells of dashes."""
    if at + 1 >= len(lines) or "|" not in lines[at] or "-" not in lines[at + 1]:
        return False
    below = _split_row(lines[at + 1])
    return len(below) == len(_split_row(lines[at])) and all(map(_DELIMITER.fullmatch, below))


def _split_row(line: str) -> list[str]:
    row = line.strip().removeprefix("|")
    cells = [cell.strip() for cell in _CELL_END.split(row)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def _read_table(lines: Sequence[str], at: int, level: int) -> Block | None:
    """A row with fewer cells than the first stays short, so no row costs more than its line."""
    if not _is_table(lines, at):
        return None
    end = at + 2
    while end < len(lines) and lines[end].strip() and "|" in lines[end]:
        end += 1
    head = _render_row(lines[at], "th")
    rows = Markup("").join(_render_row(line, "td") for line in lines[at + 2 : end])
    table = Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(head, rows)
    return Markup('<div class="table">{}</div>').format(table), end


def _render_row(line: str, tag: str) -> Markup:
    cells = [
        Markup("<{0}>{1}</{0}>").format(tag, render_inline(cell.replace("\\|", "|")))
        for cell in _split_row(line)
    ]
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


READERS: tuple[Reader, ...] = (
    _read_fence,
    _read_heading,
    _read_rule,
    _read_quote,
    _read_list,
    _read_table,
    _read_indented,
)


# --- inside of a line -----------------------------------------------------------------------------


def render_inline(text: str) -> Markup:
    """Emphasis, code and links; the line ends stay."""
    pieces = list(_cut_pieces(text))
    _pair_marks(pieces)
    return Markup("").join(piece.shown for piece in pieces)


class _Piece:
    """Some of a line as it is shown; `mark` where it may begin or end an emphasis."""

    def __init__(
        self, shown: Markup, mark: str = "", *, may_open: bool = False, may_close: bool = False
    ):
        self.shown, self.mark = shown, mark
        self.may_open, self.may_close = may_open, may_close


def _cut_pieces(text: str) -> Iterator[_Piece]:
    ticks = _find_ticks(text)
    at = 0
    while found := _INLINE.search(text, at):
        if found.start() > at:
            yield _Piece(mark_unseen(text[at : found.start()]))
        end = found.end()
        if found["escape"]:
            yield _Piece(mark_unseen(found["escape"][1:]))
        elif found["ticks"]:
            shown, end = _read_code(text, found.start(), len(found["ticks"]), ticks)
            yield _Piece(shown)
        elif found["words"]:
            yield _Piece(_show_link(found["words"], found["address"], found[0]))
        elif found["bare"]:
            address = _trim_address(found["bare"])
            end = found.start() + len(address)
            yield _Piece(_show_link("", address, address))
        else:
            yield _read_mark(text, found.start(), end)
        at = end
    yield _Piece(mark_unseen(text[at:]))


def _find_ticks(text: str) -> dict[int, list[int]]:
    """Where the runs of backticks are, by their length."""
    runs = defaultdict(list)
    for found in _TICKS.finditer(text):
        runs[len(found[0])].append(found.start())
    return runs


def _read_code(text: str, at: int, length: int, ticks: dict[int, list[int]]) -> tuple[Markup, int]:
    """To the next run of as many; without one, the backticks are text."""
    begin = at + length
    same = ticks[length]
    following = bisect_left(same, begin)
    if following == len(same):
        return mark_unseen(text[at:begin]), begin
    end = same[following]
    code = text[begin:end]
    is_padded = code.startswith(" ") and code.endswith(" ") and code.strip()
    return _CODE.format(mark_unseen(code[1:-1] if is_padded else code)), end + length


def _show_link(words: str, address: str, written: str) -> Markup:
    """Any address but that of the web stays as it was written."""
    if web_link(address) is None:
        return mark_unseen(written)
    shown = _render_plain(words) if words else mark_unseen(address)
    return _LINK.format(address, address, shown)


def _render_plain(words: str) -> Markup:
    """The words of a link, in which there is no other link."""
    pieces = words.split("`")
    marked = [mark_unseen(piece) for piece in pieces]
    if len(pieces) % 2:
        marked[1::2] = [_CODE.format(piece) for piece in marked[1::2]]
        return Markup("").join(marked)
    return mark_unseen(words)


def _trim_address(found: str) -> str:
    """Without what ends the sentence around it."""
    address = found.rstrip(_AFTER_ADDRESS)
    surplus = address.count(")") - address.count("(")
    closing = len(address) - len(address.rstrip(")"))
    return address[: len(address) - max(0, min(surplus, closing))].rstrip(_AFTER_ADDRESS)


def _read_mark(text: str, start: int, end: int) -> _Piece:
    """Emphasis begins before a word and ends behind one; `_` inside of a name is part of it."""
    before, after = text[start - 1 : start], text[end : end + 1]
    may_open = bool(after.strip())
    may_close = bool(before.strip())
    if text[start] == "_":
        may_open = may_open and not before.isalnum()
        may_close = may_close and not after.isalnum()
    mark = text[start:end]
    return _Piece(mark_unseen(mark), mark, may_open=may_open, may_close=may_close)


def _pair_marks(pieces: Sequence[_Piece]) -> None:
    """Each mark that ends an emphasis with the last open one of the same kind; what was opened in
    between stays text.
    """
    open_: list[_Piece] = []
    counts: dict[str, int] = defaultdict(int)
    for piece in pieces:
        if piece.may_close and counts[piece.mark]:
            opener = open_.pop()
            while opener.mark != piece.mark:
                counts[opener.mark] -= 1
                opener = open_.pop()
            counts[piece.mark] -= 1
            opener.shown, piece.shown = _make_tags(piece.mark)
        elif piece.may_open and len(open_) < MOST_OPEN:
            open_.append(piece)
            counts[piece.mark] += 1


def _make_tags(mark: str) -> tuple[Markup, Markup]:
    names = ("del",) if mark == "~~" else _EMPHASIS[len(mark)]
    begin = Markup("").join(Markup(f"<{name}>") for name in names)
    end = Markup("").join(Markup(f"</{name}>") for name in reversed(names))
    return begin, end
