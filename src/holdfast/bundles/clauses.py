"""Where a sentence may end early. Pure.

Its first clause says what; what follows a "because", a semicolon or the first full stop says why,
and is worth less than the next entry. A sentence is cut only from its end, visibly, and never
right after a word that turns its meaning: "not because …" and "only so that …" are no ends, and
what would end with "and not …" ends before it.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later
from holdfast.ground.text import ELLIPSIS, cut

LEAST_CHARS = 36  # a shorter beginning says too little

_CLAUSE_END = compile_later(
    r"(?<=\w\w[.!?])(?<!\b[A-Z][a-z]\.)(?=\s+[A-Z])"  # a sentence, but not "Ms. Okafor"
    r"|(?=;\s|\s[–—]\s)"
    r"|(?<!,)(?=,?\s(?:because|so that|although|though|whereas|in order to)\b)"
    r"|(?=,\s(?:since|so|as(?! well)|which|where|hence|therefore|namely|whatever|even)\b)"
)
_TURNING = r"not|no|never|nor|only|just|even|mainly|partly|simply|merely"
_TURNED = compile_later(rf"(?:\b(?:{_TURNING}|and|or|but|as|ever)|n't)$", re.IGNORECASE)
_LEFT_OVER = compile_later(
    rf"(?:[,;:]|\s(?:{_TURNING}|an?|the|and|or|but|of|to|in|into|on|at|by|for|with|from|as|than|"
    r"that|which|whichever|whose|when|where|while|because|before|after|if|so|is|are|was|were|be|it|"
    r"its))+$",
    re.IGNORECASE,
)


def cut_after_clause(text: str, max_chars: int, least: int = LEAST_CHARS) -> str | None:
    """The clauses that fit, ended by `…` where there are more; None where none ends in the room."""
    if len(text) <= max_chars:
        return text
    beginning = text[: max_chars + 1]
    ends = [found.start() for found in _CLAUSE_END.finditer(beginning)]
    fitting = [end for end in ends if least <= end < max_chars and not _is_turned(text, end)]
    if not fitting:
        return None
    return text[: fitting[-1]] + ELLIPSIS


def cut_to_fit(text: str, max_chars: int) -> str:
    """At most so many characters: after a clause in their second half, else after a word."""
    least = max(LEAST_CHARS, max_chars // 2)
    return cut_after_clause(text, max_chars, least) or cut_after_word(text, max_chars)


def cut_after_word(text: str, max_chars: int) -> str:
    """Without "and the" or "not" at its end, which say nothing there."""
    beginning = cut(text, max_chars)
    if beginning == text:
        return text
    return _LEFT_OVER.sub("", beginning.removesuffix(ELLIPSIS)) + ELLIPSIS


def _is_turned(text: str, end: int) -> bool:
    return bool(_TURNED.search(text[:end]))
