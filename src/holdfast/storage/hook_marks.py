"""When each hook of each client fired last, and what it cost: a small file for each.

A client may skip hooks without a word, so the only proof that one works is that it fired. Like the
files of processes these are not synced, and one that cannot be written is left out: a mark is never
worth a hook. Two hooks that end at the same moment may count as one.
"""

from __future__ import annotations

import json
import os
import time

from holdfast.errors import HoldfastError
from holdfast.ground import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Mark = dict[str, Any]

FOLDER = "hooks"
MARK_BYTES = 4096


class HookMarks:
    """The files of one data folder; names of clients and hooks are those that are known here."""

    def __init__(self, home: str):
        self.folder = os.path.join(home, FOLDER)

    def record(self, client: str, event: str, milliseconds: float, chars: int) -> None:
        """A hook that a client has fired: how long it took, and how much it handed over."""
        known = self._read(_name(client, event))
        mark = {
            **known,
            "client": client,
            "event": event,
            "fired_at": time.time(),
            "count": known.get("count", 0) + 1,
            "milliseconds": known.get("milliseconds", 0.0) + milliseconds,
            "chars": known.get("chars", 0) + chars,
        }
        self._write(_name(client, event), mark)

    def record_check(self, client: str, event: str) -> None:
        """One that was run to see whether the installed command works."""
        known = self._read(_name(client, event))
        mark = {**known, "client": client, "event": event, "checked_at": time.time()}
        self._write(_name(client, event), mark)

    def list_marks(self) -> list[Mark]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [mark for name in names if (mark := self._read(name))]

    def _read(self, name: str) -> Mark:
        try:
            data = files.find_bytes(os.path.join(self.folder, name), max_bytes=MARK_BYTES)
            mark = json.loads(data or b"{}")
        except (OSError, ValueError, RecursionError, HoldfastError):
            return {}
        return mark if isinstance(mark, dict) else {}

    def _write(self, name: str, mark: Mark) -> None:
        draft = os.path.join(self.folder, f".{os.getpid()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            files.private_folder(self.folder)
            fd = os.open(draft, flags, 0o600)
            try:
                os.write(fd, json.dumps(mark).encode())
            finally:
                os.close(fd)
            os.replace(draft, os.path.join(self.folder, name))
        except (OSError, HoldfastError):
            return


def _name(client: str, event: str) -> str:
    return f"{client}.{event}.json"
