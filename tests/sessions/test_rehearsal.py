"""An append is tried and undone, to find out whether events can be stored."""

from typing import Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.sessions.rehearsal import rehearse_append
from tests.rig.postgres import execute


@pytest.fixture
def scope(database: Any, workspace: str) -> Scope:
    return Scope(database, Owner(workspace, "ada"))


async def test_a_rehearsal_leaves_nothing_behind(scope: Scope):
    session = await scope.sessions.create_session("architect", "u1")
    before = await scope.outbox.end()

    for _ in range(3):
        await rehearse_append(scope.sessions.store)

    assert [known.id for known in await scope.sessions.list_sessions()] == [session.id]
    assert await scope.outbox.end() == before
    event = await scope.sessions.append_event(session.id, "tool_call", "tool", "x")
    assert event.sequence == 1


@pytest.mark.own_database
async def test_a_store_that_takes_no_event_fails_it(
    scope: Scope, database: Any, request: pytest.FixtureRequest
):
    """Everything else in the store works: a session can be created."""
    if database.engine == "sqlite":
        database.connection.execute("drop table session_events")
    else:
        url = request.getfixturevalue("postgres_owner_url")
        execute(url, "revoke insert on context.session_events from holdfast_runtime")
    await scope.sessions.create_session("architect", "u1")

    with pytest.raises(HoldfastError):
        await rehearse_append(scope.sessions.store)
