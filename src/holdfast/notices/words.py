"""The words of a text, as both sides of a match read them. Light, and pure."""

from __future__ import annotations

from holdfast.ground.patterns import compile_later

_FAR_EAST = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # written without spaces between words
_WORD = compile_later(rf"[{_FAR_EAST}]+|(?:(?![{_FAR_EAST}])[^\W_])+")
_PART = compile_later(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NOT_WORDS = compile_later(r"[\s_-]+")


def make_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def split_words(text: str) -> list[str]:
    """In small letters; a word of another script that touches a Latin one is a word of its own."""
    return _WORD.findall(text.casefold())


def find_stem(word: str) -> str:
    """Without the ending of a plural, so that one stream is a match for streams."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def split_identifier(name: str) -> list[str]:
    """The words of a name in code, whichever way they are joined."""
    return [part.casefold() for part in _PART.findall(name)]


def normalise_name(name: str) -> str:
    """Of a package: the ways of writing it that registries take for the same."""
    return _NOT_WORDS.sub("-", name.casefold()).strip("-")
