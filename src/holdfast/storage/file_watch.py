"""Notices when a store's files are removed, replaced or cut while they are open.

SQLite does not notice: it goes on writing to the file that it holds, which has no name any more or
a hole in it, and what was acknowledged is gone when the last process lets go. So each commit is
checked before it counts. Somebody else's checkpoint may cut the write-ahead log as well; but then
the log begins anew, with other salts.
"""

from __future__ import annotations

import os

from holdfast.storage.errors import StoreDamagedError

WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
HEADER_BYTES = 32
SALTS = slice(16, 24)


class FileWatch:
    """Looks after the files of an open connection."""

    def __init__(self, path: str):
        self.path = path
        # Only the log: closing a second descriptor of one of the others would drop SQLite's locks
        # on it.
        self._log = os.open(f"{path}-wal", os.O_RDONLY)
        self._names = _identify(path), _identify(f"{path}-shm")
        self._size, self._header = 0, b""
        self._remember(self._read_header(), os.fstat(self._log).st_size)

    def begin(self) -> None:
        """Call it when nobody else can write: the log ends where the last commit left it, or
        further.
        """
        self._check_names()
        header, size = self._read_header(), os.fstat(self._log).st_size
        if size < self._size and header[SALTS] == self._header[SALTS]:
            raise self._make_error("its write-ahead log was cut")
        self._size, self._header = size, header

    def commit(self) -> None:
        """Call it after a commit, before anybody is told: what was written can be found by its
        name.
        """
        self._check_names(after=True)
        header, log = self._read_header(), os.fstat(self._log)
        if log.st_nlink == 0:
            raise self._make_error("its write-ahead log was removed or replaced", after=True)
        if header and header[:4] not in WAL_MAGIC:
            raise self._make_error("its write-ahead log was cut", after=True)
        self._remember(header, log.st_size)

    def close(self) -> None:
        os.close(self._log)

    def _remember(self, header: bytes, size: int) -> None:
        """Remember a size, unless others have begun the log anew meanwhile: then it is of the one
        or the other.
        """
        if header == self._read_header():
            self._size, self._header = size, header

    def _read_header(self) -> bytes:
        return os.pread(self._log, HEADER_BYTES, 0)

    def _check_names(self, *, after: bool = False) -> None:
        if self._names != (_identify(self.path), _identify(f"{self.path}-shm")):
            raise self._make_error("the file or its -shm was removed or replaced", after=after)

    def _make_error(self, what: str, *, after: bool = False) -> StoreDamagedError:
        """After a commit nobody knows whether the files come back with what was written."""
        return StoreDamagedError(self.path, f"{what} while it was open", may_be_written=after)


def _identify(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
