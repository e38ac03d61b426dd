"""The one seam to a store: two engines, the same five verbs.

Services are `async def` throughout. Without a running loop the SQLite engine never suspends, so a
hook or a command drives the coroutine by hand (`drive`) and never pays for `asyncio`.
"""

from __future__ import annotations

PATIENCE_SECONDS = 30.0  # how long a caller waits for a busy store by default

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Any, Protocol, TypeVar

    from holdfast.storage.queries import Query

    T = TypeVar("T")
    Row = Sequence[Any]

    class Transaction(Protocol):
        """What runs between begin and commit; nothing else may be awaited there."""

        async def run(self, query: Query, *args: object) -> list[Row]: ...

        async def run_rows(
            self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
        ) -> list[Row]:
            """One verb for each row; a caller that finds one refused raises, and all is undone."""

    class Database(Protocol):
        engine: str

        async def read(self, query: Query, *args: object) -> list[Row]:
            """The rows of one query, as of one moment."""

        async def write(self, query: Query, *args: object) -> list[Row]:
            """One verb, durable when this returns."""

        async def write_rows(
            self, query: Query, head: Sequence[object], rows: Sequence[Sequence[object]]
        ) -> list[Row]:
            """One verb for each row, all or none; calls with the same head may share a commit.

            Each answer begins with `refused`: null, or the reason why the whole call was undone.
            """

        async def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
            """Several verbs, all or none."""

        async def try_transaction(
            self, work: Callable[[Transaction], Awaitable[T]], seconds: float
        ) -> T:
            """The same for a caller that must not wait longer: then the store is busy."""

        async def scrub(self) -> None:
            """Remove erased content from the store's side files, as far as the engine can."""

        async def close(self) -> None: ...


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("This call has to wait, and no event loop is running. Use `asyncio.run`.")


class Failure:
    """The outcome of a unit of work that went wrong, carried across a thread."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error = error


def take_outcome(outcome: Any) -> Any:
    """What a unit of work returned, or its error."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
