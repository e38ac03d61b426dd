"""The team store: calls that travel together, connections that die, servers that restart."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast import errors
from holdfast.ground import ids
from holdfast.ground.settings import Owner
from holdfast.sessions import rules
from holdfast.sessions.store import QUERIES
from holdfast.storage import postgres as engine
from holdfast.storage.postgres import PostgresDatabase, Role
from tests.rig.postgres import Cluster, Server, execute

OWNER = Owner("local", "ana")


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    async with holdfast.open_database(postgres_url) as opened:
        yield opened


@pytest.fixture
def sessions(database: PostgresDatabase) -> holdfast.SessionService:
    return holdfast.SessionService(database, owner=OWNER)


def rows(*contents: str, event_id: str | None = None) -> list[tuple[Any, ...]]:
    return [(None, *rules.check_event("user_message", "user", content, None, event_id)) for content in contents]


def append(database: PostgresDatabase, session_id: str, events: list[tuple[Any, ...]]) -> Any:
    head = (OWNER.workspace_id, OWNER.developer_id, session_id)
    return database.write_rows(QUERIES["append_events"], head, events)


async def contents(sessions: holdfast.SessionService, session_id: str) -> list[str]:
    return [event.content async for event in sessions.read_events(session_id)]


class Watched:
    """A pool that counts what is sent, and can be told to fail."""

    def __init__(self, pool: Any):
        self.pool = pool
        self.sent: list[str] = []
        self.failures: list[Exception] = []

    async def expire_connections(self) -> None:
        await self.pool.expire_connections()

    async def fetch(self, sql: str, *args: object) -> Any:
        self.sent.append(sql)
        if self.failures:
            raise self.failures.pop(0)
        return await self.pool.fetch(sql, *args)

    def acquire(self) -> Any:
        return self.pool.acquire()


@pytest.fixture
def watched(database: PostgresDatabase) -> Watched:
    database.pool = Watched(database.pool)
    return database.pool


# --- groups ------------------------------------------------------------------------------------------------


async def test_appends_to_one_session_travel_together(sessions: holdfast.SessionService, watched: Watched):
    """The first goes at once; whatever comes in meanwhile goes in the next round trip."""
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()

    events = await asyncio.gather(*(sessions.append_event(session.id, "tool_call", "tool", str(n)) for n in range(50)))

    assert len(watched.sent) == 2
    assert sorted(event.sequence for event in events) == list(range(1, 51))
    assert {event.content: event.sequence for event in events} == {
        event.content: event.sequence async for event in sessions.read_events(session.id)
    }


async def test_appends_to_many_sessions_do_not_wait_for_each_other(sessions: holdfast.SessionService, watched: Watched):
    created = [await sessions.create_session("m", "u1") for _ in range(5)]
    watched.sent.clear()

    await asyncio.gather(*(sessions.append_event(session.id, "tool_call", "tool", "x") for session in created))

    assert len(watched.sent) == 5


async def test_a_refused_call_leaves_the_others_of_its_group_alone(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    """Refused by the function itself: each call has its own verdict."""
    session = await sessions.create_session("m", "u1")
    known = ids.new_id()
    await sessions.append_event(session.id, "tool_call", "tool", "known", event_id=known)

    outcomes = await asyncio.gather(
        *(append(database, session.id, rows(f"before {n}")) for n in range(3)),
        append(database, session.id, rows("other content", event_id=known)),
        *(append(database, session.id, rows(f"after {n}")) for n in range(3)),
    )

    assert [outcome[0][0] for outcome in outcomes] == [None] * 3 + ["taken"] + [None] * 3
    assert len(await contents(sessions, session.id)) == 7


async def test_a_call_that_the_engine_cannot_read_leaves_the_others_of_its_group_alone(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    """The whole group fails, so each is tried on its own, and only the one to blame is told so."""
    session = await sessions.create_session("m", "u1")
    wrong = [(None, "no uuid", "tool_call", "tool", "wrong", None, b"")]

    outcomes = await asyncio.gather(
        append(database, session.id, rows("first")),
        append(database, session.id, rows("second")),
        append(database, session.id, wrong),
        append(database, session.id, rows("third", "fourth")),
        return_exceptions=True,
    )

    assert isinstance(outcomes[2], Exception)
    assert [len(outcome) for outcome in (outcomes[0], outcomes[1], outcomes[3])] == [1, 1, 2]
    assert sorted(await contents(sessions, session.id)) == ["first", "fourth", "second", "third"]


async def test_the_first_call_that_fails_lets_the_others_go_on(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    session = await sessions.create_session("m", "u1")
    wrong = [(None, "no uuid", "tool_call", "tool", "wrong", None, b"")]

    outcomes = await asyncio.gather(
        append(database, session.id, wrong), append(database, session.id, rows("good")), return_exceptions=True
    )

    assert isinstance(outcomes[0], Exception)
    assert await contents(sessions, session.id) == ["good"]


async def test_a_caller_who_gave_up_leaves_the_others_their_answers(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    session = await sessions.create_session("m", "u1")
    tasks = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[3].cancel()

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    stored = await contents(sessions, session.id)
    assert {"1", "2", "4", "5"} <= set(stored)
    assert len(stored) == len(set(stored))
    assert (await sessions.verify_session(session.id)).ok


async def test_closing_waits_for_what_is_under_way(sessions: holdfast.SessionService, database: PostgresDatabase):
    session = await sessions.create_session("m", "u1")
    tasks = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(20)]
    while not database._tasks:
        await asyncio.sleep(0)

    await database.close()

    assert all(task.done() for task in tasks)
    assert database._waiting == {}


async def test_an_unreachable_server_fails_the_whole_group_at_once(
    sessions: holdfast.SessionService, database: PostgresDatabase, watched: Watched
):
    """Trying each call on its own would keep everybody waiting for the same nothing."""
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()
    calls = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(10)]
    await asyncio.sleep(0)
    watched.failures += [ConnectionResetError("gone")] * 3

    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    assert len(watched.sent) <= 4
    assert all(isinstance(outcome, errors.StoreUnreachableError) for outcome in outcomes[1:])


# --- connections -------------------------------------------------------------------------------------------


async def test_a_connection_that_died_while_idle_is_replaced(
    sessions: holdfast.SessionService, postgres: Cluster, postgres_database: str
):
    """A firewall, a pooler or an administrator ended it; nobody notices."""
    session = await sessions.create_session("m", "u1")
    for n in range(3):
        execute(
            postgres.dsn(),
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{postgres_database}'",
        )
        event = await sessions.append_event(session.id, "tool_call", "tool", str(n))
        assert event.sequence == n + 1

    assert await contents(sessions, session.id) == ["0", "1", "2"]


async def test_a_lost_answer_is_asked_for_once_more_and_not_for_ever(
    sessions: holdfast.SessionService, watched: Watched
):
    session = await sessions.create_session("m", "u1")
    watched.failures += [asyncpg.ConnectionDoesNotExistError("gone")]
    assert (await sessions.get_session(session.id)).id == session.id

    watched.sent.clear()
    watched.failures += [asyncpg.ConnectionDoesNotExistError("gone")] * 2
    with pytest.raises(errors.StoreUnreachableError, match="gone"):
        await sessions.get_session(session.id)
    assert len(watched.sent) == 2


async def test_a_server_that_restarts_while_we_are_idle_is_used_again(own_postgres: Server, own_postgres_url: str):
    async with holdfast.open_database(own_postgres_url) as database:
        sessions = holdfast.SessionService(database, owner=OWNER)
        session = await sessions.create_session("m", "u1")
        await sessions.append_event(session.id, "tool_call", "tool", "before")

        await asyncio.to_thread(own_postgres.restart)

        await sessions.append_event(session.id, "tool_call", "tool", "after")
        assert await contents(sessions, session.id) == ["before", "after"]


async def test_a_server_that_is_down_is_named_and_used_again_when_it_is_back(
    own_postgres: Server, own_postgres_url: str
):
    async with holdfast.open_database(own_postgres_url) as database:
        sessions = holdfast.SessionService(database, owner=OWNER)
        session = await sessions.create_session("m", "u1")

        await asyncio.to_thread(own_postgres.stop)
        with pytest.raises(errors.StoreUnreachableError, match=r"…@127\.0\.0\.1"):
            await sessions.append_event(session.id, "tool_call", "tool", "lost")
        with pytest.raises(errors.StoreUnreachableError):
            await sessions.set_relevant_context(session.id, "files", ["/a"])
        await asyncio.to_thread(own_postgres.start)

        await sessions.append_event(session.id, "tool_call", "tool", "kept")
        assert await contents(sessions, session.id) == ["kept"]


async def test_a_row_that_somebody_else_holds_for_too_long_is_busy(
    sessions: holdfast.SessionService, database: PostgresDatabase, postgres_owner_url: str
):
    """A lock that is not given within the time limit of the server: nothing was written."""
    session = await sessions.create_session("m", "u1")
    holder = await asyncpg.connect(postgres_owner_url)
    async with holder.transaction():
        await holder.execute("select holdfast.act_for('local', 'ana')")
        await holder.execute("select * from context.sessions for update")

        async def work(tx: Any) -> None:
            await tx._connection.execute("set local lock_timeout = '50ms'")
            await tx.run(QUERIES["lock_session"], OWNER.workspace_id, OWNER.developer_id, session.id)

        with pytest.raises(errors.StoreBusyError):
            await database.transaction(work)
    await holder.close()


async def test_connections_are_limited_in_what_they_may_wait_for(database: PostgresDatabase):
    """A forgotten transaction or a runaway statement ends by itself."""
    async with database.pool.acquire() as connection:
        for name, value in engine.SERVER_SETTINGS.items():
            assert await connection.fetchval("select current_setting($1)", name) == value


async def test_scrubbing_is_the_servers_own_business(database: PostgresDatabase):
    assert await database.scrub() is None


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (asyncpg.UndefinedFunctionError("x"), errors.SchemaMissingError),
        (asyncpg.InvalidSchemaNameError("x"), errors.SchemaMissingError),
        (asyncpg.InsufficientPrivilegeError("x"), errors.PermissionRefusedError),
        (asyncpg.LockNotAvailableError("x"), errors.StoreBusyError),
        (asyncpg.QueryCanceledError("x"), errors.StoreBusyError),
        (asyncpg.TooManyConnectionsError("x"), errors.StoreBusyError),
        (asyncpg.DiskFullError("x"), errors.StoreFullError),
        (asyncpg.ReadOnlySQLTransactionError("x"), errors.StoreReadOnlyError),
        (asyncpg.DataCorruptedError("x"), errors.StoreDamagedError),
        (asyncpg.IndexCorruptedError("x"), errors.StoreDamagedError),
        (asyncpg.CannotConnectNowError("x"), errors.StoreUnreachableError),
        (asyncpg.AdminShutdownError("x"), errors.StoreUnreachableError),
        (asyncpg.InvalidPasswordError("x"), errors.StoreUnreachableError),
        (asyncpg.InvalidCatalogNameError("x"), errors.StoreUnreachableError),
        (asyncpg.InterfaceError("pool is closed"), errors.StoreUnreachableError),
        (ConnectionRefusedError("x"), errors.StoreUnreachableError),
        (TimeoutError(), errors.StoreUnreachableError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
async def test_every_error_of_the_engine_has_our_own_words(theirs: Exception, ours: type[errors.HoldfastError]):
    with pytest.raises(ours) as raised:
        async with engine.translated("The database"):
            raise theirs

    assert "The database" in raised.value.message
    assert raised.value.__cause__ is theirs


async def test_an_error_that_is_nobodys_business_comes_through_as_it_is():
    with pytest.raises(ZeroDivisionError):
        async with engine.translated("The database"):
            raise ZeroDivisionError


@pytest.mark.parametrize(
    ("role", "weakness"),
    [
        (Role("r", True, True, True, True, 1), "is a superuser"),
        (Role("r", False, True, True, True, 1), "has BYPASSRLS"),
        (Role("r", False, False, True, True, 1), "owns the tables"),
        (Role("r", False, False, True, False, 1), None),
    ],
)
def test_a_role_is_as_safe_as_its_weakest_right(role: Role, weakness: str | None):
    assert role.weakness == weakness
