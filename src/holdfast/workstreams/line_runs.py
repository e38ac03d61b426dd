"""Runs of lines in a text: how they are counted, cut, hashed and found again.

Lines are what editors and git count: they end with LF or CRLF and nothing else. Line ends, a byte
order mark and the last newline are not part of the text.

A run is looked for at every place of a file, so it has a second hash that is cheap to move on by
one line. That one is fast and not safe: where it finds something, the real hash decides.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from holdfast.ground import canonical
from holdfast.workstreams.symbols import Lines

_PRIME = (1 << 61) - 1
_BASE = 1_000_003


def split_lines(text: str) -> list[str]:
    """The lines as editors number them: form feeds, U+2028 and lone CRs do not end one."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = plain.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def cut_run(lines: Sequence[str], place: Lines) -> Sequence[str]:
    return lines[place.first - 1 : place.last]


def hash_lines(lines: Sequence[str]) -> str:
    """The real hash, over the text of the lines."""
    text = "\n".join(lines)
    data = text.encode("utf-8", "surrogatepass")
    return canonical.new_sha256(data).hexdigest()


def hash_run(run: Sequence[str]) -> str:
    """The cheap hash, with which `find_runs` looks for the run."""
    rolled = 0
    for line in run:
        rolled = (rolled * _BASE + _hash_line(line)) % _PRIME
    return f"{rolled:016x}"


def find_runs(lines: Sequence[str], count: int, run_hash: str | None) -> Iterator[Lines]:
    """Where so many lines with this cheap hash are, in one pass over the file.

    Each step adds the next line to the rolling hash and removes the oldest.
    """
    if count > len(lines):  # also a count that was edited by hand
        return
    hashes = [_hash_line(line) for line in lines]
    nothing_leaves_yet = [0] * count
    leaving = [*nothing_leaves_yet, *hashes]
    outgoing = pow(_BASE, count, _PRIME)
    wanted = int(run_hash or "-1", 16)
    rolled = 0
    for last, (new, old) in enumerate(zip(hashes, leaving, strict=False), 1):
        rolled = (rolled * _BASE + new - old * outgoing) % _PRIME
        if rolled == wanted and last >= count:
            yield Lines(last - count + 1, last)


def _hash_line(line: str) -> int:
    data = line.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) + 1  # a blank line counts too
