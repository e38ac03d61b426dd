"""Which part of a saved summary is the goal, which is about next steps, and the rest. Pure.

A summary is prose, and its most useful sentence is often its last. So sentences are told apart by
how they begin, and each gets the room of what it is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.bundles.quoting import quote_lines

_SENTENCE_END = re.compile(
    r"(?<=[.!?])\s+(?=[A-Z0-9\"'`(\[*_]|[^\x00-\x7f])|(?<=[。！？])\s*(?=\S)"
)
_MARKS = r"[\s*_#>|-]*"
_NEXT = re.compile(
    rf"{_MARKS}(?:next\b|to-?do\b|to do\b|remaining\b|still (?:to do|open|missing|left)\b|"
    r"left to do\b|open (?:work|points|items|steps)\b|follow-?ups?\b|what(?:'s| is) (?:next|left)"
    r"\b|(?:then|after that|afterwards)[,:])",
    re.IGNORECASE,
)
# What the last sentence may say about next steps in other words; a plan is rarely anywhere else.
_ABOUT_NEXT = re.compile(
    r"\b(?:next (?:step|steps|task|thing|session)|(?:up|coming) next|remains|remaining|pending|"
    r"outstanding|upcoming|to-?do|tomorrow|left to|yet to|needs? to|has to|have to|will need|"
    r"still (?:needs?|to|has|have|open|missing)|(?:go|goes|continue|continues) on? ?with)\b|"
    r"下一步|接下来|剩下|待办",
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
    sentences = [part for line in quote_lines(text) for part in _SENTENCE_END.split(line)]
    for number, sentence in enumerate(sentences, start=1):
        is_last = number == len(sentences)
        if _NEXT.match(sentence):
            following.append(sentence)
        elif _GOAL.match(sentence):
            goal.append(sentence)
        elif is_last and _ABOUT_NEXT.search(sentence):
            following.append(sentence)
        else:
            rest.append(sentence)
    return SummaryParts(tuple(goal), tuple(following), tuple(rest))
