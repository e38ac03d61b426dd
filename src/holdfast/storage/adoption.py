"""Adopting a table of memories while the program that made it goes on reading and writing it.

Every step is short for that program. Columns are added without touching the rows, under a lock that
is given up after a moment and tried again; rows are filled in batches; indexes are made
concurrently. Each step is complete or was not done, and a run that was killed is continued by the
next one: what is still to do is read from the table itself. A table that Holdfast cannot use is
found before the first column is added.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from holdfast.errors import shown
from holdfast.ground import clock
from holdfast.storage import errors
from holdfast.storage.migrate import HERE
from holdfast.storage.queries import Block, read_blocks

LOCK_NOT_AVAILABLE = "55P03"
CHANGED_CONCURRENTLY = "XX000"  # at the end of an index the lock is released before the commit
PAUSE_SECONDS = 0.4
BATCH_ROWS = 1_000

Report = Callable[[str], None]


class Adoption:
    """The steps on one connection; a migration calls them in their order."""

    def __init__(self, connection: Any, where: str, patience_seconds: float, report: Report):
        self.connection, self.where = connection, where
        self.patience_seconds, self.report = patience_seconds, report
        self._last_step = ""
        self.sql = _read_sql("adoption")
        self.indexes = read_blocks(_find_file("adopted_indexes"))

    async def is_needed(self) -> bool:
        """Whether there is a table of another program that lacks something of ours."""
        if not await self.has_foreign_table():
            return False
        names = [index.name for index in self.indexes]
        if await self.connection.fetchval(self.sql["lacks_columns"]):
            return True
        return bool(await self.connection.fetchval(self.sql["lacks_indexes"], names))

    async def has_foreign_table(self) -> bool:
        """As the first migration has recorded it; before that, any table is another program's."""
        question = "has_memories"
        if await self.connection.fetchval(self.sql["is_known"]):
            question = "is_adopted"
        return bool(await self.connection.fetchval(self.sql[question]))

    async def prepare(self, rehearse: Callable[[], Awaitable[None]]) -> None:
        """Add what is missing, after the whole migration was tried and undone."""
        await self.connection.execute(self.sql["check_table"])
        first, *others = self.indexes
        self._tell("Checking memori.memories, which another program made")
        async with self._made_for_trial(first):
            await rehearse()
        await self.add_columns()
        await self._fill_sources()
        for number, index in enumerate(others, start=1):
            self._tell(f"Making index {number} of {len(others)}: {index.name}")
            await self._make_index(index)

    @asynccontextmanager
    async def _made_for_trial(self, index: Block) -> AsyncIterator[None]:
        """An index that stays if the trial succeeds, or if the table is busy and may be tried
        again.
        """
        is_new = await self._make_index(index)
        try:
            yield
        except errors.TableLockedError:
            raise
        except Exception:
            if is_new:
                await self._remove(index)
            raise

    async def add_columns(self) -> None:
        if await self.connection.fetchval(self.sql["lacks_columns"]):
            await self.run_briefly(self.sql["add_columns"])

    async def run_briefly(self, statement: str) -> None:
        """One statement that locks; what it waits for, the other program would wait for as well."""
        await self._repeat(lambda: self._try_briefly(statement))

    async def _repeat(self, attempt: Callable[[], Awaitable[bool]]) -> None:
        deadline = time.monotonic() + self.patience_seconds
        while not await attempt():
            busy = await self._make_lock_error()
            if time.monotonic() > deadline:
                raise busy
            self._tell(f"{busy.holder} keeps the table busy; trying again")
            await asyncio.sleep(PAUSE_SECONDS * (0.5 + random.random()))

    async def _try_briefly(self, statement: str, again: Sequence[str] = ()) -> bool:
        """Whether it was done; an error of a state in `again` is like a lock that is not free."""
        try:
            async with self.connection.transaction():
                await self.connection.execute(self.sql["wait_briefly"])
                await self.connection.execute(statement)
        except Exception as error:
            if _get_state(error) in (LOCK_NOT_AVAILABLE, *again):
                return False
            raise
        return True

    async def _fill_sources(self) -> None:
        if not await self.connection.fetchval(self.sql["lacks_sources"]):
            return
        last: str | None = ""
        total = 0
        while last is not None:
            last, filled = await self.connection.fetchrow(
                self.sql["fill_sources"], last, BATCH_ROWS
            )
            total += filled
            self._tell(f"Labelled {total:,} rows as bootstrap")

    async def _make_index(self, index: Block) -> bool:
        """Whether it was made now. What an interrupted run has left of it is removed before."""
        is_new = False
        while not await self._is_usable(index):
            await self._repeat(lambda: self._try_to_remove(index, only_unusable=True))
            await self._build(index)
            is_new = True
        return is_new

    async def _build(self, index: Block) -> None:
        try:
            await self._run_patiently(index.sql)
        except errors.TableLockedError:
            raise
        except Exception:  # the server keeps what it has made until then
            await self._remove(index)
            raise

    async def _remove(self, index: Block) -> None:
        """After an error, which says more than that the table is busy."""
        with suppress(errors.TableLockedError):
            await self._repeat(lambda: self._try_to_remove(index, only_unusable=False))

    async def _is_usable(self, index: Block) -> bool | None:
        """None where there is no such index."""
        is_usable: bool | None = await self.connection.fetchval(self.sql["find_index"], index.name)
        return is_usable

    async def _try_to_remove(self, index: Block, *, only_unusable: bool) -> bool:
        """Looked at before every attempt: the server may still finish it for a killed run."""
        is_usable = await self._is_usable(index)
        if is_usable is None or (is_usable and only_unusable):
            return True
        statement = await self.connection.fetchval(self.sql["drop_index"], index.name)
        return await self._try_briefly(statement, again=[CHANGED_CONCURRENTLY])

    async def _run_patiently(self, statement: str) -> None:
        """One that waits for other transactions without holding them up."""
        milliseconds = max(1, round(self.patience_seconds * 1000))
        await self.connection.execute(self.sql["wait_patiently"], str(milliseconds))
        try:
            await self.connection.execute(statement)
        except Exception as error:
            if _get_state(error) == LOCK_NOT_AVAILABLE:
                raise await self._make_lock_error() from error
            raise
        finally:
            if not self.connection.is_closed():
                await self.connection.execute(self.sql["wait_as_before"])

    def _tell(self, step: str) -> None:
        """Once: what is tried again is the same step."""
        if step != self._last_step:
            self.report(step)
        self._last_step = step

    async def _make_lock_error(self) -> errors.TableLockedError:
        found = await self.connection.fetchrow(self.sql["find_holder"])
        holder = _describe_holder(found)
        return errors.TableLockedError(self.where, self.patience_seconds, holder)


def _describe_holder(found: Sequence[Any] | None) -> str:
    """As far as the server shows it to us: the program and the times of other roles are hidden."""
    if found is None:
        return "Another transaction"
    pid, role, program, began_at = found
    text = f"Process {pid} of role {shown(role)}"
    if program:
        text += f" with {shown(program)}"
    if began_at is not None:
        text += f" in a transaction since {clock.to_text(began_at)}"
    return text


def _get_state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""


def _read_sql(name: str) -> dict[str, str]:
    return {block.name: block.sql for block in read_blocks(_find_file(name))}


def _find_file(name: str) -> str:
    return os.path.join(HERE, f"{name}.postgres.sql")
