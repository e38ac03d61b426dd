"""The team store: calls that travel together, connections that die, servers that restart."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.errors import (
    HoldfastError,
    InvalidValueError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from holdfast.ground import ids
from holdfast.ground.settings import Owner
from holdfast.sessions import rules
from holdfast.sessions.errors import SessionEndedError
from holdfast.sessions.model import make_session
from holdfast.sessions.store import QUERIES
from holdfast.storage import errors, postgres_errors, row_groups
from holdfast.storage import postgres as engine
from holdfast.storage.postgres import PostgresDatabase, Role
from tests.rig.postgres import Cluster, Server, execute

pytestmark = pytest.mark.own_database

OWNER = Owner("local", "ana")


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    async with holdfast.open_database(postgres_url) as opened:
        yield opened


@pytest.fixture
def sessions(database: PostgresDatabase) -> holdfast.SessionService:
    return holdfast.SessionService(database, owner=OWNER)


def rows(*contents: str, event_id: str | None = None) -> list[tuple[Any, ...]]:
    return [
        (None, *rules.check_event("user_message", "user", content, None, event_id).to_row())
        for content in contents
    ]


def append(database: PostgresDatabase, session_id: str, events: list[tuple[Any, ...]]) -> Any:
    head = (OWNER.workspace_id, OWNER.developer_id, session_id)
    return database.write_rows(QUERIES["append_events"], head, events)


async def until_waiting(url: str, count: int, task: asyncio.Task[Any] | None = None) -> None:
    """Until so many connections to the test's database wait for a lock, or the task is done."""
    watcher = await asyncpg.connect(url)
    waiting = (
        "select count(*) from pg_stat_activity where datname = current_database() and "
        "wait_event_type = 'Lock'"
    )
    while await watcher.fetchval(waiting) < count and not (task and task.done()):
        await watcher.execute("select pg_stat_clear_snapshot()")
    await watcher.close()


async def contents(sessions: holdfast.SessionService, session_id: str) -> list[str]:
    return [event.content async for event in sessions.read_events(session_id)]


def terminate(postgres: Cluster, name: str) -> None:
    """All connections to a database, as an administrator or a restart does."""
    execute(
        postgres.dsn(),
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'",
    )


class Watched:
    """A pool that counts what is sent, and can be made to fail."""

    def __init__(self, pool: Any):
        self.pool = pool
        self.sent: list[str] = []
        self.failures: list[Exception] = []

    async def expire_connections(self) -> None:
        await self.pool.expire_connections()

    async def acquire(self) -> Any:
        return WatchedConnection(self, await self.pool.acquire())

    async def release(self, connection: Any) -> None:
        await self.pool.release(connection.connection)


class WatchedConnection:
    def __init__(self, watched: Watched, connection: Any):
        self.watched, self.connection = watched, connection

    async def fetch(self, sql: str, *args: object, timeout: float) -> Any:
        self.watched.sent.append(sql)
        if self.watched.failures:
            raise self.watched.failures.pop(0)
        return await self.connection.fetch(sql, *args, timeout=timeout)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


@pytest.fixture
async def watched(database: PostgresDatabase) -> AsyncIterator[Watched]:
    await database._release_held()  # what is held was acquired unwatched
    own, database.pool = database.pool, Watched(database.pool)
    yield database.pool
    await database._release_held()
    database.pool = own


# --- groups ---------------------------------------------------------------------------------------


async def test_appends_to_one_session_travel_together(
    sessions: holdfast.SessionService, watched: Watched
):
    """The first goes at once; whatever comes in meanwhile goes in the next round trip."""
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()

    events = await asyncio.gather(
        *(sessions.append_event(session.id, "tool_call", "tool", str(n)) for n in range(50))
    )

    assert len(watched.sent) == 2
    assert sorted(event.sequence for event in events) == list(range(1, 51))
    assert {event.content: event.sequence for event in events} == {
        event.content: event.sequence async for event in sessions.read_events(session.id)
    }


async def test_appends_to_many_sessions_do_not_wait_for_each_other(
    sessions: holdfast.SessionService, watched: Watched
):
    created = [await sessions.create_session("m", "u1") for _ in range(5)]
    watched.sent.clear()

    await asyncio.gather(
        *(sessions.append_event(session.id, "tool_call", "tool", "x") for session in created)
    )

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
    """The whole group fails, so each is tried on its own, and only the one to blame
    gets the error.
    """
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


async def test_a_failed_first_call_does_not_fail_the_others(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    session = await sessions.create_session("m", "u1")
    wrong = [(None, "no uuid", "tool_call", "tool", "wrong", None, b"")]

    outcomes = await asyncio.gather(
        append(database, session.id, wrong),
        append(database, session.id, rows("good")),
        return_exceptions=True,
    )

    assert isinstance(outcomes[0], Exception)
    assert await contents(sessions, session.id) == ["good"]


async def test_a_cancelled_caller_does_not_affect_the_answers_of_the_others(
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


async def test_closing_waits_for_what_is_under_way(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    session = await sessions.create_session("m", "u1")
    tasks = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(20)]
    while not database._groups._tasks:
        await asyncio.sleep(0)

    await database.close()

    assert all(task.done() for task in tasks)
    assert database._groups._waiting == {}


@pytest.mark.parametrize("under_way", ["the first call", "a group"])
async def test_a_loop_that_ends_with_appends_under_way_leaves_nothing_behind(
    under_way: str, sessions: holdfast.SessionService, database: PostgresDatabase, watched: Watched
):
    """Ctrl-C cancels all tasks at once: no call is sent again on its own, and no new task is
    started.
    """
    session = await sessions.create_session("m", "u1")
    calls = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(20)]
    await asyncio.sleep(0)
    while under_way == "a group" and not database._groups._tasks:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    calls += [
        asyncio.ensure_future(append(database, session.id, rows(f"later {n}"))) for n in range(20)
    ]
    await asyncio.sleep(0)
    watched.sent.clear()

    every = {*calls, *database._groups._tasks}
    for task in every:
        task.cancel()
    await asyncio.gather(*every, return_exceptions=True)

    assert (watched.sent, database._groups._tasks, database._groups._waiting) == ([], set(), {})


async def test_callers_waiting_for_a_cancelled_group_are_cancelled_too(
    sessions: holdfast.SessionService, database: PostgresDatabase, watched: Watched
):
    """Those that were sent, and those that would have been next; afterwards the session is written
    to as before.
    """
    session = await sessions.create_session("m", "u1")
    calls = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(5)]
    while not database._groups._tasks:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    calls += [
        asyncio.ensure_future(append(database, session.id, rows(f"later {n}"))) for n in range(5)
    ]
    await asyncio.sleep(0)
    watched.sent.clear()

    for task in database._groups._tasks:
        task.cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes[1:]] == [asyncio.CancelledError] * 9
    assert (watched.sent, database._groups._waiting) == ([], {})
    await append(database, session.id, rows("after"))
    assert (await contents(sessions, session.id))[-1] == "after"


async def test_an_unreachable_server_fails_the_whole_group_at_once(
    sessions: holdfast.SessionService, database: PostgresDatabase, watched: Watched
):
    """Trying each call on its own would keep every caller waiting in vain."""
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()
    calls = [asyncio.ensure_future(append(database, session.id, rows(str(n)))) for n in range(10)]
    await asyncio.sleep(0)
    watched.failures += [ConnectionResetError("gone")] * 3

    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    assert len(watched.sent) <= 4
    assert all(isinstance(outcome, StoreUnreachableError) for outcome in outcomes[1:])


# --- races ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
@pytest.mark.parametrize("first", ["update", "end"])
async def test_a_scratchpad_is_never_changed_after_its_session_has_ended(
    first: str, isolation: str, postgres_url: str, postgres: Cluster, postgres_database: str
):
    """Both wait for the same row; whatever is acknowledged is there when the end is, and nothing
    comes later.
    """
    settings = {"default_transaction_isolation": isolation}
    async with asyncpg.create_pool(
        postgres_url, min_size=1, max_size=4, server_settings=settings
    ) as pool:
        sessions = holdfast.SessionService(pool, owner=OWNER)
        session = await sessions.create_session("m", "u1")
        holder = await asyncpg.connect(postgres_url)

        async def end() -> Any:
            await sessions.end_session(session.id)
            return (await sessions.get_state(session.id)).scratchpad

        async def update() -> Any:
            return (await sessions.update_state(session.id, {"key": 1})).scratchpad

        async with holder.transaction():
            await holder.execute("select holdfast.act_for('local', 'ana')")
            await holder.execute("select from context.session_state for update")
            tasks = {}
            for count, verb in enumerate(
                [end, update] if first == "end" else [update, end], start=1
            ):
                tasks[verb] = asyncio.ensure_future(verb())
                await until_waiting(postgres.dsn(postgres_database), count, tasks[verb])
        await holder.close()
        [updated] = await asyncio.gather(tasks[update], return_exceptions=True)
        at_its_end = await tasks[end]

        assert updated == {"key": 1} or isinstance(updated, SessionEndedError)
        assert at_its_end == ({} if isinstance(updated, Exception) else updated)
        assert (await sessions.get_state(session.id)).scratchpad == at_its_end
        resumed = await sessions.resume_session(session.id)
        assert (await sessions.get_state(resumed.id)).scratchpad == at_its_end


async def test_an_append_does_not_wait_for_a_scratchpad(
    sessions: holdfast.SessionService, postgres_url: str, postgres: Cluster, postgres_database: str
):
    session = await sessions.create_session("m", "u1")
    holder = await asyncpg.connect(postgres_url)
    async with holder.transaction():
        await holder.execute("select holdfast.act_for('local', 'ana')")
        await holder.execute("select from context.session_state for update")
        update = asyncio.ensure_future(sessions.update_state(session.id, {"key": 1}))
        await until_waiting(postgres.dsn(postgres_database), 1)

        assert (await sessions.append_event(session.id, "tool_call", "tool", "x")).sequence == 1
        assert not update.done()
    await holder.close()
    assert (await update).scratchpad == {"key": 1}


async def test_a_native_session_that_ends_while_it_is_looked_for_is_followed_by_a_new_one(
    sessions: holdfast.SessionService,
    postgres: Cluster,
    postgres_database: str,
    postgres_owner_url: str,
):
    """It stops the insert and is gone when the answer is read: a trigger of the test's own holds
    that moment open.
    """
    native = {"client": "claude", "native_id": "n1"}
    old = await sessions.create_session("m", "u1", **native)
    execute(
        postgres_owner_url,
        "create function context.pause() returns trigger language plpgsql as"
        " 'begin perform pg_advisory_xact_lock(42); return null; end'",
        (
            "create trigger pause after insert on context.sessions for each statement execute "
            "function context.pause()"
        ),
    )
    holder = await asyncpg.connect(postgres_owner_url)
    await holder.execute("select pg_advisory_lock(42)")
    inserting = sessions.store.create_session(chatmode="m", user_id="u1", **native)
    create = asyncio.ensure_future(inserting)
    await until_waiting(postgres.dsn(postgres_database), 1)
    await sessions.end_session(old.id)
    await holder.execute("select pg_advisory_unlock(42)")
    await holder.close()

    new = make_session(await create)

    assert (new.id != old.id, new.native_id, new.ended_at) == (True, "n1", None)
    assert (await sessions.get_state(new.id)).scratchpad == {}
    assert [session.id for session in await sessions.list_sessions()] == [new.id, old.id]


async def test_creating_a_session_with_an_id_of_another_developer_is_refused(
    database: PostgresDatabase,
):
    """Not ours to see, so there is no row to answer with; the function does not look for it for
    ever.
    """
    ana = holdfast.SessionService(database, owner=OWNER)
    session = await ana.create_session("m", "u1")
    fields = (session.id, "u1", "m", *[None] * 8, "{}", "{}", b"")

    with pytest.raises(errors.IdTakenError):
        await database.write(QUERIES["create_session"], "local", "bo", *fields)


async def test_two_transactions_that_forget_the_same_events_in_opposite_orders_both_succeed(
    sessions: holdfast.SessionService, database: PostgresDatabase, watched: Watched
):
    """A deadlock: the server undoes one of the two, which then does it again."""
    session = await sessions.create_session("m", "u1")
    events = [
        await sessions.append_event(session.id, "tool_call", "tool", str(n)) for n in range(2)
    ]
    both = asyncio.Barrier(2)
    tries: list[str] = []

    def forget(*order: str) -> Any:
        async def work(tx: Any) -> None:
            tries.append(order[0])
            for event_id in order:
                await tx.run(
                    QUERIES["erase_event"],
                    OWNER.workspace_id,
                    OWNER.developer_id,
                    event_id,
                    "asked for",
                )
                if len(tries) <= 2 and event_id == order[0]:
                    await both.wait()

        return database.transaction(work)

    await asyncio.gather(forget(events[0].id, events[1].id), forget(events[1].id, events[0].id))

    assert len(tries) >= 3  # on a busy server the repetition may meet the other one again
    assert await contents(sessions, session.id) == ["", ""]
    assert (await sessions.verify_session(session.id)).erased == 2


@pytest.mark.parametrize(
    "theirs", [asyncpg.DeadlockDetectedError("x"), asyncpg.SerializationError("x")]
)
async def test_a_statement_that_the_server_rolls_back_is_retried_a_limited_number_of_times(
    theirs: Exception,
    sessions: holdfast.SessionService,
    database: PostgresDatabase,
    watched: Watched,
):
    session = await sessions.create_session("m", "u1")
    watched.failures += [theirs] * (engine.ATTEMPTS - 1)
    assert (await sessions.get_session(session.id)).id == session.id

    watched.sent.clear()
    watched.failures += [theirs] * engine.ATTEMPTS
    with pytest.raises(StoreBusyError):
        await sessions.get_session(session.id)
    assert len(watched.sent) == engine.ATTEMPTS

    tries: list[None] = []

    async def work(tx: Any) -> None:
        tries.append(None)
        raise theirs

    with pytest.raises(StoreBusyError):
        await database.transaction(work)
    assert len(tries) == engine.ATTEMPTS


# --- connections ----------------------------------------------------------------------------------


async def test_a_connection_that_died_while_idle_is_replaced(
    sessions: holdfast.SessionService, postgres: Cluster, postgres_database: str
):
    """A firewall, a pooler or an administrator ended it; no caller notices."""
    session = await sessions.create_session("m", "u1")
    for n in range(3):
        terminate(postgres, postgres_database)
        event = await sessions.append_event(session.id, "tool_call", "tool", str(n))
        assert event.sequence == n + 1

    assert await contents(sessions, session.id) == ["0", "1", "2"]


async def test_a_connection_is_kept_between_calls_unless_another_caller_waits_for_it(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    """Ten are all there are: a kept one that is not in use must not keep the eleventh caller
    waiting.
    """
    session = await sessions.create_session("m", "u1")
    kept = database._held
    await sessions.get_session(session.id)
    assert database._held is kept is not None

    held = [await database.pool.acquire() for _ in range(8)]
    async with database._connection(), database._connection() as tenth:
        waiting = asyncio.create_task(database.transaction(lambda tx: _nothing()))
        while not database._asking:
            await asyncio.sleep(0)
        assert tenth is not kept
        assert database._held is None
    await asyncio.wait_for(waiting, 10)
    for connection in held:
        await database.pool.release(connection)


async def test_every_connection_that_a_restart_killed_is_replaced_at_once(
    sessions: holdfast.SessionService,
    database: PostgresDatabase,
    postgres: Cluster,
    postgres_database: str,
):
    """Also for what is sent only once, and for what needs several statements: nothing had begun."""
    session = await sessions.create_session("m", "u1")
    await sessions.append_event(session.id, "tool_call", "tool", "first")
    event = (await sessions.get_recent_events(session.id))[0]
    for verb in (
        lambda: sessions.append_event(session.id, "tool_call", "tool", "again"),
        lambda: sessions.update_state(session.id, {"a": 1}),
        lambda: sessions.rename_session(session.id, "n"),
        lambda: sessions.set_relevant_context(session.id, "files", ["a.py"]),
        lambda: sessions.forget_events([event.id]),
    ):
        await asyncio.gather(*(sessions.get_session(session.id) for _ in range(8)))
        assert database.pool.get_idle_size() > 2
        terminate(postgres, postgres_database)
        await verb()


async def test_an_update_of_the_scratchpad_is_not_repeated_when_its_answer_was_lost(
    sessions: holdfast.SessionService, watched: Watched
):
    """A repeated removal would remove what another caller has set, and got
    confirmed, in between.
    """
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()
    watched.failures += [asyncpg.ConnectionDoesNotExistError("gone")]

    with pytest.raises(StoreUnreachableError, match="gone"):
        await sessions.update_state(session.id, {"k": None})

    assert len(watched.sent) == 1


async def test_a_statement_on_a_plain_pool_is_limited_too(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "STATEMENT_SECONDS", 0.2)
    async with asyncpg.create_pool(postgres_url, min_size=1, max_size=2) as pool:
        sessions = holdfast.SessionService(pool, owner=OWNER)
        session = await sessions.create_session("m", "u1")
        async with pool.acquire() as connection, connection.transaction():
            await connection.fetch(
                "select * from context.lock_session($1, $2, $3)", *sessions.store.owner, session.id
            )
            with pytest.raises(StoreUnreachableError, match="in time"):
                await sessions.append_event(session.id, "tool_call", "tool", "waits")


async def test_large_appends_travel_in_groups_that_a_server_takes(
    sessions: holdfast.SessionService, watched: Watched, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(row_groups, "LARGEST_GROUP_BYTES", 1000)
    session = await sessions.create_session("m", "u1")
    watched.sent.clear()

    await asyncio.gather(
        *(sessions.append_event(session.id, "tool_call", "tool", "x" * 400) for _ in range(9))
    )

    assert len(watched.sent) == 5  # the first alone, then two by two


async def test_a_pool_of_the_caller_gets_every_connection_back(postgres_url: str):
    async with asyncpg.create_pool(postgres_url, min_size=1, max_size=1) as pool:
        sessions = holdfast.SessionService(pool, owner=OWNER)
        session = await sessions.create_session("m", "u1")
        async with pool.acquire(timeout=10):  # there is only this one
            pass
        assert (await sessions.get_session(session.id)).id == session.id


async def _nothing() -> None:
    """A unit of work that does not even begin."""


async def test_a_lost_answer_is_asked_for_once_more_and_not_for_ever(
    sessions: holdfast.SessionService, watched: Watched
):
    session = await sessions.create_session("m", "u1")
    watched.failures += [asyncpg.ConnectionDoesNotExistError("gone")]
    assert (await sessions.get_session(session.id)).id == session.id

    watched.sent.clear()
    watched.failures += [asyncpg.ConnectionDoesNotExistError("gone")] * 2
    with pytest.raises(StoreUnreachableError, match="gone"):
        await sessions.get_session(session.id)
    assert len(watched.sent) == 2


async def test_a_server_that_restarts_while_we_are_idle_is_used_again(
    own_postgres: Server, own_postgres_url: str
):
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
        with pytest.raises(StoreUnreachableError, match=r"…@127\.0\.0\.1"):
            await sessions.append_event(session.id, "tool_call", "tool", "lost")
        with pytest.raises(StoreUnreachableError):
            await sessions.set_relevant_context(session.id, "files", ["/a"])
        await asyncio.to_thread(own_postgres.start)

        await sessions.append_event(session.id, "tool_call", "tool", "kept")
        assert await contents(sessions, session.id) == ["kept"]


async def test_a_row_that_another_transaction_locks_too_long_is_busy(
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
            await tx.run(
                QUERIES["lock_session"], OWNER.workspace_id, OWNER.developer_id, session.id
            )

        with pytest.raises(StoreBusyError):
            await database.transaction(work)
    await holder.close()


LIMITS = (
    "select current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')"
)


async def test_a_transaction_is_limited_in_what_it_may_wait_for(
    sessions: holdfast.SessionService, database: PostgresDatabase
):
    """A forgotten transaction ends by itself; nothing is left of the limits on a connection that
    others share.
    """
    session = await sessions.create_session("m", "u1")
    owner = (OWNER.workspace_id, OWNER.developer_id)
    event = ids.new_id()
    verbs = {
        "select from context.lock_session($1, $2, $3)": (*owner, session.id),
        "select from holdfast.act_for($1, $2)": owner,
        "select from context.append_event($1, $2, $3, null, $4, 't', 'r', 'x', null, '')": (
            *owner,
            session.id,
            event,
        ),
        (
            "select from context.append_events($1, $2, $3, '{}', '{}', '{}', '{}', '{}', '{}', "
            "'{}', '{}')"
        ): (
            *owner,
            session.id,
        ),
    }
    limits = []
    async with database.pool.acquire() as connection:
        for sql, args in verbs.items():
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(sql, *args)
            limits.append(tuple(await connection.fetchrow(LIMITS)))
            await transaction.rollback()
        assert tuple(await connection.fetchrow(LIMITS)) == ("0", "0")

    assert limits == [("10s", "30s"), ("10s", "0"), ("10s", "0"), ("10s", "0")]
    assert engine.STATEMENT_SECONDS > 10  # so that a lock is reported as a lock


@pytest.mark.parametrize(
    ("setting", "limits"),
    [
        ("lock_timeout", ("7s", "30s")),
        ("idle_in_transaction_session_timeout", ("10s", "7s")),
    ],
)
async def test_a_limit_that_the_administrator_has_set_stays(
    postgres_url: str, setting: str, limits: tuple[str, str]
):
    connection = await asyncpg.connect(postgres_url, server_settings={setting: "7s"})
    async with connection.transaction():
        await connection.execute("select context.lock_session('local', 'ana', gen_random_uuid())")
        assert tuple(await connection.fetchrow(LIMITS)) == limits
    await connection.close()


async def test_a_runaway_statement_is_given_up(
    sessions: holdfast.SessionService, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    """From here, because a pooler refuses statement_timeout at the start of a connection."""
    monkeypatch.setattr(engine, "STATEMENT_SECONDS", 0.05)
    async with holdfast.open_database(postgres_url) as database:
        with pytest.raises(StoreUnreachableError, match="did not answer in time"):
            await database._fetch("select pg_sleep(60)", ())


async def test_a_connection_starts_with_nothing_that_a_pooler_refuses(database: PostgresDatabase):
    """pgbouncer takes these by default, and ends the connection at any other."""
    async with database.pool.acquire() as connection:
        assert await connection.fetchval("show application_name") == "holdfast"
    assert set(engine.SERVER_SETTINGS) <= {
        "application_name",
        "client_encoding",
        "datestyle",
        "timezone",
    }


async def test_scrubbing_is_the_servers_own_business(database: PostgresDatabase):
    assert await database.scrub() is None


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (asyncpg.UndefinedFunctionError("x"), errors.SchemaMissingError),
        (asyncpg.InvalidSchemaNameError("x"), errors.SchemaMissingError),
        (asyncpg.InsufficientPrivilegeError("x"), errors.PermissionRefusedError),
        (asyncpg.LockNotAvailableError("x"), StoreBusyError),
        (asyncpg.QueryCanceledError("x"), StoreBusyError),
        (asyncpg.TooManyConnectionsError("x"), StoreBusyError),
        (asyncpg.DiskFullError("x"), StoreFullError),
        (asyncpg.ReadOnlySQLTransactionError("x"), StoreReadOnlyError),
        (asyncpg.DataCorruptedError("x"), errors.StoreDamagedError),
        (asyncpg.IndexCorruptedError("x"), errors.StoreDamagedError),
        (asyncpg.CannotConnectNowError("x"), StoreUnreachableError),
        (asyncpg.AdminShutdownError("x"), StoreUnreachableError),
        (asyncpg.DeadlockDetectedError("x"), StoreBusyError),
        (asyncpg.SerializationError("x"), StoreBusyError),
        (asyncpg.InvalidPasswordError("x"), errors.LoginRefusedError),
        (asyncpg.InvalidAuthorizationSpecificationError("x"), errors.LoginRefusedError),
        (asyncpg.InvalidCatalogNameError("x"), errors.LoginRefusedError),
        (asyncpg.InterfaceError("x"), StoreUnreachableError),
        (asyncpg.InterfaceError("pool is closed"), errors.PoolClosedError),
        (asyncpg.InterfaceError("pool is not initialized"), errors.PoolClosedError),
        (asyncpg.InvalidSQLStatementNameError("x"), InvalidValueError),
        (asyncpg.DuplicatePreparedStatementError("x"), InvalidValueError),
        (ConnectionRefusedError("x"), StoreUnreachableError),
        (TimeoutError(), StoreUnreachableError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
async def test_every_error_of_the_engine_has_our_own_words(
    theirs: Exception, ours: type[HoldfastError]
):
    with pytest.raises(ours) as raised:
        async with postgres_errors.translate_errors("The database"):
            raise theirs

    assert "The database" in raised.value.message
    assert raised.value.__cause__ is theirs


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (asyncpg.LockNotAvailableError("x"), "is locked by another writer for too long"),
        (asyncpg.QueryCanceledError("due to statement timeout"), "(due to statement timeout)"),
        (asyncpg.TooManyConnectionsError("too many clients"), "has no connection left"),
    ],
    ids=["locked", "canceled", "crowded"],
)
def test_a_busy_server_is_described_by_its_own_reason(theirs: Exception, words: str):
    ours = postgres_errors.translate(theirs, "The database")

    assert isinstance(ours, StoreBusyError)
    assert words in ours.message
    assert ("another writer" in ours.message) == (
        words == "is locked by another writer for too long"
    )


async def test_a_pool_that_was_never_awaited_is_named(postgres_url: str):
    sessions = holdfast.SessionService(asyncpg.create_pool(postgres_url), owner=OWNER)

    with pytest.raises(errors.PoolClosedError, match="that is not open yet"):
        await sessions.create_session("m", "u1")


async def test_an_error_that_is_not_from_the_engine_is_raised_unchanged():
    with pytest.raises(ZeroDivisionError):
        async with postgres_errors.translate_errors("The database"):
            raise ZeroDivisionError


@pytest.mark.parametrize(
    ("role", "weakness"),
    [
        (Role("r", True, True, True, True, True, 1, 1), "is a superuser"),
        (Role("r", False, True, True, True, True, 1, 1), "has BYPASSRLS"),
        (Role("r", False, False, True, True, True, 1, 1), "owns the tables"),
        (Role("r", False, False, True, False, True, 1, 1), "is a member of holdfast_reader"),
        (Role("r", False, False, True, False, False, 1, 1), None),
    ],
)
def test_a_role_is_as_safe_as_its_weakest_right(role: Role, weakness: str | None):
    assert role.weakness == weakness


# --- pools of the caller --------------------------------------------------------------------------


class PoolOfCaller:
    """As much of an `asyncpg.Pool` as is looked at before the first call."""

    closed = False

    def is_closing(self) -> bool:
        return self.closed


def test_an_open_pool_has_one_database_and_a_closed_one_is_not_remembered():
    pool, other = PoolOfCaller(), PoolOfCaller()
    database = engine.wrap_pool(pool)

    assert engine.wrap_pool(pool) is database
    assert engine.wrap_pool(other) is not database
    pool.closed = True
    again = engine.wrap_pool(pool)
    assert (again.pool, again is database) == (pool, False)


def test_a_pool_that_cannot_be_asked_whether_it_is_open_is_wrapped_anew():
    pool = object()

    assert engine.wrap_pool(pool).pool is pool
