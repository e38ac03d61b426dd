"""A file's text on its way through a browser and back.

A text field knows one kind of line end. A file may have another, or several, and a person who
changed one line did not mean the others: unchanged lines keep the ends they had, and new ones get
the end that most lines have. The person decides whether the last line has an end: if it has, the
text in the field ends with an empty line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

LINES_SHOWN = 2000
MARK = "\ufeff"  # the byte order mark that some editors put first
END_NAMES = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}
_LINE = compile_later(r"([^\r\n]*)(\r\n|\n|\r|\Z)")


@dataclass(frozen=True)
class FileText:
    """A text file as the editor shows it: line ends as `\\n`, no mark."""

    text: str
    original: str

    @property
    def lines(self) -> list[str]:
        lines = self.text.split("\n")
        if len(lines) > 1 and lines[-1] == "":
            return lines[:-1]
        return lines

    @property
    def ending(self) -> str:
        usual = _find_usual_end(_split_lines(self.original))
        return END_NAMES[usual]

    def apply_edit(self, text: str) -> str:
        """What to write so that the file has this text."""
        original = self.original.removeprefix(MARK)
        restored = restore_ends(original, text)
        if self.original.startswith(MARK):
            return MARK + restored
        return restored


@dataclass(frozen=True)
class LinesView:
    """As many lines of a file as a page shows, and where the pages before and after it are."""

    first: int
    lines: Sequence[str]
    total: int

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def hidden(self) -> int:
        return self.total - len(self.lines)

    @property
    def earlier(self) -> int:
        """A line whose page ends where this one begins."""
        return max(self.first - LINES_SHOWN // 2, 1)

    @property
    def later(self) -> int:
        return self.last + 1 + LINES_SHOWN // 2


def make_view(lines: Sequence[str], line: int) -> LinesView:
    """The lines around the given one; around the last if the file is shorter."""
    last_start = len(lines) - LINES_SHOWN + 1
    wanted = line - LINES_SHOWN // 2
    first = max(min(wanted, last_start), 1)
    start = first - 1
    return LinesView(first, lines[start : start + LINES_SHOWN], len(lines))


def parse_text(data: bytes) -> FileText | None:
    """None if it is not a text: bytes that are not UTF-8, or a zero byte among them."""
    if b"\0" in data:
        return None
    try:
        original = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return FileText(_unify_ends(original.removeprefix(MARK)), original)


def restore_ends(original: str, edited: str) -> str:
    """The edited text; the lines before and after the change keep the ends they had."""
    before = _split_lines(original)
    old = [line for line, _ in before]
    old_ends = [end for _, end in before]
    unified = _unify_ends(edited)
    new = [line for line, _ in _split_lines(unified)]
    first = _count_same(old, new)
    rest_of_old = reversed(old[first:])
    rest_of_new = reversed(new[first:])
    last = _count_same(rest_of_old, rest_of_new)
    usual = _find_usual_end(before)
    changed_ends = [usual] * (len(new) - first - last)
    ends = old_ends[:first] + changed_ends + old_ends[len(old) - last :]
    known_ends = [end or usual for end in ends]
    if new and not unified.endswith("\n"):
        known_ends[-1] = ""
    return _join_lines(new, known_ends)


def _unify_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _join_lines(lines: list[str], ends: list[str]) -> str:
    written = ""
    for line, end in zip(lines, ends, strict=True):
        if end == "\n" and not line and written.endswith("\r"):
            end = "\r"  # otherwise the ends of two lines would read as the end of a single line
        written += line + end
    return written


def _split_lines(text: str) -> list[tuple[str, str]]:
    """Each line and its end; the last may be without an end."""
    matches = [match for match in _LINE.finditer(text) if match[0]]
    return [(match[1], match[2]) for match in matches]


def _find_usual_end(lines: list[tuple[str, str]]) -> str:
    counts = Counter(end for _, end in lines if end)
    for end, _ in counts.most_common(1):
        return end
    return "\n"


def _count_same(some: Iterable[str], others: Iterable[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for line, other in zip(some, others, strict=False):
        if line != other:
            break
        count += 1
    return count
