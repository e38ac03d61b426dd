"""Where in a file the evidence for a claim is: lines, or a symbol, which only a parser can find."""

from __future__ import annotations

from holdfast.ground.frozen import dataclass
from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.patterns import compile_later

SYMBOL_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
SYMBOL = compile_later(SYMBOL_NAME)


class Lines(NamedTuple):
    """A run of lines, counted from 1, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"L{self.first}-L{self.last}"


@dataclass(frozen=True)
class Symbol:
    lines: Lines
    shape: str  # a hash that reformatting, comments and a move keep, and no other change does


@dataclass(frozen=True)
class UnreadableSource:
    """Why no symbol can be looked up in a text, worded to follow the file's name."""

    why: str
