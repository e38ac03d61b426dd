"""A server that another one takes over from, and standbys that do not confirm."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

import holdfast
from holdfast.errors import StoreUnreachableError
from holdfast.ground.ids import new_id
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.storage import postgres as engine
from holdfast.storage import postgres_hosts
from holdfast.storage.postgres_hosts import split_hosts
from holdfast.usecases import exchange
from tests.rig.postgres import Server, execute, pick_port

pytestmark = pytest.mark.own_database

OWNER = Owner("local", "ana")
CALLERS = 4


@pytest.fixture
def silent_host() -> Iterator[str]:
    """A server that is cut off: connections to it are never answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def add_host(url: str, host: str, *, is_first: bool) -> str:
    login, _, rest = url.rpartition("@")
    server, slash, database = rest.partition("/")
    hosts = [server, host]
    if is_first:
        hosts.reverse()
    return f"{login}@{','.join(hosts)}{slash}{database}"


@pytest.fixture
def urls(own_postgres_url: str) -> str:
    """The server, and one beside it that is down."""
    return add_host(own_postgres_url, f"127.0.0.1:{pick_port()}", is_first=True)


@pytest.fixture
async def database(urls: str) -> AsyncIterator[Any]:
    async with holdfast.open_database(urls) as opened:
        yield opened


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://u:p@h:1/d", ["postgresql://u:p@h:1/d"]),
        (
            "postgresql://u:p@h:1,[::1]:2/d",
            [
                "postgresql://u:p@h:1/d?target_session_attrs=read-write",
                "postgresql://u:p@[::1]:2/d?target_session_attrs=read-write",
            ],
        ),
        (
            "postgres://h,i/d?sslmode=require",
            [
                "postgres://h/d?sslmode=require&target_session_attrs=read-write",
                "postgres://i/d?sslmode=require&target_session_attrs=read-write",
            ],
        ),
        (
            "postgresql://u@h,i/d?target_session_attrs=any",
            [
                "postgresql://u@h/d?target_session_attrs=any",
                "postgresql://u@i/d?target_session_attrs=any",
            ],
        ),
        (
            "postgresql://u:a,b@h,i",
            [
                "postgresql://u:a,b@h/?target_session_attrs=read-write",
                "postgresql://u:a,b@i/?target_session_attrs=read-write",
            ],
        ),
    ],
)
def test_a_url_with_several_hosts_is_one_for_each(url: str, found: list[str]):
    """Of several, one that takes writes; a password may contain what separates them."""
    assert split_hosts(url) == found


async def test_a_server_that_is_cut_off_leaves_time_for_the_next_one(
    silent_host: str, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 4.0)
    url = add_host(own_postgres_url, silent_host, is_first=True)

    async with holdfast.open_database(url) as database:
        session = await holdfast.SessionService(database, owner=OWNER).create_session("m", "u1")
        assert session.id


async def test_the_server_that_answered_is_asked_first_the_next_time(
    silent_host: str, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    url = add_host(own_postgres_url, silent_host, is_first=True)
    hosts = postgres_hosts.Hosts(url)
    first = await hosts.connect(url, timeout=4.0)
    asked: list[tuple[str, float]] = []
    really_connect = postgres_hosts.asyncpg.connect

    async def connect(url: str, **options: Any) -> Any:
        asked.append((url, options["timeout"]))
        return await really_connect(url, **options)

    monkeypatch.setattr(postgres_hosts.asyncpg, "connect", connect)
    second = await hosts.connect(url, timeout=4.0)
    for connection in (first, second):
        await connection.close()

    [(asked_url, seconds)] = asked
    assert silent_host not in asked_url
    assert seconds == 2.0, "its share of the time"


async def test_calls_wait_for_a_server_that_takes_over(own_postgres: Server, database: Any):
    """Every kind of call, several at once, while no server answers: each is done, and once."""
    sessions = holdfast.SessionService(database, owner=OWNER)
    team = Scope(database, Owner("local", "bo"))
    session = await sessions.create_session("m", "u1")
    await asyncio.to_thread(own_postgres.stop, immediate=True)

    calls: list[Awaitable[Any]] = []
    for number in range(CALLERS):
        fields = {"title": str(number), "summary": "s", "branch": str(number)}
        calls += [
            sessions.append_event(session.id, "tool_call", "tool", str(number)),
            sessions.update_state(session.id, {str(number): number}),
            sessions.get_session(session.id),
            sessions.set_relevant_context(session.id, "files", [f"/{number}"], mode="merge"),
            exchange.publish_context(team, fields, f"key-{number}"),
        ]
    waiting = asyncio.gather(*calls)
    await asyncio.to_thread(own_postgres.start)
    await waiting

    events = [event.content async for event in sessions.read_events(session.id)]
    assert sorted(events) == [str(number) for number in range(CALLERS)]
    assert len((await sessions.get_state(session.id)).scratchpad) == CALLERS
    assert len(await sessions.get_relevant_context(session.id, "files")) == 1
    assert len(await team.team.list_own_contexts()) == CALLERS


async def test_a_server_that_takes_no_writes_any_more_is_left(own_postgres: Server, database: Any):
    """As one that became a standby behind an open connection: nothing was done there."""
    sessions = holdfast.SessionService(database, owner=OWNER)
    session = await sessions.create_session("m", "u1")
    set_for_all(own_postgres, "default_transaction_read_only", "on")

    async def work(tx: Any) -> None:
        await tx._connection.execute("select holdfast.act_for('local', 'ana')")
        await tx._connection.execute("update context.sessions set active_at = active_at")

    calls = asyncio.gather(
        sessions.append_event(session.id, "tool_call", "tool", "moved"),
        sessions.update_state(session.id, {"a": 1}),
        database.transaction(work),
    )
    done, _ = await asyncio.wait({calls}, timeout=1.0)
    assert not done
    set_for_all(own_postgres, "default_transaction_read_only", "off")
    await calls

    assert [event.content async for event in sessions.read_events(session.id)] == ["moved"]


def set_for_all(server: Server, name: str, value: str) -> None:
    """For open connections too."""
    execute(
        server.dsn(),
        "set session characteristics as transaction read write",
        f"alter system set {name} = '{value}'",
        "select pg_reload_conf()",
    )


async def test_a_call_with_less_time_does_not_wait_for_a_server_that_takes_over(
    own_postgres: Server, urls: str
):
    async with holdfast.open_database(urls, patience_seconds=0.5) as database:
        sessions = holdfast.SessionService(database, owner=OWNER)
        session = await sessions.create_session("m", "u1")
        await asyncio.to_thread(own_postgres.stop)

        with pytest.raises(StoreUnreachableError, match="cannot be reached"):
            await sessions.append_event(session.id, "tool_call", "tool", "lost")


# --- standbys that do not confirm -----------------------------------------------------------------


async def end_by_timeout(server: Server) -> None:
    """Nothing more than that the caller has given up."""


async def end_by_administrator(server: Server) -> None:
    """The wait for the standby ends, and what was written is visible, on this server only."""
    execute(
        server.dsn(),
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
    )


@pytest.mark.parametrize("end", [end_by_timeout, end_by_administrator])
async def test_what_no_standby_has_confirmed_is_not_acknowledged_to_a_repeated_request(
    end: Callable[[Server], Awaitable[None]],
    own_postgres: Server,
    own_postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    """Another server may take over that does not have it."""
    async with holdfast.open_database(own_postgres_url) as database:
        sessions = holdfast.SessionService(database, owner=OWNER)
        scope = Scope(database, OWNER)
        session = await sessions.create_session("m", "u1")
        set_for_all(own_postgres, "synchronous_standby_names", "nobody")
        await asyncio.to_thread(own_postgres.restart)  # a reload takes effect at some time
        monkeypatch.setattr(engine, "STATEMENT_SECONDS", 1.0)
        event_id = new_id()
        fields = {"title": "t", "summary": "s"}

        async def append() -> Any:
            return await sessions.append_event(
                session.id, "tool_call", "tool", "x", event_id=event_id
            )

        async def publish() -> Any:
            return await exchange.publish_context(scope, fields, "one-key")

        for attempt in (append, publish):
            for _ in range(2):
                with pytest.raises(StoreUnreachableError):
                    await attempt()
                await end(own_postgres)

        set_for_all(own_postgres, "synchronous_standby_names", "")
        monkeypatch.undo()
        await append()
        await publish()
        assert len([event async for event in sessions.read_events(session.id)]) == 1
        assert len(await scope.team.list_own_contexts()) == 1
