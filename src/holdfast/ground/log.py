"""A log that may be shown to anyone: numbers, ids and codes, never a text of a person.

It exists to answer "what happened on this machine" without asking "what were you working on". So a
text that is not a short code is dropped, not shortened. It must never disturb the work that it
records: it raises no error, waits for no other process, and does not grow past two files.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

from holdfast.ground import clock, files
from holdfast.ground import light_json as json
from holdfast.ground.patterns import compile_later

MAX_BYTES = 1 << 20
LARGEST_NUMBER = 1 << 63

_CODE = compile_later(r"[A-Za-z0-9_.:-]{1,64}")


class Log:
    """`log = Log(home)`, then `log("store_busy", waited_ms=120)`."""

    def __init__(self, home: files.Path):
        self.home = os.fspath(home)
        self.path = os.path.join(self.home, "holdfast.log")

    def __call__(self, event: str, /, **facts: object) -> None:
        """Add one line, or do nothing."""
        with contextlib.suppress(Exception):  # the caller's work matters more than its log
            self._append(_format_line(event, facts))

    def _append(self, line: bytes) -> None:
        if not self._try_write(line):
            self._try_write(line)

    def _try_write(self, line: bytes) -> bool:
        """Whether the line was written; not when the file was full and had to be moved first."""
        fd = self._open()
        try:
            if os.fstat(fd).st_size + len(line) > MAX_BYTES and self._rotate(fd):
                return False
            os.write(fd, line)
            return True
        finally:
            os.close(fd)

    def _open(self) -> int:
        try:
            return self._open_file()
        except FileNotFoundError:
            files.private_folder(self.home)
            return self._open_file()

    def _open_file(self) -> int:
        return files.open_regular(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def _rotate(self, fd: int) -> bool:
        """Move the full file aside, unless another process is doing so or has done it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if os.path.samestat(os.fstat(fd), os.stat(self.path)):
            os.rename(self.path, f"{self.path}.1")
        return True


def _format_line(event: str, facts: dict[str, object]) -> bytes:
    line: dict[str, object] = {
        "at": clock.to_text(clock.now()),
        "event": _as_code(event) or "unnamed",
        "pid": os.getpid(),
    }
    for name, value in facts.items():
        if name not in line and _as_code(name) and _is_fact(value):
            line[name] = value
    text = json.dumps(line, separators=(",", ":"))
    return f"{text}\n".encode()


def _is_fact(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < LARGEST_NUMBER
    return _as_code(value) is not None


def _as_code(value: object) -> str | None:
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        return None
    return value
