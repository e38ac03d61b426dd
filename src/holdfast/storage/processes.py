"""Which session each running agent program is in: a small file for each, in the data folder.

A hook says it, and the server of the same program reads it. Nothing is synced, because a file says
nothing any more after the next boot; and it is a file of its own, because a hook says it also while
the store is busy, or where it has nothing to store. A file is replaced as a whole, and only where
it says something new. Once the program has ended, the file is kept for a while under another name:
what happened in its session a moment ago is no sign of life any more.

The calls of tools that a client has announced are kept likewise, in a fixed number of files: a call
follows its announcement at once, so an older one may be replaced.
"""

from __future__ import annotations

import os
import time

from holdfast.errors import HoldfastError
from holdfast.ground import files, process_tree
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Row = dict[str, Any]

FOLDER = "processes"
ROW_BYTES = 16 << 10
CALL_FILES = 256
CALL = "call-"
DRAFT = "draft-"
LEFT = "left-"  # before the name of a process that has ended
LEFT_SECONDS = 900.0  # longer than a session without a process counts as live
OLDEST_SECONDS = 7 * 24 * 3600.0  # of a process in another namespace, whose end is not seen here


class Processes:
    """The files of one data folder. Reading and writing never fail; at worst nothing is known."""

    def __init__(self, home: str):
        self.folder = os.path.join(home, FOLDER)

    def register(self, process: str, row: Row) -> Row | None:
        """Say which session a process is in; returns what was said before."""
        known = self.find(process)
        if known == row:
            return known
        self._write(process, row)
        if known is None:
            self._remove_dead()
        return known

    def find(self, process: str) -> Row | None:
        return self._read(process)

    def record_call(self, call_id: str, row: Row) -> None:
        """Say which session announced the call of a tool."""
        self._write(_name_call(call_id), {**row, "call_id": call_id})

    def find_call(self, call_id: str) -> Row | None:
        row = self._read(_name_call(call_id))
        if row is None or row.get("call_id") != call_id:
            return None
        return row

    def list_running(self) -> list[Row]:
        """What each running process has said; the files of the others are put aside."""
        self._remove_dead()
        return self._list_rows(has_left=False)

    def list_left(self) -> list[Row]:
        """What each process had said that was found to have ended in the last minutes."""
        return self._list_rows(has_left=True)

    def _list_rows(self, *, has_left: bool) -> list[Row]:
        names = [name for name in self._list_names() if name.startswith(LEFT) == has_left]
        rows = [self._read(name) for name in names]
        return [row for row in rows if row is not None]

    def _list_names(self) -> Iterator[str]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return
        for name in names:
            if not name.startswith(CALL):
                yield name

    def _remove_dead(self) -> None:
        for name in self._list_names():
            if name.startswith(LEFT):
                is_needed = self._is_younger(name, LEFT_SECONDS)
            else:
                is_needed = self._may_run(name) or self._put_aside(name)
            if not is_needed:
                self._remove(name)

    def _put_aside(self, name: str) -> bool:
        if name.startswith(DRAFT):
            return False
        path = os.path.join(self.folder, f"{LEFT}{name}")
        try:
            os.replace(os.path.join(self.folder, name), path)
            os.utime(path)
        except OSError:
            return False
        return True

    def _may_run(self, name: str) -> bool:
        is_running = None
        if not name.startswith(DRAFT):
            is_running = process_tree.is_running(name)
        if is_running is not None:
            return is_running
        return self._is_younger(name, OLDEST_SECONDS)

    def _is_younger(self, name: str, seconds: float) -> bool:
        try:
            changed = os.stat(os.path.join(self.folder, name)).st_mtime
        except OSError:
            return False
        return time.time() - changed < seconds

    def _remove(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self.folder, name))
        except OSError:
            return

    def _read(self, name: str) -> Row | None:
        try:
            fd = os.open(os.path.join(self.folder, name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                row = json.loads(os.read(fd, ROW_BYTES))
            finally:
                os.close(fd)
        except (OSError, ValueError, RecursionError):
            return None
        return row if isinstance(row, dict) else None

    def _write(self, name: str, row: Row) -> None:
        data = json.dumps(row).encode()
        if len(data) > ROW_BYTES:
            return
        draft = os.path.join(self.folder, f"{DRAFT}{os.getpid()}")
        try:
            self._write_draft(draft, data)
            os.replace(draft, os.path.join(self.folder, name))
        except (OSError, HoldfastError):
            return

    def _write_draft(self, draft: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(draft, flags, 0o600)
        except FileNotFoundError:
            files.private_folder(self.folder)
            fd = os.open(draft, flags, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)


def _name_call(call_id: str) -> str:
    number = sum(call_id.encode("utf-8", "replace")) % CALL_FILES
    return f"{CALL}{number}"
