"""A database that is not waited for: a write that another process delays is busy soon.

For a reader that also stores what it finds on its way. Reads never wait for a writer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import TypeVar

    from holdfast.storage.database import Database, Row, Transaction
    from holdfast.storage.queries import Query

    T = TypeVar("T")


class BriefDatabase:
    def __init__(self, database: Database, seconds: float):
        self.engine = database.engine
        self._database = database
        self._seconds = seconds

    async def read(self, query: Query, *args: object) -> list[Row]:
        return await self._database.read(query, *args)

    async def write(self, query: Query, *args: object) -> list[Row]:
        return await self.transaction(lambda tx: tx.run(query, *args))

    async def write_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        """A refused row does not undo the others, as in every transaction of several verbs."""
        return await self.transaction(lambda tx: tx.run_rows(query, head, rows))

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._database.try_transaction(work, self._seconds)

    async def try_transaction(
        self, work: Callable[[Transaction], Awaitable[T]], seconds: float
    ) -> T:
        return await self._database.try_transaction(work, seconds)

    async def scrub(self) -> None:
        await self._database.scrub()

    async def close(self) -> None:
        """Closed by the caller that opened it."""
