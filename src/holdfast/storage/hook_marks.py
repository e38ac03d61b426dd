"""When each hook of each client fired last, and what it cost: a small file for each.

A client may skip hooks without a word, so the only proof that one works is that it fired. Like the
files of processes these are not synced, and one that cannot be written is left out: a mark is never
worth a hook. So a file is changed in its place: to replace it would wait for the disk. Two hooks
that end at the same moment may count as one.
"""

from __future__ import annotations

import os
import time

from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Mark = dict[str, Any]

FOLDER = "hooks"
MARK_BYTES = 4096
FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class HookMarks:
    """The files of one data folder; names of clients and hooks are those that are known here."""

    def __init__(self, home: str):
        self.folder = os.path.join(home, FOLDER)

    def record(self, client: str, event: str, milliseconds: float, chars: int) -> None:
        """A hook that a client has fired: how long it took, and how much it handed over."""

        def count(known: Mark) -> Mark:
            return {
                "fired_at": time.time(),
                "count": known.get("count", 0) + 1,
                "milliseconds": known.get("milliseconds", 0.0) + milliseconds,
                "chars": known.get("chars", 0) + chars,
                "handed": known.get("handed", 0) + (chars > 0),
            }

        self._change(client, event, count)

    def record_check(self, client: str, event: str) -> None:
        """One that was run to see whether the installed command works."""
        self._change(client, event, lambda known: {"checked_at": time.time()})

    def list_marks(self) -> list[Mark]:
        return [mark for name in self._list_names() if (mark := self._read(name))]

    def list_clients(self) -> list[str]:
        """Those that were set up, or have fired a hook."""
        names = [name.partition(".")[0] for name in self._list_names()]
        return list(dict.fromkeys(names))

    def _list_names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except OSError:
            return []

    def _read(self, name: str) -> Mark:
        try:
            data = files.find_bytes(os.path.join(self.folder, name), max_bytes=MARK_BYTES)
        except (OSError, HoldfastError):
            return {}
        return _parse(data or b"")

    def _change(self, client: str, event: str, change: Callable[[Mark], Mark]) -> None:
        path = os.path.join(self.folder, f"{client}.{event}.json")
        try:
            fd = self._open(path)
            try:
                data = os.read(fd, MARK_BYTES)
                known = _parse(data)
                if not known:  # a new file, or one that cannot be read, however long
                    os.ftruncate(fd, 0)
                mark = {**known, "client": client, "event": event, **change(known)}
                # Blanks over the rest of a longer one; to cut it would wait for the disk as well.
                os.pwrite(fd, json.dumps(mark).encode().ljust(len(data)), 0)
            finally:
                os.close(fd)
        except (OSError, HoldfastError):
            return

    def _open(self, path: str) -> int:
        try:
            return files.open_regular(path, FLAGS)
        except FileNotFoundError:
            files.private_folder(self.folder)
            return files.open_regular(path, FLAGS)


def measure_age(seconds: float) -> float:
    """How long this process has run, in seconds, with the start of its interpreter.

    That is most of what a person waits for. Where the system does not say when a process began,
    it is the time that was measured.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        tick = int(fields[19]) + 0.5  # in the middle of it, as far as is known
        began_at = tick / os.sysconf("SC_CLK_TCK")
        return max(seconds, time.clock_gettime(time.CLOCK_BOOTTIME) - began_at)
    except (OSError, ValueError, IndexError, AttributeError):
        return seconds


def _parse(data: bytes) -> Mark:
    try:
        mark = json.loads(data or b"{}")  # a new file is empty
    except (ValueError, RecursionError):
        return {}
    return mark if isinstance(mark, dict) else {}
