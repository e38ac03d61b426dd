"""Whether anything may be kept in a repository: who is asked, in which order, and what counts as a
no. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, takewhile

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
    """A yes or a no in any usual spelling: 0 and "false" are a no. Whatever is neither is refused."""
    word = str(given).strip().casefold() if isinstance(given, str | int) else ""
    if word not in ON + OFF:
        raise InvalidValueError(name, given, "is neither true nor false")
    return word in ON


def is_shared(
    *, asked: bool | None, environment: str | None, chosen: bool, repository_says: bool | None
) -> bool:
    """The flag: what the program says, then the environment, then the person's settings.

    A file in the repository can only take consent away: whoever can change a file must not be able
    to switch it on.
    """
    if asked is not None:
        return asked
    if environment:
        return parse_flag(NAME, environment)
    return chosen and repository_says is not False


def find_flag_in_config(text: str) -> bool | None:
    """What a repository's graph configuration says about sharing, in YAML or JSON; of several words
    an `off` counts.

    Only `off` has an effect, so a reading that is too careful does no harm. What is neither on nor
    off says nothing. Somebody else wrote the file, so only so many places of it are looked at, and
    only so much of each.
    """
    lines = [
        line
        for line in text.removeprefix("\ufeff").splitlines()
        if not line.lstrip().startswith("#")
    ]
    places = (
        (number, found) for number, line in enumerate(lines) for found in _FLAG.finditer(line)
    )
    said = set()
    for number, found in islice(places, MOST_PLACES):
        line, below = lines[number], lines[number + 1 : number + 1 + VALUE_LINES]
        rest = line[found.end() : found.end() + VALUE_CHARS]
        said |= _parse_value(
            rest, [each[:VALUE_CHARS] for each in below], len(line) - len(line.lstrip())
        )
    return None if not said else False not in said


def _parse_value(rest: str, below: Sequence[str], indent: int) -> set[bool]:
    """Of a value on its line, in braces or in the lines below that belong to it: its own word, or
    that of `enabled`.
    """
    if rest.strip() in ("", "{"):
        is_open = "{" in rest or (below and below[0].lstrip().startswith("{"))
        block = list(
            takewhile(
                lambda line: is_open or not line.strip() or len(line) - len(line.lstrip()) > indent,
                below,
            )
        )
        rest = "\n".join([rest, *block])
    elif rest.count("{") > rest.count("}"):
        rest = "\n".join([rest, *below])
    value = _cut_at_closing_brace(rest[:VALUE_CHARS])
    own = _SCALAR.match(value)
    words = [own[1]] if own else _ENABLED.findall(value)
    return {word.casefold() in ON for word in words if word.casefold() in ON + OFF}


def _cut_at_closing_brace(value: str) -> str:
    """As far as the braces that it begins with."""
    if not value.lstrip().startswith("{"):
        return value
    depth = 0
    for at, letter in enumerate(value):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "}" and depth == 0:
            return value[: at + 1]
    return value
