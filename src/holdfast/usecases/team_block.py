"""What the block about the team says at the start of a session, gathered from one look at the store
and one at this checkout.

Names and patterns of others become lines only as far as they are this checkout's own: a path that
is here, a pattern that matches a file here.
"""

from __future__ import annotations

import os
import time
from functools import partial
from itertools import islice

from holdfast.ground.alarm import Alarm, TimeIsUpError
from holdfast.ground.fence import one_line
from holdfast.team import reach
from holdfast.team.block import (
    COUNTED,
    TEAMMATES,
    BlockFacts,
    Overlap,
    Reserved,
    Teammate,
)
from holdfast.team.freshness import describe_freshness, is_same_repo
from holdfast.usecases.freshness import compare_all
from holdfast.usecases.touched import PATTERNS, find_listed, find_reserved
from holdfast.usecases.uncommitted import has_symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import TypeVar

    from holdfast.ground.settings import Owner
    from holdfast.team.model import Handoff, PublishedContext, Reservation
    from holdfast.team.nearby import Nearby
    from holdfast.usecases.touched import Touch
    from holdfast.usecases.uncommitted import Checkout

    T = TypeVar("T")

RESERVATIONS = 200
GLOBS = 10  # of all: each is compared with the names of all files
PATH_CHARS = 60


def gather(
    me: Owner,
    near: Nearby,
    checkout: Checkout,
    offers: Sequence[Handoff],
    now: datetime,
    ends_at: float,
) -> BlockFacts:
    """`now` is the time of the store, whose times the block names. What needs a look at files is
    left out where that has not ended at its time.
    """
    own_id = me.developer_id
    here = [each for each in near.contexts if each.developer.id != own_id]
    reserved = [
        each
        for each in near.claims
        if each.developer.id != own_id and is_same_repo(each.repo, checkout.repo)
    ]
    return BlockFacts(
        now=now,
        workspace=me.workspace_id,
        repo=_shorten(checkout.repo),
        teammates=_list_teammates(here, checkout, ends_at),
        elsewhere=near.elsewhere if checkout.is_named else 0,
        has_more=near.has_more,
        own=[(each.id, each.expires_at) for each in _sort_own(near.own_contexts, checkout)],
        overlaps=_try_until(ends_at, lambda: _list_overlaps(here, reserved, checkout)) or [],
        reserved=_try_until(ends_at, lambda: _list_reserved(reserved, checkout)[:COUNTED]) or [],
        offers=[offer.giver.handle for offer in offers],
    )


def _try_until(ends_at: float, look: Callable[[], T]) -> T | None:
    """None where it takes longer: a part of it would be a wrong number."""
    try:
        with Alarm(ends_at - time.monotonic()):
            return look()
    except TimeIsUpError:
        return None


def _shorten(repo: str) -> str:
    """Without its host: acme/payouts."""
    return "/".join(reach.shorten_repo(repo).split("/")[-2:])


def _sort_own(own: Sequence[PublishedContext], checkout: Checkout) -> list[PublishedContext]:
    """That of this branch first."""
    here = [each for each in own if is_same_repo(each.repo, checkout.repo)]
    return sorted(here, key=lambda each: each.branch != checkout.branch)


# --- teammates ------------------------------------------------------------------------------------


def _list_teammates(
    contexts: Sequence[PublishedContext], checkout: Checkout, ends_at: float
) -> list[Teammate]:
    """Each developer once, who overlaps with what is not committed here first, then the newest."""
    touched = set(map(reach.compose, checkout.uncommitted))

    def rank(context: PublishedContext) -> tuple[bool, bool]:
        listed = map(reach.compose, context.files_touched)
        return touched.isdisjoint(listed), context.branch != checkout.branch

    by_developer: dict[str, list[PublishedContext]] = {}
    for context in sorted(contexts, key=rank):  # among equals the newest stays first
        by_developer.setdefault(context.developer.id, []).append(context)
    first = [found[0] for found in by_developer.values()]
    compared = [(each.basis, each.files_touched) for each in first[:TEAMMATES]]
    freshness = _try_until(ends_at, lambda: compare_all(checkout.worktree, compared)) or []
    words = [describe_freshness(each) if each.files else "" for each in freshness]
    words += [""] * (len(first) - len(words))  # not compared, or only counted
    return [
        _make_teammate(context, word, len(by_developer[context.developer.id]))
        for context, word in zip(first, words, strict=True)
    ]


def _make_teammate(context: PublishedContext, freshness: str, contexts: int) -> Teammate:
    return Teammate(
        handle=context.developer.handle,
        branch=context.branch,
        context_id=context.id,
        published_at=context.published_at,
        files=len(context.files_touched),
        blockers=len(context.blockers),
        next_actions=len(context.next_actions),
        freshness=freshness,
        contexts=contexts,
    )


# --- overlaps -------------------------------------------------------------------------------------


def _list_overlaps(
    contexts: Sequence[PublishedContext], reserved: Sequence[Reservation], checkout: Checkout
) -> list[Overlap]:
    touches = [
        *islice(find_listed(contexts, checkout.uncommitted), COUNTED),
        *islice(find_reserved(reserved, checkout.uncommitted), COUNTED),
    ]
    found = [_make_overlap(touch) for touch in touches]
    overlaps = {(each.path, each.handle): each for each in reversed(found)}
    return list(reversed(overlaps.values()))


def _make_overlap(touch: Touch) -> Overlap:
    return Overlap(one_line(touch.path, PATH_CHARS), touch.developer.handle, touch.how)


# --- reservations ---------------------------------------------------------------------------------


def _list_reserved(reserved: Sequence[Reservation], checkout: Checkout) -> list[Reserved]:
    """Those that a person made; each by its first pattern that matches a file here.

    Who reserved the same thing several times is named once, until the last of the ends.
    """
    globs = [GLOBS]
    found: dict[tuple[str, str], Reserved] = {}
    hard = [each for each in reserved if not each.is_soft]
    for each in hard[:RESERVATIONS]:
        shown = _find_pattern(each, checkout, globs)
        if shown is None:
            continue
        handle = each.developer.handle
        known = found.get((shown, handle))
        until = max(each.expires_at, known.until) if known else each.expires_at
        more = max(len(each.paths) - 1, known.more if known else 0)
        found[shown, handle] = Reserved(shown, handle, until, more)
    return list(found.values())


def _find_pattern(reservation: Reservation, checkout: Checkout, globs: list[int]) -> str | None:
    """Empty where one matches that cannot be shown, and None where none matches."""
    is_any = None
    for pattern in reservation.paths[:PATTERNS]:
        path = _find_here(pattern, checkout, globs)
        if path is None:
            continue
        has_found = partial(has_symbol, checkout.worktree, path)
        shown = reach.show_pattern(pattern, has_found)
        if shown:
            return shown
        is_any = ""
    return is_any


def _find_here(pattern: str, checkout: Checkout, globs: list[int]) -> str | None:
    """A path of this checkout that a pattern names."""
    place = reach.find_place(pattern)
    if not place:
        return None
    if not reach.is_glob(place):
        return place if _exists(checkout.worktree, place) else _find_composed(place, checkout)
    if not globs[0]:
        return None
    globs[0] -= 1
    return reach.find_covered(pattern, checkout.files)


def _find_composed(place: str, checkout: Checkout) -> str | None:
    """A file here whose name is the same but for the form of its letters."""
    composed = reach.compose(place)
    if composed.isascii():
        return None
    return next((path for path in checkout.files if reach.compose(path) == composed), None)


def _exists(worktree: str, place: str) -> bool:
    try:
        return os.path.lexists(os.path.join(worktree, place))
    except ValueError:
        return False
