"""Whether a session is live, idle or ended: the words of every door.

Few clients report their end, so an open session may be long forgotten. One is live while something
happens in it, or while a program runs that is known to be in it. Where its program is known to have
ended, or its log says that it was cut off, only another program makes it live. What became of its
last request is said in the words of the document that the next agent is handed.
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
    is_unanswered: bool = False  # its last request, as far as the log shows

    @property
    def is_cut_off(self) -> bool:
        return self.word == "idle" and self.is_unanswered

    def describe(self) -> str:
        if self.since is None:
            return self.word
        at = f"{self.since:%Y-%m-%d %H:%M}Z"
        if self.is_cut_off:
            return f"cut off {at}"
        if self.word == "idle":
            return f"idle since {at}"
        return f"{self.word} {at}{self._describe_request()}"

    def describe_shortly(self) -> str:
        """For a list."""
        if self.is_cut_off:
            return f"cut off {self.since:%H:%M}"
        return f"{self.word}{self._describe_request()}"

    def _describe_request(self) -> str:
        return ", last request unanswered" if self.is_unanswered else ""

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
