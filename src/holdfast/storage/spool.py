"""Where an accepted input waits while the store is busy or down.

A hook must neither delay the agent nor lose what it was given, so what cannot be stored at once is written to a
JSON-lines file beside the store and stored by whoever comes next. Each record carries its own event id, so that
a drain that was killed half-way is simply repeated. What can never be stored is kept apart, with the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from holdfast import errors
from holdfast.ground import files, jsonl

Record = dict[str, Any]

HOPELESS = (errors.InvalidValueError, errors.Conflict)  # about the record itself; all else may be better tomorrow
SHOWN_CHARS = 100_000


class Spool:
    def __init__(self, home: str):
        self.folder = os.path.join(home, "spool")
        self.pending = os.path.join(self.folder, "pending.jsonl")
        self.draining = os.path.join(self.folder, "draining.jsonl")
        self.rejected = os.path.join(self.folder, "rejected.jsonl")

    def add(self, record: Record) -> None:
        """Keep a record durably; it is accepted when this returns."""
        files.private_folder(self.folder)
        jsonl.append_records(self.pending, [record])

    def keep(self, record: Record, error: BaseException) -> None:
        """Keep what was not stored: until the store is better, or for a person where it can never be stored."""
        if isinstance(error, HOPELESS):
            self.reject(record, error)
        else:
            self.add(record)

    def is_empty(self) -> bool:
        """Two cheap looks, so that the usual case costs nothing."""
        return not (os.path.exists(self.pending) or os.path.exists(self.draining))

    def count_spooled(self) -> int:
        return sum(_size(path) for path in (self.draining, self.pending))

    def count_rejected(self) -> int:
        """Each once, though a killed drain may have noted one twice."""
        return len({_identity(record) for record in jsonl.read_records(self.rejected).records})

    async def drain(
        self,
        store: Callable[[Record], Awaitable[None]],
        limit: int | None = None,
        *,
        lock_seconds: float | None = None,
    ) -> int:
        """Store what waits, oldest first, at most so many; stops quietly when the store is unavailable."""
        if self.is_empty():
            return 0
        with files.Lock(self.draining, files.LOCK_SECONDS if lock_seconds is None else lock_seconds):
            taken = await self._empty(store, limit)
            if self._take_pending():
                taken += await self._empty(store, None if limit is None else limit - taken)
        return taken

    def _take_pending(self) -> bool:
        """Move the file aside under its writers' lock, so that none of them writes to what is being emptied."""
        if os.path.exists(self.draining):
            return False
        with files.Lock(self.pending):
            if not os.path.exists(self.pending):
                return False
            os.rename(self.pending, self.draining)
            return True

    async def _empty(self, store: Callable[[Record], Awaitable[None]], limit: int | None) -> int:
        contents = jsonl.read_records(self.draining)
        for damage in contents.damaged:
            self._reject({"raw": damage.raw.hex(), "code": "damaged_line", "message": damage.reason})
        taken = 0
        try:
            for record in contents.records[:limit]:
                try:
                    await store(record)
                except HOPELESS as error:
                    self.reject(record, error)
                except errors.HoldfastError:
                    break
                taken += 1
        finally:  # also when the caller's time is up: what is done is done
            if taken or contents.damaged or not contents.records:
                self._leave(contents.records[taken:])
        return taken

    def _leave(self, records: Sequence[Record]) -> None:
        """What is left for the next drain; a kill before this repeats some, and each goes in only once."""
        if records:
            files.write_atomic(self.draining, "".join(f"{json.dumps(record)}\n" for record in records).encode())
        elif os.path.exists(self.draining):
            os.unlink(self.draining)

    def reject(self, record: Record, error: errors.HoldfastError) -> None:
        """Keep what can never be stored, with the reason: it is counted, and a person can look at it."""
        files.private_folder(self.folder)
        note = {"code": error.code, "message": error.message}
        try:
            self._reject({**note, "record": record})
        except (
            errors.InvalidValueError
        ):  # too long, too deep or no JSON: then as much of it as a person may want to see
            self._reject({**note, "shown": ascii(record)[:SHOWN_CHARS]})

    def _reject(self, note: Record) -> None:
        jsonl.append_records(self.rejected, [note])


def _size(path: str) -> int:
    contents = jsonl.read_records(path)
    return len(contents.records) + len(contents.damaged)


def _identity(note: Record) -> str:
    record = note.get("record")
    event = record.get("event") if isinstance(record, dict) else None
    return str(event.get("id") if isinstance(event, dict) else note)
