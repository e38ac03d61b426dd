"""What a developer's listeners hear: the notices of one's own sessions, and what the team does.

Each source numbers its events in the order of its commits, and one opaque cursor says how far a
listener has come in all of them. Work events have two streams: the team's, and that of a developer
who is private. They are read under the reader's own view each time, so a developer who became
private is gone at once, from what is to come and from what is repeated. A cursor says nothing about
others: numbers of the team's stream are times of events that its reader may see.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from heapq import merge
from typing import Any

from holdfast.ground.frozen import dataclass, replace
from holdfast.storage.outbox import OutboxEvent, refuse_cursor
from holdfast.team.model import WorkEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.scope import Scope

VERSION = "o2"
MOST_DIGITS = 18


@dataclass(frozen=True)
class Position:
    """How far a listener has come: in its outbox, in the team's stream and in its own."""

    notices: str
    team: int
    own: int

    def to_cursor(self) -> str:
        text = f"{VERSION}.{self.notices}.{self.team}.{self.own}"
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")


@dataclass(frozen=True)
class _Step:
    """An event, and what it changes in the position of a listener."""

    created_at: datetime
    topic: str
    data: dict[str, Any]
    moves: dict[str, Any]


class Events:
    """Everything that one developer may hear; called as the outbox alone is."""

    def __init__(self, scope: Scope):
        self.outbox = scope.outbox
        self.team = scope.own_team.store

    async def start(self, after: str | None) -> str:
        """The cursor to begin with; a foreign one is refused.

        That of an older program knows of the outbox alone: of the team it gets what is to come.
        """
        if after is None:
            return await self.end()
        if _find_position(after) is not None:
            await self.read(after, 1)
            return after
        await self.outbox.read(after, 1)
        team, own = await self.team.read_end()
        return Position(after, team, own).to_cursor()

    async def end(self) -> str:
        """The cursor of a listener that wants only new events."""
        notices = await self.outbox.end()
        team, own = await self.team.read_end()
        return Position(notices, team, own).to_cursor()

    async def read(self, after: str, limit: int = 100) -> list[OutboxEvent]:
        """The next events beyond a cursor: each source in its own order, together by time."""
        position = _find_position(after)
        if position is None:
            raise refuse_cursor(after)
        notices = await self.outbox.read(position.notices, limit)
        work = await self.team.list_events_after(position.team, position.own, limit)
        steps = merge(
            [
                _Step(one.created_at, one.topic, one.data, {"notices": one.cursor})
                for one in notices
            ],
            [_make_step(event, team=number) for is_own, number, event in work if not is_own],
            [_make_step(event, own=number) for is_own, number, event in work if is_own],
            key=lambda step: step.created_at,
        )
        found = []
        for step in steps:
            position = replace(position, **step.moves)
            cursor = position.to_cursor()
            found.append(OutboxEvent(cursor, step.topic, step.data, step.created_at))
        return found[:limit]


def _make_step(event: WorkEvent, **moves: int) -> _Step:
    _, _, change = event.type.partition(".")
    return _Step(event.created_at, f"team.{change}", event.to_dict(), moves)


def _find_position(cursor: str) -> Position | None:
    """None for what is not one of ours; the outbox checks its own part."""
    padding = "=" * (-len(cursor) % 4)
    try:
        text = urlsafe_b64decode(cursor + padding).decode()
    except ValueError:
        return None
    version, *parts = text.split(".")
    if version != VERSION or len(parts) != 3:
        return None
    notices, *numbers = parts
    if not all(number.isdecimal() and len(number) <= MOST_DIGITS for number in numbers):
        return None
    team, own = map(int, numbers)
    return Position(notices, team, own)
