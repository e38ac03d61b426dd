"""Which part of a saved summary is the goal, which is about next steps, and the rest. Pure.

A summary is prose, and its most useful sentence is often its last. So sentences are told apart by
how they begin, and each gets the room of what it is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.bundles.quoting import quote_lines

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'`(\[])")
_MARKS = r"[\s*_#>|-]*"
_NEXT = re.compile(
    rf"{_MARKS}(?:next\b|to-?do\b|to do\b|remaining\b|still (?:to do|open|missing|left)\b|"
    r"left to do\b|open (?:work|points|items|steps)\b|follow-?ups?\b|what(?:'s| is) (?:next|left)"
    r"\b|(?:then|after that|afterwards)[,:])",
    re.IGNORECASE,
)
_GOAL = re.compile(
    rf"{_MARKS}(?:goals?|scope|aims?|objective|purpose|non-?goals?|(?:not in|out of) scope|"
    r"not (?:looked at|covered))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SummaryParts:
    goal: tuple[str, ...] = ()
    following: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()


def split_summary(text: str | None) -> SummaryParts:
    goal: list[str] = []
    following: list[str] = []
    rest: list[str] = []
    for line in quote_lines(text):
        for sentence in _SENTENCE_END.split(line):
            part = rest
            if _NEXT.match(sentence):
                part = following
            elif _GOAL.match(sentence):
                part = goal
            part.append(sentence)
    return SummaryParts(tuple(goal), tuple(following), tuple(rest))
