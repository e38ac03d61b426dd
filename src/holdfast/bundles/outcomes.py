"""What became of the last request of a session, by how its log ends. Pure.

A client may be killed, run into a limit or be interrupted in the middle of a turn. What its model
has said by then is no answer, and whoever goes on has to know that.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.ground.frozen import dataclass
from holdfast.observations.turns import title_tool
from holdfast.sessions.requests import AGENT_ID, ORIGIN, is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.sessions.model import SessionEvent

# The words that events hold, and two more.
TURN = "turn"
CUT_OFF, INTERRUPTED, FAILED = "cut off", "interrupted", "failed"
ANSWERED, RUNNING = "answered", "running"
# How each is told, before what is quoted of it.
TOLD = {
    CUT_OFF: "",
    INTERRUPTED: ", interrupted by the user",
    FAILED: ":",
    RUNNING: " while running",
}


@dataclass(frozen=True)
class Outcome:
    word: str
    cause: str = ""  # what the client said, or what was running

    def describe(self, *, is_live: bool, is_ended: bool) -> str:
        """Behind the time of its end. While a program runs, it may still come to an answer."""
        if self.word == ANSWERED or (is_live and not self.is_final):
            return ""
        lead = ", last request unanswered" if is_live or is_ended else ""
        return f"{lead}{TOLD[self.word]}"

    @property
    def is_final(self) -> bool:
        return self.word in (INTERRUPTED, FAILED)


def judge_outcome(events: Iterable[SessionEvent]) -> Outcome:
    """By the last one of these that is of the session's own turn, in the order in which they
    happened: an answer may be stored before what its transcript has of the work.
    """
    ordered = sorted(events, key=lambda event: event.happened_at)
    found = [outcome for event in ordered if (outcome := _judge_event(event))]
    return found[-1] if found else Outcome(CUT_OFF)


def _judge_event(event: SessionEvent) -> Outcome | None:
    parts = event.parts or {}
    if parts.get(AGENT_ID):
        return None
    if event.type == "user_message" and is_request(event.content, parts):
        return Outcome(CUT_OFF)
    if event.type == "tool_result":
        return Outcome(CUT_OFF)
    if event.type == "tool_call":
        return Outcome(RUNNING, title_tool(event)) if "status" in parts else Outcome(CUT_OFF)
    if event.type == "model_message":
        return Outcome(FAILED, event.content) if parts.get(ORIGIN) else Outcome(ANSWERED)
    if parts.get(TURN) in TOLD:
        return Outcome(parts[TURN], event.content)
    return None
