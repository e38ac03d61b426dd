"""Taking turns at the write lock of a SQLite file.

SQLite gives its lock to the process that asks at the right moment: a busy writer takes it again and
again, and a process that sleeps between two tries may never hit the gap. So a writer takes this
turn first, and only one at a time waits for SQLite's lock. It is a kernel lock, so that it is freed
when a process dies; only fairness depends on it.
"""

from __future__ import annotations

import fcntl
import os
import time

SHORTEST_PAUSE_SECONDS = 0.0005
LONGEST_PAUSE_SECONDS = 0.01


class Turn:
    def __init__(self, path: str):
        self._file = os.open(f"{path}.turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Take the turn if no other process has it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, deadline: float) -> bool:
        """Take the turn when it is free, or give up at the deadline."""
        pause = SHORTEST_PAUSE_SECONDS
        while not self.take():
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._file)
