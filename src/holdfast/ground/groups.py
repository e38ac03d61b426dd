"""Many values, a few at a time: what comes page by page is worked off so, and never held whole."""

from __future__ import annotations

from collections.abc import AsyncIterator

from holdfast.ground.light_typing import TypeVar

T = TypeVar("T")


async def in_groups(values: AsyncIterator[T], size: int) -> AsyncIterator[list[T]]:
    group: list[T] = []
    async for value in values:
        group.append(value)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
