"""Which part of a saved summary is the goal, which is about next steps, and the rest. Pure.

A summary is prose, and its most useful sentence is often its last. So sentences are told apart by
how they begin, and each gets the room of what it is about. What is listed below a heading, or after
a colon, is about what the heading says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.bundles.quoting import quote_lines
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

_SENTENCE_END = compile_later(
    r"(?<=[.!?])\s+(?=[A-Z0-9\"'`(\[*_]|[^\x00-\x7f])|(?<=[。！？])\s*(?=\S)"
)
_MARKS = r"[\s*_#>|-]*"
_NEXT = compile_later(
    rf"{_MARKS}(?:next\b|to-?do\b|to do\b|remaining\b|still (?:to do|open|missing|left)\b|"
    r"left to do\b|open (?:work|points|items|steps)\b|follow-?ups?\b|what(?:'s| is) (?:next|left)"
    r"\b|(?:then|after that|afterwards)[,:])",
    re.IGNORECASE,
)
# What the last sentence may say about next steps in other words; a plan is rarely anywhere else.
_ABOUT_NEXT = compile_later(
    r"\b(?:next (?:step|steps|task|thing|session)|(?:up|coming) next|remains|remaining|pending|"
    r"outstanding|upcoming|to-?do|tomorrow|left to|yet to|needs? to|has to|have to|will need|"
    r"still (?:needs?|to|has|have|open|missing)|(?:go|goes|continue|continues) on? ?with)\b|"
    r"下一步|接下来|剩下|待办",
    re.IGNORECASE,
)
_GOAL = compile_later(
    rf"{_MARKS}(?:(?:(?:the|our) )?(?:goals?|aims?|objective|purpose)|scope|non-?goals?|"
    r"(?:not in|out of) scope|not (?:looked at|covered)|what we(?:'re| are) after|"
    r"we(?:'re| are) after|we want)\b",
    re.IGNORECASE,
)
# A sentence that goes on with the steps of the one before it.
_FURTHER = compile_later(
    r"\(|(?:and then|then|after (?:that|this)|afterwards|finally|lastly|also|second(?:ly)?|"
    r"third(?:ly)?)\b",
    re.IGNORECASE,
)
_HEADING = compile_later(r"#{1,6}\s|[^.!?]{1,60}:[*_\s]*$|\*\*[^*]{1,60}\*\*:?\s*$")
_ENTRY = compile_later(r"[\s>|]*(?:[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]?\]\s)")
_CHECKED = compile_later(r"[\s>|*+•-]*\[[xX]\]")
_COLON = compile_later(r"[^.!?:]{1,30}:")
# What the lines of ours say before a step or a goal.
_ENTRY_MARK = compile_later(r"[\s>|#]*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[ ?\]\s*)?")
_STEP_WORD = compile_later(
    r"[*_]*(?:next(?: steps?| up)?|to-?do)[*_]*\s*(?:[:=-][*_]*\s*|$)|then[,:]?\s+", re.IGNORECASE
)
_GOAL_WORD = compile_later(
    rf"{_MARKS}(?:goals?|aims?|what we(?:'re| are) after|we want)[*_]*\s*(?:[:=-][*_]*\s*|$)",
    re.IGNORECASE,
)
HEADING_CHARS = 40  # a longer one says more than what follows it is about


@dataclass(frozen=True)
class SummaryParts:
    goal: tuple[str, ...] = ()
    following: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()

    def list_steps(self) -> list[str]:
        """Without headings, marks of a list, and words that our own line says."""
        entries = [sentence for sentence in self.following if not _is_short_heading(sentence)]
        steps = [_STEP_WORD.sub("", _ENTRY_MARK.sub("", entry, 1), 1) for entry in entries]
        return [step for step in steps if step]

    def list_goals(self) -> list[str]:
        entries = [sentence for sentence in self.goal if not _is_short_heading(sentence)]
        goals = [_GOAL_WORD.sub("", _ENTRY_MARK.sub("", entry, 1), 1) for entry in entries]
        return [goal for goal in goals if goal]


def _is_short_heading(sentence: str) -> bool:
    return len(sentence) <= HEADING_CHARS and bool(_HEADING.match(sentence))


def split_summary(text: str | None) -> SummaryParts:
    reader = _SummaryReader()
    lines = quote_lines(text)
    for line in lines[:-1]:
        reader.read_line(line)
    for line in lines[-1:]:
        reader.read_line(line, is_last=True)
    return SummaryParts(tuple(reader.goal), tuple(reader.following), tuple(reader.rest))


class _SummaryReader:
    """Reads line by line. `under` is where lines below a heading belong."""

    def __init__(self) -> None:
        self.goal: list[str] = []
        self.following: list[str] = []
        self.rest: list[str] = []
        self.under: list[str] | None = None
        self.is_section = False  # the heading is marked as one, and prose may follow it
        self.is_first = False  # the line before was the heading

    def read_line(self, line: str, *, is_last: bool = False) -> None:
        if self.under is not None and self._belongs_to_heading(line):
            part = self.rest if _CHECKED.match(line) else self.under
            part.append(line)
            self.is_first = False
            return
        self._read_sentences(_SENTENCE_END.split(line), is_last=is_last)

    def _belongs_to_heading(self, line: str) -> bool:
        if _ENTRY.match(line):
            return True
        begins_anew = _HEADING.match(line) or _NEXT.match(line) or _GOAL.match(line)
        return not begins_anew and (self.is_first or self.is_section)

    def _read_sentences(self, sentences: Sequence[str], *, is_last: bool) -> None:
        part, opening = self.rest, ""
        for sentence in sentences:
            if _NEXT.match(sentence):
                part, opening = self.following, sentence
            elif _GOAL.match(sentence):
                part = self.goal
            elif part is not self.following or not _goes_on(opening, sentence):
                part = self.rest
            if part is self.rest and is_last and sentence is sentences[-1]:
                part = self.following if _ABOUT_NEXT.search(sentence) else self.rest
            part.append(sentence)
        is_heading = part is not self.rest and bool(_HEADING.match(sentences[-1]))
        self.under = part if is_heading else None
        self.is_first = is_heading
        self.is_section = is_heading and sentences[0].startswith(("#", "**"))


def _goes_on(opening: str, sentence: str) -> bool:
    """Whether a sentence is about next steps too: after "Next:" all of its line is."""
    return bool(_COLON.match(opening) or _FURTHER.match(sentence))
