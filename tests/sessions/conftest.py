"""Both engines at once, for tests that hold one against the other, and one of them alone."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

import holdfast
from holdfast.sessions.service import SessionService


class Both:
    """The same service on SQLite and on PostgreSQL, and a loop that runs calls to their end.

    A property draws its examples in plain code, so it needs a loop that it can enter again and
    again.
    """

    def __init__(self, runner: asyncio.Runner, services: tuple[SessionService, SessionService]):
        self._runner = runner
        self.services = self.sqlite, self.postgres = services

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(coroutine)


@pytest.fixture
async def sqlite_sessions(sqlite_url: str) -> AsyncIterator[SessionService]:
    """The service on SQLite alone, whose times come from this process."""
    async with holdfast.open_database(sqlite_url) as database:
        yield holdfast.SessionService(database)


@pytest.fixture
async def postgres_sessions(postgres_url: str) -> AsyncIterator[SessionService]:
    """The service on PostgreSQL alone, for what only its SQL can do wrong."""
    async with holdfast.open_database(postgres_url) as database:
        yield holdfast.SessionService(database)


@pytest.fixture
def both(sqlite_url: str, postgres_url: str) -> Iterator[Both]:
    async def open_services(stack: AsyncExitStack) -> tuple[SessionService, SessionService]:
        sqlite, postgres = [
            holdfast.SessionService(await stack.enter_async_context(holdfast.open_database(url)))
            for url in (sqlite_url, postgres_url)
        ]
        return sqlite, postgres

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        yield Both(runner, runner.run(open_services(stack)))
        runner.run(stack.aclose())
