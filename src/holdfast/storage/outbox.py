"""Events for listeners, in the order of the commits.

Rows are written by the verbs themselves, in the transaction of the change. A reader holds an opaque
cursor and asks for what came after it; since ids appear in the order of the commits on both
engines, it never misses one.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.ground import clock
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass
from holdfast.storage.queries import STORAGE as QUERIES

if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row

LARGEST_PAGE = 10_000


@dataclass(frozen=True)
class OutboxEvent:
    cursor: str
    topic: str
    data: dict[str, Any]
    created_at: datetime

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "created_at": clock.to_text(self.created_at)}


class Outbox:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    async def read(self, after: str | None = None, limit: int = 100) -> list[OutboxEvent]:
        """The next events beyond a cursor, oldest first; without one, from the beginning."""
        number = 0
        if after is not None:
            number = _parse_cursor(after)
        if not 0 < limit <= LARGEST_PAGE:
            raise InvalidValueError("limit", limit, f"is not between 1 and {LARGEST_PAGE}")
        rows = await self.database.read(QUERIES["outbox_after"], *self.owner, number, limit)
        # Beyond the end: of another store, or of this one before a backup was restored.
        if not rows and number > await self._read_last():
            raise refuse_cursor(after)
        return [_parse_event(row) for row in rows]

    async def end(self) -> str:
        """The cursor of a listener that wants only new events."""
        last = await self._read_last()
        return _make_cursor(last)

    async def _read_last(self) -> int:
        [(last,)] = await self.database.read(QUERIES["outbox_end"], *self.owner)
        number: int = last
        return number


def _parse_event(row: Row) -> OutboxEvent:
    number, topic, data, created_at = row
    return OutboxEvent(
        cursor=_make_cursor(number),
        topic=topic,
        data=json.loads(data),
        created_at=clock.parse(created_at),
    )


def _make_cursor(number: int) -> str:
    encoded = urlsafe_b64encode(f"o1.{number}".encode())
    return encoded.decode().rstrip("=")


def _parse_cursor(cursor: str) -> int:
    try:
        padding = "=" * (-len(cursor) % 4)
        text = urlsafe_b64decode(cursor + padding).decode()
        version, _, number = text.partition(".")
        if version == "o1" and number.isdecimal() and len(number) < 19:
            return int(number)
    except (ValueError, TypeError):
        pass
    raise refuse_cursor(cursor)


def refuse_cursor(cursor: object) -> InvalidValueError:
    return InvalidValueError("cursor", cursor, "is not one that this store handed out")
