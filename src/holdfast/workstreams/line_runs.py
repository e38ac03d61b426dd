"""Runs of lines in a text: how they are counted, cut, hashed and found again.

Lines are what editors and git count: they end with LF or CRLF and nothing else. Line ends, a byte
order mark and the last newline are not part of the text.

A run is looked for at every place of a file, so it has a second hash that is cheap to move on by
one line. That one is fast and not safe: where it finds something, the real hash decides.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from itertools import chain

from holdfast.ground import canonical

HASH_BYTES = 8

_PRIME = (1 << 61) - 1
_BASE = 1_000_003


def split_lines(text: str) -> list[str]:
    """The lines as editors number them: form feeds, U+2028 and lone CRs do not end one."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = plain.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def hash_lines(lines: Sequence[str]) -> str:
    """The real hash, over the text of the lines."""
    text = "\n".join(lines)
    data = text.encode("utf-8", "surrogatepass")
    return canonical.new_sha256(data).hexdigest()


def hash_run(run: Sequence[str]) -> str:
    """The cheap hash, with which the run is looked for."""
    rolled = 0
    for line in run:
        rolled = (rolled * _BASE + _hash_line(line)) % _PRIME
    return f"{rolled:016x}"


def list_line_hashes(lines: Sequence[str]) -> array[int]:
    return array("Q", [_hash_line(line) for line in lines])


def roll_hashes(hashes: array[int], count: int) -> bytes:
    """The cheap hash of each run of so many lines, in one pass over the hashes of the lines.

    Each step adds the next line to the rolling hash and removes the oldest. They are one after the
    other as bytes, in which one of them is found fast.
    """
    nothing_leaves_yet = [0] * count
    leaving = chain(nothing_leaves_yet, hashes)
    outgoing = pow(_BASE, count, _PRIME)
    rolled = 0
    runs = array("Q")
    for new, old in zip(hashes, leaving, strict=False):
        rolled = (rolled * _BASE + new - old * outgoing) % _PRIME
        runs.append(rolled)
    return runs[count - 1 :].tobytes()


def find_hash(rolled: bytes, run_hash: str) -> list[int]:
    """The first lines of the runs with this hash."""
    wanted = int(run_hash, 16)
    if wanted >= _PRIME:
        return []
    data = array("Q", [wanted]).tobytes()
    firsts = []
    at = rolled.find(data)
    while at >= 0:
        number, offset = divmod(at, HASH_BYTES)
        if not offset:
            firsts.append(number + 1)
        at = rolled.find(data, at + 1)
    return firsts


def _hash_line(line: str) -> int:
    data = line.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) + 1  # a blank line counts too
