"""What code sees in sessions by itself, folded from their logs when somebody wants to know.

Not at each turn, which an agent waits for: patterns over prose cost a hook more than everything
else that it does. What was folded is kept, so that the next look pays only for what came since.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.ground.frozen import replace
from holdfast.ground.off_loop import off_loop
from holdfast.observations.digest import Digest, fold, from_dict, to_dict
from holdfast.sessions import requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.observations.model import LoggedEvent
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService

FIRST_LOOK = 5_000  # of a log that was never looked at, the newest events
PAGE = 500


async def observe(sessions: SessionService, wanted: Sequence[Session]) -> list[Digest]:
    """What was seen in each of them, without what the person has taken back."""
    kept = await sessions.store.list_observed([session.id for session in wanted])
    found = []
    for session in wanted:
        stored, revision = kept.get(session.id, ({}, 0))
        digest = await _look(sessions, session, stored, revision)
        found.append(_leave_out(digest, session.metadata.get(requests.REWOUND)))
    return found


async def _look(
    sessions: SessionService, session: Session, stored: dict[str, Any], revision: int
) -> Digest:
    known = from_dict(stored)
    if not known.sequence:
        first = max(0, session.last_sequence - FIRST_LOOK)
        known = Digest(sequence=first, branch=session.git_branch or "")
    digest = known
    while digest.sequence < session.last_sequence:
        events = await sessions.list_events(session.id, digest.sequence, PAGE)
        digest = await off_loop(fold, digest, events, _is_request)
    if digest.sequence > known.sequence:
        await _keep(sessions, session, digest, revision)
    return digest


async def _keep(sessions: SessionService, session: Session, digest: Digest, revision: int) -> None:
    """A store that is busy, full or only read keeps nobody from reading."""
    try:
        await sessions.store.save_observed(session.id, to_dict(digest), revision)
    except HoldfastError:
        return


def _is_request(event: LoggedEvent) -> bool:
    return requests.is_request(event.content, event.parts)


def _leave_out(digest: Digest, rewound: object) -> Digest:
    if not isinstance(rewound, list) or not rewound:
        return digest
    said = tuple(each for each in digest.said if each.source.event_id not in rewound)
    return replace(digest, said=said)
