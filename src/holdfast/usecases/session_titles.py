"""What a session is called: its name, else what was asked for first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService

NOTHING_ASKED, NEVER_ASKED = "(nothing asked yet)", "(nothing asked)"


async def find_titles(service: SessionService, sessions: Sequence[Session]) -> dict[str, str]:
    """By the id of each session, on one line."""
    return {session.id: await find_title(service, session) for session in sessions}


async def find_title(service: SessionService, session: Session) -> str:
    words = session.name or await service.find_first_request(session.id) or ""
    return " ".join(words.split()) or _describe_kind(session)


def _describe_kind(session: Session) -> str:
    """A session that a client has begun is of no other kind than the client."""
    if session.chatmode != session.client:
        return session.chatmode
    return NOTHING_ASKED if session.ended_at is None else NEVER_ASKED
