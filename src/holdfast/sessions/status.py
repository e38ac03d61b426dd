"""Whether a session is live, idle or ended: the words of every door.

Few clients report their end, so an open session may be long forgotten. One is live while something
happens in it, or while a program runs that is known to be in it. Its log may say that it was cut
off: then only a program makes it live.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from holdfast.ground import clock
from holdfast.ground.frozen import dataclass
from holdfast.sessions.model import Session, SessionEvent

LIVE_FOR = timedelta(minutes=10)
StatusWord = Literal["live", "idle", "ended"]


@dataclass(frozen=True)
class SessionStatus:
    word: StatusWord
    since: datetime | None = None

    def describe(self) -> str:
        if self.since is None:
            return self.word
        joined = "idle since" if self.word == "idle" else self.word
        return f"{joined} {self.since:%Y-%m-%d %H:%M}Z"

    def to_dict(self) -> dict[str, str | None]:
        idle_since = None
        if self.word == "idle" and self.since:
            idle_since = clock.to_text(self.since)
        return {"status": self.word, "idle_since": idle_since}


def judge_status(
    session: Session,
    last_at: datetime,
    now: datetime,
    *,
    has_process: bool,
    is_cut_off: bool = False,
) -> SessionStatus:
    """`last_at` is when something last happened in it."""
    if session.ended_at is not None:
        return SessionStatus("ended", session.ended_at)
    if has_process or (now - last_at < LIVE_FOR and not is_cut_off):
        return SessionStatus("live")
    return SessionStatus("idle", last_at)


def ends_unanswered(event: SessionEvent) -> bool:
    """Whether the last event of a session says that its turn was left, as a transcript shows."""
    parts = event.parts or {}
    was_running = event.type == "tool_call" and parts.get("status") == "running"
    return was_running or bool(parts.get("turn"))
