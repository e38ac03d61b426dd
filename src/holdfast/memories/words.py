"""The words of a text, as both engines index them and as a question is asked.

One normaliser feeds both indexes, so that a question finds the same memories on either engine:
case, accents and English endings are removed, identifiers and paths are split, and languages that
set no spaces are indexed by pairs of characters. What an engine would do with the text by itself
depends on its version and its locale.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from holdfast.ground.patterns import compile_later

WORD_CHARS = 64

# Words that a sentence is built with; apostrophes are left out.
_FUNCTION_WORDS = """
a about am an and are as at be been being but by can cannot cant could did didnt do does doesnt
doing dont for from had has hasnt have having he her hers him his how i if im in into is isnt it its
ive may me might mine must my no nor not of off on or our ours out over shall she should shouldnt so
some such than that thats the their theirs them then there these they this those to too up us was
wasnt we were what whats when where which while who whom whose why will with wont would you your
yours
"""
# Words that fit any subject, so that having one of them in common says little.
_LIGHT_WORDS = """
again all also always another any anybody anyone anything because before between both came done down
during each either else even ever every everything few gave get gets getting give given gives go
goes going gone got here however instead just keep know let lets like made make makes making many
more most much need needed needs neither never nobody none nothing now often once one only other own
please quite rather really said same say says somebody someone something still take taken tell thing
things though through told under until upon use used uses using very via want wanted wants way well
went whereas whether within without yes yet
"""
FUNCTION_SHARE, LIGHT_SHARE = 0.2, 0.5
# What developers write short and ask for long, or the other way round.
SHORT_FORMS = {
    "auth": "authentication",
    "config": "configuration",
    "configs": "configuration",
    "db": "database",
    "deps": "dependencies",
    "dev": "development",
    "dir": "directory",
    "docs": "documentation",
    "env": "environment",
    "k8s": "kubernetes",
    "pg": "postgres",
    "postgresql": "postgres",
    "prod": "production",
    "pw": "password",
    "repo": "repository",
    "repos": "repository",
}

_HUMP = compile_later(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_APOSTROPHES = compile_later("['’ʼ](?=\\w)")
_ACCENTS = compile_later("[\u0300-\u036f]")
# What SQLite's tokenizer, which knows Unicode 6.1, or a locale of PostgreSQL may not take for a
# letter.
_LATER = compile_later(
    "[\U00010000-\U0001ffff\u08a0-\u08ff\u1c80-\u1cff\ua7a0-\ua7ff\uab30-\uab6f]"
)
# Scripts that are written without spaces, and Korean, whose endings are glued on.
_UNSPACED = compile_later(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)


def extract_words(text: str) -> frozenset[str]:
    """Each word that a text can be found by, once."""
    found: set[str] = set()
    normal = unicodedata.normalize("NFKC", _remove_apostrophes(text))
    for token in _split_tokens(normal):
        found.update(_split_token(token))
    if not found:
        return frozenset(_spell_signs(text))
    if not text.isascii():
        found.update(_spell_separate_signs(text))
    return frozenset(found)


def _remove_apostrophes(text: str) -> str:
    if text.isascii() and "'" not in text:  # a pattern costs a short process more than a look
        return text
    return _APOSTROPHES.sub("", text)


def _spell_separate_signs(text: str) -> Iterator[str]:
    """Signs that stand like a word of their own, such as an emoji; not plain punctuation."""
    for piece in text.split():
        if not piece.isascii() and not next(_split_tokens(piece), None):
            yield from _spell_signs(piece)


def _spell_signs(text: str) -> Iterator[str]:
    """Each sign of a text that has no letters, as a word that both indexes take."""
    for sign in text:
        if not sign.isspace():
            yield f"u{ord(sign):x}"


def _split_tokens(text: str) -> Iterator[str]:
    """What stands between spaces and punctuation; a mark belongs to the letter before it."""
    start = None
    for at, character in enumerate(text):
        if character.isalnum() or character in "_-." or unicodedata.category(character)[0] == "M":
            if start is None:
                start = at
        elif start is not None:
            yield text[start:at]
            start = None
    if start is not None:
        yield text[start:]


def _split_token(token: str) -> Iterator[str]:
    """Its parts, and where there are several the whole as well: `maxRetries` is found by either."""
    parts: list[str] = []
    for piece in re.split("[-_.]+", token):
        if piece:
            parts += _HUMP.split(piece)
    for part in parts:
        yield from _split_part(_fold(part))
    if len(parts) > 1:
        yield from _stem_part(_fold("".join(parts)))


def _split_part(part: str) -> Iterator[str]:
    if part.isascii():
        yield from _stem_part(part)
        return
    rest = 0
    for run in _UNSPACED.finditer(part):
        yield from _stem_part(part[rest : run.start()])
        yield from _split_into_pairs(run[0])
        rest = run.end()
    yield from _stem_part(part[rest:])


def _split_into_pairs(characters: str) -> Iterator[str]:
    """Each character with the next one; a single character alone."""
    last = max(len(characters) - 1, 1)
    for at in range(last):
        yield characters[at : at + 2]


def _stem_part(part: str) -> Iterator[str]:
    if part:
        word = SHORT_FORMS.get(part, part)
        yield stem(_spell_unknown(word)[:WORD_CHARS])


def _spell_unknown(word: str) -> str:
    """With letters of later additions to Unicode, which an index may skip, by their numbers."""
    if word.isascii():
        return word
    return _LATER.sub(lambda found: f"u{ord(found[0]):x}", word)


def _fold(part: str) -> str:
    """Without case and accents."""
    if part.isascii():
        return part.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", part.casefold()))
    return unicodedata.normalize("NFC", bare)


def measure_meaning(word: str) -> float:
    """How much a word counts beside others that are as rare: whatever a question is about, it is
    asked with the same small words.
    """
    return _list_shares(word[:2]).get(word, 1.0)


@lru_cache(maxsize=500)
def _list_shares(beginning: str) -> dict[str, float]:
    """Of the words that begin so, by their stems, which begin so too: to find the stems of all
    takes a hook longer than the question does.
    """
    return {
        stem(word): share
        for words, share in ((_LIGHT_WORDS, LIGHT_SHARE), (_FUNCTION_WORDS, FUNCTION_SHARE))
        for word in words.split()
        if word.startswith(beginning)
    }


# --- English endings (after Porter, 1980; each table has the longest first) -----------------------

_STEP_2 = {
    "ational": "ate",
    "ization": "ize",
    "isation": "ise",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "tional": "tion",
    "biliti": "ble",
    "entli": "ent",
    "ousli": "ous",
    "ation": "ate",
    "alism": "al",
    "aliti": "al",
    "iviti": "ive",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "iser": "ise",
    "abli": "able",
    "alli": "al",
    "ator": "ate",
    "eli": "e",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "alise": "al",
    "iciti": "ic",
    "ical": "ic",
    "ness": "",
    "ful": "",
}
_STEP_4 = (
    *(
        "ement",
        "ance",
        "ence",
        "able",
        "ible",
        "ment",
        "sion",
        "tion",
        "ant",
        "ent",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
    ),
    *("ize", "ise", "al", "er", "ic", "ou"),
)


def _find_shape(word: str) -> str:
    """`c` for each consonant and `v` for each vowel; a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        if letter in "aeiou" or (letter == "y" and shape.endswith("c")):
            shape += "v"
        else:
            shape += "c"
    return shape


def _measure(word: str) -> int:
    """How often a consonant follows a vowel."""
    return _find_shape(word).count("vc")


def _ends_short(word: str) -> bool:
    return _find_shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its English ending: `migrations` and `migrating` are both `migrat`."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    for step in (_drop_plural, _drop_past, _replace_y, _step_2, _step_3, _step_4, _drop_e):
        word = step(word)
    return word


def _drop_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _drop_past(word: str) -> str:
    if word.endswith("eed"):
        if _measure(word[:-3]):
            return word[:-1]
        return word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and "v" in _find_shape(rest):
            return _restore_ending(rest)
    return word


def _restore_ending(rest: str) -> str:
    if rest.endswith(("at", "bl", "iz")):
        return f"{rest}e"
    is_doubled = rest[-1:] == rest[-2:-1]
    ends_in_consonant = _find_shape(rest).endswith("c")
    if is_doubled and ends_in_consonant and rest[-1] not in "lsz":
        return rest[:-1]
    if _measure(rest) == 1 and _ends_short(rest):
        return f"{rest}e"
    return rest


def _replace_y(word: str) -> str:
    rest = word.removesuffix("y")
    if rest != word and len(rest) > 1 and _find_shape(rest).endswith("c"):
        return f"{rest}i"
    return word


def _step_2(word: str) -> str:
    return _replace_ending(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replace_ending(word, _STEP_3)


def _replace_ending(word: str, table: dict[str, str]) -> str:
    for ending in table:
        if word.endswith(ending):
            rest = word.removesuffix(ending)
            if not _measure(rest):
                return word
            return rest + table[ending]
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            if ending in ("sion", "tion"):
                ending = "ion"
            rest = word.removesuffix(ending)
            if _measure(rest) > 1:
                return rest
            return word
    return word


def _drop_e(word: str) -> str:
    rest = word.removesuffix("e")
    if rest != word and _is_long(rest):
        word = rest
    if word.endswith("ll") and _measure(word) > 1:
        return word[:-1]
    return word


def _is_long(word: str) -> bool:
    if _measure(word) == 1:
        return not _ends_short(word)
    return _measure(word) > 1
