"""A file system that fails at the nth call, below SQLite and above the real one.

While it is in force every connection of this process goes through it; Holdfast does not know. The
shared memory of the write-ahead log does not pass here: it is memory, and its loss is what `kill
-9` shows.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

NAME, BELOW = "holdfast-faulty", "unix"

IO_ERRORS = {
    "xOpen": apsw.SQLITE_CANTOPEN,
    "xDelete": apsw.SQLITE_IOERR_DELETE,
    "xAccess": apsw.SQLITE_IOERR_ACCESS,
    "xRead": apsw.SQLITE_IOERR_READ,
    "xWrite": apsw.SQLITE_IOERR_WRITE,
    "xTruncate": apsw.SQLITE_IOERR_TRUNCATE,
    "xSync": apsw.SQLITE_IOERR_FSYNC,
    "xFileSize": apsw.SQLITE_IOERR_FSTAT,
    "xLock": apsw.SQLITE_IOERR_LOCK,
}

# What goes wrong, and at which calls it can.
FAULTS = {
    "error": set(IO_ERRORS),
    "lasting error": set(IO_ERRORS),
    "full": {"xWrite"},
    "lasting full": {"xWrite"},
    "torn write": {"xWrite"},
    "sync error": {"xSync"},
    "kill": set(IO_ERRORS) - {"xAccess", "xFileSize", "xRead"},
    "kill after half": {"xWrite", "xSync", "xTruncate", "xDelete"},
}


class Faults:
    """Counts the calls that the fault is about, and lets the nth fail; number 0 only counts."""

    def __init__(self, fault: str, number: int):
        self.fault, self.number = fault, number
        self.count = 0

    def meet(self, call: str) -> bool:
        """Whether this call is to fail."""
        if call not in FAULTS[self.fault]:
            return False
        self.count += 1
        return bool(self.number) and (
            self.count >= self.number
            if self.fault.startswith("lasting")
            else self.count == self.number
        )

    def fail(self, call: str, real: Any, args: tuple[Any, ...]) -> None:
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault in ("torn write", "kill after half"):
            real(*((args[0][: len(args[0]) // 2], args[1]) if call == "xWrite" else args))
        if self.fault == "kill after half":
            os.kill(os.getpid(), signal.SIGKILL)
        raise apsw.exception_for(
            apsw.SQLITE_FULL if self.fault.endswith("full") else IO_ERRORS[call]
        )

    def end(self) -> None:
        """Nothing fails any more."""
        self.number = 0


@contextmanager
def faulty_file_system(fault: str, number: int) -> Iterator[Faults]:
    faults = Faults(fault, number)
    system = _Vfs(faults)
    try:
        yield faults
    finally:
        system.unregister()


class _Vfs(apsw.VFS):
    def __init__(self, faults: Faults):
        self.faults = faults
        super().__init__(NAME, BELOW, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        if self.faults.meet("xOpen"):
            self.faults.fail("xOpen", None, ())
        return _File(self.faults, name, flags)

    def excepthook(self, *_: object) -> None:
        """What fails here fails on purpose; apsw would print it."""


class _File(apsw.VFSFile):
    def __init__(self, faults: Faults, name: Any, flags: list[int]):
        self.faults = faults
        super().__init__(BELOW, name, flags)

    def excepthook(self, *_: object) -> None:
        """As above."""


def _wrap(kind: type, call: str) -> None:
    real = getattr(kind.__mro__[1], call)

    def method(self: Any, *args: Any) -> Any:
        if self.faults.meet(call):
            self.faults.fail(call, lambda *given: real(self, *given), args)
        return real(self, *args)

    setattr(kind, call, method)


for _call in IO_ERRORS:
    if _call != "xOpen":
        _wrap(_Vfs if _call in ("xDelete", "xAccess") else _File, _call)
