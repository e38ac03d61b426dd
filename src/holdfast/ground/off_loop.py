"""Work that waits for a disk or a process, without blocking the event loop."""

from __future__ import annotations

import sys
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In a thread where a loop runs; in place where none does, so that a command needs none."""
    if not _is_on_loop():
        return function(*args, **kwargs)
    import asyncio

    return await asyncio.to_thread(function, *args, **kwargs)


def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """For a function that drives coroutines itself: where a loop runs, in a thread without one."""
    if not _is_on_loop():
        return function(*args, **kwargs)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *args, **kwargs).result()


def _is_on_loop() -> bool:
    """Without loading asyncio where it is not loaded."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
