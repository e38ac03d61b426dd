"""The processes above this one, read from Linux's /proc; elsewhere none is known.

A process is named by the machine's boot, its namespace, its id and its start time, so that a name
never means another process later. Every hook loads this.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = frozenset(
    ("sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh", "fish", "csh", "tcsh")
)
# The parent of a process whose own parent has ended; it started nothing on its own account.
INITS = frozenset(("systemd", "init", "tini", "dumb-init", "docker-init", "catatonit"))
BOOT_ID = "/proc/sys/kernel/random/boot_id"
NAMESPACE = "/proc/self/ns/pid"
STAT_BYTES = 1024
MOST_ANCESTORS = 64

# In what follows the command of /proc/PID/stat, which may itself hold blanks and brackets.
_STATE, _PARENT, _START = 0, 1, 19
_ENDED = ("Z", "X")  # only its parent has not looked at it yet


def find_client_process() -> str | None:
    """The program that started this one: the first ancestor that is not a shell."""
    machine = _name_machine()
    if machine is None:
        return None
    for command, process in _walk_ancestors():
        if command in INITS:
            return None
        if command not in SHELLS:
            return f"{machine}.{process}"
    return None


def list_ancestors() -> list[str]:
    """Nearest first."""
    machine = _name_machine()
    if machine is None:
        return []
    return [f"{machine}.{process}" for _, process in _walk_ancestors()]


def find_own_process() -> str | None:
    machine = _name_machine()
    found = _read_stat(os.getpid())
    if machine is None or found is None:
        return None
    return f"{machine}.{os.getpid()}.{found[2]}"


def is_running(name: str) -> bool | None:
    """None for a process of another namespace, about which nothing is known here."""
    machine, _, process = name.partition(".")
    here = _name_machine()
    if here is None or machine.partition("_")[0] != here.partition("_")[0]:
        return False  # before the last boot
    if machine != here:
        return None
    pid, _, start = process.partition(".")
    if not pid.isdecimal():
        return False
    found = _read_stat(int(pid))
    return found is not None and found[2] == start


def _name_machine() -> str | None:
    """This boot and this namespace of processes."""
    try:
        namespace = os.stat(NAMESPACE).st_ino
        boot = _read(BOOT_ID).decode().strip()
    except (OSError, ValueError):
        return None
    return f"{boot}_{namespace}"


def _walk_ancestors() -> Iterator[tuple[str, str]]:
    """The command of each, and its id with its start time."""
    pid = os.getppid()
    for _ in range(MOST_ANCESTORS):
        found = _read_stat(pid)
        if found is None:
            return
        command, parent, start = found
        yield command, f"{pid}.{start}"
        pid = parent


def _read_stat(pid: int) -> tuple[str, int, str] | None:
    """A process's command, parent and start time; None where there is no such process."""
    if pid <= 0:
        return None
    try:
        text = _read(f"/proc/{pid}/stat").decode("utf-8", "replace")
        start, end = text.index("("), text.rindex(")")
        fields = text[end + 1 :].split()
        if fields[_STATE] in _ENDED:
            return None
        return text[start + 1 : end], int(fields[_PARENT]), fields[_START]
    except (OSError, ValueError, IndexError):
        return None


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, STAT_BYTES)
    finally:
        os.close(fd)
