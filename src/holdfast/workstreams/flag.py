"""Whether anything may be kept in a repository: which settings count, and in which order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from holdfast.errors import InvalidValueError

NAME = "SHARED_CONTEXT_ENABLED"
_WORD = r"""(?:[!&]\S+\s+)*["']?(\w+)["']?\s*(?:$|[,}\]\n]|\s#)"""
_FLAG = re.compile(
    r"""["']?\b(?:shared_context|shared_context_enabled|share_session)\b["']?\s*:""", re.IGNORECASE
)
_ENABLED = re.compile(r"""\benabled\b["']?\s*:\s*""" + _WORD, re.IGNORECASE)
_SCALAR = re.compile(r"\s*" + _WORD)
MOST_PLACES, VALUE_LINES, VALUE_CHARS = 100, 50, 2_000
ON, OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def parse_flag(name: str, given: object) -> bool:
    """A yes or a no in any usual spelling: 0 and "false" are a no. Anything else is refused."""
    word = ""
    if isinstance(given, str | int):
        word = str(given).strip().casefold()
    if word not in ON + OFF:
        raise InvalidValueError(name, given, "is neither true nor false")
    return word in ON


def is_shared(
    *, asked: bool | None, environment: str | None, chosen: bool, repository_says: bool | None
) -> bool:
    """The flag: the program's argument, then the environment, then the person's settings.

    A file in the repository can only switch it off: write access to a file is not consent.
    """
    if asked is not None:
        return asked
    if environment:
        return parse_flag(NAME, environment)
    return chosen and repository_says is not False


def find_flag_in_config(text: str) -> bool | None:
    """The flag in a repository's graph configuration, in YAML or JSON; one `off` is enough.

    Only `off` has an effect, so a reading that is too careful does no harm. What is neither on nor
    off does not count. The file is not trusted, so only so many places of it are read, and only so
    much of each.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    uncommented = [line for line in lines if not _is_comment(line)]
    flags: set[bool] = set()
    for number, end in islice(_find_flags(uncommented), MOST_PLACES):
        line = uncommented[number]
        following = uncommented[number + 1 : number + 1 + VALUE_LINES]
        rest = line[end : end + VALUE_CHARS]
        below = [each[:VALUE_CHARS] for each in following]
        flags |= _parse_value(rest, below, _count_indent(line))
    if not flags:
        return None
    return False not in flags


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_flags(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The index of each line that names the flag, and where in it the name ends."""
    for number, line in enumerate(lines):
        for found in _FLAG.finditer(line):
            yield number, found.end()


def _parse_value(rest: str, below: Sequence[str], indent: int) -> set[bool]:
    """A value on its line, in braces or in a block below: its own word, or that of `enabled`."""
    whole = "\n".join([rest, *_list_value_lines(rest, below, indent)])
    value = _cut_at_closing_brace(whole[:VALUE_CHARS])
    own = _SCALAR.match(value)
    words = own.groups() if own else _ENABLED.findall(value)
    folded = [word.casefold() for word in words]
    return {word in ON for word in folded if word in ON + OFF}


def _list_value_lines(rest: str, below: Sequence[str], indent: int) -> Sequence[str]:
    """The lines after the first that may belong to a value; none where it ends on its line."""
    is_empty = not rest.strip()
    opens_below = bool(below) and below[0].lstrip().startswith("{")
    is_open = rest.count("{") > rest.count("}")
    if is_open or (is_empty and opens_below):
        return below
    if is_empty:
        return _list_block(below, indent)
    return ()


def _list_block(below: Sequence[str], indent: int) -> list[str]:
    """The lines that are blank or indented more than the name."""
    block = []
    for line in below:
        if line.strip() and _count_indent(line) <= indent:
            break
        block.append(line)
    return block


def _cut_at_closing_brace(value: str) -> str:
    """Up to the end of the braces that it begins with."""
    if not value.lstrip().startswith("{"):
        return value
    depth = 0
    for at, letter in enumerate(value):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "}" and depth == 0:
            return value[: at + 1]
    return value
