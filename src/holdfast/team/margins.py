"""What several lines have before them: the numbers of a listing, a bar, the mark of a quotation.

Code is code behind it too. So lines that follow one another and begin alike are judged once more
without what they begin with. Numbers are alike, and an author's own list stays a list: behind its
signs nothing is indented, as a block of code is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from holdfast.ground.patterns import compile_later

MARGIN_CHARS = 60  # of a line, in which its margin is looked for

_PART = compile_later(r"(?s)[ \t]*\d+|.")
_ENDS_MARGIN = frozenset(" \t:|│>")
_LIST = compile_later(r"[\s>|]*(?:[-*+•–]\s|0[.)]\s|\([a-z0]\)\s)")
_CLOSED_AT_BOTH_ENDS = frozenset("|│\"'")


def remove_margins(lines: list[str]) -> list[str]:
    """The same lines, each without the margin that it shares with its neighbours."""
    bare: list[str] = []
    for count, run in _list_runs(lines):
        bare += _strip_run(count, run) if count else run
    return bare


def _list_runs(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Lines that begin alike, and how many parts of them do; empty ones belong to any run."""
    run: list[str] = []
    count, margin = 0, list[str]()
    for line in lines:
        if not line.strip():
            run.append(line)
            continue
        parts = _read_parts(line)
        shared = _share(margin, parts)
        if margin and not shared:
            yield count, run
            run, count = [], 0
        elif margin:
            count = len(shared)
        margin = shared or parts
        run.append(line)
    yield count, run


def _read_parts(line: str) -> list[str]:
    return _PART.findall(line[:MARGIN_CHARS])


def _share(margin: list[str], parts: list[str]) -> list[str]:
    """How both begin, to the end of a word; never by spaces alone, nor inside of backquotes."""
    pairs = zip(map(_form, margin), map(_form, parts), strict=False)
    same = [one for one, other in itertools.takewhile(_is_same, pairs)]
    if "`" in same:
        same = same[: same.index("`")]
    if any(part.isalpha() for part in same):
        ends = [number for number, part in enumerate(same, 1) if part in _ENDS_MARGIN]
        same = same[: ends[-1]] if ends else []
    return same if "".join(same).strip() else []


def _is_same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _form(part: str) -> str:
    return "0" if part[-1].isdecimal() else part


def _strip_run(count: int, run: list[str]) -> list[str]:
    cut = [_strip_line(count, line) for line in run]
    first = next(line for line in run if line.strip())
    margin = "".join(map(_form, _read_parts(first)[:count]))
    is_indented = any(line.startswith(("  ", "\t")) for line in cut)
    if _LIST.match(margin) and not is_indented:
        return run
    return cut


def _strip_line(count: int, line: str) -> str:
    parts = _read_parts(line)
    margin = "".join(parts[:count])
    rest = line[len(margin) :]
    sign = margin.strip()[-1:]
    return rest.rstrip().removesuffix(sign) if sign in _CLOSED_AT_BOTH_ENDS else rest
