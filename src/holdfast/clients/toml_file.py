"""One table of ours in a TOML file that somebody else owns, by its lines.

Everything else keeps its bytes. Lines can be misread, so the values before and after are compared,
and what does not fit is refused: a ValueError says what is wrong, and nothing was changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from holdfast.clients.config_file import BOM, find_newline
from holdfast.ground.patterns import compile_later

_HEADER = compile_later(r"^[ \t]*\[{1,2}(.+?)\]{1,2}[ \t]*(?:#[^\r\n]*)?\r?$")


def put_table(text: str, name: str, lines: Sequence[str], mark: str) -> str:
    """The text with a table at its end, after a comment that says whose it is."""
    known = _find_table(parse_toml(text), name)
    wanted = tomllib.loads("\n".join(lines))
    if known == wanted:
        return text
    if known is not None:
        text = remove_table(text, name, mark, text)
    newline = find_newline(text)
    gap = ""
    if text:
        gap = newline if text.endswith("\n") else newline * 2
    block = newline.join([f"# {mark}", f"[{name}]", *lines, ""])
    return _check_toml(f"{text}{gap}{block}", name, parse_toml(text), wanted)


def remove_table(text: str, name: str, mark: str, before: str) -> str:
    """The text without a table and the tables below it, wherever they were moved to.

    Comments between its lines stay, because only the first of them is ours. No line marks its end:
    a client puts its own tables before the last comment of the file.
    """
    value = parse_toml(text)
    if _find_table(value, name) is None:
        return text
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        match = _HEADER.match(line.rstrip("\n"))
        if match:
            header = match[1].replace(" ", "")
            is_inside = header == name or header.startswith(f"{name}.")
            if is_inside:
                _drop_mark(kept, mark)
        is_foreign = not line.strip() or line.lstrip().startswith("#")
        if is_foreign or not is_inside:
            kept.append(line)
    left = "".join(kept)
    if left == f"{before}{find_newline(text)}":  # the end of its last line was put there too
        left = before
    return _check_toml(left, name, value, None)


def _drop_mark(kept: list[str], mark: str) -> None:
    """With the empty line above, which was put there too."""
    if not kept or kept[-1].strip() != f"# {mark}":
        return
    kept.pop()
    if kept and not kept[-1].strip():
        kept.pop()


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error).lower()) from None


def _find_table(value: Any, name: str) -> Any:
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check_toml(text: str, name: str, before: dict[str, Any], table: Any) -> str:
    """Lines can be misread (a text of several lines), so the values are compared in the end."""
    try:
        value = tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError:
        value = {}
    is_right = _find_table(value, name) == table
    if is_right and _without(value, name) == _without(before, name):
        return text
    raise ValueError(f"the table {name} is written in a way that cannot be changed here")


def _without(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The value without a table, and without the tables above that are empty then."""
    first, _, rest = name.partition(".")
    copy = dict(value)
    if rest and isinstance(copy.get(first), dict):
        copy[first] = _without(copy[first], rest)
        if copy[first]:
            return copy
    copy.pop(first, None)
    return copy
