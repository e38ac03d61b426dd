"""A plain `asyncpg.Pool`, as users of the seed's service have."""

import asyncio
import json
import warnings

import asyncpg
import pytest

import holdfast
from holdfast.errors import Action
from holdfast.ground import settings
from holdfast.storage.errors import SchemaMissingError, StoreClosedError
from holdfast.storage.postgres import UnsafeRoleWarning
from holdfast.storage.postgres import _databases_by_pool as taken
from tests.rig.postgres import APP, execute


async def use_every_verb(service):
    """The seed's seven methods with the seed's arguments, by position."""
    session = await service.create_session(
        "architect", "pt2_architect", "create-service", "builder", "main"
    )
    event = await service.append_event(session.id, "user_message", "user", "hi", {"a": [1, None]})
    assert await service.get_recent_events(session.id, 30, 1000) == [event]
    state = await service.update_state(session.id, {"current_task": "x", "blockers": []})
    assert await service.get_state(session.id) == state
    await service.set_relevant_context(session.id, "files", ["/a"])
    active = await service.get_active_session("architect", "pt2_architect")
    assert (active.id, active.context) == (session.id, {"files": ["/a"]})
    assert (await service.verify_session(session.id)).ok
    assert await service.end_session(session.id) is None
    return session


async def test_a_plain_pool_works_as_the_seed_writes_it(postgres_url):
    pool = await asyncpg.create_pool(dsn=postgres_url, min_size=2, max_size=10)
    try:
        session_service = holdfast.SessionService(pool)
        await use_every_verb(session_service)
    finally:
        await pool.close()


@pytest.mark.own_database
async def test_the_workspace_of_a_plain_pool_comes_from_the_environment(postgres_url, monkeypatch):
    async with asyncpg.create_pool(dsn=postgres_url, min_size=2, max_size=10) as pool:
        monkeypatch.setenv("HOLDFAST_WORKSPACE", "acme")
        monkeypatch.setenv("HOLDFAST_DEVELOPER", "ada")
        acme = holdfast.SessionService(pool)
        session = await acme.create_session("architect", "u1")
        monkeypatch.delenv("HOLDFAST_WORKSPACE")
        local = holdfast.SessionService(pool)

        assert acme.owner.workspace_id == "acme"
        assert acme.owner.developer_id == settings.owner_of("acme", "ada").developer_id
        assert [listed.id for listed in await acme.list_sessions()] == [session.id]
        assert await local.list_sessions() == []


async def test_a_pool_with_its_own_jsonb_codec_works_too(postgres_url):
    """Most programs that use asyncpg set one."""

    async def init(connection):
        for name in ("json", "jsonb"):
            await connection.set_type_codec(
                name, encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
            )

    async with asyncpg.create_pool(dsn=postgres_url, min_size=2, max_size=10, init=init) as pool:
        await use_every_verb(holdfast.SessionService(pool))


async def test_a_pool_without_prepared_statements_works_too(postgres_url):
    """Behind pgbouncer in transaction mode."""
    async with asyncpg.create_pool(
        dsn=postgres_url, min_size=2, max_size=10, statement_cache_size=0
    ) as pool:
        await use_every_verb(holdfast.SessionService(pool))


async def test_many_tasks_share_a_small_pool(postgres_url):
    async with asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=2) as pool:
        service = holdfast.SessionService(pool)
        s = await service.create_session("architect", "u1")

        await asyncio.gather(
            *(service.append_event(s.id, "user_message", "user", f"{n}") for n in range(64))
        )

        assert (await service.verify_session(s.id)).checked == 64


async def test_a_pool_is_given_back_without_any_setting(postgres_url):
    """What names the developer ends with its transaction, so the next user of the connection
    has no name.
    """
    async with asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=1) as pool:
        await use_every_verb(holdfast.SessionService(pool))

        for name in ("holdfast.workspace", "holdfast.developer"):
            assert not await pool.fetchval("select current_setting($1, true)", name)
        assert await pool.fetchval("select current_setting('enable_seqscan')") == "on"
        assert await pool.fetchval("select count(*) from context.sessions") == 0


async def test_a_plain_pool_never_migrates(postgres):
    name = postgres.create_database()
    try:
        execute(postgres.dsn(name), f"grant create on database {name} to {APP}")
        async with asyncpg.create_pool(
            dsn=postgres.dsn(name, APP), min_size=2, max_size=10
        ) as pool:
            with pytest.raises(SchemaMissingError) as refusal:
                await holdfast.SessionService(pool).create_session("architect", "u1")

            assert refusal.value.next_actions == (Action("database.migrate"),)
            assert (
                await pool.fetchval(
                    "select count(*) from pg_namespace where nspname in ('context', 'holdfast')"
                )
                == 0
            )
    finally:
        postgres.drop_database(name)


@pytest.mark.own_database
async def test_a_superuser_s_pool_is_taken_with_exactly_one_warning(postgres, postgres_database):
    async with asyncpg.create_pool(
        dsn=postgres.dsn(postgres_database), min_size=2, max_size=10
    ) as pool:
        service = holdfast.SessionService(pool)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            await asyncio.gather(*(service.create_session("architect", "u1") for _ in range(5)))
            await use_every_verb(service)

    [warning] = caught
    assert warning.category is UnsafeRoleWarning
    assert "PostgreSQL role 'postgres' is a superuser" in str(warning.message)
    assert "holdfast_runtime" in str(warning.message)


@pytest.mark.own_database
async def test_every_service_on_one_pool_shares_its_one_warning(postgres, postgres_database):
    """A program that makes a service for each request; the role is asked for once, too."""
    async with asyncpg.create_pool(
        dsn=postgres.dsn(postgres_database), min_size=2, max_size=10
    ) as pool:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                await holdfast.SessionService(pool).create_session("architect", "u1")
        assert holdfast.SessionService(pool).db is holdfast.SessionService(pool).db
    assert [warning.category for warning in caught] == [UnsafeRoleWarning]

    async with asyncpg.create_pool(
        dsn=postgres.dsn(postgres_database), min_size=1, max_size=1
    ) as another:
        with pytest.warns(UnsafeRoleWarning):
            await holdfast.SessionService(another).create_session("architect", "u1")
        assert pool not in [known for known, _ in taken.values()], "a closed pool is let go"


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_a_pool_with_another_isolation_loses_nothing(postgres_url, isolation):
    """What the server rolls back is repeated; no caller sees an error of the engine."""
    settings = {"default_transaction_isolation": isolation}
    async with asyncpg.create_pool(
        dsn=postgres_url, min_size=1, max_size=4, server_settings=settings
    ) as pool:
        service = holdfast.SessionService(pool)
        await use_every_verb(service)
        s = await service.create_session("architect", "u1")

        await asyncio.gather(
            *(service.update_state(s.id, {f"key{n}": n}) for n in range(10)),
            *(
                service.set_relevant_context(s.id, "files", [f"/{n}"], mode="merge")
                for n in range(10)
            ),
            *(service.append_event(s.id, "user_message", "user", f"{n}") for n in range(10)),
        )

        assert (await service.get_state(s.id)).scratchpad == {f"key{n}": n for n in range(10)}
        assert len((await service.get_relevant_context(s.id))["files"]) == 10
        assert (await service.verify_session(s.id)).checked == 10


@pytest.mark.own_database
async def test_a_superuser_sees_only_its_own_sessions_through_the_service(
    postgres, postgres_database, monkeypatch
):
    """The policies do not hold for a superuser, so the statements name the owner as well."""
    async with asyncpg.create_pool(
        dsn=postgres.dsn(postgres_database), min_size=2, max_size=10
    ) as pool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsafeRoleWarning)
            ada = holdfast.SessionService(pool, owner=settings.owner_of("local", "ada"))
            bob = holdfast.SessionService(pool, owner=settings.owner_of("local", "bob"))
            s = await use_every_verb(ada)

            assert await bob.list_sessions() == []
            with pytest.raises(holdfast.SessionNotFoundError):
                await bob.get_recent_events(s.id)


async def test_two_containers_with_a_plain_pool_share_their_sessions(postgres_url, monkeypatch):
    """Whoever the program is logged in as there, and whatever git knows: neither is asked."""
    monkeypatch.setenv("HOLDFAST_HOME", "/no/such/folder/is/needed")
    monkeypatch.setenv("USER", "app-1")
    async with asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=2) as first:
        session = await holdfast.SessionService(first).create_session("architect", "pt2")
    monkeypatch.setenv("USER", "app-2")
    monkeypatch.setenv("LOGNAME", "app-2")
    async with asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=2) as second:
        service = holdfast.SessionService(second)
        active = await service.get_active_session("architect", "pt2")
        workspace = service.owner.workspace_id

    assert active == session
    assert service.owner.developer_id == settings.owner_of(workspace, "service").developer_id


async def test_a_pool_with_a_developer_in_the_environment_is_that_developer_s(
    postgres_url, monkeypatch
):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "Ada")
    async with asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=2) as pool:
        owner = holdfast.SessionService(pool).owner

    assert owner.developer_id == settings.owner_of(owner.workspace_id, "ada").developer_id


async def test_a_closed_pool_says_that_it_is_closed(postgres_url):
    pool = await asyncpg.create_pool(dsn=postgres_url, min_size=1, max_size=2)
    service = holdfast.SessionService(pool)
    session = await service.create_session("architect", "u1")
    await pool.close()

    for verb in (
        service.get_session(session.id),
        service.append_event(session.id, "user_message", "user", "hi"),
        service.set_relevant_context(session.id, "files", ["/a"]),
        holdfast.SessionService(pool).get_session(session.id),
    ):
        with pytest.raises(StoreClosedError, match="has a pool of connections that is closed"):
            await verb
