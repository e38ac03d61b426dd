"""PostgreSQL behind pgbouncer in transaction mode."""

import asyncio

import pytest

import holdfast
from holdfast.errors import InvalidValueError
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.storage.migrate import migrate_postgres
from tests.rig.plans import PLANS
from tests.rig.pooler import pooled
from tests.rig.postgres import APP, OWNER, RUNTIME, Cluster, execute


async def test_every_room_works_behind_a_pooler(postgres_url: str, workspace: str):
    with pooled(postgres_url) as url:
        async with holdfast.open_database(url) as database:
            scope = Scope(database, Owner(workspace, "ana"))
            for plans in PLANS.values():
                await plans.add_rows(scope)

            assert len(await scope.sessions.list_sessions()) > 0


async def test_calls_at_once_share_few_connections(postgres_url: str):
    with pooled(postgres_url, size=1) as url:
        async with holdfast.open_database(url) as database:
            service = holdfast.SessionService(database)
            session = await service.create_session("architect", "u1")
            texts = [f"number {number}" for number in range(40)]
            await asyncio.gather(
                *(
                    service.append_event(session.id, "system_event", "system", text)
                    for text in texts
                )
            )
            events = [event async for event in service.read_events(session.id)]

    assert [event.sequence for event in events] == list(range(1, 41))
    assert sorted(event.content for event in events) == sorted(texts)


async def test_a_database_is_migrated_through_a_pooler(postgres: Cluster):
    name = postgres.create_database()
    try:
        with pooled(postgres.dsn(name, OWNER)) as url:
            first = await migrate_postgres(url)
            again = await migrate_postgres(url)
        execute(postgres.dsn(), f"grant {RUNTIME} to {APP}")
        async with holdfast.open_database(postgres.dsn(name, APP)) as database:
            session = await holdfast.SessionService(database).create_session("architect", "u1")
    finally:
        postgres.drop_database(name)

    assert (first[0], again, session.chatmode) == ("0001_tables", [], "architect")


async def test_a_pooler_that_mixes_up_prepared_statements_is_named(postgres_url: str):
    """A statement that one connection of the server has prepared is looked for on the other."""
    with pooled(postgres_url) as url:
        without_option, _, _ = url.partition("?")
        async with holdfast.open_database(without_option) as database:
            service = holdfast.SessionService(database)
            with pytest.raises(InvalidValueError, match="add \\?statement_cache_size=0"):
                await _list_often(service)


async def _list_often(service: holdfast.SessionService) -> None:
    for _ in range(20):
        await asyncio.gather(*(service.list_sessions() for _ in range(20)))
