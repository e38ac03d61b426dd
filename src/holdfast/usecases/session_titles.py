"""What a session is called: its name, else what was asked for first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ground.text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService

TITLE_CHARS = 200
NOTHING_ASKED, NEVER_ASKED = "(nothing asked yet)", "(nothing asked)"


async def find_titles(service: SessionService, sessions: Sequence[Session]) -> dict[str, str]:
    """By the id of each session, on one line."""
    return {session.id: await find_title(service, session) for session in sessions}


async def find_title(service: SessionService, session: Session) -> str:
    """What was asked for ends behind a word, visibly, where it is too long."""
    words = session.name or await service.find_first_request(session.id, TITLE_CHARS + 1) or ""
    title = " ".join(words.split())
    return (title if session.name else cut(title, TITLE_CHARS)) or _describe_kind(session)


def _describe_kind(session: Session) -> str:
    """A session that a client has begun is of no other kind than the client."""
    if session.chatmode != session.client:
        return session.chatmode
    return NOTHING_ASKED if session.ended_at is None else NEVER_ASKED
