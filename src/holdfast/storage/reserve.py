"""Where an event of a hook is kept when the disk takes nothing more.

The reserve lies beside the spool. It is written in full when the store is opened, because
overwriting the blocks that a file has needs no space. A refuge is the same kind of file in the
runtime folder of the person, usually on another disk or in memory; it is made when it is needed,
and what is in it is at risk. A hook that does not know its data folder keeps its event in a refuge
of no folder, which every data folder of the person empties. Each file begins with a count of what
could be kept nowhere.

Both are changed in place and locked themselves: a full disk has no room for another file. This is
loaded by every hook, so it loads nothing more.
"""

from __future__ import annotations

import os
import stat

from holdfast import errors
from holdfast.ground import files, ids, stamp
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

HEADER_BYTES = 512  # one sector, which a disk writes as a whole
DAMAGE_CHARS = 100  # of a damaged header, as far as it is kept in the next one
TIME_CHARS = 32
RESERVE_BYTES = 1 << 20
REFUGE_BYTES = 16 << 20
MARK_CHARS = 13
NO_HOME = "no-home"
FREE = b"\n"


class Reserve:
    """A header and lines; what is free is newlines, which a reader of lines skips."""

    def __init__(self, path: str, *, limit: int = RESERVE_BYTES, lock_seconds: float = 0.0):
        self.path, self.limit, self.lock_seconds = path, limit, lock_seconds

    def prepare(self) -> None:
        """Write it in full, or leave it as it was: usually one look."""
        if _read_size(self.path) >= self.limit:
            return
        files.private_folder(os.path.dirname(self.path))
        with self._locked() as fd:
            size = os.fstat(fd).st_size
            free = FREE * (self.limit - size)
            _write_in_place(fd, free, size)

    def keep(self, line: bytes) -> None:
        """Add a line durably."""
        with self._locked() as fd:
            self._finish_clearing(fd)
            used = len(_cut_lines(_read_open(fd, self.path)))
            start = HEADER_BYTES + used
            if start + len(line) > self.limit:
                raise errors.StoreFullError(self.path)
            if os.fstat(fd).st_size < HEADER_BYTES:
                _write_header(fd, {})
            _write_in_place(fd, line, start)

    def count_drop(self) -> None:
        """Count an event that could be kept nowhere, with its time."""
        with self._locked() as fd:
            header = _parse_header(_read_open(fd, self.path))
            now = stamp.stamp(stamp.now_microseconds())
            dropped = header.get("dropped", 0) + 1
            first_at = header.get("first_at") or now
            _write_header(fd, {**header, "dropped": dropped, "first_at": first_at, "last_at": now})

    def pour(self, write: Callable[[bytes], None]) -> None:
        """Have what is in it written elsewhere, then free it. A kill in between leaves it twice."""
        with self._locked() as fd:
            self._finish_clearing(fd)
            data = _read_open(fd, self.path)
            lines = _cut_lines(data)
            if not lines:
                return
            write(lines)
            header = _parse_header(data)
            _write_header(fd, {**header, "poured": len(lines)})
            self._finish_clearing(fd)

    def is_empty(self) -> bool:
        """Every hook asks this: one byte is read."""
        try:
            fd = files.open_regular(self.path, os.O_RDONLY)
        except (OSError, errors.HoldfastError):
            return True
        try:
            return os.pread(fd, 1, HEADER_BYTES) in (b"", FREE)
        except OSError:
            return True
        finally:
            os.close(fd)

    def count_lines(self) -> int:
        data = self._read_if_possible()
        if _parse_header(data).get("poured"):
            return 0  # they are elsewhere already
        lines = _cut_lines(data).split(b"\n")
        return sum(1 for line in lines if line.strip())

    def read_header(self) -> dict[str, Any]:
        return _parse_header(self._read_if_possible())

    def _read_if_possible(self) -> bytes:
        try:
            return files.find_bytes(self.path, max_bytes=_LARGEST_BYTES) or b""
        except errors.HoldfastError:  # `status` lists it as not readable
            return b""

    def _locked(self) -> _LockedFile:
        return _LockedFile(self.path, self.lock_seconds)

    def _finish_clearing(self, fd: int) -> None:
        """What was poured is freed; a header says so until it is, or half a line would be left."""
        header = _parse_header(_read_open(fd, self.path))
        poured = header.get("poured")
        if not poured:
            return
        _write_in_place(fd, FREE * poured, HEADER_BYTES)
        _write_header(fd, {**header, "poured": 0})
        if os.fstat(fd).st_size > RESERVE_BYTES:  # a refuge, and memory is scarce
            os.ftruncate(fd, HEADER_BYTES)


class _LockedFile(files.Lock):
    """A file that is its own lock; errors inside leave as errors of a store."""

    def _try_lock(self) -> int | None:
        try:
            return files.lock_file(self.path)
        except OSError as error:
            raise files.translate(error, self.path) from error

    def __enter__(self) -> int:  # type: ignore[override]  # its descriptor
        super().__enter__()
        return self._fd

    def __exit__(self, kind: object, error: object, trace: object) -> None:  # type: ignore[override]
        super().__exit__(kind, error, trace)
        if isinstance(error, OSError):
            raise files.translate(error, self.path) from error


def locate_reserve(home: str) -> str:
    """Beside the folder of the spool, so that removing the folder does not remove both."""
    return os.path.join(home, "spool.reserve")


def prepare_reserve(home: str) -> None:
    """For every program that opens the store. A disk without room for it is not an error here."""
    reserve = Reserve(locate_reserve(home))
    try:
        reserve.prepare()
    except (errors.HoldfastError, OSError):
        return


def list_refuges(home: str | None, *, make: bool = False) -> Iterator[str]:
    """The paths of the refuges of a data folder or of none, in folders that are only ours.

    A folder is made when its turn has come, so that the second is made only where the first fails.
    """
    for path in _list_places(home):
        if _is_private(os.path.dirname(path), make=make):
            yield path


def list_possible_refuges(home: str) -> list[str]:
    """Where one for this data folder may be made, now or later."""
    return [*_list_places(home), *_list_places(None)]


def is_any_used(home: str) -> bool:
    """Whether an event waits in the reserve or a refuge."""
    paths = [locate_reserve(home), *list_refuges(home), *list_refuges(None)]
    return not all(Reserve(path).is_empty() for path in paths)


def _list_places(home: str | None) -> list[str]:
    mark = NO_HOME
    if home is not None:
        real = os.path.realpath(home)
        mark = ids.named_id("home", real)[:MARK_CHARS]
    return [os.path.join(folder, f"{mark}.reserve") for folder in _list_runtime_folders()]


def _list_runtime_folders() -> list[str]:
    """The runtime folder, then the one for temporary files, where the name says whose it is."""
    folders = []
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        folders.append(os.path.join(runtime, "holdfast"))
    temporary = os.environ.get("TMPDIR", "")
    if not os.path.isabs(temporary):
        temporary = "/tmp"
    folders.append(os.path.join(temporary, f"holdfast-{os.geteuid()}"))
    return folders


def _is_private(folder: str, *, make: bool) -> bool:
    """Whether it is a real folder of ours that no other user can read, change or replace."""
    try:
        if not _is_safe_parent(os.stat(os.path.dirname(folder))):
            return False
        if make:
            _make_folder(folder)
        found = os.lstat(folder)
    except OSError:
        return False
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return is_ours and not found.st_mode & 0o077


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return


def _is_safe_parent(found: os.stat_result) -> bool:
    """Ours or the system's; where others may write, only owners may remove what is theirs."""
    is_trusted = found.st_uid in (0, os.geteuid())
    is_shared = bool(found.st_mode & 0o022)
    return is_trusted and (not is_shared or bool(found.st_mode & stat.S_ISVTX))


# --- the bytes ------------------------------------------------------------------------------------

_LARGEST_BYTES = 2 * REFUGE_BYTES


def _read_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _read_open(fd: int, path: str) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    return files.read_open(fd, path, _LARGEST_BYTES)


def _cut_lines(data: bytes) -> bytes:
    """The lines, with the newline of the last one, which a killed writer may not have written."""
    used = data[HEADER_BYTES:].rstrip(FREE)
    return used + FREE if used else b""


def _parse_header(data: bytes) -> dict[str, Any]:
    """Empty where nothing was counted yet; where it is damaged, what is left and how it reads."""
    raw = data[:HEADER_BYTES].strip()
    if not raw:
        return {}
    found = _parse_object(raw)
    facts = found or {}
    header = {name: value for name, value in facts.items() if _is_fact(name, value)}
    has_times = "first_at" in header and "last_at" in header
    is_whole = header == found and (has_times or not header.get("dropped"))
    if not is_whole:
        header.setdefault("damaged", ascii(raw)[2:-1][:DAMAGE_CHARS])
    return header


def _parse_object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_fact(name: str, value: object) -> bool:
    """Whether it is one of ours, and not too long for a header."""
    if name in ("dropped", "poured"):
        return type(value) is int and 0 <= value <= _LARGEST_BYTES
    if name in ("first_at", "last_at"):
        return _is_short(value, TIME_CHARS)
    return name == "damaged" and _is_short(value, DAMAGE_CHARS)


def _is_short(value: object, most: int) -> bool:
    is_text = isinstance(value, str) and value.isascii() and value.isprintable()
    return is_text and len(value) <= most  # type: ignore[arg-type]


def _write_header(fd: int, header: dict[str, Any]) -> None:
    text = json.dumps(header).ljust(HEADER_BYTES - 1)
    _write_in_place(fd, text.encode() + FREE, 0)


def _write_in_place(fd: int, data: bytes, start: int) -> None:
    """Durably, or not at all as far as a reader sees it."""
    size = os.fstat(fd).st_size
    written = 0
    try:
        while written < len(data):
            written += os.pwrite(fd, data[written:], start + written)
        os.fsync(fd)
    except OSError:
        _undo_write(fd, start, written, size)
        raise


def _undo_write(fd: int, start: int, written: int, size: int) -> None:
    """As far as it goes: the error before this one is the one to report."""
    try:
        if start >= HEADER_BYTES:
            os.pwrite(fd, FREE * max(0, min(written, size - start)), start)
        os.ftruncate(fd, size)
    except OSError:
        return
