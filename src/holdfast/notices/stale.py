"""Which stale notes of a client's memory concern an edit. Pure, and quick.

An edit is concerned where it makes again what a note names and is gone, is at its new place, or
adds text that names it; and by a symbol in the file where that was, or in code that uses it.
"""

from __future__ import annotations

from holdfast.ground.patterns import compile_later
from holdfast.ground.removal import speaks_of_removal
from holdfast.notices.matching import has_owner
from holdfast.notices.model import FILE, SYMBOL, Match, list_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from holdfast.notices.model import Edit, NoticeIndex

    Concern = tuple[int, Mapping[str, Any], str]  # an entry, the name in it, and why

LINES = 5_000
_TOKEN = compile_later(r"[\w@.+~/-]*[\w@+~/-]")


def list_lookups(entry: Mapping[str, Any]) -> list[str]:
    """The keys under which a note is looked up, and the ends of paths for the first look."""
    keys = []
    for name in entry["names"]:
        keys += [f"p:{path}" for path in (name["gone"], name["now"], name["was_in"]) if path]
        if name["gone"]:
            keys.append(f"t:{name['gone'].rpartition('/')[2]}")
        if name["symbol"]:
            keys.append(f"s:{name['symbol'].rpartition('.')[2]}")
    return list(dict.fromkeys(keys))


def match_stale(edits: Iterable[Edit], index: NoticeIndex) -> list[Match]:
    """Each note once, with the first of its names that is concerned."""
    found: dict[int, Match] = {}
    for edit in edits:
        for number, name, reason in _list_concerns(edit, index):
            entry = index.entries[number]
            if number not in found and entry["file"] != edit.path:
                found[number] = Match(number, {**entry, **name}, reason, name["term"])
    return sorted(found.values(), key=lambda match: match.rank)


def _list_concerns(edit: Edit, index: NoticeIndex) -> Iterator[Concern]:
    for path in list_above(edit.path):
        for number, name in _list_names(index, "p", path):
            if path == name["gone"] or edit.path == name["now"]:
                yield number, name, FILE
            elif edit.path == name["was_in"]:
                yield number, name, SYMBOL
    for path in _list_named_paths(edit):
        for number, name in _list_names(index, "p", path):
            if path == name["gone"]:
                yield number, name, FILE
    yield from _list_used(edit, index)


def _list_names(
    index: NoticeIndex, kind: str, term: str
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number in index.find(kind, term):
        for name in index.entries[number]["names"]:
            yield number, name


def _list_named_paths(edit: Edit) -> Iterator[str]:
    """From the top, what the added lines name: written so, or from the folder of the file."""
    folder = edit.path.rpartition("/")[0]
    lines = [line for line in edit.text.split("\n") if line in edit.added]
    for line in lines[:LINES]:
        tokens = _TOKEN.findall(line)
        if speaks_of_removal(" ".join(token for token in tokens if "/" not in token)):
            continue
        for token in tokens:
            # A name without a folder may be that of a file in any of them.
            is_from_top = "/" in token or not folder
            starts = ("", folder) if is_from_top else (folder,)
            for start in starts:
                path = _join(start, token)
                yield from list_above(path) if path else ()


def _list_used(edit: Edit, index: NoticeIndex) -> Iterator[Concern]:
    from holdfast.notices import code

    if code.is_prose(edit.path):
        return
    added = code.AddedCode(edit)
    for word in sorted(added.names):
        for number, name in _list_names(index, "s", word):
            symbol = name["symbol"]
            if symbol.rpartition(".")[2] == word and has_owner(symbol, added):
                yield number, name, SYMBOL


def _join(folder: str, text: str) -> str | None:
    """None for what is not inside of the tree."""
    if text.startswith(("/", "~")):
        return None
    parts: list[str] = []
    for part in [*folder.split("/"), *text.split("/")]:
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
