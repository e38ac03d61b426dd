"""Whether a text claims that something is done, so that it needs evidence.

A gate on bare words would also stop "abandoned", "not done yet" and "the done callback", and people
would switch it off. So quotations, code and phrases that deny nothing ("without doubt") are
removed, sentences are split into clauses, and a word of completion counts only where its clause
asserts it. It does not count

- in a question, or in reported speech;
- after a negation, a modal verb, a wish, a request or a condition in its clause, and in what such a
  clause governs;
- where the work is only partly done ("almost finished", "3 of 5");
- before the noun that it describes ("fixed costs"), in sentences about how something works ("paths
  are resolved against the root", "implemented by class X"), in a list of names ("the states open,
  done and rejected"), or as a part of another word.

Hedges are read literally: "should be fixed" is not a claim, "I think it is fixed" is one. Reported
changes ("added", "have been removed") are claims too. Only English is supported; a text in another
language is not a claim. It is a rule over words and cannot understand a text: a caller that wants
evidence whatever the wording passes `kind: completion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.workstreams.completion_senses import is_completion
from holdfast.workstreams.completion_words import (
    ASIDE,
    BE,
    CLAUSE_ENDS,
    CONDITION,
    DETERMINER,
    GOVERNING,
    JOINED,
    LATER,
    MODAL,
    NAMING,
    NEGATION,
    ORDINAL,
    PARTIAL,
    PHRASES,
    PLAN_HEADING,
    PREPOSITION,
    PRONOUN,
    REACHED,
    REPORT,
    REQUEST,
    SOME,
    STILL_TO,
    WISH,
    is_adverb,
    is_participle,
    split_words,
)

TEXT_CHARS = 50_000  # a longer text is judged by its beginning
CLAUSE_WORDS = 60  # longer clauses are split, because words are compared pairwise


@dataclass(frozen=True)
class Completion:
    """The words that claim completion, and where each begins and ends in the text."""

    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def word(self) -> str:
        return self.words[0]


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int
    is_name: bool = False  # stands in code, a path or a tag


def find_completion(text: str) -> Completion | None:
    """The words by which a text says that something is done; None where it does not say so."""
    statements = _list_statements(_remove_quotations(text[:TEXT_CHARS]))
    found = [word for sentence in statements for word in _find_claims(sentence)]
    if not found:
        return None
    places = tuple((word.start, word.end) for word in found)
    return Completion(tuple(text[start:end] for start, end in places), places)


_TOKEN = re.compile(
    r"(?P<item>^[ \t]*(?:\d+[.)]|[-*+•])(?=\s))|\[[xX ]\]|#\d+|\d+(?:[.,]\d+){0,3}\s?%"
    r"|\d+/\d+(?![\w/])"
    r"|\w+(?:[-./’'+]\w+)*|(?P<newline>\n\s*)|[^\w\s]",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|«[^»\n]{0,500}»"
    r"|(?<!\w)'[^'\n]{1,500}'(?!\w)|(?<!\w)‘[^’\n]{1,500}’(?!\w)",
    re.DOTALL,
)
# In form a negation, a modal verb or a condition, but not in meaning.
_IDLE = re.compile(
    r"\b(?:(?:can['’]?t|cannot|can not) believe|no (?:doubt|question)|(?:no|not a) problem"
    r"|(?:can|must|may)(?: now| also| happily)? (?:confirm|report|say|announce)"
    r"|as far as \w+ can (?:tell|see|say)"
    r"|unless proven otherwise|if i(?: am|['’]m) not (?:mistaken|wrong)|never mind|not to mention"
    r"|last but not least)\b",
    re.IGNORECASE,
)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_SENTENCE_ENDS = split_words(". ! ? ; …")
_ITEM = "•"
_CODE_BEFORE, _CODE_AFTER = "#@$./\\=<{~-", "(=/>{\\"
_CONTRACTED = (
    ("n't", "not"),
    ("'ve", "have"),
    ("'re", "are"),
    ("'ll", "will"),
    ("'m", "am"),
    ("'d", "would"),
)
_WITH_IS = split_words(
    "it's that's this's there's here's what's he's she's who's everything's how's where's"
)


# --- sentences ------------------------------------------------------------------------------------


def _remove_quotations(text: str) -> str:
    """Code and quotations become one word, quoted lines and idioms spaces; the length stays."""
    text = _QUOTED.sub(_hide_quotation, text)
    for pattern in (_QUOTED_LINE, _IDLE):
        text = pattern.sub(_blank, text)
    return text


def _hide_quotation(found: re.Match[str]) -> str:
    quotation = found.group()
    if "\n" in quotation:
        return _blank(found)
    return "Q" * len(quotation)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _list_statements(text: str) -> Iterator[list[_Word]]:
    """Sentences that state something: without questions and items of a plan ("Plan:")."""
    is_planned = False
    for sentence in _split_sentences(text):
        is_item = sentence[0].text == _ITEM
        is_planned = _is_plan(sentence) or (is_planned and is_item)
        if not is_planned and sentence[-1].text != "?":
            yield sentence[is_item:]
        is_planned = is_planned and (is_item or sentence[-1].text == ":")


def _split_sentences(text: str) -> Iterator[list[_Word]]:
    sentence: list[_Word] = []
    for word in _split_words(text):
        if word.text == "\n" or (word.text == _ITEM and sentence):
            yield from [sentence] if sentence else []
            sentence = []
        if word.text != "\n":
            sentence.append(word)
        if word.text in _SENTENCE_ENDS:
            yield sentence
            sentence = []
    yield from [sentence] if sentence else []


def _split_words(text: str) -> Iterator[_Word]:
    for found in _TOKEN.finditer(text):
        if found["item"]:
            yield _Word(_ITEM, found.start(), found.end())
        elif found["newline"]:
            # A line that goes on in small letters was only wrapped.
            if found[0].count("\n") > 1 or not text[found.end() : found.end() + 1].islower():
                yield _Word("\n", found.start(), found.end())
        else:
            yield from _spell_out(found, text)


def _spell_out(found: re.Match[str], text: str) -> Iterator[_Word]:
    """A word in small letters, two where it is contracted."""
    start, end = found.span()
    word = found.group().casefold().replace("’", "'").replace(" ", "")
    has_code_before = start > 0 and text[start - 1] in _CODE_BEFORE
    has_code_after = end < len(text) and text[end] in _CODE_AFTER
    is_name = has_code_before or has_code_after
    first, second = _split_contraction(word)
    yield _Word(first, start, end, is_name)
    if second:
        yield _Word(second, start, end)


def _split_contraction(word: str) -> tuple[str, str]:
    if word in _WITH_IS:
        return word[:-2], "is"
    for ending, meaning in _CONTRACTED:
        if word.endswith(ending) and len(word) > len(ending):
            return word.removesuffix(ending), meaning
    return word, ""


def _is_plan(sentence: Sequence[_Word]) -> bool:
    """A short heading before a colon, with a word for work that is still to be done."""
    texts = [word.text for word in sentence]
    if ":" not in texts[:7]:
        return False
    heading = texts[: texts.index(":")]
    return bool(PLAN_HEADING.intersection(heading))


# --- clauses --------------------------------------------------------------------------------------


def _find_claims(sentence: Sequence[_Word]) -> Iterator[_Word]:
    """The words of completion that this sentence asserts, clause by clause.

    What holds a clause back also holds back those that depend on it: the consequence of an "if",
    the rest of a list of things to do, "tested" in "will be written and tested".
    """
    is_governed = was_held_back = False
    previous: list[str] = []
    in_all = [word.text for word in sentence]
    has_failures, has_names = _has_failures(in_all), bool(NAMING.intersection(in_all))
    for joined_by, words in _split_clauses(sentence):
        texts = [word.text for word in words]
        is_governed = is_governed and joined_by != "but"
        inherits = was_held_back and _is_continuation(joined_by, texts, previous)
        is_listed = has_names and len(texts) == 1
        for position, word in enumerate(words):
            is_claim = (
                not word.is_name
                and is_completion(texts, position)
                and not (has_failures and "pass" in word.text)
            )
            if is_claim and not (
                is_governed or inherits or is_listed or _is_held_back(texts, position)
            ):
                yield word
        was_held_back = inherits or _is_held_back(texts, len(texts))
        is_governed = is_governed or _is_governing(texts)
        previous = texts


def _split_clauses(sentence: Iterable[_Word]) -> Iterator[tuple[str, list[_Word]]]:
    joined_by, clause = "", list[_Word]()
    for word in sentence:
        if word.text not in CLAUSE_ENDS and len(clause) < CLAUSE_WORDS:
            clause += [word] if word.text[0].isalnum() or word.text[0] in "[#✅✔☑" else []
            continue
        if clause:
            yield joined_by, clause
        joined_by, clause = (word.text, []) if word.text in CLAUSE_ENDS else (",", [word])
    if clause:
        yield joined_by, clause


def _is_continuation(joined_by: str, texts: Sequence[str], previous: Sequence[str]) -> bool:
    """Whether a clause has no verb group of its own, so that the one before it decides."""
    if joined_by in ("nor", "then"):
        return True
    first = next((text for text in texts if not is_adverb(text)), "")
    return joined_by in JOINED and is_participle(first) and any(map(is_participle, previous))


def _is_governing(texts: Sequence[str]) -> bool:
    """A condition whose consequence depends on it; not "once it was updated, …", a past event."""
    first = next((text for text in texts if not is_adverb(text) or text in GOVERNING), "")
    has_past_verb = bool({"was", "were", "had", "did"}.intersection(texts))
    is_past = has_past_verb or any(text.endswith("ed") for text in texts[2:])
    return (first in GOVERNING and not is_past) or texts[:2] == ["as", "soon"]


def _has_failures(texts: Sequence[str]) -> bool:
    return any(
        a.isdecimal() and int(a[:9]) > 0 and b in ("failed", "failures", "errors")
        for a, b in pairwise(texts)
    )


# --- what holds a word back -----------------------------------------------------------------------


def _is_held_back(texts: Sequence[str], position: int) -> bool:
    before, after = texts[:position], texts[position + 1 : position + 2]
    return (
        any(_is_holding_back(texts, at, position) for at in range(position))
        or _is_request(before)
        or _is_partial(before)
        or bool(LATER.intersection(after))
    )


def _is_holding_back(texts: Sequence[str], at: int, position: int) -> bool:
    """Whether the word at a place denies, plans, supposes or reports whatever follows it."""
    word = texts[at]
    following = texts[at + 1] if at + 1 < len(texts) else ""
    if word in NEGATION or word in MODAL:
        is_limit = following in ("only", "just", "merely")
        return not is_limit and not _is_in_relative(texts, at, position)
    if word in ASIDE:
        return not _is_over(texts[at + 1 : position])
    if word == "to":
        return following in STILL_TO and texts[max(0, at - 1)] not in REACHED
    if word in REPORT:
        return following not in BE and (at == 0 or texts[at - 1] not in ("i", "we"))
    return word in CONDITION or word in WISH or (word, following) in PHRASES


def _is_in_relative(texts: Sequence[str], at: int, position: int) -> bool:
    """ "The bug that did not reproduce is fixed": the negation belongs to the bug."""
    relative = {"that", "which", "who"}.intersection(texts[max(1, at - 2) : at])
    return bool(relative and BE.intersection(texts[at:position]))


def _is_over(texts: Sequence[str]) -> bool:
    """ "After the rebase all tests pass": a second subject begins after the aside."""
    return any(
        text in DETERMINER | PRONOUN and before not in PREPOSITION | DETERMINER
        for before, text in pairwise(texts)
    )


def _is_request(before: Sequence[str]) -> bool:
    first = next((text for text in before if not is_adverb(text)), "")
    return first in REQUEST


def _is_partial(before: Sequence[str]) -> bool:
    """ "Almost", "80%", "3 of 5", "most of it"; "the second half of it" is a whole."""
    if PARTIAL.intersection(before[-3:]) or any(
        text.endswith("%") and text != "100%" for text in before
    ):
        return True
    if SOME.intersection(before[:1]) or any(
        int(part) < int(whole) for part, whole in _list_fractions(before)
    ):
        return True
    return any(
        (second in SOME and third == "of" and first not in ORDINAL)
        or (second == "only" and third.isdecimal())
        for first, second, third in zip(["", *before], before, before[1:], strict=False)
    )


def _list_fractions(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        part, slash, whole = text.partition("/")
        if slash and part.isdecimal() and whole.isdecimal():
            yield part[:9], whole[:9]
    for part, word, whole in zip(texts, texts[1:], texts[2:], strict=False):
        if part.isdecimal() and word == "of" and whole.isdecimal():
            yield part[:9], whole[:9]
