"""Files that a crash, a full disk or a second writer cannot spoil.

A rename alone keeps a file whole, but two writers that read, change and rename still lose each
other's work; a lock alone leaves half a file behind a kill. So both are here, and every error
leaves as one of three kinds: no space, not writable, not reachable. A path is never followed
through a symbolic link at its last step, because anyone who may write into a repository chooses
what is there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from holdfast.errors import (
    InvalidValueError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
    Unavailable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Path = str | os.PathLike[str]

LOCK_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 0.02
CHUNK_BYTES = 1 << 20

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
_ADVICE = "Set HOLDFAST_HOME, or HOLDFAST_DATABASE where that is set, to a place that can be used."
_NOT_A_FILE = {
    errno.ELOOP: "is a symbolic link",
    errno.EISDIR: "is a folder",
    errno.ENXIO: "is not a regular file",
}


def translate(os_error: OSError, path: Path) -> Unavailable:
    """What the system reported about a write, as the error that a door can show."""
    where = os.fspath(path)
    cause = _describe_cause(os_error)
    if os_error.errno in _NO_SPACE:
        return StoreFullError(where)
    if os_error.errno in _NOT_WRITABLE:
        return StoreReadOnlyError(where, cause)
    return StoreUnreachableError(where, cause, _ADVICE)


def private_folder(path: Path) -> None:
    """Make a folder and its parents for this user only; an existing one keeps its mode."""
    try:
        _make_folder(os.fspath(path))
    except OSError as error:
        raise translate(error, path) from error


class Lock:
    """One writer at a time for a path: `<path>.lock` is locked until the block or process ends.

    The lock file stays: removing it would let a third process lock a new one while the second still
    waits for the old. If another program removes it, that is noticed and the new file is locked.
    Not for nesting: a second lock on the same path in the same thread waits for the first, and then
    gives up.
    """

    def __init__(self, path: Path, timeout_seconds: float = LOCK_SECONDS):
        self.path = os.fspath(path)
        self.timeout_seconds = timeout_seconds
        self._fd = -1

    def __enter__(self) -> Lock:
        deadline = time.monotonic() + self.timeout_seconds
        pause = LONGEST_PAUSE_SECONDS / 32
        while (fd := self._try_lock()) is None:
            if time.monotonic() >= deadline:
                raise StoreBusyError(self.path)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._fd = fd
        return self

    def __exit__(self, *exception: object) -> None:
        # Unlocked before closing: a forked child shares the file and would hold the lock.
        _attempt(fcntl.flock, self._fd, fcntl.LOCK_UN)
        _attempt(os.close, self._fd)

    def _try_lock(self) -> int | None:
        try:
            return lock_file(f"{self.path}.lock")
        except OSError as error:
            raise translate(error, self.path) from error


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a whole file; at every moment a reader finds the old one or the new one."""
    folder, name = os.path.split(os.fspath(path))
    try:
        # Opened before anything is written: once renamed, only the sync itself can still go wrong.
        folder_fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            write_atomic_at(folder_fd, name, data, mode=mode)
        finally:
            os.close(folder_fd)
    except OSError as error:
        raise translate(error, path) from error


def write_atomic_at(folder_fd: int, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """The same in an open folder, whose path is not looked up again; raises OSError."""
    _replace(folder_fd, name, data, mode)
    sync_folder(folder_fd)


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """A regular file's bytes; anything else and a file too large is refused without waiting."""
    data = find_bytes(path, max_bytes=max_bytes)
    if data is None:
        raise StoreUnreachableError(os.fspath(path), "it does not exist")
    return data


def find_own_bytes(path: Path, *, max_bytes: int, others_may: int = 0) -> bytes | None:
    """Like `find_bytes`, and refused where another user has made the file or could have.

    `others_may`: the bits of the mode that other users may have.
    """
    return find_bytes(path, max_bytes=max_bytes, check=lambda fd: _check_own(fd, path, others_may))


def find_bytes(
    path: Path, *, max_bytes: int, check: Callable[[int], None] | None = None
) -> bytes | None:
    """Like `read_bytes`, and None when there is no such file."""
    try:
        fd = open_regular(path, os.O_RDONLY)
        try:
            if check:
                check(fd)
            return read_open(fd, path, max_bytes)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnreachableError(os.fspath(path), _describe_cause(error)) from error


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file, or a refusal; never waits and never follows a link."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError as error:
        if problem := _NOT_A_FILE.get(error.errno or 0):
            raise InvalidValueError("file", os.fspath(path), problem) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise InvalidValueError("file", os.fspath(path), "is not a regular file")
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_own(fd: int, path: Path, others_may: int) -> None:
    """The owner first: another user can give a file of its own any mode."""
    found = os.fstat(fd)
    if found.st_uid != os.geteuid():
        problem = f"belongs to another user (uid {found.st_uid}); remove it, or make it yours"
        raise InvalidValueError("file", os.fspath(path), problem)
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077 & ~others_may:
        problem = f"has mode {mode:04o}, open to other users; remove it, or `chmod 600` it"
        raise InvalidValueError("file", os.fspath(path), problem)


def write_all(fd: int, data: bytes) -> None:
    """One write where the system takes it whole, more where it does not."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_folder(folder_fd: int) -> None:
    """Make the names in a folder durable, where the file system knows how to."""
    try:
        os.fsync(folder_fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _make_folder(path: str) -> None:
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    _make_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if os.path.isdir(path):
            return
        raise
    os.chmod(path, 0o700)  # mkdir gives what the umask leaves of it
    parent_fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_folder(parent_fd)
    finally:
        os.close(parent_fd)


def lock_file(lock_path: str) -> int | None:
    """The locked file, or None while another process has it or when it was replaced."""
    fd = open_regular(lock_path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.stat(lock_path, follow_symlinks=False)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _replace(folder_fd: int, name: str, data: bytes, mode: int) -> None:
    # Random: a name that two writers can both think of is a file that two writers write.
    temporary = f".holdfast-{os.urandom(8).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder_fd)
        try:
            os.fchmod(fd, mode)
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        _attempt(os.unlink, temporary, dir_fd=folder_fd)
        raise


def _attempt(step: Callable[..., None], *given: object, **named: object) -> None:
    """Where an error says nothing new. `contextlib` is more than a hook can afford."""
    try:
        step(*given, **named)
    except OSError:
        return


def read_open(fd: int, path: Path, max_bytes: int) -> bytes:
    """The bytes of an open file, or a refusal where there are more."""
    parts: list[bytes] = []
    left = max_bytes + 1  # counted, not asked: a file may grow, and some report no size at all
    if os.fstat(fd).st_size < left:
        while left and (part := os.read(fd, min(left, CHUNK_BYTES))):
            parts.append(part)
            left -= len(part)
        if left:
            return b"".join(parts)
    raise InvalidValueError("file", os.fspath(path), f"is larger than {max_bytes:,} bytes")


def _describe_cause(os_error: OSError) -> str:
    return (os_error.strerror or str(os_error)).lower()
