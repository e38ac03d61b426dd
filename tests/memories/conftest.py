"""The service of the memories room on both engines, and both of them at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

import holdfast
from holdfast.memories.service import MemoryService
from tests.rig.postgres import OWNER, Cluster, execute


class Both:
    """The same service on SQLite and on PostgreSQL, and a loop that runs calls to their end."""

    def __init__(self, runner: asyncio.Runner, services: list[MemoryService]):
        self._runner = runner
        self.sqlite, self.postgres = self.services = services

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(coroutine)


@pytest.fixture
def memories(database: Any) -> MemoryService:
    return MemoryService(database)


@pytest.fixture
async def postgres_memories(postgres_url: str) -> AsyncIterator[MemoryService]:
    async with holdfast.open_database(postgres_url) as database:
        yield MemoryService(database)


@pytest.fixture
def make(postgres: Cluster, postgres_template: str) -> Iterator[Callable[..., str]]:
    """The name of a database that has another program's table and nothing of ours; the group of
    roles is there.
    """
    names: list[str] = []

    def made(*statements: str) -> str:
        names.append(postgres.create_database())
        execute(postgres.dsn(names[-1], OWNER), "create schema memori", *statements)
        return names[-1]

    yield made
    for name in names:
        postgres.drop_database(name)


@pytest.fixture
def both(sqlite_url: str, postgres_url: str) -> Iterator[Both]:
    async def open_services(stack: AsyncExitStack) -> list[MemoryService]:
        return [
            MemoryService(await stack.enter_async_context(holdfast.open_database(url)))
            for url in (sqlite_url, postgres_url)
        ]

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        yield Both(runner, runner.run(open_services(stack)))
        runner.run(stack.aclose())
