"""Whose reservations touch one's own, and how that is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.ground.fence import one_line
from holdfast.ground.text import cut
from holdfast.team import reach
from holdfast.team.freshness import is_same_repo
from holdfast.team.model import Reservation
from holdfast.team.overlap import find_overlaps

SHOWN = 5
# What one claim is compared with at most: two names cost one, a pattern and another entry many.
MOST_COST, PATTERN_COST = 200_000, 100


class Overlap(NamedTuple):
    """Another's reservation, and by each entry of it that touches the first of one's own."""

    other: Reservation
    touched: dict[str, str]

    def list_names(self) -> list[str]:
        """What is touched: as the other named it where that is plain, else as one did oneself."""
        named = [
            theirs if reach.is_plain_path(theirs) else mine for theirs, mine in self.touched.items()
        ]
        return list(dict.fromkeys(named))


def list_overlaps(own: Reservation, known: Sequence[Reservation]) -> list[Overlap]:
    """Those of others in the same repository."""
    of_here = [each for each in known if each.repo == own.repo or is_same_repo(each.repo, own.repo)]
    others = [
        each
        for each in of_here
        if reach.is_of_another(each, own.developer.id, own.session_id, own.branch)
    ]
    near = _Near(own.paths)
    found = [(each, find_overlaps(own.paths, near.pick(each.paths))) for each in others]
    return [Overlap(each, _map_first(pairs)) for each, pairs in found if pairs]


class _Near:
    """Which entries of others are worth a comparison with one's own, as long as the cost allows."""

    def __init__(self, paths: Sequence[str]):
        places = list(map(_find_place, paths))
        self.names = {place for place in places if not reach.is_glob(place)}
        self.above = {folder for name in self.names for folder in _list_folders(name)}
        self.patterns = sum(map(reach.is_glob, places))
        self.count = len(places)
        self.left = MOST_COST

    def pick(self, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if self._takes(_find_place(path))]

    def _takes(self, place: str) -> bool:
        patterns = self.count if reach.is_glob(place) else self.patterns
        if not patterns and not self._is_near(place):
            return False
        cost = patterns * PATTERN_COST + self.count
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def _is_near(self, name: str) -> bool:
        return name in self.above or not self.names.isdisjoint(_list_folders(name))


def _find_place(path: str) -> str:
    return reach.compose(path.partition("#")[0])


def _list_folders(name: str) -> Iterator[str]:
    """`a/b/c`, `a/b` and `a`."""
    while name:
        yield name
        name = name.rpartition("/")[0]


def _map_first(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    touched: dict[str, str] = {}
    for mine, theirs in pairs:
        touched.setdefault(theirs, mine)
    return touched


def describe_overlaps(found: Sequence[Overlap]) -> list[str]:
    """A sentence for each of the first; how many more there are, the door says."""
    return [_describe(each) for each in found[:SHOWN]]


def _describe(overlap: Overlap) -> str:
    other = overlap.other
    who = reach.show_handle(other.developer.handle)
    named = ", ".join(_list_some(overlap.list_names()))
    if other.is_soft:
        return f"{who} has uncommitted changes in {named}."
    return f"{who} works on {named} until {other.expires_at:%Y-%m-%d %H:%MZ}."


def _list_some(names: Sequence[str]) -> Iterator[str]:
    """As many as a short sentence has room for; an entry of one's own may be long."""
    used = 0
    for number, name in enumerate(names):
        short = cut(one_line(name, len(name)), reach.NAME_CHARS)
        used += len(short)
        if number and used > reach.NAME_CHARS:
            yield f"+{len(names) - number} more"
            return
        yield short
