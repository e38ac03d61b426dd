"""Notices when a store's files are removed, replaced or cut while they are open.

SQLite does not notice: it continues to write to the open file, which has no name any more or a hole
in it, and what was acknowledged is lost when the last process closes it. So each commit is checked
before it counts. Another process's checkpoint may cut the write-ahead log as well; but then the log
begins again, with other salts.

Before a write the names are looked at. After its commit the folder is, and the names only when its
times have changed, which takes 15 µs less: as long as they are the same, no entry was added,
removed or renamed. That holds only for a folder whose times had settled before the last look at the
names: file systems count in ticks, the coarsest (FAT) of two seconds, and a second change within a
tick cannot be told from the first. For what changes no time of a folder (a mount over a file, a
file system that does not keep such times) the names are looked at once a second in any case.

The log is never asked by `stat`: a file whose times were read gets new ones at the next write, and
the next sync has to write its inode too, which took 16 µs more of the processor on ext4.
"""

from __future__ import annotations

import os
import time

from holdfast.storage.errors import StoreDamagedError

WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
HEADER_BYTES = 32
SALTS = slice(16, 24)
SETTLED_NS = 3_000_000_000
NAMES_LAST_NS = 1_000_000_000

Identity = tuple[int, int]
FolderState = tuple[int, int, int, int]


class FileWatch:
    """Checks the files of an open connection."""

    def __init__(self, path: str):
        self.path = path
        # Only the log: closing a second descriptor of the others would drop SQLite's locks.
        self._log = os.open(f"{path}-wal", os.O_RDONLY)
        self._log_name = self._find_log_name()
        self._names = self._identify_files()
        self._folder = os.path.dirname(path)
        self._folder_state: FolderState | None = None
        self._names_checked_at = 0
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
        self._check_folder()
        header = self._read_header()
        size = self._measure_log()
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

    def _check_folder(self) -> None:
        """That every name is still there, by the folder's times if they can tell."""
        now = time.time_ns()
        # Before the names: what changes while they are looked at shows at the next look.
        folder_state = _look_at_folder(self._folder)
        if self._are_names_known(folder_state, now):
            return
        self._check_names(after=True)
        if self._find_log_name() != self._log_name:
            raise self._make_error("its write-ahead log was removed or replaced", after=True)
        self._folder_state, self._names_checked_at = folder_state, now

    def _are_names_known(self, folder_state: FolderState | None, now: int) -> bool:
        if folder_state is None or folder_state != self._folder_state:
            return False
        # Not the time of its contents, which any program can set.
        *_, changed_at = folder_state
        is_settled = self._names_checked_at - changed_at >= SETTLED_NS
        # A clock that was set back counts as a long time.
        return is_settled and 0 <= now - self._names_checked_at < NAMES_LAST_NS

    def _make_error(self, what: str, *, after: bool = False) -> StoreDamagedError:
        """After a commit it is unknown whether what was written can be found again."""
        return StoreDamagedError(self.path, f"{what} while it was open", may_be_written=after)


def _identify(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _look_at_folder(folder: str) -> FolderState | None:
    try:
        found = os.stat(folder)
    except OSError:  # a look at the files says what is wrong
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
