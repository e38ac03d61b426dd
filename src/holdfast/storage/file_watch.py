"""Notices when a store's files are removed, replaced or cut while they are open.

SQLite does not notice: it continues to write to the open file, which has no name any more or a hole
in it, and what was acknowledged is lost when the last process closes it. So each commit is checked
before it counts. Another process's checkpoint may cut the write-ahead log as well; but then the log
begins again, with other salts.

The log is never asked by `stat`: a file whose times were read gets new ones at the next write, and
the next sync has to write its inode too, which took 16 µs more of the processor on ext4.
"""

from __future__ import annotations

import os

from holdfast.storage.errors import StoreDamagedError

WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
HEADER_BYTES = 32
SALTS = slice(16, 24)

Identity = tuple[int, int]


class FileWatch:
    """Checks the files of an open connection."""

    def __init__(self, path: str):
        self.path = path
        # Only the log: closing a second descriptor of the others would drop SQLite's locks.
        self._log = os.open(f"{path}-wal", os.O_RDONLY)
        self._log_name = self._find_log_name()
        self._names = self._identify_files()
        self._size = 0
        self._header = b""
        self._remember(self._read_header(), self._measure_log())

    def begin(self) -> None:
        """Call it while no other process can write: the log ends at the last commit or later."""
        self._check_names()
        header = self._read_header()
        size = self._measure_log()
        if size < self._size and header[SALTS] == self._header[SALTS]:
            raise self._make_error("its write-ahead log was cut")
        self._size, self._header = size, header

    def commit(self) -> None:
        """Call it after a commit, before it is acknowledged: its files still have their names."""
        self._check_names(after=True)
        header = self._read_header()
        size = self._measure_log()
        if self._find_log_name() != self._log_name:
            raise self._make_error("its write-ahead log was removed or replaced", after=True)
        if header and header[:4] not in WAL_MAGIC:
            raise self._make_error("its write-ahead log was cut", after=True)
        self._remember(header, size)

    def close(self) -> None:
        os.close(self._log)

    def _remember(self, header: bytes, size: int) -> None:
        """Remember a size, unless another process began the log again meanwhile."""
        if header == self._read_header():
            self._size, self._header = size, header

    def _measure_log(self) -> int:
        return os.lseek(self._log, 0, os.SEEK_END)

    def _find_log_name(self) -> str:
        """The name that the open log has now; it ends in another way when it was removed."""
        try:
            return os.readlink(f"/proc/self/fd/{self._log}")
        except OSError:  # a system that does not tell
            return f"{os.fstat(self._log).st_nlink} names"

    def _read_header(self) -> bytes:
        return os.pread(self._log, HEADER_BYTES, 0)

    def _identify_files(self) -> tuple[Identity | None, Identity | None]:
        return _identify(self.path), _identify(f"{self.path}-shm")

    def _check_names(self, *, after: bool = False) -> None:
        if self._names != self._identify_files():
            raise self._make_error("the file or its -shm was removed or replaced", after=after)

    def _make_error(self, what: str, *, after: bool = False) -> StoreDamagedError:
        """After a commit it is unknown whether what was written can be found again."""
        return StoreDamagedError(self.path, f"{what} while it was open", may_be_written=after)


def _identify(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
