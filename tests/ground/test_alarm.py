"""What takes too long is stopped, wherever it is."""

import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from holdfast.ground.alarm import Alarm, TimeIsUpError

LONG = 60.0
SHORT = 0.02


@pytest.fixture(autouse=True)
def nothing_set() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is handler


def go_on() -> None:
    ends_at = time.monotonic() + LONG
    while time.monotonic() < ends_at:
        continue


@pytest.mark.parametrize("seconds", [SHORT, 0.0, -1.0])
def test_what_takes_longer_is_stopped(seconds: float):
    with pytest.raises(TimeIsUpError), Alarm(seconds):
        go_on()


def test_what_is_done_in_time_is_left_alone():
    with Alarm(LONG):
        done = True

    assert done


def test_code_that_goes_on_after_an_error_of_the_system_is_stopped_all_the_same():
    def look() -> None:
        with suppress(OSError):
            go_on()
        pytest.fail("it went on")

    with pytest.raises(TimeIsUpError), Alarm(SHORT):
        look()


def test_an_inner_one_ends_its_part_and_the_outer_one_goes_on():
    parts = []

    def look() -> None:
        with suppress(TimeIsUpError), Alarm(SHORT):
            go_on()
        parts.append("ended")
        with Alarm(LONG):
            parts.append("done")
        go_on()

    with pytest.raises(TimeIsUpError), Alarm(0.2):
        look()
    assert parts == ["ended", "done"]


def test_an_inner_one_ends_with_the_outer_one():
    with pytest.raises(TimeIsUpError), Alarm(SHORT), Alarm(LONG):
        go_on()
