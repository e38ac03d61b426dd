"""JSON lines that survive `kill -9`.

A killed writer leaves half a line, and the danger is not that half: the next writer would append to
it and spoil its own record, which it then acknowledges. So every append first fixes the tail, under
the lock, and what it cuts off is kept in `.recovered/` beside the file. A tail that only lacks its
newline is a whole record (no shorter part of an object is an object), so it is finished instead.

Reading changes nothing and stops at nothing: each line is a record or a damage with its number.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NoReturn

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, files
from holdfast.ground.frozen import dataclass, field

MAX_RECORD_BYTES = 4 << 20
MAX_FILE_BYTES = 256 << 20
RECOVERED_FOLDER = ".recovered"

Reason = Literal["torn", "conflict_marker", "nul", "not_utf8", "not_json", "not_object", "too_deep"]

_BOM = b"\xef\xbb\xbf"
_CONFLICT_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


@dataclass(frozen=True)
class Damage:
    line_number: int
    reason: Reason
    raw: bytes


@dataclass(frozen=True)
class Contents:
    records: tuple[dict[str, Any], ...]
    damaged: tuple[Damage, ...]
    line_numbers: tuple[int, ...] = field(default=(), compare=False)  # of the records


def append_records(
    path: files.Path,
    records: Iterable[Mapping[str, Any]],
    *,
    timeout_seconds: float = files.LOCK_SECONDS,
) -> str | None:
    """Add records durably, all or none unless killed; returns where a torn tail was kept."""
    lines = b"".join(_format_line(record) for record in records)
    if not lines:
        return None
    with files.Lock(path, timeout_seconds):
        try:
            fd = files.open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                return _append(fd, os.fspath(path), lines)
            finally:
                os.close(fd)
        except OSError as error:
            raise files.translate(error, path) from error


def read_records(path: files.Path) -> Contents:
    """Every record that can be read, whatever is before it; a missing file is empty."""
    data = files.find_bytes(path, max_bytes=MAX_FILE_BYTES)
    return parse_records(data or b"")


def parse_records(data: bytes) -> Contents:
    *lines, tail = data.split(b"\n")  # never splitlines(): it also cuts at U+2028, inside a record
    records: dict[int, dict[str, Any]] = {}
    damaged: list[Damage] = []
    for number, line in enumerate([*lines, tail], start=1):
        if not line.strip():
            continue
        parsed = _parse_line(line)
        if isinstance(parsed, dict):
            records[number] = parsed
        else:
            is_tail = number > len(lines)
            reason: Reason = "torn" if is_tail else parsed
            damaged.append(Damage(number, reason, line))
    return Contents(
        records=tuple(records.values()), damaged=tuple(damaged), line_numbers=tuple(records)
    )


def _format_line(record: Mapping[str, Any]) -> bytes:
    text = canonical.canonical_object("record", record, max_bytes=MAX_RECORD_BYTES)
    return f"{text}\n".encode()


def _append(fd: int, path: str, lines: bytes) -> str | None:
    size = os.fstat(fd).st_size
    if size + len(lines) > MAX_FILE_BYTES:
        raise InvalidValueError("file", path, f"would become larger than {MAX_FILE_BYTES:,} bytes")
    if size == 0:
        _sync_folder_of(path)  # before the first byte: a file with a record has a durable name
    tail = _read_tail(fd, size)
    recovered = None
    if isinstance(_parse_line(tail), dict):
        lines = b"\n" + lines
    elif tail:
        size -= len(tail)
        recovered = _keep_tail(path, size, tail)
        os.ftruncate(fd, size)
    _write_or_undo(fd, size, lines)
    return recovered


def _write_or_undo(fd: int, size: int, lines: bytes) -> None:
    try:
        files.write_all(fd, lines)
        os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):  # the next append fixes it
            os.ftruncate(fd, size)
        raise


def _read_tail(fd: int, size: int) -> bytes:
    """What follows the last newline."""
    parts: list[bytes] = []
    newline = b""
    end = size
    while end and not newline:
        start = max(0, end - files.CHUNK_BYTES)
        chunk = os.pread(fd, end - start, start)
        _, newline, part = chunk.rpartition(b"\n")
        parts.append(part)
        end = start
    return b"".join(reversed(parts))


def _keep_tail(path: str, offset: int, tail: bytes) -> str:
    """Save cut bytes under a name made of them, so that a repeated repair keeps one copy."""
    folder = os.path.join(os.path.dirname(path), RECOVERED_FOLDER)
    if os.path.islink(folder):
        raise InvalidValueError("folder", folder, "is a symbolic link")
    files.private_folder(folder)
    digest = hashlib.sha256(tail).hexdigest()
    name = os.path.basename(path)
    kept = os.path.join(folder, f"{name}.{offset}.{digest[:16]}")
    files.write_atomic(kept, tail)
    return kept


def _sync_folder_of(path: str) -> None:
    folder_fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        files.sync_folder(folder_fd)
    finally:
        os.close(folder_fd)


def _parse_line(raw: bytes) -> dict[str, Any] | Reason:
    line = raw.removeprefix(_BOM)
    if line.startswith(_CONFLICT_MARKERS):
        return "conflict_marker"
    if b"\x00" in line:
        return "nul"
    try:
        value = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        return "not_utf8"
    except RecursionError:
        return "too_deep"
    except ValueError:
        return "not_json"
    if not isinstance(value, dict):
        return "not_object"
    if _is_too_deep(line, value):
        return "too_deep"
    return value


def _is_too_deep(line: bytes, value: object) -> bool:
    # Without so many brackets it cannot be, and counting bytes costs next to nothing.
    brackets = line.count(b"{") + line.count(b"[")
    if brackets <= canonical.MAX_DEPTH:
        return False
    return _measure_depth(value) > canonical.MAX_DEPTH


def _measure_depth(value: object) -> int:
    """A loop, because the value may be nested deeper than Python recurses."""
    depth = 0
    level = [value]
    while containers := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = []
        for container in containers:
            children = container.values() if isinstance(container, dict) else container
            level.extend(children)
    return depth


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
