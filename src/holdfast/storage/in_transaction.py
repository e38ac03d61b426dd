"""A database that is one open transaction: a verb of any room runs inside it and need not know."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import TypeVar

    from holdfast.storage.database import Database, Row, Transaction
    from holdfast.storage.queries import Query

    T = TypeVar("T")


async def in_transaction(database: Database, work: Callable[[Database], Awaitable[T]]) -> T:
    """Run `work` on one transaction of a database; where that is one already, on the same."""
    return await database.transaction(lambda tx: work(InTransaction(database.engine, tx)))


class InTransaction:
    def __init__(self, engine: str, tx: Transaction):
        self.engine = engine
        self._tx = tx

    async def read(self, query: Query, *args: object) -> list[Row]:
        return await self._tx.run(query, *args)

    async def write(self, query: Query, *args: object) -> list[Row]:
        return await self._tx.run(query, *args)

    async def write_rows(
        self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
    ) -> list[Row]:
        """A refused row does not undo the others here: the verb raises and ends the transaction."""
        return await self._tx.run_rows(query, head, rows)

    async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await work(self._tx)

    async def try_transaction(
        self, work: Callable[[Transaction], Awaitable[T]], seconds: float
    ) -> T:
        return await work(self._tx)

    async def scrub(self) -> None:
        """The write-ahead log cannot be emptied from inside a transaction."""

    async def close(self) -> None:
        """Closed by the caller that opened it."""
