"""A file's text on its way through a browser and back.

A text field knows one kind of line end. A file may have another, or several, and a person who
changed one line did not mean the others: lines that were not changed keep the ends they had, and
new ones get the end that most have. Whether the last line has an end is the person's to say: the
text that is shown ends with an empty line if it has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

LINES_SHOWN = 2000
MARK = "\ufeff"  # the byte order mark that some editors put first
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")


@dataclass(frozen=True)
class FileText:
    """A text file as one edits it: line ends as `\\n`, no mark."""

    text: str
    original: str

    @property
    def lines(self) -> list[str]:
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" and len(lines) > 1 else lines

    @property
    def ending(self) -> str:
        return {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}[
            _find_usual_end(_split_lines(self.original))
        ]

    def apply_edit(self, text: str) -> str:
        """What to write so that the file has this text."""
        mark = MARK if self.original.startswith(MARK) else ""
        return mark + restore_ends(self.original.removeprefix(MARK), text)


@dataclass(frozen=True)
class LinesView:
    """As many lines of a file as a page shows at once, and where the page before and the page after
    are.
    """

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
    """The lines around one of them; around the last where there are not so many."""
    first = max(min(line - LINES_SHOWN // 2, len(lines) - LINES_SHOWN + 1), 1)
    return LinesView(first, lines[first - 1 : first - 1 + LINES_SHOWN], len(lines))


def parse_text(data: bytes) -> FileText | None:
    """None where it is no text: bytes that are not UTF-8, or a zero among them."""
    if b"\0" in data:
        return None
    try:
        original = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    text = original.removeprefix(MARK).replace("\r\n", "\n").replace("\r", "\n")
    return FileText(text, original)


def restore_ends(original: str, edited: str) -> str:
    before, after = (
        _split_lines(original),
        _split_lines(edited.replace("\r\n", "\n").replace("\r", "\n")),
    )
    usual = _find_usual_end(before)
    old, new = [line for line, _ in before], [line for line, _ in after]
    first = _count_same(old, new)
    last = _count_same(old[first:][::-1], new[first:][::-1])
    kept_first, kept_last = before[:first], before[len(before) - last :]
    ends = (
        [end for _, end in kept_first]
        + [usual] * (len(new) - first - last)
        + [end for _, end in kept_last]
    )
    return _join_lines(new, [end or usual for end in ends], bool(after and after[-1][1]))


def _join_lines(lines: list[str], ends: list[str], has_end: bool) -> str:
    written = ""
    for number, (line, end) in enumerate(zip(lines, ends, strict=True), 1):
        if end == "\n" and not line and written.endswith("\r"):
            end = "\r"  # two ends of two lines must not become one end of one
        written += line + (end if has_end or number < len(lines) else "")
    return written


def _split_lines(text: str) -> list[tuple[str, str]]:
    """Each line and its end; the last may have none."""
    return [(found[1], found[2]) for found in _LINE.finditer(text) if found[0]]


def _find_usual_end(lines: list[tuple[str, str]]) -> str:
    counts = Counter(end for _, end in lines if end)
    return counts.most_common(1)[0][0] if counts else "\n"


def _count_same(some: list[str], others: list[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for line, other in zip(some, others, strict=False):
        if line != other:
            break
        count += 1
    return count
