"""Where a sentence may end early. Pure.

Its first clause says what; what follows a "because", a semicolon or the first full stop says why,
and is worth less than the next entry. A sentence is cut only from its end, visibly, and never
right after a word that turns its meaning: "not because …" and "only so that …" are no ends, and
what would end with "and not …" ends before it.

Nor is it cut where the rest of the same sentence says "never" or "only", in whichever language:
what is left would say the opposite. Then it ends with the sentence before, or stays whole. Only a
reason may go with such a word in it.
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

# What turns or narrows a sentence, wherever in it that stands.
_TURNS = compile_later(
    r"\b(?:not|no|none|nor|neither|never|nothing|nobody|without|only|except|unless|cannot|dont"
    r"|doesnt|cant|wont|nicht|nichts|nie|niemals|niemand|kein\w*|ohne|nur|außer|ausser|weder"
    r"|nunca|jamás|sin|solo|sólo|solamente|salvo|excepto|tampoco|ningún|ninguna?"
    r"|ne|pas|jamais|sans|sauf|seulement|uniquement|aucune?|não|nem|sem|apenas|somente|exceto"
    r"|non|mai|senza|soltanto|tranne|niet|geen|nooit|zonder|alleen"
    r"|не|нет|никогда|без|только|кроме|нельзя)\b"
    r"|n['’]t\b|\bn['’]\w"
    r"|[不没沒别別勿无無未非仅僅只禁]|ない|なく|なし|ません|だけ|以外|のみ|않|없|못|말고|마세요|금지",
    re.IGNORECASE,
)
_SENTENCE_END = compile_later(r"[.!?][\"'”’»)\]]*(?=\s+(?![a-zà-öø-ÿ\d])|\s*$)|[。！？]")
# Says why; what was said stands without it.
_REASON = compile_later(r"(?:,?\s(?:because|so that|in order to)|,\s(?:since|as|namely))\b")
_ABBREVIATED = compile_later(
    r"(?:\b[A-Z][a-z]|\b\w|\b(?:etc|vs|mrs|nr|no|ca|max|min|bzw|usw|vgl|ggf|inkl))\.$",
    re.IGNORECASE,
)
_ABBREVIATION_CHARS = 6  # of the longest, with its stop


def cut_after_clause(text: str, max_chars: int, least: int = LEAST_CHARS) -> str | None:
    """The clauses that fit, ended by `…` where there are more; None where none ends in the room."""
    if len(text) <= max_chars:
        return text
    beginning = text[: max_chars + 1]
    ends = [found.start() for found in _CLAUSE_END.finditer(beginning)]
    fitting = [end for end in ends if least <= end < max_chars and not _is_turned(text, end)]
    whole = [end for end in fitting if not is_turned_after(text, end)]
    if not whole:
        return None
    return text[: whole[-1]] + ELLIPSIS


def cut_to_fit(text: str, max_chars: int) -> str | None:
    """At most so many characters: after a clause in their second half, else after a word.

    None where what is left would lack a word that turns it.
    """
    least = max(LEAST_CHARS, max_chars // 2)
    shown = cut_after_clause(text, max_chars, least) or cut_after_word(text, max_chars)
    return keep_turn(text, shown, max_chars)


def keep_turn(text: str, beginning: str, max_chars: int) -> str | None:
    """A beginning of a text unless it lacks a word that turns it; then the sentences before."""
    if beginning == text or not is_turned_after(text, len(beginning.removesuffix(ELLIPSIS))):
        return beginning
    ends = [end for end in _list_sentence_ends(text) if LEAST_CHARS <= end < max_chars]
    return text[: ends[-1]] + ELLIPSIS if ends else None


def cut_after_word(text: str, max_chars: int) -> str:
    """Without "and the" or "not" at its end, which say nothing there."""
    beginning = cut(text, max_chars)
    if beginning == text:
        return text
    return _LEFT_OVER.sub("", beginning.removesuffix(ELLIPSIS)) + ELLIPSIS


def _is_turned(text: str, end: int) -> bool:
    return bool(_TURNED.search(text[:end]))


def is_turned_after(text: str, end: int) -> bool:
    """Whether the sentence that a text is cut in is turned by what follows there."""
    ends = _list_sentence_ends(text)
    if len(text[:end].rstrip()) in ends:
        return False
    stop = next((each for each in ends if each > end), len(text))
    reason = _REASON.search(text, end, stop)
    stated = text[: reason.start()] if reason else text[:stop]
    return any(found.end() > end for found in _TURNS.finditer(stated))


def is_turned_before(text: str, start: int) -> bool:
    """The same of what comes before, where a text is cut at its beginning."""
    begins = max((each for each in _list_sentence_ends(text) if each <= start), default=0)
    return any(found.start() < start for found in _TURNS.finditer(text, begins))


def _list_sentence_ends(text: str) -> list[int]:
    """An abbreviation ends none."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    return [
        end
        for end in ends
        if not _ABBREVIATED.search(text[max(0, end - _ABBREVIATION_CHARS) : end])
    ]
