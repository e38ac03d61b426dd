"""Which files that are not committed here others work on too: listed in a published context, not
committed by a live session, or reserved.
"""

from __future__ import annotations

from holdfast.ground.frozen import dataclass
from holdfast.team import reach
from holdfast.team.block import LISTED, RESERVED, UNCOMMITTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from holdfast.team.model import Person, PublishedContext, Reservation

LOOKED_AT = 100
PATTERNS = 10  # of one reservation


@dataclass(frozen=True)
class Touch:
    """`until` is when a reservation ends."""

    path: str
    developer: Person
    how: str
    until: datetime | None = None


def find_listed(
    contexts: Iterable[PublishedContext], uncommitted: Sequence[str]
) -> Iterator[Touch]:
    for context in contexts:
        listed = frozenset(map(reach.compose, context.files_touched))
        for path in uncommitted:
            if reach.compose(path) in listed:
                yield Touch(path, context.developer, LISTED)


def find_reserved(
    reservations: Sequence[Reservation], uncommitted: Sequence[str]
) -> Iterator[Touch]:
    """What a person reserved first; of patterns some only are compared, and of names all."""
    looked_at = uncommitted[:LOOKED_AT]
    hard = [each for each in reservations if not each.is_soft]
    for each in hard[:LOOKED_AT]:
        patterns = each.paths[:PATTERNS]
        for path in looked_at:
            if any(reach.covers(item, path) for item in patterns):
                yield Touch(path, each.developer, RESERVED, each.expires_at)
    for each in reservations:
        if each.is_soft:
            named = frozenset(map(reach.compose, each.paths))
            yield from (
                Touch(path, each.developer, UNCOMMITTED)
                for path in looked_at
                if reach.compose(path) in named
            )
