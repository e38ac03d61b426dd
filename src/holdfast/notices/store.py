"""Two kinds of small files in the data folder: what is looked up, and what was told.

An index is derived: one for each branch of a working tree, replaced as a whole, and made again
when a file that it depends on has other times or another size, or when it cannot be read. Of what
was told each session has a file of lines. A line is written before its notice is printed, under a
lock, so that two hooks never both tell it, and one that is stopped in between loses a notice and
never repeats one.

    notices/INDEX.jsonl         {"version": 1, "stamps": [...], "terms": {...}}, then the entries
    notices/told/SESSION.jsonl  {"at": ..., "entry": ..., "reason": "dependency", "term": "redis"}
"""

from __future__ import annotations

import fcntl
import os
import time

from holdfast.errors import HoldfastError
from holdfast.ground import canonical, files
from holdfast.ground import light_json as json
from holdfast.notices.model import HANDOFF, OFFER, OVERLAP, STALE, Entries, NoticeIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from holdfast.notices.model import Match

    Stamp = list[Any]

VERSION = 1
END = b"end"  # a torn one does not have it
FOLDER, TOLD = "notices", "told"
INDEX_BYTES = 32 << 20
TOLD_BYTES = 4 << 20
SETTLED_SECONDS = 2.0  # a file that changed so shortly before may change again unseen
OLDEST_SECONDS = 3600.0  # what has no file of its own is looked at again after that
UNUSED_SECONDS = 30 * 24 * 3600.0
LOCK_SECONDS = 0.2
NAME_CHARS = 32


def read_stamp(path: str) -> Stamp:
    """What changes with a file's contents; empty where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def read_stamps(paths: Iterable[str]) -> list[Stamp]:
    return [[path, read_stamp(path)] for path in paths]


def are_current(stamps: Iterable[Stamp]) -> bool:
    return all(read_stamp(path) == stamp for path, stamp in stamps)


class IndexFile:
    """The index of one branch in one working tree, for one person."""

    def __init__(self, home: str, *names: str):
        self.folder = os.path.join(home, FOLDER)
        self.path = os.path.join(self.folder, f"{_name_file(*names)}.jsonl")

    def find(self, *, is_current: bool = True) -> NoticeIndex | None:
        """None where it has to be made; `is_current`: also where something changed since."""
        try:
            data = files.find_bytes(self.path, max_bytes=INDEX_BYTES)
            head, *lines, end = (data or b"").split(b"\n")
            found = json.loads(head)
            if end != END or (is_current and not _is_usable(found, len(lines))):
                return None
            return NoticeIndex(found["terms"], Entries(lines))
        except (OSError, HoldfastError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def save(
        self,
        entries: Sequence[dict[str, Any]],
        terms: dict[str, list[int]],
        stamps: Sequence[Stamp],
        *,
        seconds: float = OLDEST_SECONDS,
        is_settled: bool = False,
    ) -> None:
        """`is_settled`: it counts for all of that time, however new its files are."""
        now = time.time()
        newest = max((stamp[1][2] / 1e9 for stamp in stamps if stamp[1]), default=0.0)
        head = {
            "version": VERSION,
            "entries": len(entries),
            "stamps": stamps,
            "made_at": now,
            "until": now + seconds,
            "is_settled": is_settled or newest < now - SETTLED_SECONDS,
            "terms": terms,
        }
        lines = [json.dumps(line, ensure_ascii=False) for line in (head, *entries)]
        files.private_folder(self.folder)
        data = "\n".join(lines).encode("utf-8", "replace")
        files.write_atomic(self.path, data + b"\n" + END)

    def keep(
        self,
        entries: Sequence[dict[str, Any]],
        list_lookups: Callable[[dict[str, Any]], list[str]],
        stamps: Sequence[Stamp],
    ) -> NoticeIndex:
        """Save it with the keys of each entry; returned as it is, whether it could be or not."""
        terms: dict[str, list[int]] = {}
        for number, entry in enumerate(entries):
            for key in list_lookups(entry):
                terms.setdefault(key, []).append(number)
        self.save(entries, terms, stamps)
        return NoticeIndex(terms, Entries([json.dumps(entry).encode() for entry in entries]))


def _is_usable(found: dict[str, Any], lines: int) -> bool:
    if found["version"] != VERSION or found["entries"] != lines:
        return False
    now = time.time()
    is_young = found["made_at"] <= now < found["until"]
    # Right after a change its files are not trusted for long.
    is_settled = found["is_settled"] or now < found["made_at"] + SETTLED_SECONDS
    return is_young and is_settled and are_current(found["stamps"])


class ToldFile:
    """What one session of a client was told."""

    def __init__(self, home: str, client: str, native_id: str):
        self.session = {"client": client, "native_id": native_id}
        self.folder = os.path.join(home, FOLDER, TOLD)
        self.path = os.path.join(self.folder, f"{_name_file(client, native_id)}.jsonl")

    def leave_out_told(self, matches: Sequence[Match]) -> list[Match]:
        told = {line.get("entry") for line in _read_lines(self.path)}
        return [match for match in matches if match.entry["identity"] not in told]

    def claim(self, matches: Sequence[Match], facts: dict[str, Any]) -> bool:
        """Whether these are told by this process, and by no other."""
        try:
            fd = self._open()
            try:
                if not _lock(fd):
                    return False
                if len(self.leave_out_told(matches)) < len(matches):
                    return False
                lines = [json.dumps(self._describe(match, facts)) for match in matches]
                # The first newline ends what a process may have left that was stopped.
                files.write_all(fd, ("\n" + "\n".join(lines) + "\n").encode())
            finally:
                os.close(fd)
        except (OSError, HoldfastError):
            return False
        return True

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            return files.open_regular(self.path, flags)
        except FileNotFoundError:
            files.private_folder(self.folder)
            return files.open_regular(self.path, flags)

    def _describe(self, match: Match, facts: dict[str, Any]) -> dict[str, Any]:
        """With what was told where that is no note of the person: it is not there later."""
        is_ours = match.entry["kind"] in (STALE, OFFER, OVERLAP, HANDOFF)
        told = {"text": match.entry["text"]} if is_ours else {}
        return {
            "at": time.time(),
            **self.session,
            **facts,
            "entry": match.entry["identity"],
            "id": match.entry["id"],
            "kind": match.entry["kind"],
            "reason": match.reason,
            "term": match.term,
            **told,
        }


def _lock(fd: int) -> bool:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)


def list_told(home: str, worktree: str | None = None) -> list[dict[str, Any]]:
    """The newest first; of one working tree, or of all."""
    folder = os.path.join(home, FOLDER, TOLD)
    found: list[dict[str, Any]] = []
    for name in _list_names(folder):
        found += _read_lines(os.path.join(folder, name))
    here = [line for line in found if worktree in (None, line.get("worktree"))]
    return sorted(here, key=read_moment, reverse=True)


def remove_unused(home: str) -> None:
    _remove(home, lambda age: age > UNUSED_SECONDS)


def clear(home: str) -> None:
    """All of it: what was erased elsewhere may be in it, and everything can be made again."""
    _remove(home, lambda age: True)


def _remove(home: str, is_removed: Any) -> None:
    for folder in (os.path.join(home, FOLDER), os.path.join(home, FOLDER, TOLD)):
        for name in _list_names(folder):
            path = os.path.join(folder, name)
            try:
                if is_removed(time.time() - os.stat(path).st_mtime):
                    os.unlink(path)
            except OSError:  # another process was first
                continue


def _list_names(folder: str) -> list[str]:
    try:
        return [name for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except OSError:
        return []


def _read_lines(path: str) -> Iterator[dict[str, Any]]:
    try:
        data = files.find_bytes(path, max_bytes=TOLD_BYTES) or b""
    except (OSError, HoldfastError):
        return
    for line in data.split(b"\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):  # empty, or left by a process that was stopped
            continue
        if isinstance(found, dict):
            yield found


def read_moment(line: dict[str, Any]) -> float:
    at = line.get("at")
    return float(at) if isinstance(at, int | float) else 0.0


def _name_file(*names: str) -> str:
    joined = "\x00".join(names).encode("utf-8", "replace")
    return canonical.sha256(joined).hex()[:NAME_CHARS]
