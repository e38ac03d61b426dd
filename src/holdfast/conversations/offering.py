"""When a person is offered to save a conversation, and in which words. Pure.

An offer is a line for the model, which asks the person; nothing is saved by it. Of a conversation
it is known when it was saved and when it was offered. What was offered before the last save does
not count; a refusal holds for good. The moments are texts of one width, which sort as they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.ground.frozen import asdict, dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAUSE, REMINDER = "pause", "reminder"
MOMENTS = ("saved_at", "pause_at", "reminder_at", "declined_at")
NEVER = ""


@dataclass(frozen=True)
class SaveState:
    """What a session knows of saving its conversation; of a thread, what all of them know."""

    conversation: str
    saved_at: str = NEVER
    pause_at: str = NEVER  # offered because the person stopped
    reminder_at: str = NEVER  # offered because it is long
    declined_at: str = NEVER
    asked_with: str = ""  # the prompt of the last offer, until the person has said more

    def awaits_answer(self, prompt_id: str) -> bool:
        """Whether this prompt is what the person says next; a hook may fire twice for one."""
        return self.has_offered(PAUSE, REMINDER) and self.asked_with not in ("", prompt_id)

    def has_offered(self, *reasons: str) -> bool:
        """Since the last save."""
        moments = {PAUSE: self.pause_at, REMINDER: self.reminder_at}
        return any(moments[reason] > self.saved_at for reason in reasons)

    def offer(self, reason: str, now: str, prompt_id: str) -> SaveState:
        if reason == PAUSE:
            return replace(self, pause_at=now, asked_with=prompt_id)
        return replace(self, reminder_at=now, asked_with=prompt_id)

    def to_dict(self) -> dict[str, str]:
        """What is not empty; it is kept beside other facts of a session."""
        return {name: value for name, value in asdict(self).items() if value}


def read_state(conversation: str, kept: object) -> SaveState:
    """Of this conversation; what was kept about another one, or is no state, says nothing."""
    if not isinstance(kept, Mapping) or kept.get("conversation") != conversation:
        return SaveState(conversation)
    given: dict[str, Any] = {name: kept.get(name) for name in (*MOMENTS, "asked_with")}
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    return SaveState(conversation, **texts)


def join_states(own: SaveState, others: Iterable[SaveState]) -> SaveState:
    """The newest of each moment; only its own session waits for an answer."""
    known = [own, *others]
    newest = {name: max(getattr(state, name) for state in known) for name in MOMENTS}
    return replace(own, **newest)


def write_offer(reason: str, turns: int, command: str) -> str:
    """`turns`: requests that are not in the folder; `command`: what the person can type."""
    if reason == PAUSE:
        return (
            "Holdfast: the user seems to stop here, and this conversation is not saved to its "
            "folder. The user was not asked yet. With a yes, `conversation` operation `pause` "
            f"saves it, as `{command}` does; after a no it is not offered again."
        )
    return (
        f"Holdfast: the last {turns} requests of this conversation are not saved to its folder. "
        "The user was not asked yet. With a yes, `conversation` operation `save` does it and the "
        "work goes on; after a no it is not offered again."
    )
