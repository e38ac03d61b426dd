"""A folder inside a repository, opened step by step and never through a link.

Anyone who may write into a repository chooses what is there: `data` may be a link to a home, a file
may be a pipe. So each step is opened inside the one before it, and files are read, replaced
and locked by the open folder: what was checked is what is used. Files have the mode that a
repository's files have; folders are made only when asked to.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator

from holdfast.errors import StoreBusyError
from holdfast.ground import confined, files
from holdfast.ground.errors import PathOutsideError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_PLAIN = "is reached through a symbolic link, or is not a regular file"
_ADVICE = "It is left as it is: remove it or move it away."


class Folder:
    """An open folder; close it, or use it in a `with` block.

    `is_private`: what is made in it is for this user alone.
    """

    def __init__(self, path: str, fd: int, *, is_private: bool = False):
        self.path, self._fd, self.is_private = path, fd, is_private

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):  # only read by this descriptor: it loses nothing
            os.close(self._fd)

    def open(self, name: str, *, create: bool = False, is_private: bool = False) -> Folder | None:
        """A folder in this one; None where it is missing and not to be made."""
        is_private = is_private or self.is_private
        with self._translate_errors(name):
            try:
                fd = _step(self._fd, name, create, 0o700 if is_private else 0o755)
            except FileNotFoundError:
                return None
        return Folder(self._path_to(name), fd, is_private=is_private)

    def find(self, name: str, *, max_bytes: int) -> bytes | None:
        """A regular file's bytes, or None where it is missing."""
        with self._translate_errors(name), self._open(name) as fd:
            return None if fd is None else files.read_open(fd, self._path_to(name), max_bytes)

    def find_beginning(self, name: str, *, max_bytes: int) -> bytes | None:
        """The first bytes of a regular file, however long it is."""
        with self._translate_errors(name), self._open(name) as fd:
            return None if fd is None else os.read(fd, max_bytes)

    def find_end(self, name: str, *, max_bytes: int) -> bytes | None:
        """The last bytes of a regular file, however long it is."""
        with self._translate_errors(name), self._open(name) as fd:
            if fd is None:
                return None
            return os.pread(fd, max_bytes, max(0, os.fstat(fd).st_size - max_bytes))

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[int | None]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        try:
            fd = os.open(name, flags, dir_fd=self._fd)
        except FileNotFoundError:
            yield None
            return
        try:
            self._check_plain(fd, name)
            yield fd
        finally:
            os.close(fd)

    def replace(self, name: str, data: bytes) -> None:
        """Replace a whole file; what is not a regular file is refused and left unchanged."""
        with self._translate_errors(name):
            mode = 0o600 if self.is_private else 0o644
            try:
                found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            except FileNotFoundError:
                pass
            else:
                if not stat.S_ISREG(found.st_mode):
                    raise PathOutsideError(self._path_to(name), _NOT_PLAIN, _ADVICE)
                mode = stat.S_IMODE(found.st_mode)
            files.write_atomic_at(self._fd, name, data, mode=mode)

    def list_names(self) -> list[str]:
        with self._translate_errors(""):
            return os.listdir(self._fd)

    def make_folder(self, name: str) -> None:
        """A new one; raises FileExistsError where the name is taken."""
        try:
            os.mkdir(name, 0o700 if self.is_private else 0o755, dir_fd=self._fd)
            files.sync_folder(self._fd)
        except FileExistsError:
            raise
        except OSError as error:
            raise files.translate(error, self._path_to(name)) from error

    def move(self, name: str, to: Folder) -> None:
        """Into another folder of the same file system; refused where the name is taken there."""
        with self._translate_errors(name):
            if name in to.list_names():
                raise PathOutsideError(to._path_to(name), "is taken already", _ADVICE)
            os.rename(name, name, src_dir_fd=self._fd, dst_dir_fd=to._fd)
            files.sync_folder(self._fd)
            files.sync_folder(to._fd)

    def remove(self, name: str) -> None:
        """A file, where it is there."""
        with self._translate_errors(name), contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)
            files.sync_folder(self._fd)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time, until the block ends or the process dies.

        The folder itself is locked: a lock file would be litter in a repository, and a clean-up
        would break it.
        """
        deadline = time.monotonic() + files.LOCK_SECONDS
        while not self._try_lock():
            if time.monotonic() >= deadline:
                raise StoreBusyError(self.path)
            time.sleep(files.LONGEST_PAUSE_SECONDS)
        try:
            yield
        finally:
            # Not by closing: a forked child would hold the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _try_lock(self) -> bool:
        with _refuse_links(self.path):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def _check_plain(self, fd: int, name: str) -> None:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise PathOutsideError(self._path_to(name), _NOT_PLAIN, _ADVICE)

    def _path_to(self, name: str) -> str:
        return os.path.join(self.path, name)

    @contextlib.contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        with _refuse_links(self._path_to(name)):
            yield


def open_folder(
    root: str, path: str, *, create: bool = False, is_private: bool = False
) -> Folder | None:
    """The folder at a path below a root; None where it is missing and not to be made."""
    steps = confined.check_steps(path)
    fd = -1
    with _refuse_links(os.path.join(root, path)):
        try:
            fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for step in steps:
                outer, fd = fd, _step(fd, step, create, 0o700 if is_private else 0o755)
                os.close(outer)
        except FileNotFoundError:
            if fd >= 0:
                os.close(fd)
            return None
        except BaseException:
            if fd >= 0:
                os.close(fd)
            raise
    return Folder(os.path.join(root, path), fd, is_private=is_private)


def _step(fd: int, name: str, create: bool, mode: int) -> int:
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=fd)
            files.sync_folder(fd)
    return os.open(name, _FOLDER, dir_fd=fd)


@contextlib.contextmanager
def _refuse_links(path: str) -> Iterator[None]:
    """What the system reports about a step becomes the error that a door can show."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV, errno.EISDIR):
            raise PathOutsideError(path, _NOT_PLAIN, _ADVICE) from None
        raise files.translate(error, path) from error
