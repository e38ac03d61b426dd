"""What a reservation covers, and when two of them touch.

An entry is a path, a glob or a symbol: `src/team`, `migrations/**`, `src/a.py#Store.open`. What
matches a folder covers all below it, so `src/*` covers `src/team/store.py` too. To a glob, a name
with an ending is a file, and nothing is below it: else `**/a.py` and `**/b.py` would touch. Two
entries overlap if there is a path that both cover, whether the file exists or not; two symbols of
one file overlap if they are the same or one is in the other. Case counts, as it does in git.

Two globs are compared exactly. Each is a row of tokens; which places of the second can be reached
with each token of the first is one number, whose bits are the places. So a pair costs as many
steps as the shorter way of writing it out, and no pattern makes it cost more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.team.errors import InvalidFieldError
from holdfast.team.fields import check_lines, check_list, check_name, check_number
from holdfast.team.path_rules import PATH_CHARS, check_path
from holdfast.team.reach import compose

MOST_PATHS = 50
REASON_CHARS, NOTE_CHARS = 500, 1_000
LEAST_TTL_MINUTES, MOST_TTL_MINUTES, TTL_MINUTES = 1, 1_440, 60
LAST_CHARACTER = 0x10FFFF

# Ranges of characters, from first to last.
Ranges = tuple[tuple[int, int], ...]
# Of a row: characters, any run in a folder's name, any run at all, and "the next three or none".
_RUN, _ANYTHING, _OPTIONAL = "run", "anything", "optional"
Token = Ranges | str

_SLASH: Ranges = ((ord("/"), ord("/")),)
_BELOW: list[Token] = [_OPTIONAL, _ANYTHING, _SLASH]
_NOT_SLASH: Ranges = ((0, ord("/") - 1), (ord("/") + 1, LAST_CHARACTER))


_FILE = compile_later(r"[^/]\.[A-Za-z*?\[][\w*?\[\]!-]{0,15}$")


# --- what may be reserved -------------------------------------------------------------------------


def check_paths(paths: object) -> tuple[str, ...]:
    checked = check_list("paths", paths, MOST_PATHS, PATH_CHARS, _check_entry)
    if not checked:
        raise InvalidFieldError("paths", "is empty; name a path, a glob or a symbol")
    return checked


def check_reason(text: object) -> str:
    return check_lines("reason", text, REASON_CHARS)


def check_note(text: object) -> str:
    """What the recipient should know; it may be left out."""
    if text is None or text == "":
        return ""
    return check_lines("note", text, NOTE_CHARS)


def check_ttl_minutes(value: object) -> int:
    return check_number("ttl_minutes", value, LEAST_TTL_MINUTES, MOST_TTL_MINUTES, TTL_MINUTES)


def _check_entry(field: str, value: object, max_chars: int) -> str:
    text = check_name(field, value, max_chars)
    path, sign, symbol = text.partition("#")
    checked = check_path(field, path)
    if not sign:
        _check_glob(field, checked)
        return checked
    if not symbol or symbol != symbol.strip():
        raise InvalidFieldError(field, "has no symbol after #")
    if _is_glob(path):
        raise InvalidFieldError(field, "is a symbol of a glob; a symbol belongs to one file")
    return f"{checked}#{symbol}"


def _check_glob(field: str, path: str) -> None:
    """Braces would be taken as a part of a name, and reserve nothing."""
    _, opened, rest = path.partition("{")
    if opened and "," in rest.partition("}")[0] and "}" in rest:
        raise InvalidFieldError(field, "contains {a,b}; write one entry for each")


# --- when two touch -------------------------------------------------------------------------------


def covers(pattern: str, path: str) -> bool:
    """Whether this entry reserves that file."""
    pattern, path = compose(pattern), compose(path)
    place, _, _ = pattern.partition("#")
    if path == pattern or _is_within(path, place):
        return True
    row = _make_row(_read_literal(path), is_open=False)
    return any(_meet(row, other) for other in _list_rows(place))


def overlaps(one: str, other: str) -> bool:
    """Whether there is a path, or a part of a file, that both reserve."""
    one, other = compose(one), compose(other)
    if one == other:
        return True
    place, _, symbol = one.partition("#")
    other_place, _, other_symbol = other.partition("#")
    if symbol and other_symbol and not _is_nested(symbol, other_symbol):
        # Two files, of which neither can lie below the other.
        return False
    if symbol and other_symbol:
        return place == other_place
    return _share_a_path(place, other_place)


def find_overlaps(mine: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    """Each pair of entries that touch, in the order of mine."""
    others = list(theirs)
    return [(entry, other) for entry in mine for other in others if overlaps(entry, other)]


def _is_nested(one: str, other: str) -> bool:
    parts, others = _split_symbol(one), _split_symbol(other)
    shorter = min(len(parts), len(others))
    return parts[:shorter] == others[:shorter]


def _split_symbol(symbol: str) -> list[str]:
    """`Class.method`, `Class::method` and `Class#method` are the same."""
    return symbol.replace("::", ".").replace("#", ".").split(".")


def _share_a_path(one: str, other: str) -> bool:
    if _is_within(one, other) or _is_within(other, one):
        return True
    if not _is_glob(one) and not _is_glob(other):
        return False
    start, other_start = _find_start(one), _find_start(other)
    if not start.startswith(other_start) and not other_start.startswith(start):
        return False
    return any(_meet(row, place) for row in _list_rows(one) for place in _list_rows(other))


def _is_within(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _is_glob(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _find_start(path: str) -> str:
    """What every path that matches begins with."""
    ends = [at for sign in "*?[" if (at := path.find(sign)) >= 0]
    return path[: min(ends)] if ends else f"{path}/"


# --- globs as rows of tokens ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """Tokens, and the places where each kind of them stands, as the bits of numbers."""

    tokens: Sequence[Token]
    classes: Sequence[tuple[Ranges, int]]  # each different one, with its places
    runs: int
    anything: int
    optional: int
    in_folder: int  # where a run in a folder's name can go on


@lru_cache(maxsize=1024)
def _list_rows(path: str) -> tuple[_Row, ...]:
    """How an entry can be meant: `[slug]` is one of four letters, or the name of a folder."""
    is_open = not _FILE.search(path)
    rows = [_make_row(_read_glob(path, has_classes=True), is_open=is_open)]
    if "[" in path:
        rows.append(_make_row(_read_glob(path, has_classes=False), is_open=is_open))
    return tuple(rows)


def _read_literal(path: str) -> list[Token]:
    return [_of_character(character) for character in f"{path}/"]


def _of_character(character: str) -> Ranges:
    return ((ord(character), ord(character)),)


def _read_glob(path: str, *, has_classes: bool) -> list[Token]:
    """Each part of the path, ended by a slash; `**` is any number of parts."""
    tokens: list[Token] = []
    for part in path.split("/"):
        if part != "**":
            tokens += _read_part(part, has_classes)
            tokens.append(_SLASH)
        elif tokens[-3:] != _BELOW:
            tokens += _BELOW
    return tokens


def _read_part(part: str, has_classes: bool) -> Iterator[Token]:
    at = 0
    last: Token = ""
    while at < len(part):
        token, at = _read_token(part, at, has_classes)
        if token != _RUN or last != _RUN:
            yield token
        last = token


def _read_token(part: str, at: int, has_classes: bool) -> tuple[Token, int]:
    sign = part[at]
    if sign == "*":
        return _RUN, at + 1
    if sign == "?":
        return _NOT_SLASH, at + 1
    # A closing bracket that comes first is one of the characters.
    first = at + 2 if part[at + 1 : at + 2] in ("!", "^") else at + 1
    end = part.find("]", first + 1) if sign == "[" and has_classes else -1
    if end < 0:
        return _of_character(sign), at + 1
    ranges = _read_class(part[first:end])
    if first == at + 2:
        ranges = _invert(ranges)
    return _without_slash(ranges), end + 1


def _read_class(text: str) -> Ranges:
    """`abc`, `a-z`; a dash at an end is a dash."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        last = at
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            last = at + 2
        if text[at] <= text[last]:
            found.append((ord(text[at]), ord(text[last])))
        at = last + 1
    return _join(found)


def _join(ranges: list[tuple[int, int]]) -> Ranges:
    """In order, and none touches another."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            begin, end = joined.pop()
            first, last = begin, max(end, last)
        joined.append((first, last))
    return tuple(joined)


def _invert(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for pair in ranges for edge in pair), LAST_CHARACTER + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if before + 1 < after)


def _without_slash(ranges: Ranges) -> Ranges:
    return _intersect(ranges, _NOT_SLASH)


def _intersect(some: Ranges, others: Ranges) -> Ranges:
    pairs = [(max(first, begin), min(last, end)) for first, last in some for begin, end in others]
    return tuple((first, last) for first, last in pairs if first <= last)


def _make_row(tokens: Sequence[Token], *, is_open: bool) -> _Row:
    if is_open and list(tokens[-3:]) != _BELOW:
        tokens = [*tokens, *_BELOW]
    places: dict[Token, int] = {}
    for at, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << at
    classes = [(token, bits) for token, bits in places.items() if not isinstance(token, str)]
    everywhere = (1 << len(tokens)) - 1
    return _Row(
        tokens=tokens,
        classes=classes,
        runs=places.get(_RUN, 0),
        anything=places.get(_ANYTHING, 0),
        optional=places.get(_OPTIONAL, 0),
        in_folder=everywhere & ~places.get(_SLASH, 0),
    )


# --- whether two rows have a path in common -------------------------------------------------------


def _meet(row: _Row, other: _Row) -> bool:
    """Bit n of `reached` says that the other row can be at place n after the same text."""
    size = len(row.tokens)
    reached = [0] * (size + 4)
    reached[0] = 1
    known: dict[Token, int] = {}
    for at, token in enumerate(row.tokens):
        places = _skip(reached[at], other)
        if not places:
            continue
        if token == _OPTIONAL:
            reached[at + 1] |= places
            reached[at + 3] |= places
        elif token == _ANYTHING:
            reached[at + 1] |= _from_lowest(places, len(other.tokens))
        elif token == _RUN:
            reached[at + 1] |= _go_on_in_folder(places, other)
        else:
            if token not in known:
                known[token] = _find_places(token, other)
            reached[at + 1] |= _take_character(places, token, known[token], other)
    final = _skip(reached[size], other)
    return bool(final >> len(other.tokens) & 1)


def _skip(places: int, row: _Row) -> int:
    """With the places that are reached without a character."""
    at_choice = places & row.optional
    places |= at_choice << 1 | at_choice << 3
    at_any = places & (row.runs | row.anything)
    return places | at_any << 1


def _from_lowest(places: int, size: int) -> int:
    """Any text leads from the first place to each later one."""
    lowest = places & -places
    return (1 << (size + 1)) - lowest


def _go_on_in_folder(places: int, row: _Row) -> int:
    """A run of characters without a slash leads on to the next slash."""
    gone = _fill(places, row.in_folder)
    return _fill(_skip(gone, row), row.in_folder)


def _fill(places: int, passable: int) -> int:
    """Each place and all after it, through those that can be passed; one addition carries it."""
    return places | ((places & passable) + passable) ^ passable


def _take_character(places: int, token: Token, matching: int, row: _Row) -> int:
    staying = row.anything if token == _SLASH else row.anything | row.runs
    return places & staying | (places & matching) << 1


def _find_places(token: Token, row: _Row) -> int:
    """Where a character of this class may be one of the other row's."""
    assert not isinstance(token, str)
    return sum(bits for ranges, bits in row.classes if _intersect(token, ranges))
