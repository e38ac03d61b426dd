"""Which repeated parts of a pattern read the same text in more than one way.

`(?:a+|b)*` tries every way before it says no: each letter more doubles the time, and while a
pattern works nothing else of the process does. What is found is a place to look at, named by the
letters with which both ways begin, among a sample of letters.
"""

import re
from collections.abc import Iterator, Sequence
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LETTERS = frozenset(map(chr, range(0x250))) | frozenset("字日й א ع ｦＡ\u3000\u2028\u200b😀")
MANY = 16  # ways double with each: fewer are no matter
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
ALL_REPEATS = (*REPEATS, codes.POSSESSIVE_REPEAT)  # which reads in one way only
CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}

Node = tuple[Any, Any]
Nodes = Sequence[Node]


def find_ambiguous_repeats(pattern: str, flags: int = 0) -> list[str]:
    """For each the letters that can be read in two ways."""
    parsed = parser.parse(pattern, flags)
    is_any_case = bool(parsed.state.flags & re.IGNORECASE)
    found = [_find_shared(list(body), is_any_case) for body in _list_long_repeats(parsed)]
    return ["".join(sorted(shared)[:5]) for shared in found if shared]


def _list_long_repeats(nodes: Nodes) -> Iterator[Nodes]:
    for code, value in nodes:
        if code in REPEATS and value[1] > MANY:
            yield value[2]
        for inner in _list_inner(code, value):
            yield from _list_long_repeats(inner)


def _list_inner(code: Any, value: Any) -> list[Nodes]:
    if code in ALL_REPEATS:
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return []


def _find_shared(body: Nodes, is_any_case: bool) -> set[str]:
    """Letters of two alternatives of one letter each, and those with which an alternative that
    ends in a repeat may as well begin again.
    """
    ways = [list(way) for way in _list_ways(body)]
    begins = [_find_first(way, is_any_case)[0] for way in ways]
    single = [begin for way, begin in zip(ways, begins, strict=True) if _is_single(way)]
    shared = set[str]()
    for number, letters in enumerate(single):
        shared |= letters & set[str]().union(*single[:number])
    anything = set[str]().union(*begins)
    for way in ways:
        shared |= _find_open_end(way, is_any_case) & anything
    return shared


def _list_ways(nodes: Nodes) -> Iterator[Nodes]:
    if len(nodes) == 1 and nodes[0][0] is codes.SUBPATTERN:
        yield from _list_ways(list(nodes[0][1][3]))
    elif len(nodes) == 1 and nodes[0][0] is codes.BRANCH:
        for way in nodes[0][1][1]:
            yield from _list_ways(list(way))
    else:
        yield nodes


def _is_single(way: Nodes) -> bool:
    return len(way) == 1 and way[0][0] not in ALL_REPEATS


def _find_open_end(way: Nodes, is_any_case: bool) -> set[str]:
    """Letters of the repeats behind which the way may end."""
    letters = set[str]()
    for code, value in reversed(way):
        if code in REPEATS and value[1] > MANY:
            letters |= _find_first(value[2], is_any_case)[0]
        if not _can_be_empty((code, value), is_any_case):
            break
    return letters


def _can_be_empty(node: Node, is_any_case: bool) -> bool:
    return _find_first([node], is_any_case)[1]


def _find_first(nodes: Nodes, is_any_case: bool) -> tuple[set[str], bool]:
    """The letters that it can begin with, and whether it can be empty."""
    letters = set[str]()
    for node in nodes:
        first, is_empty = _find_first_of(node, is_any_case)
        letters |= first
        if not is_empty:
            return letters, False
    return letters, True


def _find_first_of(node: Node, is_any_case: bool) -> tuple[set[str], bool]:
    code, value = node
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return set(), True
    inner = [_find_first(each, is_any_case) for each in _list_inner(code, value)]
    if inner:
        letters = set[str]().union(*(each for each, _ in inner))
        can_be_left_out = code in ALL_REPEATS and value[0] == 0
        return letters, can_be_left_out or any(is_empty for _, is_empty in inner)
    matches = _compile_one(code, value, is_any_case)
    return {letter for letter in LETTERS if matches(letter)}, False


def _compile_one(code: Any, value: Any, is_any_case: bool) -> Any:
    """What a node of one letter matches."""
    if code is codes.LITERAL:
        wanted = chr(value)
        folded = wanted.casefold()
        return lambda letter: letter == wanted or (is_any_case and letter.casefold() == folded)
    if code is codes.NOT_LITERAL:
        return lambda letter: letter != chr(value)
    if code is codes.IN:
        is_negated = value[0][0] is codes.NEGATE
        parts = [_compile_one(*part, is_any_case) for part in value if part[0] is not codes.NEGATE]
        return lambda letter: any(part(letter) for part in parts) != is_negated
    if code is codes.RANGE:
        cases = str.swapcase if is_any_case else str
        return lambda letter: any(
            value[0] <= ord(each) <= value[1] for each in (letter, cases(letter)) if len(each) == 1
        )
    if code is codes.CATEGORY:
        return re.compile(CATEGORIES[value]).fullmatch
    return lambda letter: True  # any letter, or what a group has read
