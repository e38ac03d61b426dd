"""The nursery: children are real processes, and what happens to them is seen."""

import os
from collections.abc import Iterator

import pytest

from tests.rig import guard
from tests.rig.nursery import (
    ChildFailed,
    Line,
    Nursery,
    hear_as_it_comes,
    hear_from_all,
    say_to_all,
)


def echo(line: Line, prefix: str) -> None:
    while (heard := line.hear()) is not None:
        line.say(f"{prefix} {heard} {os.getpid()}")


def fail(line: Line) -> None:
    raise KeyError("what nobody expected")


def say_many(line: Line, count: int) -> None:
    for number in range(count):
        line.say(number)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


def test_a_child_is_a_process_of_its_own_and_answers(nursery: Nursery) -> None:
    """Not ours, and not the nursery's."""
    child = nursery.start(echo, "heard")
    child.say("hello")

    assert child.hear() == f"heard hello {child.pid}"
    assert child.pid != os.getpid()
    child.say(None)
    assert child.wait() == 0


def test_a_killed_child_sends_nothing_more(nursery: Nursery) -> None:
    """Its end is noticed at once, and its exit code names the signal."""
    child = nursery.start(echo, "heard")
    child.kill()

    assert child.hear() is None
    assert child.wait() == -9


def test_a_stopped_child_answers_when_it_thaws(nursery: Nursery) -> None:
    """SIGSTOP and SIGCONT, as in a laptop that was closed."""
    child = nursery.start(echo, "heard")
    child.stop()
    child.say("hello")
    with pytest.raises(TimeoutError):
        child.hear(0.05)
    child.thaw()

    assert child.hear() == f"heard hello {child.pid}"


def test_an_exception_in_a_child_is_raised_in_the_test(nursery: Nursery) -> None:
    """With its traceback, so that a failed race can be read."""
    child = nursery.start(fail)

    with pytest.raises(ChildFailed, match="what nobody expected"):
        child.hear()
    assert child.wait() == 1


def test_a_race_begins_when_all_are_at_the_line(nursery: Nursery) -> None:
    """And everything that a child sends is received."""
    children = nursery.start_all(say_many, [[3]] * 8)
    say_to_all(children)

    heard = [value for _, value in hear_as_it_comes(children)]

    assert sorted(heard) == sorted([0, 1, 2] * 8)
    assert hear_from_all(children) == [None] * 8


def test_no_child_outlives_its_nursery() -> None:
    """No code of a failed test would end them."""
    with Nursery() as nursery:
        pids = [nursery.start(echo, "…").pid for _ in range(3)]

    assert not any(guard.is_alive(pid) for pid in pids)
