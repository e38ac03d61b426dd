"""Who calls a server: tokens of developers and their agents, and logins that wait for a yes."""

from __future__ import annotations

from holdfast.ground import clock
from holdfast.ground.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

APPROVED, DENIED = "approved", "denied"


@dataclass(frozen=True)
class Token:
    """What is known of a token; the token itself is stored nowhere."""

    id: str
    developer_id: str
    handle: str
    agent: str
    scopes: tuple[str, ...]
    granted_by: str | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    @property
    def subject(self) -> str:
        return self.id

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "handle": self.handle,
            "agent": self.agent,
            "scopes": list(self.scopes),
            "granted_by": self.granted_by,
            "created_at": clock.to_text(self.created_at),
            "last_used_at": _as_text(self.last_used_at),
            "expires_at": _as_text(self.expires_at),
            "revoked_at": _as_text(self.revoked_at),
        }


@dataclass(frozen=True)
class NewToken:
    """A token that was made now, with the only copy of its text."""

    token: Token
    text: str


@dataclass(frozen=True)
class Login:
    """An agent on some machine that asks to act for a developer."""

    id: str
    agent: str
    machine: str
    asked_at: datetime
    expires_at: datetime
    is_expired: bool
    handle: str | None
    decision: str | None


@dataclass(frozen=True)
class NewLogin:
    """A login that was begun now, with the only copies of its codes."""

    login: Login
    device_code: str
    user_code: str


def _as_text(moment: datetime | None) -> str | None:
    return None if moment is None else clock.to_text(moment)
