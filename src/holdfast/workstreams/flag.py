"""Whether anything may be kept in a repository: which settings count, and in which order. Pure.

A repository's own configuration can only switch sharing off, and a reading that is too careful does
no harm. So YAML is not parsed here: wherever the file names the flag, the value counts as off
unless it has one of a few forms that mean on to every reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from holdfast.errors import InvalidValueError
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

NAME = "SHARED_CONTEXT_ENABLED"
ON, OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
UNREADABLE = "{problem}, which counts as off"
REFUSES = "says so in line {number}: a value that is not plainly true counts as off"

_WORD = rf"""(?P<mark>["']?)(?:{"|".join(ON)})(?P=mark)"""
# Possessive, so that a long gap without a colon is not read again from each of its places.
_COMMENT = r"[ \t]*+(?:(?<=[ \t])#.*+)?+"
_ENABLED = r"""\s*(?P<quote>["']?)enabled(?P=quote)\s*:\s*"""
# A name with a quotation mark on one side only is part of a longer text.
_FLAG = compile_later(
    r"""(?<!["'\w])(?P<quote>["']?)\b(?:shared_context(?:[._]enabled)?|share_session)(?P=quote)"""
    rf"{_COMMENT}\s*+:",
    re.IGNORECASE,
)
_NOTHING = compile_later(_COMMENT)
_ON_ALONE = compile_later(rf"\s*{_WORD}{_COMMENT}", re.IGNORECASE)
_ON_BEFORE_COMMA = compile_later(rf"\s*{_WORD}\s*[,}}]", re.IGNORECASE)
_BRACES = compile_later(r"\s*\{(?P<inside>[^{}\[\]#]*)\}[ \t]*(?:[,}\]\n]|(?<=[ \t])#|\Z)")
_ENABLED_IS_ON = compile_later(_ENABLED + _WORD + _COMMENT + r"\s*", re.IGNORECASE)
_MENTIONS_ENABLED = compile_later(r"\benabled\b", re.IGNORECASE)


@dataclass(frozen=True)
class GraphConfig:
    """A repository's own configuration, or why it cannot be read; empty where it has none."""

    text: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class ConfiguredFlag:
    """What a configuration says, if anything, and where or why it says no."""

    is_on: bool | None = None
    reason: str = ""


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


def find_flag(config: GraphConfig) -> ConfiguredFlag:
    """The flag in a graph configuration, in YAML or JSON; one value that is not on is enough."""
    if config.problem:
        return ConfiguredFlag(is_on=False, reason=UNREADABLE.format(problem=config.problem))
    lines = [_blank_comment(line) for line in config.text.splitlines()]
    flag = ConfiguredFlag()
    for value in _find_values(lines):
        if not _is_on_in_flow(value) and not _is_on_in_block(value):
            return ConfiguredFlag(is_on=False, reason=REFUSES.format(number=value.number))
        flag = ConfiguredFlag(is_on=True)
    return flag


@dataclass(frozen=True)
class _FlagValue:
    """What follows a name of the flag: a place in the text, and the lines that may belong to it."""

    text: str
    start: int
    end_of_line: int
    lines: Sequence[str]
    number: int  # of its first line, from 1 on
    column: int  # of the name

    def list_below(self) -> list[str]:
        """The lines after its first that are blank or indented more than the name."""
        below = []
        for at in range(self.number, len(self.lines)):
            line = self.lines[at]
            if line.strip() and _count_indent(line) <= self.column:
                break
            below.append(line)
        return below


def _find_values(lines: Sequence[str]) -> Iterator[_FlagValue]:
    from bisect import bisect_right

    text = "\n".join(lines)
    sizes = [len(line) + 1 for line in lines]
    starts = list(accumulate(sizes, initial=0))
    for found in _FLAG.finditer(text):
        line_of_name = bisect_right(starts, found.start())
        number = bisect_right(starts, found.end() - 1)
        yield _FlagValue(
            text,
            start=found.end(),
            end_of_line=starts[number] - 1,
            lines=lines,
            number=number,
            column=found.start() - starts[line_of_name - 1],
        )


def _blank_comment(line: str) -> str:
    """Not removed, so that the lines keep their numbers."""
    return "" if line.lstrip().startswith("#") else line


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_on_in_flow(value: _FlagValue) -> bool:
    """A word before a comma or a brace, or braces without others inside."""
    if _ON_BEFORE_COMMA.match(value.text, value.start):
        return True
    braces = _BRACES.match(value.text, value.start)
    return braces is not None and _is_enabled(braces["inside"].split(","))


def _is_on_in_block(value: _FlagValue) -> bool:
    """A word alone, or a block below the name, in which only its own entries mention `enabled`."""
    rest = value.text[value.start : value.end_of_line]
    below = value.list_below()
    whole = "\n".join([rest, *below])
    if _ON_ALONE.fullmatch(whole.rstrip()):
        return True
    entries = [line for line in below if line.strip()]
    if not entries or not _NOTHING.fullmatch(rest):
        return False
    indent = _count_indent(entries[0])
    inner = [line for line in entries if _count_indent(line) != indent]
    return _is_enabled(entries) and not any(map(_MENTIONS_ENABLED.search, inner))


def _is_enabled(entries: Sequence[str]) -> bool:
    mentions = [entry for entry in entries if _MENTIONS_ENABLED.search(entry)]
    return bool(mentions) and all(map(_ENABLED_IS_ON.fullmatch, mentions))
