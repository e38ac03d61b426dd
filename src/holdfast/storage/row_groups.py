"""Appends to one hot session travel together.

They wait for its row lock anyway, so those that come in while one is under way go in the next round
trip. Each call keeps its own outcome: where a group fails for a reason that may be one call's own,
each is sent alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from holdfast import errors

if TYPE_CHECKING:
    from holdfast.storage.database import Row
    from holdfast.storage.queries import Query

LARGEST_GROUP_ROWS = 256
LARGEST_GROUP_BYTES = 16 << 20

Send = Callable[[Sequence["GroupedCall"]], Awaitable[list["Row"]]]


class RowGroups:
    def __init__(self, send: Send):
        self._send = send
        self._waiting: dict[tuple[object, ...], list[GroupedCall]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def write(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        key = (query, *head)
        call = GroupedCall(query, head, rows)
        waiting = self._waiting.get(key)
        if waiting is not None:
            call.answer = asyncio.get_running_loop().create_future()
            waiting.append(call)
            return await call.answer
        self._waiting[key] = []
        try:
            return await self._send([call])
        finally:
            self._continue(key)

    async def finish(self) -> None:
        """Wait for what is under way."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _continue(self, key: tuple[object, ...]) -> None:
        """Send what has gathered meanwhile, or let the next caller go first."""
        if not self._still_waiting(key):
            del self._waiting[key]
            return
        task = asyncio.get_running_loop().create_task(self._send_waiting(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_waiting(self, key: tuple[object, ...]) -> None:
        try:
            while waiting := self._still_waiting(key):
                await self._answer(_next_group(waiting))
        finally:
            for call in self._waiting.pop(key):  # only when this task was cancelled: the loop ends
                call.cancel()

    def _still_waiting(self, key: tuple[object, ...]) -> list[GroupedCall]:
        """Without calls that were cancelled, as all are when a loop ends: then nothing starts."""
        waiting = self._waiting[key]
        waiting[:] = [call for call in waiting if not call.answered]
        return waiting

    async def _answer(self, calls: list[GroupedCall]) -> None:
        try:
            rows = await self._send(calls)
        except errors.Unavailable as error:
            for call in calls:
                call.fail(error)
        except asyncio.CancelledError:
            for call in calls:
                call.cancel()
            raise
        except Exception as error:
            # One call of the group may be to blame, so each is tried on its own.
            for call in calls:
                if len(calls) > 1:
                    await self._answer([call])
                else:
                    call.fail(error)
        else:
            answers = iter(rows)
            for call in calls:
                call.succeed(list(islice(answers, len(call.rows))))


def _next_group(waiting: list[GroupedCall]) -> list[GroupedCall]:
    """As many as are sent at once; the first even if it is too large."""
    first = waiting.pop(0)
    calls = [first]
    rows, size = len(first.rows), first.size
    while waiting:
        following = waiting[0]
        rows += len(following.rows)
        size += following.size
        if rows > LARGEST_GROUP_ROWS or size > LARGEST_GROUP_BYTES:
            break
        calls.append(waiting.pop(0))
    return calls


class GroupedCall:
    __slots__ = ("answer", "head", "query", "rows")

    def __init__(self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]):
        self.query, self.head, self.rows = query, head, rows
        self.answer: asyncio.Future[list[Row]] | None = None

    @property
    def size(self) -> int:
        total = 0
        for row in self.rows:
            total += sum(len(value) for value in row if isinstance(value, str))
        return total

    @property
    def answered(self) -> bool:
        return self.answer is not None and self.answer.done()

    def succeed(self, rows: list[Row]) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(rows)

    def fail(self, error: BaseException) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def cancel(self) -> None:
        if self.answer is not None:
            self.answer.cancel()
