"""A database that is somebody's open transaction: a verb of any room runs inside it and knows nothing of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from holdfast.storage.database import Row, Transaction
    from holdfast.storage.queries import Query

T = TypeVar("T")


class InTransaction:
    def __init__(self, engine: str, tx: Transaction):
        self.engine, self._tx = engine, tx

    async def read(self, query: Query, *args: object) -> list[Row]:
        return await self._tx.run(query, *args)

    async def write(self, query: Query, *args: object) -> list[Row]:
        return await self._tx.run(query, *args)

    async def write_rows(self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]) -> list[Row]:
        """A refused row does not undo the others here: the verb raises, and with it the whole transaction ends."""
        return await self._tx.run_rows(query, head, rows)

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await work(self._tx)

    async def scrub(self) -> None:
        """The write-ahead log is not to be emptied from inside a transaction."""

    async def close(self) -> None:
        """Whoever opened it closes it."""
