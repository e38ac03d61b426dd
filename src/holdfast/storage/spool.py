"""Where an accepted input waits while the store is busy or down.

A hook must neither delay the agent nor lose what it was given, so what cannot be stored at once is written to a
JSON-lines file beside the store and stored by whoever comes next. Each record carries its own event id, so that
a drain that was killed half-way is simply repeated. What can never be stored is kept apart, with the reason.

A record may say which store it is for; a drain into another one sets it aside, where it waits on.

That nothing vanishes from here is checked with a list of the event ids that have to be here. An id is written to
it after its record and taken from it before its record is, both durably: a kill leaves a record that is not on the
list, which is no loss, and never an id without its record. So a loss that is shown is one; what is not seen is the
loss of a record whose writer was killed, or could not wait for the list.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from holdfast import errors
from holdfast.ground import canonical, files, ids, jsonl

Record = dict[str, Any]

HOPELESS = (errors.InvalidValueError, errors.Conflict)  # about the record itself; all else may be better tomorrow
SHOWN_CHARS = 100_000
BRIEF_SECONDS = 0.1  # for every lock after one that was not to be had in time


class Spool:
    def __init__(self, home: str, *, store: str | None = None, lock_seconds: float | None = None):
        """`store` is the mark of the store that is drained into; without one, whatever waits is taken."""
        self.store = store
        self.lock_seconds = files.LOCK_SECONDS if lock_seconds is None else lock_seconds
        self.folder = os.path.join(home, "spool")
        self.expected = f"{self.folder}.list"  # beside the folder: it also misses what went with all of it
        self.pending = os.path.join(self.folder, "pending.jsonl")
        self.draining = os.path.join(self.folder, "draining.jsonl")
        self.rejected = os.path.join(self.folder, "rejected.jsonl")

    def add(self, record: Record) -> None:
        """Keep a record durably; it is accepted when this returns."""
        files.private_folder(self.folder)
        try:
            with self._turn():
                self._write(record)
                self._expect(record)
        except errors.StoreBusyError:
            self._write_alone(record)

    def keep(self, record: Record, error: BaseException) -> None:
        """Keep what was not stored: until the store is better, or for a person where it can never be stored."""
        if isinstance(error, HOPELESS):
            try:
                self.reject(record, error)
            except errors.HoldfastError:  # then whoever drains tries it again
                self.add(record)
        else:
            self.add(record)

    def is_empty(self) -> bool:
        """Whether nothing waits for this store: one cheap look, so that the usual case costs nothing."""
        return next(self._waiting(), None) is None

    def count_spooled(self) -> int:
        return sum(map(_size, self._files()))

    def count_rejected(self) -> int:
        """Each once, though a killed drain may have noted one twice."""
        return len({_identity(record) for record in jsonl.read_records(self.rejected).records})

    def count_lost(self) -> int:
        """How many were taken in and are neither here nor were taken out; none while nobody can tell."""
        if not os.path.exists(self.expected):
            return 0
        try:
            with self._turn():
                return len(self._missing(self._listed()))
        except errors.Unavailable:
            return 0

    async def drain(self, store: Callable[[Record], Awaitable[None]], limit: int | None = None) -> int:
        """Store what waits, oldest first, at most so many; stops quietly when the store is unavailable."""
        if self.is_empty():
            return 0
        taken = 0
        with self._lock(self.draining):
            while self._take_next():
                taken += await self._empty(store, None if limit is None else limit - taken)
                if self._is_draining():
                    break
        return taken

    # --- the files -----------------------------------------------------------------------------------------

    def _files(self) -> list[str]:
        """Whatever holds records that wait: a drain's own file first, then what was set aside, then the new ones."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:  # nobody knows what is there, so nobody may call it empty or lost
            raise files.translate(error, self.folder) from error
        alone = [name for name in names if name.startswith("pending-") and name.endswith(".jsonl")]
        aside = sorted(name for name in names if name.startswith("other-") and name.endswith(".jsonl"))
        known = [name for name in ("draining.jsonl", *aside, "pending.jsonl") if name in names]
        return [os.path.join(self.folder, name) for name in (*known, *sorted(alone, key=self._age))]

    def _age(self, name: str) -> int:
        try:
            return os.stat(os.path.join(self.folder, name)).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _waiting(self) -> Iterator[str]:
        """The files in which something may wait for this store."""
        for path in self._files():
            if self.store is None or not os.path.basename(path).startswith("other-") or path == self._aside(self.store):
                yield path

    def _aside(self, store: str) -> str:
        return os.path.join(self.folder, f"other-{store}.jsonl")

    def _lock(self, path: str) -> files.Lock:
        return _Lock(self, path)

    def _turn(self) -> files.Lock:
        """Held while records come in, are moved or are taken from the list."""
        return self._lock(self.folder)

    def _write(self, record: Record) -> None:
        try:
            jsonl.append_records(self.pending, [record], timeout_seconds=self.lock_seconds)
        except (errors.StoreBusyError, errors.InvalidValueError):  # a writer that was stopped, or a file that is full
            self._write_alone(record)

    def _write_alone(self, record: Record) -> None:
        """A file of its own, which needs nobody's lock."""
        line = canonical.canonical_object("record", record, max_bytes=jsonl.MAX_RECORD_BYTES)
        name = f"pending-{ids.parse_id(_event_id(record)) or ids.new_id()}.jsonl"
        files.write_atomic(os.path.join(self.folder, name), line.encode() + b"\n")

    def _is_draining(self) -> bool:
        return os.path.exists(self.draining)

    def _take_next(self) -> bool:
        """Move the next file aside under its writers' lock, so that none of them writes to what is being emptied."""
        if self._is_draining():
            return True
        for path in self._waiting():
            try:
                with self._turn():
                    self._take(path)
                return True
            except FileNotFoundError:
                continue
            except errors.StoreBusyError:
                return False
        return False

    def _take(self, path: str) -> None:
        if path != self.pending:  # nobody adds to the others
            os.rename(path, self.draining)
            return
        with self._lock(path):
            os.rename(path, self.draining)

    async def _empty(self, store: Callable[[Record], Awaitable[None]], limit: int | None) -> int:
        contents = jsonl.read_records(self.draining)
        ours = [record for record in contents.records if self._is_ours(record)]
        self._set_aside([record for record in contents.records if not self._is_ours(record)])
        for damage in contents.damaged:
            self._reject_damaged(damage)
        taken = 0
        try:
            for record in ours[:limit]:
                try:
                    await store(record)
                except HOPELESS as error:
                    self.reject(record, error)
                except errors.HoldfastError:
                    break
                taken += 1
        finally:  # also when the caller's time is up: what is done is done
            if taken or len(ours) < len(contents.records) or contents.damaged or not ours:
                self._unlist(ours[:taken], len(contents.damaged))
                self._leave(ours[taken:])
        return taken

    def _is_ours(self, record: Record) -> bool:
        mark = record.get("store")
        return self.store in (None, mark) or not (isinstance(mark, str) and mark.isalnum() and mark.isascii())

    def _set_aside(self, records: Sequence[Record]) -> None:
        """What is for other stores waits for them in files of their own; a kill after this leaves two copies."""
        for store in {record["store"]: None for record in records}:
            lines = [json.dumps(record) for record in records if record["store"] == store]
            before = files.find_bytes(self._aside(store), max_bytes=jsonl.MAX_FILE_BYTES) or b""
            files.write_atomic(self._aside(store), before + "".join(f"{line}\n" for line in lines).encode())

    def _leave(self, records: Sequence[Record]) -> None:
        """What is left for the next drain; a kill before this repeats some, and each goes in only once."""
        if records:
            files.write_atomic(self.draining, "".join(f"{json.dumps(record)}\n" for record in records).encode())
        elif os.path.exists(self.draining):
            os.unlink(self.draining)

    # --- the list of what has to be here -------------------------------------------------------------------

    def _expect(self, record: Record) -> None:
        if (event_id := _event_id(record)) is None:
            return
        try:
            jsonl.append_records(self.expected, [{"id": event_id}], timeout_seconds=self.lock_seconds)
        except errors.HoldfastError:  # the record is kept, and that is what counts
            return

    def _listed(self) -> list[str]:
        return [str(line.get("id")) for line in jsonl.read_records(self.expected).records]

    def _missing(self, listed: Sequence[str]) -> set[str]:
        here = {_event_id(record) for path in self._files() for record in jsonl.read_records(path).records}
        return set(listed) - here

    def _unlist(self, records: Sequence[Record], damaged: int) -> None:
        """Before they are taken out. A damaged line has no id that can be trusted: it is one of those not found."""
        if not (records or damaged):
            return
        with self._turn():
            listed = self._listed()
            gone = {_event_id(record) for record in records}
            if damaged:
                gone.update(sorted(self._missing(listed))[:damaged])
            if not gone.isdisjoint(listed):
                left = [event_id for event_id in listed if event_id not in gone]
                lines = "".join(f"{json.dumps({'id': event_id})}\n" for event_id in left)
                files.write_atomic(self.expected, lines.encode())

    # --- what can never be stored --------------------------------------------------------------------------

    def reject(self, record: Record, error: errors.HoldfastError) -> None:
        """Keep what can never be stored, with the reason: it is counted, and a person can look at it."""
        files.private_folder(self.folder)
        note = {"code": error.code, "message": error.message}
        try:
            self._reject({**note, "record": record})
        except errors.InvalidValueError:  # too long, too deep or no JSON: then as much as a person may want to see
            self._reject({**note, "shown": ascii(record)[:SHOWN_CHARS]})

    def _reject_damaged(self, damage: jsonl.Damage) -> None:
        """The bytes go into a file named after them, however many they are, and the note says which."""
        folder = os.path.join(self.folder, jsonl.RECOVERED_FOLDER)
        if os.path.islink(folder):
            raise errors.InvalidValueError("folder", folder, "is a symbolic link")
        files.private_folder(folder)
        digest = hashlib.sha256(damage.raw).hexdigest()
        kept = os.path.join(folder, f"line.{digest[:16]}")
        files.write_atomic(kept, damage.raw)
        note = {"kept": kept, "bytes": len(damage.raw), "sha256": digest}
        self._reject({"code": "damaged_line", "message": damage.reason, **note})

    def _reject(self, note: Record) -> None:
        jsonl.append_records(self.rejected, [note], timeout_seconds=self.lock_seconds)


class _Lock(files.Lock):
    """Whoever waited in vain once waits for the next lock only briefly: an agent waits for all of them together."""

    def __init__(self, spool: Spool, path: str):
        super().__init__(path, spool.lock_seconds)
        self._spool = spool

    def __enter__(self) -> files.Lock:
        try:
            return super().__enter__()
        except errors.StoreBusyError:
            self._spool.lock_seconds = min(self._spool.lock_seconds, BRIEF_SECONDS)
            raise


def _size(path: str) -> int:
    contents = jsonl.read_records(path)
    return len(contents.records) + len(contents.damaged)


def _event_id(record: Record) -> str | None:
    event = record.get("event")
    event_id = event.get("id") if isinstance(event, dict) else None
    return event_id if isinstance(event_id, str) else None


def _identity(note: Record) -> str:
    record = note.get("record")
    event = record.get("event") if isinstance(record, dict) else None
    return str(event.get("id") if isinstance(event, dict) else note)
