"""Where an accepted input waits while the store is busy or down.

A hook must neither delay the agent nor lose what it was given, so what cannot be stored at once is
written to a JSON-lines file beside the store and stored by the next process. Each record carries
its own event id, so that a drain that was killed half-way is simply repeated. What can never be
stored is kept in a file of its own, with the reason.

A record may say which store it is for; a drain into another one sets it aside, where it waits on. A
file that cannot be read is moved aside as it is, so that one of them never blocks the others.

That nothing vanishes from here is checked with a list of the event ids that have to be here. An id
is written to it after its record and taken from it before its record is, both durably: a kill
leaves a record that is not on the list, which is not a loss, and never an id without its record. So
every reported loss is real; what is not reported is the loss of a record whose writer was killed,
or could not wait for the list.

A disk that is full or read-only takes no file of the spool. Then a record goes to the reserve, or
to a refuge (`reserve`), and is counted there if even that is impossible.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple

from holdfast import errors
from holdfast.ground import canonical, files, ids, jsonl
from holdfast.ground import light_json as json
from holdfast.storage.accounting import Waiting
from holdfast.storage.errors import EventDroppedError
from holdfast.storage.reserve import (
    REFUGE_BYTES,
    Reserve,
    list_possible_refuges,
    list_refuges,
    locate_reserve,
)

Record = dict[str, Any]

SHOWN_CHARS = 100_000
BRIEF_SECONDS = 0.1  # for every lock after one that could not be taken in time
SETTLED_NANOSECONDS = 2_000_000_000  # longer than the steps in which any disk counts
OTHER = "other-"
DAMAGED_HEADER = "has a damaged header, so more events may have been dropped than are counted"
UNREADABLE = "unreadable-"  # without `.jsonl` at the end, so that no drain finds it
FOR_GOOD = (errno.EACCES, errno.EPERM, errno.EIO)


class Elsewhere(NamedTuple):
    """What waits for another store, and the file by whose name a person says it is this one."""

    path: str
    events: int
    same: str


class Unreadable(NamedTuple):
    path: str
    problem: str
    put_aside: bool


class Spool:
    def __init__(self, home: str, *, store: str | None = None, lock_seconds: float | None = None):
        """`store` is the mark of the store that is drained into; without one, all is taken."""
        if lock_seconds is None:
            lock_seconds = files.LOCK_SECONDS
        self.home = home
        self.store = store
        self.lock_seconds = lock_seconds
        self.folder = os.path.join(home, "spool")
        # Beside the folder, so that the loss of the whole folder is noticed too.
        self.expected = f"{self.folder}.list"
        self.pending = self._locate("pending.jsonl")
        self.draining = self._locate("draining.jsonl")
        self.rejected = self._locate("rejected.jsonl")
        self._places: list[str] = []
        self._seen_empty: list[int] | None = None

    def add(self, record: Record) -> None:
        """Keep a record durably, where it can be kept; it is accepted when this returns."""
        reasons = []
        for keep in self._choose_places():
            try:
                keep(record)
                return
            except errors.HoldfastError as error:
                reasons.append(error.message)
        self._count_drop()
        raise EventDroppedError(reasons[0])

    def _choose_places(self) -> Iterator[Callable[[Record], None]]:
        """Behind what waits, to keep the order; else the spool, the reserve, the refuges."""
        used = [reserve for reserve in self._list_reserves() if not reserve.is_empty()]
        if used:
            yield _keep_in(used[-1])
        else:
            yield self._add_to_spool
        yield from map(_keep_in, self._list_reserves(make=True))
        if used:  # out of order is better than not at all
            yield self._add_to_spool

    def _count_drop(self) -> None:
        for reserve in self._list_reserves(make=True):
            if _succeeds(reserve.count_drop):
                return

    def _add_to_spool(self, record: Record) -> None:
        files.private_folder(self.folder)
        try:
            with self._turn():
                self._write(record)
                self._expect(record)
        except errors.StoreBusyError:
            self._write_alone(record)

    def keep(self, record: Record, error: BaseException) -> None:
        """Keep what was not stored for the next drain, or reject what can never be stored."""
        if isinstance(error, errors.HoldfastError) and _is_hopeless(error):
            try:
                self.reject(record, error)
            except errors.HoldfastError:  # then the next drain tries it again
                self.add(record)
        else:
            self.add(record)

    def is_empty(self) -> bool:
        """Whether nothing waits for this store; a server asks with every call.

        Usually nothing was touched since it was last empty: then that is all that is looked at.
        """
        seen = self._read_times()
        if seen == self._seen_empty:
            return True
        is_empty = next(self._find_waiting(), None) is None
        is_empty = is_empty and all(reserve.is_empty() for reserve in self._list_sources())
        # What was touched just now may be touched again without another time to tell it by.
        is_settled = time.time_ns() - max(seen) > SETTLED_NANOSECONDS
        self._seen_empty = seen if is_empty and is_settled else None
        return is_empty

    def count_waiting(self) -> Waiting:
        """Needs no store, and a disk that can be read."""
        reserve, *refuges = self._list_sources()
        headers = [found.read_header() for found in (reserve, *refuges)]
        first_times = [header["first_at"] for header in headers if "first_at" in header]
        last_times = [header["last_at"] for header in headers if "last_at" in header]
        return Waiting(
            spooled=self.count_spooled(),
            at_risk=sum(refuge.count_lines() for refuge in refuges),
            dropped=sum(header.get("dropped", 0) for header in headers),
            first_dropped_at=min(first_times, default=None),
            last_dropped_at=max(last_times, default=None),
        )

    def list_places(self) -> list[str]:
        """Where something waits for this store: the folder, the reserve, the refuges."""
        places = [source.path for source in self._list_sources() if not source.is_empty()]
        if next(self._find_waiting(), None) is not None:
            places.insert(0, self.folder)
        return places

    def list_counters(self) -> list[str]:
        """The files in which events are counted that could not be kept."""
        sources = self._list_sources()
        return [source.path for source in sources if source.read_header().get("dropped")]

    def count_spooled(self) -> int:
        """With those that were accepted and can only be in a file that cannot be read."""
        readable = sum(map(_count_lines, self._list_files()))
        readable += sum(source.count_lines() for source in self._list_sources())
        if not self._has_unreadable():
            return readable
        return readable + len(self._find_missing())

    def count_rejected(self) -> int:
        """Each once, though a killed drain may have recorded one twice."""
        notes = _read_if_possible(self.rejected).records
        return len({_identify(note) for note in notes})

    def count_lost(self) -> int:
        """How many were accepted and are missing; 0 while a file cannot be read."""
        if self._has_unreadable():
            return 0
        return len(self._find_missing())

    def list_elsewhere(self) -> list[Elsewhere]:
        """What waits for other stores, file by file."""
        found = []
        for path in self._list_files():
            mark = _parse_mark(path)
            if mark and not self._is_our_mark(mark):
                same = self._same_path(mark)
                found.append(Elsewhere(path, _count_lines(path), same))
        return found

    def list_unreadable(self) -> list[Unreadable]:
        """The files that a person has to fix before they can be read."""
        found = []
        for path in self._list_put_aside():
            found.append(Unreadable(path, _find_problem(path), put_aside=True))
        sources = self._list_sources()
        in_place = [source.path for source in sources]
        for path in (*self._list_files(), self.rejected, self.expected, *in_place):
            problem = _find_problem(path)
            if problem:
                found.append(Unreadable(path, problem, put_aside=False))
        for source in sources:
            if "damaged" in source.read_header():
                found.append(Unreadable(source.path, DAMAGED_HEADER, put_aside=False))
        return found

    def places_with_text(self, text: str) -> list[str]:
        """The files that hold a text, in any spelling, and those that cannot be read."""
        if not text:
            return []
        paths = [source.path for source in self._list_sources()]
        for folder, _, names in os.walk(self.folder):
            paths += [os.path.join(folder, name) for name in names if not name.endswith(".lock")]
        return [path for path in sorted(paths) if _may_hold(path, text)]

    async def drain(
        self, store: Callable[[Record], Awaitable[None]], limit: int | None = None
    ) -> int:
        """Store what waits, oldest first, up to a limit; stop when the store is unavailable."""
        if self.is_empty():
            return 0
        taken = 0
        files.private_folder(self.folder)  # what waits may be elsewhere
        with self._lock(self.draining):
            while self._take_next():
                left = None
                if limit is not None:
                    left = limit - taken
                taken += await self._empty(store, left)
                if self._is_draining():
                    break
        return taken

    # --- the files --------------------------------------------------------------------------------

    def _list_files(self) -> list[str]:
        """The files of waiting records: a drain's own, then what was set aside, then the new."""
        names = [name for name in self._list_names() if name.endswith(".jsonl")]
        aside = sorted(name for name in names if name.startswith(OTHER))
        alone = [name for name in names if name.startswith("pending-")]
        alone.sort(key=self._read_age)
        known = [name for name in ("draining.jsonl", *aside, "pending.jsonl") if name in names]
        return [self._locate(name) for name in (*known, *alone)]

    def _list_reserves(self, *, make: bool = False) -> Iterator[Reserve]:
        """The reserve, then the refuges, in the order in which they are used."""
        yield Reserve(locate_reserve(self.home), lock_seconds=self.lock_seconds)
        for path in list_refuges(self.home, make=make):
            yield Reserve(path, limit=REFUGE_BYTES, lock_seconds=self.lock_seconds)

    def _list_sources(self) -> list[Reserve]:
        """With the refuges of hooks that did not know their data folder."""
        homeless = [Reserve(path, lock_seconds=self.lock_seconds) for path in list_refuges(None)]
        return [*self._list_reserves(), *homeless]

    def _locate(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _read_times(self) -> list[int]:
        """When each place in which something may wait was last touched; 0 for one that is not."""
        if not self._places:
            self._places = [
                self.folder,
                locate_reserve(self.home),
                *list_possible_refuges(self.home),
            ]
        return [_read_time(place) for place in self._places]

    def _list_names(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:  # what is there is unknown: neither empty nor lost
            raise files.translate(error, self.folder) from error

    def _read_age(self, name: str) -> int:
        try:
            return os.stat(self._locate(name)).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _find_waiting(self) -> Iterator[str]:
        """The files in which something may wait for this store."""
        for path in self._list_files():
            mark = _parse_mark(path)
            if not mark or self._is_our_mark(mark):
                yield path

    def _aside_path(self, store: str, more: str = "") -> str:
        return self._locate(f"{OTHER}{store}{more}.jsonl")

    def _same_path(self, mark: str) -> str:
        return self._locate(f"same-{mark}-{self.store}")

    def _is_our_mark(self, mark: str) -> bool:
        """A store that has moved has another mark; that it is the same one only a person knows."""
        return self.store in (None, mark) or os.path.exists(self._same_path(mark))

    def _list_put_aside(self) -> list[str]:
        names = [name for name in self._list_names() if name.startswith(UNREADABLE)]
        return [self._locate(name) for name in sorted(names)]

    def _has_unreadable(self) -> bool:
        if any(map(_find_problem, self._list_files())):
            return True
        return bool(self._list_put_aside())

    def _lock(self, path: str) -> files.Lock:
        return _Lock(self, path)

    def _turn(self) -> files.Lock:
        """Held while records come in, are moved or are taken from the list."""
        return self._lock(self.folder)

    def _write(self, record: Record) -> None:
        try:
            jsonl.append_records(self.pending, [record], timeout_seconds=self.lock_seconds)
        except errors.HoldfastError:  # a stopped writer, or a file that is full or not writable
            self._write_alone(record)

    def _write_alone(self, record: Record) -> None:
        """A file of its own, which needs no lock."""
        event_id = _find_event_id(record)
        identity = ids.parse_id(event_id) or ids.new_id()
        path = self._locate(f"pending-{identity}.jsonl")
        files.write_atomic(path, _format_record(record))

    def _is_draining(self) -> bool:
        return os.path.exists(self.draining)

    def _take_next(self) -> bool:
        """Move the next file aside under its writers' lock, so that it is not written any more."""
        if self._is_draining():
            return True
        for path in self._find_waiting():
            try:
                with self._turn():
                    self._take(path)
                return True
            except FileNotFoundError:
                continue
            except OSError as error:
                raise files.translate(error, path) from error
            except errors.StoreBusyError:
                return False
        return self._take_reserve()

    def _take_reserve(self) -> bool:
        """Move what waits in the reserve or in a refuge here: now there is room."""
        for reserve in self._list_sources():
            if not reserve.is_empty():
                reserve.pour(lambda lines: files.write_atomic(self.draining, lines))
                return self._is_draining()
        return False

    def _take(self, path: str) -> None:
        if path != self.pending:  # no process adds to the others
            os.rename(path, self.draining)
            return
        with self._lock(path):
            os.rename(path, self.draining)

    async def _empty(self, store: Callable[[Record], Awaitable[None]], limit: int | None) -> int:
        try:
            contents = jsonl.read_records(self.draining)
        except errors.HoldfastError as error:
            self._put_aside_unreadable(error)
            return 0
        if not all(_succeeds(self._reject_damaged, damage) for damage in contents.damaged):
            return 0  # they must not vanish with what is left out below
        ours = [record for record in contents.records if self._is_ours(record)]
        others = [record for record in contents.records if not self._is_ours(record)]
        self._set_aside(others)
        taken = 0
        try:
            for record in ours[:limit]:
                if not await self._store_or_reject(store, record):
                    break
                taken += 1
        finally:  # also when the caller's time is up: what is done is recorded
            if taken or others or contents.damaged or not ours:
                self._unlist(ours[:taken], len(contents.damaged))
                self._keep_rest(ours[taken:])
        return taken

    async def _store_or_reject(
        self, store: Callable[[Record], Awaitable[None]], record: Record
    ) -> bool:
        """Whether it need not wait any longer; it must while its rejection cannot be recorded."""
        try:
            await store(record)
        except errors.HoldfastError as error:
            return _is_hopeless(error) and _succeeds(self.reject, record, error)
        return True

    def _put_aside_unreadable(self, error: errors.HoldfastError) -> None:
        """A folder, a link, a file too large or not readable: kept, and `status` reports it."""
        if not _is_for_good(error):
            raise error
        aside = self._locate(f"{UNREADABLE}{ids.new_id()}")
        try:
            os.rename(self.draining, aside)
        except OSError as os_error:
            raise files.translate(os_error, self.draining) from os_error

    def _is_ours(self, record: Record) -> bool:
        mark = record.get("store")
        if not isinstance(mark, str):
            return True
        is_mark = mark.isalnum() and mark.isascii()
        return not is_mark or self._is_our_mark(mark)

    def _set_aside(self, records: Sequence[Record]) -> None:
        """What is for other stores gets files of their own; a kill after this leaves two copies."""
        by_store: dict[str, list[bytes]] = {}
        for record in records:
            lines = by_store.setdefault(record["store"], [])
            lines.append(_format_line(record))
        for store, lines in by_store.items():
            self._add_aside(store, b"".join(lines))

    def _add_aside(self, store: str, lines: bytes) -> None:
        path = self._aside_path(store)
        try:
            before = files.find_bytes(path, max_bytes=jsonl.MAX_FILE_BYTES - len(lines))
        except errors.HoldfastError:  # full, or not readable
            path = self._aside_path(store, f".more-{ids.new_id()}")
            before = None
        files.write_atomic(path, (before or b"") + lines)

    def _keep_rest(self, records: Sequence[Record]) -> None:
        """What is left for the next drain; a kill before this repeats some, each stored once."""
        if records:
            lines = b"".join(map(_format_line, records))
            files.write_atomic(self.draining, lines)
        elif self._is_draining():
            try:
                os.unlink(self.draining)
            except OSError as error:
                raise files.translate(error, self.draining) from error

    # --- the list of what has to be here ----------------------------------------------------------

    def _expect(self, record: Record) -> None:
        event_id = _find_event_id(record)
        if event_id is None:
            return
        try:
            jsonl.append_records(
                self.expected, [{"id": event_id}], timeout_seconds=self.lock_seconds
            )
        except errors.HoldfastError:  # the record is kept, and that is what counts
            return

    def _read_expected(self) -> list[str]:
        """Empty where something else is in the list's place: storing must not depend on it."""
        try:
            lines = jsonl.read_records(self.expected).records
        except errors.InvalidValueError:
            return []
        return [str(line.get("id")) for line in lines]

    def _find_missing(self) -> set[str]:
        if not os.path.exists(self.expected):
            return set()
        try:
            with self._turn():
                return self._list_missing(self._read_expected())
        except errors.Unavailable:
            return set()

    def _list_missing(self, listed: Sequence[str]) -> set[str]:
        here: set[str | None] = set()
        for path in self._list_files():
            contents = _read_if_possible(path)
            here.update(map(_find_event_id, contents.records))
        return set(listed) - here

    def _unlist(self, records: Sequence[Record], damaged: int) -> None:
        """Before they are removed. A damaged line has no valid id: it is one of the missing."""
        if not (records or damaged):
            return
        with self._turn():
            listed = self._read_expected()
            gone = {_find_event_id(record) for record in records}
            if damaged:
                missing = sorted(self._list_missing(listed))
                gone.update(missing[:damaged])
            if gone.isdisjoint(listed):
                return
            left = [event_id for event_id in listed if event_id not in gone]
            lines = [json.dumps({"id": event_id}) + "\n" for event_id in left]
            files.write_atomic(self.expected, "".join(lines).encode())

    # --- what can never be stored -----------------------------------------------------------------

    def reject(self, record: Record, error: errors.HoldfastError) -> None:
        """Keep what can never be stored, with the reason, for a person to look at."""
        files.private_folder(self.folder)
        note = {"code": error.code, "message": error.message}
        try:
            self._reject({**note, "record": record})
        except errors.InvalidValueError:  # too long, too deep or not JSON: then its beginning
            self._reject({**note, "shown": ascii(record)[:SHOWN_CHARS]})

    def _reject_damaged(self, damage: jsonl.Damage) -> None:
        """The bytes go into a file named after them, and the note names it."""
        folder = self._locate(jsonl.RECOVERED_FOLDER)
        if os.path.islink(folder):
            raise errors.InvalidValueError("folder", folder, "is a symbolic link")
        files.private_folder(folder)
        digest = hashlib.sha256(damage.raw).hexdigest()
        kept = os.path.join(folder, f"line.{digest[:16]}")
        files.write_atomic(kept, damage.raw)
        note = {
            "code": "damaged_line",
            "message": damage.reason,
            "kept": kept,
            "bytes": len(damage.raw),
            "sha256": digest,
        }
        self._reject(note)

    def _reject(self, note: Record) -> None:
        jsonl.append_records(self.rejected, [note], timeout_seconds=self.lock_seconds)


def _read_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def keep_without_home(record: Record, reason: str, *, lock_seconds: float) -> str:
    """Keep what has no data folder where each one of this person finds it; returns the place."""
    line = _format_record(record)
    for path in list_refuges(None, make=True):
        refuge = Reserve(path, limit=REFUGE_BYTES, lock_seconds=lock_seconds)
        if _succeeds(refuge.keep, line):
            return path
        _succeeds(refuge.count_drop)
    raise EventDroppedError(reason)


class _Lock(files.Lock):
    """After one timeout the next locks are tried only briefly: an agent waits for all of them."""

    def __init__(self, spool: Spool, path: str):
        super().__init__(path, spool.lock_seconds)
        self._spool = spool

    def __enter__(self) -> files.Lock:
        try:
            return super().__enter__()
        except errors.StoreBusyError:
            self._spool.lock_seconds = min(self._spool.lock_seconds, BRIEF_SECONDS)
            raise


def _is_hopeless(error: errors.HoldfastError) -> bool:
    """Whether it is about the record itself; anything else, as an ended session, may pass."""
    is_about_record = isinstance(error, errors.InvalidValueError | errors.Conflict)
    # By its code, because the class belongs to a room above.
    return is_about_record and error.code != "session_ended"


def _is_for_good(error: errors.HoldfastError) -> bool:
    """Whether a file stays unreadable until a person fixes it; too many open files soon pass."""
    if isinstance(error, errors.InvalidValueError):
        return True
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in FOR_GOOD


def _succeeds(work: Callable[..., None], *args: object) -> bool:
    try:
        work(*args)
    except errors.HoldfastError:
        return False
    return True


def _keep_in(reserve: Reserve) -> Callable[[Record], None]:
    return lambda record: reserve.keep(_format_record(record))


def _format_record(record: Record) -> bytes:
    """A new record as a line, or a refusal."""
    line = canonical.canonical_object("record", record, max_bytes=jsonl.MAX_RECORD_BYTES)
    return f"{line}\n".encode()


def _format_line(record: Record) -> bytes:
    """As short as its writer made it, or a file could grow past its limit while it is emptied.

    Only half a surrogate pair, which has no bytes, is left as an escape.
    """
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return line.encode("utf-8", "backslashreplace") + b"\n"


def _parse_mark(path: str) -> str:
    """The mark of the store that a file waits for, if its name has one; else empty."""
    name = os.path.basename(path)
    if not name.startswith(OTHER):
        return ""
    mark, _, _ = name.removeprefix(OTHER).partition(".")
    return mark


def _read_if_possible(path: str) -> jsonl.Contents:
    """Empty where it cannot be read, which `list_unreadable` reports: a count goes on."""
    try:
        return jsonl.read_records(path)
    except errors.HoldfastError:
        return jsonl.Contents((), ())


def _find_problem(path: str) -> str:
    """What is wrong with it, after its name; empty where it can be read."""
    try:
        files.find_bytes(path, max_bytes=jsonl.MAX_FILE_BYTES)
    except errors.InvalidValueError as error:
        return error.problem
    except errors.StoreUnreachableError as error:
        return f"cannot be read: {error.cause}"
    return ""


def _count_lines(path: str) -> int:
    contents = _read_if_possible(path)
    return len(contents.records) + len(contents.damaged)


def _may_hold(path: str, text: str) -> bool:
    spellings = _list_spellings(text)
    overlap = max(map(len, spellings)) - 1
    seen = b""
    try:
        with open(files.open_regular(path, os.O_RDONLY), "rb") as file:
            while chunk := file.read(files.CHUNK_BYTES):
                before = b""
                if overlap:
                    before = seen[-overlap:]
                seen = before + chunk
                if any(spelling in seen for spelling in spellings):
                    return True
    except (FileNotFoundError, errors.InvalidValueError):  # removed, or a link to another file
        return False
    except OSError:
        return True
    return False


def _list_spellings(text: str) -> set[bytes]:
    """As it is, as Python shows it, and both as JSON or as JSON in JSON."""
    spellings = {text, ascii(text)[1:-1]}
    for _ in range(2):
        escaped = {_write_in_json(spelling, ensure_ascii=True) for spelling in spellings}
        unescaped = {_write_in_json(spelling, ensure_ascii=False) for spelling in spellings}
        spellings |= escaped | unescaped
    return {spelling.encode("utf-8", "backslashreplace") for spelling in spellings}


def _write_in_json(text: str, *, ensure_ascii: bool) -> str:
    """As it stands between the quotation marks of a JSON text."""
    return json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]


def _find_event_id(record: Record) -> str | None:
    event = record.get("event")
    if not isinstance(event, dict):
        return None
    event_id = event.get("id")
    if not isinstance(event_id, str):
        return None
    return event_id


def _identify(note: Record) -> str:
    record = note.get("record")
    event = None
    if isinstance(record, dict):
        event = record.get("event")
    if not isinstance(event, dict):
        return str(note)
    return str(event.get("id"))
