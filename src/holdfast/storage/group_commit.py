"""Group commit: sixteen writers pay for one fsync.

A single writer commits at once. What comes in while others are ready to run is gathered during one
round of the event loop and committed together at its end, in place: a
thread would cost more than the commit itself. Only when another process holds the
lock, or the disk has become slow, a thread takes over, so that neither ever blocks the loop; it
commits all that has queued up meanwhile.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.storage.database import Failure, take_outcome

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

LARGEST_GROUP = 256
SLOW_SECONDS = 0.01
# A caller that only ever writes lets the loop look for others so often.
ALONE_SECONDS = 0.003

NOT_TOLD = True  # by a loop of another library

Unit = tuple[Any, "AbstractEventLoop", "Future[Any]"]


class GroupCommit:
    def __init__(
        self,
        commit: Callable[[Sequence[Any]], list[Any]],
        try_commit: Callable[[Sequence[Any]], list[Any] | None],
    ):
        self._commit, self._try_commit = commit, try_commit
        self._gathering: dict[AbstractEventLoop, list[Unit]] = {}
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_slow = False
        self._last_round = 0.0

    async def submit(self, loop: AbstractEventLoop, work: Any) -> Any:
        if self._is_alone(loop):
            outcomes = self._time_commit(self._try_commit, [work])
            if outcomes is not None:
                return take_outcome(outcomes[0])
        return await self._gather(loop, work)

    def _is_alone(self, loop: AbstractEventLoop) -> bool:
        """Nobody else is ready to run on this loop, and it has looked for others lately."""
        if self._is_slow or self._gathering or getattr(loop, "_ready", NOT_TOLD):
            return False
        return time.perf_counter() - self._last_round < ALONE_SECONDS

    async def _gather(self, loop: AbstractEventLoop, work: Any) -> Any:
        future: Future[Any] = loop.create_future()
        gathered = self._gathering.get(loop)
        if gathered is None:
            self._gathering[loop] = gathered = []
            loop.call_soon(self._flush, loop)
        gathered.append((work, loop, future))
        return await future

    def finish(self) -> None:
        """Commit what is gathered and queued, then stop."""
        for loop in list(self._gathering):
            units = self._gathering.pop(loop, [])
            if units:  # unless its own loop was quicker
                outcomes = self._commit([work for work, _, _ in units])
                _deliver(units, outcomes)
        with self._starting:
            thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _flush(self, loop: AbstractEventLoop) -> None:
        self._last_round = time.perf_counter()
        units = self._gathering.pop(loop, [])
        for start in range(0, len(units), LARGEST_GROUP):
            group = units[start : start + LARGEST_GROUP]
            outcomes = None
            if not self._is_slow:
                outcomes = self._time_commit(self._try_commit, [work for work, _, _ in group])
            if outcomes is None:
                self._hand_over(group)
            else:
                futures = [future for _, _, future in group]
                _resolve(zip(futures, outcomes, strict=True))

    def _time_commit(
        self, commit: Callable[[Sequence[Any]], list[Any] | None], works: Sequence[Any]
    ) -> list[Any] | None:
        start = time.perf_counter()
        outcomes = commit(works)
        seconds = time.perf_counter() - start
        self._is_slow = seconds > SLOW_SECONDS
        return outcomes

    def _hand_over(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self._queue.put(unit)
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="holdfast-writer", daemon=True)
                thread.start()
                self._thread = thread

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            units, closing = self._take_more(first)
            outcomes = self._time_commit(self._commit, [work for work, _, _ in units])
            _deliver(units, outcomes or [])
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
        except RuntimeError:  # the loop is closed: no caller waits, and what was written stays
            continue


def _resolve(answers: Iterable[tuple[Future[Any], Any]]) -> None:
    for future, outcome in answers:
        if future.done():  # cancelled meanwhile
            continue
        if isinstance(outcome, Failure):
            future.set_exception(outcome.error)
        else:
            future.set_result(outcome)
