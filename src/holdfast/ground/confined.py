"""Files below one folder, and nothing else, whatever a path says.

A path comes from a browser, an agent or a repository. Comparing it with the folder and then opening
it are two steps, and between them another process can replace a folder by a link. So a path is
split and walked step by step, each step opened inside the one before it and never through a link:
what was opened is what was checked. Names that no file of ours has (`..`, empty, with a NUL, too
long) are refused before the first step.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from holdfast.errors import InvalidValueError, Unavailable
from holdfast.ground import canonical, files
from holdfast.ground.errors import FileChangedError, FileMissingError, PathOutsideError
from holdfast.ground.frozen import dataclass

PATH_BYTES = 4096
NAME_BYTES = 255
STEPS = 100

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening never waits for a pipe's other end and never makes a terminal ours.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MISSING = {errno.ENOENT, errno.EISDIR}
_LINK_OR_DEVICE = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.ENODEV}


@dataclass(frozen=True)
class FileCopy:
    """A file's bytes as they were at one moment, and what distinguishes them from any others."""

    data: bytes
    mode: int
    names: int = 1  # hard links
    is_writable: bool = True

    @property
    def hash(self) -> str:
        return hash_of(self.data)


def hash_of(data: bytes) -> str:
    return canonical.new_sha256(data).hexdigest()


class OpenFolder:
    """A folder by its descriptor: the same one, whatever its name leads to by now."""

    def __init__(self, fd: int):
        self.fd = fd

    def read(self, path: str, *, max_bytes: int) -> FileCopy:
        """A regular file of at most so many bytes, below this folder and through no link."""
        *folders, name = check_steps(path)
        with _walk(self.fd, folders, path) as opened:
            return _read(opened[-1], name, path, max_bytes)


class ConfinedRoot:
    """One folder whose files may be read and replaced. The folder itself may be a link."""

    def __init__(self, folder: str):
        self.folder = os.path.realpath(folder)
        # A person may name the folder by a path that leads through a link.
        as_named = os.path.abspath(folder)
        self._names = {_split(self.folder), _split(as_named)}

    def holds(self, path: str) -> bool:
        """Whether a path names something below this folder, as far as names tell."""
        try:
            self.find_steps(path)
        except PathOutsideError:
            return False
        return True

    def read(self, path: str, *, max_bytes: int) -> FileCopy:
        """A regular file of at most so many bytes."""
        with self._open_parent(path) as (folder_fd, name):
            return _read(folder_fd, name, path, max_bytes)

    def write(self, path: str, data: bytes, *, base_hash: str | None, max_bytes: int) -> FileCopy:
        """Replace an existing file, unless its hash is not `base_hash` any more; None overwrites.

        The file keeps its mode. Another writer may still change it between the check and the
        rename; it is not locked out, because editors take no locks.
        """
        if len(data) > max_bytes:
            raise InvalidValueError("file", path, f"would be larger than {max_bytes:,} bytes")
        with self._open_parent(path) as (folder_fd, name):
            current = _read(folder_fd, name, path, max_bytes)
            if base_hash is not None and current.hash != base_hash:
                raise FileChangedError(path)
            try:
                files.write_atomic_at(folder_fd, name, data, mode=current.mode)
            except OSError as error:
                raise files.translate(error, path) from error
        return FileCopy(data, current.mode)

    def has_folder(self, path: str) -> bool:
        """Whether a path names this folder or one below it that no link leads to."""
        if os.path.isabs(path) and _split(path) in self._names:
            return os.path.isdir(self.folder)
        try:
            with self._open_parent(path.rstrip("/")) as (fd, name):
                os.close(_open(name, _FOLDER, path, fd))
        except (PathOutsideError, FileMissingError):
            return False
        return True

    def find_folder_steps(self, path: str) -> tuple[str, ...]:
        """The steps from this folder to another, none to itself."""
        if os.path.isabs(path) and _split(path) in self._names:
            return ()
        return self.find_steps(path.rstrip("/"))

    @contextmanager
    def open_folders(self, steps: Sequence[str], path: str) -> Iterator[list[OpenFolder]]:
        """This folder and those that the steps lead through, as far as they exist."""
        with self._open() as fd, _walk(fd, steps, path, may_end=True) as opened:
            yield [OpenFolder(each) for each in opened]

    @contextmanager
    def _open_parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder that a path ends in, and the last name of the path."""
        *folders, name = self.find_steps(path)
        with self._open(path) as fd, _walk(fd, folders, path) as opened:
            yield opened[-1], name

    @contextmanager
    def _open(self, path: str = "") -> Iterator[int]:
        fd = _open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, path or self.folder)
        try:
            yield fd
        finally:
            os.close(fd)

    def find_steps(self, path: str) -> tuple[str, ...]:
        """The steps from this folder to a file; an absolute path has to begin with the folder."""
        steps = check_steps(path)
        if not os.path.isabs(path):
            return steps
        for root in self._names:
            depth = len(root)
            if steps[:depth] == root and len(steps) > depth:
                return steps[depth:]
        raise PathOutsideError(path, "is not below a folder that may be shown")


def find_root(roots: Sequence[ConfinedRoot], path: str) -> ConfinedRoot:
    """The innermost root that a path belongs to; a relative path belongs to the first."""
    check_steps(path)
    candidates = list(roots)
    if os.path.isabs(path):
        candidates.sort(key=lambda root: -len(root.folder))
    for root in candidates:
        if root.holds(path):
            return root
    raise PathOutsideError(path, "is not below a folder that may be shown")


def check_steps(path: str) -> tuple[str, ...]:
    """A path's names, or a refusal of what leads upwards or differs between systems."""
    if not path or "\x00" in path:
        raise PathOutsideError(path, "is not a path")
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise PathOutsideError(path, "is not a path") from None
    steps = _split(path)
    has_long_name = any(len(os.fsencode(step)) > NAME_BYTES for step in steps)
    if size > PATH_BYTES or len(steps) > STEPS or has_long_name:
        raise PathOutsideError(path, "is longer than a path may be")
    if path.endswith("/") or not steps:
        raise PathOutsideError(path, "names a folder")
    if any(step in (".", "..") for step in steps):
        raise PathOutsideError(path, "leads through '.' or '..'")
    return steps


def _split(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split("/") if step)


@contextmanager
def _walk(
    start_fd: int, folders: Sequence[str], path: str, *, may_end: bool = False
) -> Iterator[list[int]]:
    """Each folder opened inside the one before it; `may_end`: only as far as they exist."""
    opened = [start_fd]
    with ExitStack() as closing:
        try:
            for folder in folders:
                fd = _open(folder, _FOLDER, path, opened[-1])
                closing.callback(os.close, fd)
                opened.append(fd)
        except FileMissingError:
            if not may_end:
                raise
        yield opened


def _read(folder_fd: int, name: str, path: str, max_bytes: int) -> FileCopy:
    fd = _open(name, _FILE, path, folder_fd)
    try:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            raise FileMissingError(path)
        if not stat.S_ISREG(found.st_mode):
            raise PathOutsideError(path, "is not a regular file")
        data = files.read_open(fd, path, max_bytes)
        mode = stat.S_IMODE(found.st_mode)
        may_write = os.access(name, os.W_OK, dir_fd=folder_fd, follow_symlinks=False)
        is_writable = may_write and bool(mode & 0o222)
        return FileCopy(data, mode, names=found.st_nlink, is_writable=is_writable)
    finally:
        os.close(fd)


def _open(name: str, flags: int, path: str, folder_fd: int | None = None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder_fd)
    except OSError as error:
        raise _translate(error, name, path, folder_fd) from None


def _translate(error: OSError, name: str, path: str, folder_fd: int | None) -> Exception:
    if error.errno in _LINK_OR_DEVICE:
        return _explain_refusal(name, path, folder_fd)
    if error.errno in _MISSING:
        return FileMissingError(path)
    if error.errno == errno.ENAMETOOLONG:
        return PathOutsideError(path, "is longer than a path may be")
    refused: Unavailable = files.translate(error, path)
    return refused


def _explain_refusal(name: str, path: str, folder_fd: int | None) -> Exception:
    """What a step that was refused already is, for the message only."""
    with suppress(OSError):
        found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            return FileMissingError(path)  # a file where a folder should be
    return PathOutsideError(path, "is reached through a symbolic link, or is not a regular file")
