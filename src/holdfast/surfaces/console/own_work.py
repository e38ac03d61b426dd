"""Who works on what one works on oneself, as a team's server knows it.

A server has no working tree. What it knows of a developer's work is what is reserved, what live
sessions show as not committed, and what is published; each is compared with the reservations of
others, soft ones included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from holdfast.ground.frozen import dataclass, replace
from holdfast.team import reach
from holdfast.team.block import LISTED, RESERVED, UNCOMMITTED
from holdfast.team.model import PublishedContext, Reservation, TeamState
from holdfast.team.overlap import find_overlaps
from holdfast.usecases.overlaps import Overlap, list_overlaps


@dataclass(frozen=True)
class SharedWork:
    """What one other developer has of one's own work, in one way each: `how` is the other's, `mine`
    one's own. `until` is when the other's reservation ends.
    """

    handle: str
    developer_id: str
    how: str
    mine: str
    until: datetime | None
    paths: tuple[str, ...]


@dataclass(frozen=True)
class OwnWork:
    """All that one has in one repository in one way, as one reservation."""

    how: str
    entries: Reservation


def list_own_work(state: TeamState) -> list[OwnWork]:
    """What says most about oneself comes first."""
    own = [each for each in state.claims if each.developer.id == state.me.id]
    contexts = [each for each in state.published_contexts if each.developer.id == state.me.id]
    by_way = {
        RESERVED: [each for each in own if not each.is_soft],
        UNCOMMITTED: [each for each in own if each.is_soft],
        LISTED: [_as_reservation(each) for each in contexts if each.files_touched],
    }
    return [OwnWork(how, each) for how, found in by_way.items() for each in _join_by_repo(found)]


def _as_reservation(context: PublishedContext) -> Reservation:
    return Reservation(
        id=context.id,
        developer=context.developer,
        repo=context.repo,
        branch=context.branch,
        paths=context.files_touched,
        reason="",
        session_id=context.session_id,
        reserved_at=context.published_at,
        expires_at=context.expires_at,
        released_at=None,
    )


def _join_by_repo(found: Iterable[Reservation]) -> Iterator[Reservation]:
    """So that what a comparison may cost is limited for all of a repository at once."""
    by_repo: dict[str | None, list[Reservation]] = {}
    for each in found:
        by_repo.setdefault(each.repo, []).append(each)
    for group in by_repo.values():
        paths = dict.fromkeys(path for each in group for path in each.paths)
        yield replace(group[0], paths=tuple(paths))


def list_shared_work(state: TeamState) -> list[SharedWork]:
    """Each path of another developer once, in the way that says most."""
    others = [each for each in state.claims if each.developer.id != state.me.id]
    others.sort(key=lambda each: each.is_soft)
    seen: set[tuple[str, str | None, str]] = set()
    shared: dict[SharedWork, list[str]] = {}
    for own in list_own_work(state):
        for overlap in list_overlaps(own.entries, others):
            other = overlap.other
            for path in _list_paths(own.entries.paths, overlap):
                place = (other.developer.id, other.repo, reach.compose(path))
                if place not in seen:
                    seen.add(place)
                    shared.setdefault(_make_shared(own, other), []).append(path)
    return [replace(each, paths=tuple(paths)) for each, paths in shared.items()]


def _make_shared(own: OwnWork, other: Reservation) -> SharedWork:
    return SharedWork(
        handle=other.developer.handle,
        developer_id=other.developer.id,
        how=UNCOMMITTED if other.is_soft else RESERVED,
        mine=own.how,
        until=None if other.is_soft else other.expires_at,
        paths=(),
    )


def _list_paths(own: Sequence[str], overlap: Overlap) -> Iterator[str]:
    """By the narrower of the two names."""
    for mine, theirs in find_overlaps(own, overlap.touched):
        yield mine if _is_within(mine, theirs) else theirs


def _is_within(mine: str, theirs: str) -> bool:
    if reach.is_glob(mine) or reach.find_symbol(theirs):
        return False
    return reach.covers(theirs, reach.find_place(mine))
