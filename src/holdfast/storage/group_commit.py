"""Group commit: sixteen writers pay for one fsync.

A thread takes whatever has queued up and hands it to the store as one transaction, so that a busy lock or a
slow disk never blocks the event loop. A single writer is not slowed down by waiting for others: nothing waits,
the group is simply what came in while the last one was being committed.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.storage.failure import Failure

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

LARGEST_GROUP = 256

Unit = tuple[Any, "AbstractEventLoop", "Future[Any]"]


class GroupCommit:
    def __init__(self, commit: Callable[[Sequence[Any]], list[Any]]):
        self._commit = commit
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="holdfast-writer", daemon=True)
        self._thread.start()

    async def submit(self, loop: AbstractEventLoop, work: Any) -> Any:
        future: Future[Any] = loop.create_future()
        self._queue.put((work, loop, future))
        return await future

    def finish(self) -> None:
        """Commit what is queued, then stop."""
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            units, closing = self._take_more(first)
            _deliver(units, self._commit([work for work, _, _ in units]))
            if closing:
                return

    def _take_more(self, first: Unit) -> tuple[list[Unit], bool]:
        units = [first]
        while len(units) < LARGEST_GROUP and not self._queue.empty():
            unit = self._queue.get()  # only this thread takes
            if unit is None:
                return units, True
            units.append(unit)
        return units, False


def _deliver(units: Sequence[Unit], outcomes: Sequence[Any]) -> None:
    """Wake each loop once, however many of its calls were in the group."""
    by_loop: dict[AbstractEventLoop, list[tuple[Future[Any], Any]]] = {}
    for (_, loop, future), outcome in zip(units, outcomes, strict=True):
        by_loop.setdefault(loop, []).append((future, outcome))
    for loop, answers in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, answers)
        except RuntimeError:  # the loop is closed: nobody waits any more, and what was written stays written
            continue


def _resolve(answers: Sequence[tuple[Future[Any], Any]]) -> None:
    for future, outcome in answers:
        if future.done():  # cancelled meanwhile
            continue
        if isinstance(outcome, Failure):
            future.set_exception(outcome.error)
        else:
            future.set_result(outcome)
