"""Which of several a person means by a few words. Pure.

Every word has to be found: as it is, as the beginning of a word, or with one slip of the finger.
What is found in a title says more than what is found in a text. Where two fit as well as each
other, neither is chosen: a list of them is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

QUERY_WORDS, WORD_CHARS = 20, 40
LONGEST_WORD, VOCABULARY_CHARS = 100, 50_000  # of a text that is kept to be found by
SHORTEST_WITH_SLIP = 4
TITLE, ABOUT, TEXT = 3, 2, 1  # where a word is found, the best first
SLIP = 0.5  # is taken off for a word that is not quite the same

_WORD = compile_later(r"[^\W_]+")


@dataclass(frozen=True)
class Entry:
    """Something that can be found: by its title, by what it is about, or by any text in it.

    Of a long text it is enough to have those of the words in it that are looked for.
    """

    id: str
    title: str
    about: str = ""
    text: str = ""


@dataclass(frozen=True)
class RankedEntry:
    id: str
    score: float


def list_words(query: str) -> list[str]:
    """Small letters without marks and operators; of a long text the first words."""
    words = [word[:WORD_CHARS] for word in _WORD.findall(query.casefold())]
    return list(dict.fromkeys(words))[:QUERY_WORDS]


def make_vocabulary(text: str) -> str:
    """Every word once, the first first: what is found in the text is found in these.

    A text says most of its words many times; of a very long one the rest is left out.
    """
    words = (word[:LONGEST_WORD] for word in _WORD.findall(text.casefold()))
    return " ".join(dict.fromkeys(words))[:VOCABULARY_CHARS]


def rank(query: str, entries: Sequence[Entry]) -> list[RankedEntry]:
    """Those in which every word is found, the best first; of equal ones the earlier entry."""
    words = list_words(query)
    if not words:
        return []
    found = [RankedEntry(entry.id, score) for entry in entries if (score := _score(words, entry))]
    return sorted(found, key=lambda each: -each.score)


def choose(found: Sequence[RankedEntry]) -> str | None:
    """The one that is meant; None where none is, or two fit equally."""
    if not found or (len(found) > 1 and found[0].score == found[1].score):
        return None
    return found[0].id


def _score(words: Sequence[str], entry: Entry) -> float:
    """Zero where one word is missing."""
    title, about = (set(_WORD.findall(part.casefold())) for part in (entry.title, entry.about))
    text, title_text = entry.text.casefold(), entry.title.casefold()
    total = 0.0
    for word in words:
        best = max(
            _match(word, title) * TITLE,
            _match(word, about) * ABOUT,
            TEXT if word in text or word in title_text else 0,
        )
        if not best:
            return 0.0
        total += best
    return total / len(words)


def _match(word: str, known: set[str]) -> float:
    """One where the word itself is there, less for its beginning or with a slip."""
    if word in known:
        return 1.0
    if any(each.startswith(word) for each in known) and len(word) > 1:
        return 1.0 - SLIP / 2
    if len(word) >= SHORTEST_WITH_SLIP and any(_is_slip(word, each) for each in known):
        return SLIP
    return 0.0


def _is_slip(word: str, other: str) -> bool:
    """Whether one letter was left out, added, changed, or swapped with the next."""
    if abs(len(word) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    rest, other_rest = word[start:], other[start:]
    is_swapped = rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]
    is_one_letter = rest[1:] in (other_rest, other_rest[1:]) or rest == other_rest[1:]
    return is_swapped or is_one_letter
