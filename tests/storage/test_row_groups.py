"""Rows that several callers write at the same moment: one statement, and an answer for each."""

import asyncio

import pytest

from holdfast.storage.errors import StoreUnreachableError
from holdfast.storage.row_groups import RowGroups

PATIENCE_SECONDS = 30.0  # only guards against hanging


async def test_a_caller_that_gives_up_while_its_group_fails_takes_no_other_along():
    is_sent, may_end = asyncio.Event(), asyncio.Event()

    async def send(calls):
        if not is_sent.is_set():
            is_sent.set()
            await may_end.wait()
            return [()]
        gives_up.cancel()
        await asyncio.sleep(0)
        raise StoreUnreachableError("here", "it is gone")

    groups = RowGroups(send)
    first = asyncio.create_task(groups.write("query", (), [("a",)]))
    await is_sent.wait()
    gives_up, stays = [asyncio.create_task(groups.write("query", (), [(name,)])) for name in "bc"]
    await asyncio.sleep(0)
    may_end.set()

    with pytest.raises(StoreUnreachableError):
        await asyncio.wait_for(stays, PATIENCE_SECONDS)
    assert await first == [()]
    assert gives_up.cancelled()
