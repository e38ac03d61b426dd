"""What code sees in sessions by itself, folded from their logs when somebody wants to know.

Not at each turn, which an agent waits for: patterns over prose cost a hook more than everything
else that it does. What was folded is kept, so that the next look pays only for what came since.
"""

from __future__ import annotations

import time

from holdfast.errors import HoldfastError
from holdfast.ground import git
from holdfast.ground.git_history import list_commit_files
from holdfast.ground.off_loop import off_loop
from holdfast.observations.digest import (
    FILES_OF_COMMIT,
    Digest,
    add_commit_files,
    fold,
    from_dict,
    list_unread_commits,
    skip,
    to_dict,
)
from holdfast.sessions import requests
from holdfast.sessions.requests import REWOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.observations.model import LoggedEvent
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService

# What one look reads of all logs together, because an agent waits for it; of a single log that goes
# beyond it, the newest events.
EVENTS_IN_A_LOOK, SECONDS_IN_A_LOOK = 5_000, 3.0
PAGE = 100
QUICK_LOOK = 100


async def observe(
    sessions: SessionService, wanted: Sequence[Session], worktree: str | None = None
) -> list[Digest]:
    """What was seen in each of them, without the turns that the person has taken back.

    From the oldest to the newest. Where there is too much to read, the newest are looked at, and
    the others with the next looks. `worktree`: where git may be asked which files their commits
    have, each commit once.
    """
    kept = await sessions.store.list_observed([session.id for session in wanted])
    known = [_read_kept(session, kept.get(session.id, ({}, 0))[0]) for session in wanted]
    looked = await _look_at_all(sessions, wanted, known)
    found = await off_loop(_read_commits, looked, worktree) if worktree else looked
    for session, before, digest in zip(wanted, known, found, strict=True):
        if digest != before:
            observed = {**to_dict(digest), REWOUND: _list_rewound(session)}
            await _keep(sessions, session, observed, kept.get(session.id, ({}, 0))[1])
    # Of a log that has to wait nothing is shown: what it had may hold no longer.
    return [
        digest if digest.sequence >= session.last_sequence else Digest()
        for session, digest in zip(wanted, found, strict=True)
    ]


async def is_observed(sessions: SessionService, wanted: Sequence[Session]) -> bool:
    """Whether so little came since the last look that another one costs next to nothing."""
    kept = await sessions.store.list_observed([session.id for session in wanted])
    known = [_read_kept(session, kept.get(session.id, ({}, 0))[0]) for session in wanted]
    pairs = zip(wanted, known, strict=True)
    return sum(session.last_sequence - digest.sequence for session, digest in pairs) <= QUICK_LOOK


def _read_kept(session: Session, stored: dict[str, Any]) -> Digest:
    """From the beginning, where a turn was taken back since."""
    known = from_dict(stored) if stored.get(REWOUND) == _list_rewound(session) else Digest()
    return known if known.sequence else Digest(branch=session.git_branch or "")


async def _look_at_all(
    sessions: SessionService, wanted: Sequence[Session], known: Sequence[Digest]
) -> list[Digest]:
    """As far as there is room and time; a page at least, so that each look brings them on."""
    looked = list(known)
    room = EVENTS_IN_A_LOOK
    deadline = time.monotonic() + SECONDS_IN_A_LOOK
    for place in reversed(range(len(wanted))):
        session, digest = wanted[place], known[place]
        events = session.last_sequence - digest.sequence
        is_first = room == EVENTS_IN_A_LOOK
        if not is_first and (events > room or time.monotonic() > deadline):
            continue
        room -= min(events, room)
        looked[place] = await _look(sessions, session, digest, deadline)
    return looked


async def _look(
    sessions: SessionService, session: Session, digest: Digest, deadline: float
) -> Digest:
    digest = skip(digest, session.last_sequence - EVENTS_IN_A_LOOK)
    rewound = _list_rewound(session)
    while digest.sequence < session.last_sequence:
        events = await sessions.list_events(session.id, digest.sequence, PAGE)
        digest = await off_loop(fold, digest, events, _is_request, rewound)
        if time.monotonic() > deadline:
            break
    return digest


def _read_commits(digests: Sequence[Digest], worktree: str) -> list[Digest]:
    """One question for all that are new; where git cannot say, it is asked the next time."""
    unread = [commit for digest in digests for commit in list_unread_commits(digest)]
    if not unread:
        return list(digests)
    try:
        repository = git.find_repository(worktree)
        if repository is None:
            return list(digests)
        files = list_commit_files(repository, unread, FILES_OF_COMMIT)
    except HoldfastError:
        return list(digests)
    return [add_commit_files(digest, files) for digest in digests]


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
