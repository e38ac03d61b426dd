"""Where work runs that waits: beside a loop, or in place."""

import threading

import pytest

from holdfast.ground.off_loop import off_loop, run_in_thread
from holdfast.storage.database import drive


def where() -> int:
    return threading.get_ident()


def test_without_a_loop_everything_happens_in_place():
    assert drive(off_loop(where)) == run_in_thread(where) == threading.get_ident()


async def test_with_a_running_loop_the_work_runs_in_another_thread():
    assert await off_loop(where) != threading.get_ident()
    assert run_in_thread(where) != threading.get_ident()


async def test_errors_come_through():
    def fail(what: str) -> None:
        raise ValueError(what)

    with pytest.raises(ValueError, match="x"):
        run_in_thread(fail, "x")
    with pytest.raises(ValueError, match="y"):
        await off_loop(fail, what="y")
