"""Ways in, for tests that run on all of them: stdio and HTTP, the handshake and the stateless era,
both engines.
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client

from tests.surfaces.mcp import doors

WAYS = [(way, era) for way in ("stdio", "http") for era in doors.ERAS]


@pytest.fixture
def store(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store of this test, on both engines, for this process and those it starts."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    return database_url


@pytest.fixture(params=doors.ERAS)
def era(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(params=WAYS, ids=["-".join(way) for way in WAYS])
def connect(request: pytest.FixtureRequest, project: Path) -> doors.Connect:
    """`async with connect() as client`: every way in. With `store` beside it, on both engines."""
    way, era = request.param

    def connected(**options: str) -> AbstractAsyncContextManager[Client]:
        if way == "stdio":
            return doors.over_stdio(project, era=era, **options)
        return doors.over_http(era=era, **options)

    return connected
