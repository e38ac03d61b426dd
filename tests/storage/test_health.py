"""A store is healthy when a write that was acknowledged can be read."""

import pytest

from holdfast.ground.settings import Owner
from holdfast.storage.errors import StoreDamagedError
from holdfast.storage.health import QUERIES, check_health


@pytest.fixture
def ada(workspace):
    return Owner(workspace, "ada")


async def test_every_look_writes_and_reads(database, ada):
    for _ in range(3):
        await check_health(database, ada)

    assert [
        row[0] for row in await database.read(QUERIES["last_beat"], ada.workspace_id, "ada")
    ] == [3]


async def test_a_health_check_that_cannot_read_its_write_fails(database, ada, monkeypatch):
    async def read(*_):
        return []

    monkeypatch.setattr(database, "read", read)
    with pytest.raises(StoreDamagedError, match="cannot be read"):
        await check_health(database, ada)
