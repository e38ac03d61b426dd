"""The newest events within a limit, for the doors that send events as they are stored.

The newest is always sent. Where it alone is over the limit, its text is cut, and the answer says
how long it is: a limit that one event can break is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.ground import light_json as json
from holdfast.ground.frozen import replace
from holdfast.ground.text import cut
from holdfast.ground.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from holdfast.sessions.model import SessionEvent

LEAST_CHARS = 1_200  # an event with all its fields, however small the limit


def fit_events(
    events: Sequence[SessionEvent], max_tokens: int | None
) -> tuple[list[SessionEvent], list[str]]:
    """The events, of which only a single one can be too long, and what to say beside them."""
    if max_tokens is None or len(events) != 1:
        return list(events), []
    [event] = events
    room = max(max_tokens * CHARS_PER_TOKEN, LEAST_CHARS)
    short = _fit_event(event, room)
    if short is event:
        return [event], []
    told = f"Event {event.sequence} is cut to the limit: it has {len(event.content):,} characters"
    return [short], [f"{told}. Without a limit it comes whole."]


def _fit_event(event: SessionEvent, room: int) -> SessionEvent:
    """Escapes count too: a text is cut until what is sent of it fits."""
    if _count(event) <= room:
        return event
    short = replace(event, content=cut(event.content, room))
    if _count(replace(short, content="")) > room // 2:
        short = replace(short, parts=None)
    chars = room
    while _count(short) > room and chars:
        chars //= 2
        short = replace(short, content=cut(event.content, chars))
    return short


def _count(event: SessionEvent) -> int:
    return len(json.dumps(event.to_dict(), ensure_ascii=False))
