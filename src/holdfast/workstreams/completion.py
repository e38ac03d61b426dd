"""Whether a text claims that something is done, so that it needs evidence.

A gate on bare words would also stop "abandoned", "not done yet" and "the done callback", and people
would switch it off. So quotations, code and phrases that deny nothing ("without doubt") are
removed, idioms ("up and running") become one word, sentences are split into clauses, and a word of
completion counts only where its clause asserts it. It does not count

- in a question, or in reported speech;
- after a negation, a modal verb, a wish, a request or a condition in its clause, and in what such a
  clause governs;
- where the work is only partly done ("almost finished", "3 of 5");
- before the noun that it describes ("fixed costs"), in sentences about how something works ("paths
  are resolved against the root", "implemented by class X", "implemented in C"), in a list of names
  ("the states open, done and rejected"), or as a part of another word.

Hedges are read literally: "should be fixed" and "that should do it" are hopes and not claims, "I
think it is fixed" and "it should be fixed now" are some. A tick before or after a text is a claim,
an empty box a plan. Reported changes ("added", "have been removed") are claims too. Only English is
supported; a text in another language is not a claim. It is a rule over words and cannot understand
a text: a caller that wants evidence whatever the wording passes `kind: completion`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.workstreams.completion_senses import is_completion
from holdfast.workstreams.completion_words import (
    ARTICLE,
    ASIDE,
    BE,
    CHEERS,
    CLAUSE_ENDS,
    CONDITION,
    DETERMINER,
    DONE,
    GOVERNING,
    IDIOMS,
    JOINED,
    LATER,
    MODAL,
    NAMED,
    NAMING,
    NEGATION,
    NUMBERED,
    NUMBERS,
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
    TESTS,
    TICKED,
    UNTICKED,
    WISH,
    find_first_word,
    is_adverb,
    is_participle,
    split_words,
)

TEXT_CHARS = 50_000  # a longer text is judged by its beginning
HEADING_WORDS = 12  # with the marks around them
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
    plain = _remove_quotations(_fold_letters(text[:TEXT_CHARS]))
    found: list[_Word] = []
    for sentence in _list_statements(plain):
        found += _find_claims(sentence)
    if not found:
        return None
    places = tuple((word.start, word.end) for word in found)
    words = tuple(text[start:end] for start, end in places)
    return Completion(words, places)


_TOKEN = compile_later(
    r"(?P<item>^[ \t]*(?:\d+[.)]|[-*+•])(?=\s))|\[[xX ]\]|#\d+|\d+(?:[.,]\d+){0,3}\s?%"
    r"|\d+/\d+(?![\w/])"
    r"|\w+(?:[-./’'+]\w+)*|(?P<newline>\n\s*)|[^\w\s]",
    re.MULTILINE,
)
_QUOTED = compile_later(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|«[^»\n]{0,500}»"
    r"|(?<!\w)'[^'\n]{1,500}'(?!\w)|(?<!\w)‘[^’\n]{1,500}’(?!\w)",
    re.DOTALL,
)
_QUOTES = "`\"“«'‘"
# In form a negation, a modal verb or a condition, but not in meaning.
_IDLE = compile_later(
    r"\b(?:(?:can['’]?t|cannot|can not) believe|no (?:doubt|question)|(?:no|not a) problem"
    r"|(?:can|must|may)(?: now| also| happily)? (?:confirm|report|say|announce)"
    r"|as far as \w+ can (?:tell|see|say)"
    r"|unless proven otherwise|if i(?: am|['’]m) not (?:mistaken|wrong)|never mind|not to mention"
    r"|last but not least)\b",
    re.IGNORECASE,
)
_EMPHASIS = compile_later(r"(?<!\w)_([^_\n]{1,200})_(?!\w)")
_QUOTED_LINE = compile_later(r"^[ \t]*>.*$", re.MULTILINE)
_SENTENCE_ENDS = split_words(". ! ? ; …")
_ITEM = "•"
_FAILURES = ("failed", "failures", "errors")
_MARKS = frozenset("#[") | TICKED | UNTICKED
_CODE_BEFORE, _CODE_AFTER = "#@$./\\=<{~-", "(=/>{\\"
_CONTRACTED = (
    ("n't", "not"),
    ("'ve", "have"),
    ("'re", "are"),
    ("'ll", "will"),
    ("'m", "am"),
    ("'d", "would"),
)
# After any noun with 's: "CI's green", "the migration's in place".
_STATE_AHEAD = compile_later(
    rf"\s(?:(?:now|all|finally|already|fully)\s)?(?:{'|'.join(sorted(DONE))}|green|clean|complete"
    r"|passing|working|gone|sorted|in place|in\b(?=\s*(?:[.!,;]|$))|up and running|good to go|ready"
    r"|live|wired up|not|still)\b",
    re.IGNORECASE,
)
_WITH_IS = split_words(
    "it's that's this's there's here's what's he's she's who's everything's how's where's"
)


# --- sentences ------------------------------------------------------------------------------------


def _fold_letters(text: str) -> str:
    """Full-width letters, hard spaces and apostrophes as plain ones; the length stays."""
    if text.isascii():
        return text
    return "".join(map(_fold_letter, text))


def _fold_letter(letter: str) -> str:
    if letter == "ʼ":
        return "'"
    plain = unicodedata.normalize("NFKC", letter)
    if len(plain) != 1:
        return letter
    return plain


def _remove_quotations(text: str) -> str:
    """Code and quotations become one word, quoted lines and idioms spaces; the length stays."""
    if any(quote in text for quote in _QUOTES):
        text = _QUOTED.sub(_hide_quotation, text)
    if "_" in text:
        text = _EMPHASIS.sub(r" \1 ", text)
    if ">" in text:
        text = _QUOTED_LINE.sub(_blank, text)
    return _IDLE.sub(_blank, text)


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
        ending = sentence[-1].text
        is_planned = _is_plan(sentence) or (is_planned and is_item)
        if not is_planned and ending != "?":
            yield _remove_item_mark(sentence)
        is_planned = is_planned and (is_item or ending == ":" or _is_heading(sentence))


def _remove_item_mark(sentence: list[_Word]) -> list[_Word]:
    if sentence[0].text == _ITEM:
        return sentence[1:]
    return sentence


def _split_sentences(text: str) -> Iterator[list[_Word]]:
    sentence: list[_Word] = []
    for word in _split_words(text):
        if word.text in ("\n", _ITEM):
            if sentence:
                yield sentence
            sentence = []
        if word.text != "\n":
            sentence.append(word)
        if word.text in _SENTENCE_ENDS:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _split_words(text: str) -> Iterator[_Word]:
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if found["item"]:
            yield _Word(_ITEM, start, end)
        elif found["newline"]:
            # A line that goes on in small letters was only wrapped.
            goes_on = text[end : end + 1].islower()
            is_wrapped = goes_on and found[0].count("\n") == 1
            if not is_wrapped:
                yield _Word("\n", start, end)
        else:
            yield from _spell_out(found, text)


def _spell_out(found: re.Match[str], text: str) -> Iterator[_Word]:
    """A word in small letters, two where it is contracted."""
    start, end = found.span()
    folded = found.group().casefold()
    word = folded.replace("’", "'").replace(" ", "")
    has_code_before = start > 0 and text[start - 1] in _CODE_BEFORE
    has_code_after = end < len(text) and text[end] in _CODE_AFTER
    is_name = has_code_before or has_code_after
    first, second = _split_contraction(word)
    if not second and word.endswith("'s") and _STATE_AHEAD.match(text, end):
        first, second = word[:-2], "is"
    yield _Word(first, start, end, is_name)
    if second:
        yield _Word(second, start, end)


def _split_contraction(word: str) -> tuple[str, str]:
    if word in _WITH_IS:
        return word[:-2], "is"
    for ending, meaning in _CONTRACTED:
        stem = word.removesuffix(ending)
        if stem and stem != word:
            return stem, meaning
    return word, ""


def _is_plan(sentence: Sequence[_Word]) -> bool:
    """A short heading with a word for work that is still to be done."""
    texts = [word.text for word in sentence]
    heading: list[str] = []
    if ":" in texts[:7]:
        heading = texts[: texts.index(":")]
    elif _is_heading(sentence):
        heading = texts
    others = [text for text in heading if text not in PLAN_HEADING]
    return len(others) < len(heading) and not any(map(is_participle, others))


def _is_heading(sentence: Sequence[_Word]) -> bool:
    """In Markdown: "## Next", "**Next**"."""
    return sentence[0].text in ("#", "*") and len(sentence) < HEADING_WORDS


# --- clauses --------------------------------------------------------------------------------------


def _find_claims(sentence: Sequence[_Word]) -> Iterator[_Word]:
    """The words of completion that this sentence asserts, clause by clause.

    What holds a clause back also holds back those that depend on it: the consequence of an "if",
    the rest of a list of things to do, "tested" in "will be written and tested". A description goes
    on in the same way: "removed" in "is registered first and removed last".
    """
    sentence = _join_idioms(sentence)
    is_governed = was_held_back = describes = False
    previous: list[str] = []
    in_all = [word.text for word in sentence]
    has_failures = _has_failures(in_all)
    has_names = bool(NAMING.intersection(in_all))
    for joined_by, words in _split_clauses(sentence):
        texts = [word.text for word in words]
        is_opposite = joined_by == "but" and previous[-1:] == ["anything"]
        is_governed = is_opposite or (is_governed and joined_by != "but")
        continues = _is_continuation(joined_by, texts, previous)
        inherits = was_held_back and continues
        is_later_word = bool(joined_by) and texts == ["success"]  # "Levels: info, success"
        is_listed = is_later_word or (has_names and len(texts) == 1)
        claims: list[_Word] = []
        if not (is_governed or inherits or is_listed):
            claims = list(_list_asserted(words, has_failures=has_failures))
        if describes and continues:
            claims = [word for word in claims if word.text in DONE]
        if joined_by == ":" and _is_result(previous, texts):
            claims = words
        yield from claims
        describes = not claims and (_is_passive(texts) or (describes and continues))
        was_held_back = inherits or _is_held_back(texts, len(texts))
        is_governed = is_governed or _is_governing(texts)
        previous = texts


def _is_result(heading: Sequence[str], texts: Sequence[str]) -> bool:
    """ "Tests: green", "Result: success"."""
    is_tested = bool((TESTS | {"result", "status"}).intersection(heading[-1:]))
    is_wanted = bool({"expected", "desired", "required"}.intersection(heading))
    is_good = len(texts) == 1 and texts[0] in ("ok", "green", "clean", "success", "passing", "pass")
    return is_tested and is_good and not is_wanted and len(heading) <= 3


def _join_idioms(sentence: Sequence[_Word]) -> list[_Word]:
    """Words that mean something only together become one: "up and running" is no two clauses."""
    joined: list[_Word] = []
    at = 0
    while at < len(sentence):
        length = _measure_idiom(sentence, at)
        first, last = sentence[at], sentence[at + length - 1]
        word = first
        if length > 1:
            text = " ".join(each.text for each in sentence[at : at + length])
            word = _Word(text, first.start, last.end)
        joined.append(word)
        at += length
    return joined


def _measure_idiom(sentence: Sequence[_Word], at: int) -> int:
    """How many words the idiom at a place has; 1 where there is none."""
    for idiom in IDIOMS.get(sentence[at].text, ()):
        words = sentence[at : at + len(idiom)]
        is_same = tuple(word.text for word in words) == idiom
        if is_same and not any(word.is_name for word in words):
            return len(idiom)
    return 1


def _list_asserted(clause: Sequence[_Word], *, has_failures: bool) -> Iterator[_Word]:
    """The words of completion that a clause asserts; "40 passed, 2 failed" is not a success."""
    texts = [word.text for word in clause]
    for position, word in enumerate(clause):
        is_code = word.is_name and not _is_entry(clause)
        if is_code or not is_completion(texts, position):
            continue
        if has_failures and "pass" in word.text:
            continue
        if not _is_held_back(texts, position):
            yield word


def _is_entry(clause: Sequence[_Word]) -> bool:
    """ "retry=done" as all that is said; "status=done" is a value."""
    if len(clause) != 2:
        return False
    name, state = clause
    is_pair = name.is_name and state.start == name.end + 1
    return is_pair and state.text in DONE and name.text not in NAMED


def _split_clauses(sentence: Iterable[_Word]) -> Iterator[tuple[str, list[_Word]]]:
    """Each with the word or mark that joins it to the one before."""
    joined_by = ""
    clause: list[_Word] = []
    for word in sentence:
        is_end = word.text in CLAUSE_ENDS
        if not is_end and len(clause) < CLAUSE_WORDS:
            if _has_meaning(word) or (not clause and word.text in CHEERS):
                clause.append(word)
            continue
        if clause:
            yield joined_by, clause
        if is_end:
            joined_by, clause = word.text, []
        else:
            joined_by, clause = ",", [word]
    if clause:
        yield joined_by, clause


def _has_meaning(word: _Word) -> bool:
    """A word, a number, a reference, a tick or an empty box; other marks only separate."""
    first = word.text[0]
    return first.isalnum() or first in _MARKS


def _is_continuation(joined_by: str, texts: Sequence[str], previous: Sequence[str]) -> bool:
    """Whether a clause has no verb group of its own, so that the one before it decides."""
    if joined_by in ("nor", "then"):
        return True
    has_participle = is_participle(find_first_word(texts))
    follows_participle = any(map(is_participle, previous))
    return joined_by in JOINED and has_participle and follows_participle


def _is_passive(texts: Sequence[str]) -> bool:
    """ "Rows are deleted": how something works."""
    words = [text for text in texts if not is_adverb(text)]
    return any(verb in ("is", "are") and is_participle(text) for verb, text in pairwise(words))


def _is_governing(texts: Sequence[str]) -> bool:
    """A condition whose consequence depends on it; not "once it was updated, …", a past event."""
    if texts[:2] == ["as", "soon"]:
        return True
    candidates = (text for text in texts if text in GOVERNING or not is_adverb(text))
    first = next(candidates, "")
    has_past_verb = bool({"was", "were", "had", "did"}.intersection(texts))
    is_past = has_past_verb or any(text.endswith("ed") for text in texts[2:])
    return first in GOVERNING and not is_past


def _has_failures(texts: Sequence[str]) -> bool:
    """ "2 failed"; not "0 errors"."""
    counts = [count for count, word in pairwise(texts) if word in _FAILURES]
    return any(count.isdecimal() and int(count[:9]) > 0 for count in counts)


# --- what holds a word back -----------------------------------------------------------------------


def _is_held_back(texts: Sequence[str], position: int) -> bool:
    before = texts[:position]
    after = texts[position + 1 : position + 2]
    return (
        any(_is_holding_back(texts, at, position) for at in range(position))
        or _is_request(before, texts[position : position + 1])
        or _is_partial(before)
        or bool(LATER.intersection(after))
    )


def _is_holding_back(texts: Sequence[str], at: int, position: int) -> bool:
    """Whether the word at a place denies, plans, supposes or reports what follows it."""
    word = texts[at]
    following = texts[at + 1] if at + 1 < len(texts) else ""
    if word == "should" and "be" in texts[at:position] and "now" in texts[at:]:
        return False  # "should be fixed now" reports what "should be fixed" only hopes
    if word in NEGATION or word in MODAL:
        is_limit = following in ("only", "just", "merely")
        return not is_limit and not _is_in_relative(texts, at, position)
    if word in ASIDE:
        return not _is_over(texts[at + 1 : position])
    if word == "to":
        return following in STILL_TO and texts[max(0, at - 1)] not in REACHED
    if word in REPORT:
        is_ours = at > 0 and texts[at - 1] in {"i", "we"} | TESTS
        return following not in BE and not is_ours
    if word in WISH:
        return texts[max(0, at - 1)] not in ARTICLE
    return word in CONDITION or (word, following) in PHRASES


def _is_in_relative(texts: Sequence[str], at: int, position: int) -> bool:
    """ "The bug that did not reproduce is fixed": the negation belongs to the bug."""
    shortly_before = texts[max(1, at - 2) : at]
    has_relative = bool({"that", "which", "who"}.intersection(shortly_before))
    return has_relative and bool(BE.intersection(texts[at:position]))


def _is_over(texts: Sequence[str]) -> bool:
    """ "After the rebase all tests pass": a second subject begins after the aside."""
    begins_subject = DETERMINER | PRONOUN
    continues_phrase = PREPOSITION | DETERMINER
    return any(
        text in begins_subject and before not in continues_phrase
        for before, text in pairwise(texts)
    )


def _is_request(before: Sequence[str], word: Sequence[str]) -> bool:
    """ "Have it fixed" is one, "have fixed it" reports."""
    others = [text for text in before if not is_adverb(text)]
    is_perfect = others == ["have"] and is_participle("".join(word))
    return not is_perfect and others[:1] != [] and others[0] in REQUEST


def _is_partial(before: Sequence[str]) -> bool:
    """ "Almost", "80%", "3 of 5", "most of it"; "the second half of it" is a whole."""
    if PARTIAL.intersection(before[-3:]) or SOME.intersection(before[:1]):
        return True
    if any(text.endswith("%") and text != "100%" for text in before):
        return True
    if any(part < whole for part, whole in _list_fractions(before)):
        return True
    return _has_share(before)


def _has_share(before: Sequence[str]) -> bool:
    """ "Most of", "only 3"."""
    for first, second, third in zip(["", *before], before, before[1:], strict=False):
        is_part = second in SOME and third == "of" and first not in ORDINAL
        is_number = second == "only" and third.isdecimal()
        if is_part or is_number:
            return True
    return False


def _list_fractions(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """ "3/5", "3 of 5" and "two of the four"; not "task 3 of 5", which is one whole task."""
    for before, text in pairwise(["", *texts]):
        part, _, whole = text.partition("/")
        if part.isdecimal() and whole.isdecimal() and before not in NUMBERED:
            yield int(part[:9]), int(whole[:9])
    counts = ["", *(NUMBERS.get(text, text) for text in texts if text != "the")]
    places = zip(counts, counts[1:], counts[2:], counts[3:], strict=False)
    for before, part, word, whole in places:
        is_share = word == "of" and part.isdecimal() and whole.isdecimal()
        if is_share and before not in NUMBERED:
            yield int(part[:9]), int(whole[:9])
