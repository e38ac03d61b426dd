"""What code sees in sessions by itself, folded from their logs when somebody wants to know.

Not at each turn, which an agent waits for: patterns over prose cost a hook more than everything
else that it does. What was folded is kept, so that the next look pays only for what came since.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.ground.off_loop import off_loop
from holdfast.observations.digest import Digest, fold, from_dict, to_dict
from holdfast.sessions import requests
from holdfast.sessions.requests import REWOUND

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
    """What was seen in each of them, without the turns that the person has taken back."""
    kept = await sessions.store.list_observed([session.id for session in wanted])
    found = []
    for session in wanted:
        stored, revision = kept.get(session.id, ({}, 0))
        found.append(await _look(sessions, session, stored, revision))
    return found


async def _look(
    sessions: SessionService, session: Session, stored: dict[str, Any], revision: int
) -> Digest:
    """From the beginning, where a turn was taken back since."""
    rewound = _list_rewound(session)
    known = from_dict(stored) if stored.get(REWOUND) == rewound else Digest()
    if not known.sequence:
        first = max(0, session.last_sequence - FIRST_LOOK)
        known = Digest(sequence=first, branch=session.git_branch or "")
    digest = known
    while digest.sequence < session.last_sequence:
        events = await sessions.list_events(session.id, digest.sequence, PAGE)
        digest = await off_loop(fold, digest, events, _is_request, rewound)
    if digest.sequence > known.sequence:
        await _keep(sessions, session, {**to_dict(digest), REWOUND: rewound}, revision)
    return digest


def _list_rewound(session: Session) -> list[str]:
    rewound = session.metadata.get(REWOUND)
    return rewound if isinstance(rewound, list) else []


async def _keep(
    sessions: SessionService, session: Session, observed: dict[str, Any], revision: int
) -> None:
    """A store that is busy, full or only read keeps nobody from reading."""
    try:
        await sessions.store.save_observed(session.id, observed, revision)
    except HoldfastError:
        return


def _is_request(event: LoggedEvent) -> bool:
    return requests.is_request(event.content, event.parts)
