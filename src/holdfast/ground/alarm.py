"""A time after which whatever runs is stopped, wherever it is: for a program that is waited for."""

from __future__ import annotations

import time

SHORTEST_SECONDS = 0.001  # none at all would be no limit


class TimeIsUpError(Exception):
    """No error of the system, as `TimeoutError` is: what reads files goes on after those."""


class Alarm:
    """In the main thread. One inside another ends with it at the latest."""

    def __init__(self, seconds: float):
        self.seconds = max(SHORTEST_SECONDS, seconds)

    def __enter__(self) -> None:
        import signal

        def give_up(number: int, frame: object) -> None:
            raise TimeIsUpError

        self.began_at = time.monotonic()
        self.before = signal.signal(signal.SIGALRM, give_up)
        self.left, _ = signal.getitimer(signal.ITIMER_REAL)
        seconds = min(self.seconds, self.left) if self.left else self.seconds
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def __exit__(self, *_: object) -> None:
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)
        if self.left:
            left = self.left - (time.monotonic() - self.began_at)
            signal.setitimer(signal.ITIMER_REAL, max(SHORTEST_SECONDS, left))
