"""Stop a server whose owner is gone.

A test run that is killed cannot clean up. This process, started beside every server and detached
from it, waits until the owner or the folder is gone; a folder without an owner is stopped and
removed.

    python guard.py OWNER_PID FOLDER
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether the process still does something: one that ended and was never waited
    for does not.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Containers often have no process that waits for orphans. Where there is no /proc, there is an
    init that does.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def server_pid(data: Path) -> int | None:
    """The first line of PostgreSQL's own pid file, or None when no server runs there."""
    try:
        return int((data / "postmaster.pid").read_text().splitlines()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


def stop_server(data: Path) -> None:
    """Immediate stop: the data is about to be removed."""
    pid = server_pid(data)
    if pid is not None and is_alive(pid):
        os.kill(pid, signal.SIGQUIT)


def clear(folder: Path) -> None:
    """Stop and remove, again and again for a while: a worker that is still dying may start or write
    something.
    """
    for _ in range(60):
        if not folder.exists():
            return
        stop_server(folder / "data")
        time.sleep(0.5)
        shutil.rmtree(folder, ignore_errors=True)


def detach() -> None:
    """Leave our parent, so that neither Ctrl-C nor the end of a worker reaches us."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")


def main(owner: int, folder: Path) -> None:
    detach()
    while is_alive(owner) and folder.exists():
        time.sleep(0.5)
    clear(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
