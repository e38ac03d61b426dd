"""What a call of the exchange costs is what its caller sees, and not what was there once.

SQLite counts steps of its machine, PostgreSQL the pages that it touches: neither depends on how
busy the machine is. The tables of PostgreSQL were never analysed, as in a store that has just been
filled.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import apsw
import asyncpg
import pytest

import holdfast
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.storage import postgres, sqlite
from holdfast.usecases import exchange
from holdfast.usecases.events import Events
from tests.rig.old_exchange import KINDS, WORKSPACE, fill_postgres, fill_sqlite, make_history
from tests.rig.postgres import Cluster

pytestmark = pytest.mark.own_database

SHORT = 1_000
MANY = 100  # developers who share a long history
NEWEST = 100  # events of one answer, at most
STEPS = 10  # of SQLite's machine, that count as one
MOST = 1.5  # times the cost beside a short history
DEEPER = 40  # for trees that have grown by a level

Scale = Callable[[int], int]
Work = Callable[[], Awaitable[object]]


# --- what is counted ----------------------------------------------------------------------------


class Counting:
    """The work of the store that it is asked for, in steps or in pages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.steps = 0
        self.calls: list[tuple[str, tuple[object, ...]]] = []
        really_connect, really_fetch = sqlite.connect, postgres._fetch

        def connect(*args: Any) -> apsw.Connection:
            connection = really_connect(*args)
            connection.set_progress_handler(self._step, STEPS)
            return connection

        async def fetch(connection: Any, sql: str, args: Sequence[object]) -> Any:
            self.calls.append((sql, tuple(args)))
            return await really_fetch(connection, sql, args)

        monkeypatch.setattr(sqlite, "connect", connect)
        monkeypatch.setattr(postgres, "_fetch", fetch)

    def _step(self) -> bool:
        self.steps += 1
        return False

    async def measure(self, work: Work, url: str) -> int:
        """Of a second call: the first one also opens what is opened once."""
        await work()
        self.steps, self.calls = 0, []
        await work()
        if url.startswith("sqlite"):
            return self.steps
        connection = await asyncpg.connect(url)
        try:
            return sum([await _count_pages(connection, *call) for call in self.calls])
        finally:
            await connection.close()


async def _count_pages(connection: Any, sql: str, args: Sequence[object]) -> int:
    """What it changes is rolled back; its second run does not read the catalogue any more."""
    pages = 0
    for _ in range(2):
        transaction = connection.transaction()
        await transaction.start()
        text = await connection.fetchval(f"explain (analyze, buffers, format json) {sql}", *args)
        await transaction.rollback()
        plan = json.loads(text)[0]["Plan"]
        pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return int(pages)


# --- the calls ----------------------------------------------------------------------------------


class Exchange:
    """The store of a small team: what dev-a sees is the same whatever is added to its history."""

    def __init__(self, request: pytest.FixtureRequest, url: str, database: Any, counting: Counting):
        self.request, self.url = request, url
        self.database, self.counting = database, counting

    def scope(self, handle: str) -> Scope:
        return Scope(self.database, owner_of(WORKSPACE, handle))

    async def begin(self) -> None:
        self.cursor = await Events(self.scope("dev-a")).end()
        for handle in ("dev-b", "dev-a"):
            scope = self.scope(handle)
            fields = {"title": "t", "summary": "s", "repo": "r", "branch": "main"}
            await exchange.publish_context(scope, fields)
            claim = await exchange.claim(scope, {"paths": ["a.py"], "reason": "x"})
            await exchange.handoff(scope, {"claim_id": claim.result.id})
            for _ in range(NEWEST):  # as many as an answer has, so that it does not grow
                await self.publish(handle, "main")

    async def add_history(self, count: int, developers: Sequence[str]) -> None:
        for table, rows in make_history(count, developers):
            if self.url.startswith("sqlite"):
                fill_sqlite(self.database.path, table, rows)
            else:
                cluster: Cluster = self.request.getfixturevalue("postgres")
                name: str = self.request.getfixturevalue("postgres_database")
                await fill_postgres(cluster.dsn(name), table, rows)

    async def measure(self) -> dict[str, int]:
        """Everything that an agent, a hook, a screen or a stream asks for."""
        scope = self.scope("dev-a")
        events = Events(scope)
        works: dict[str, Work] = {
            "state": lambda: exchange.get_state(scope),
            "all contexts": lambda: exchange.get_contexts(scope),
            "contexts of one": lambda: exchange.get_contexts(scope, "dev-b"),
            "reservations": scope.team.list_claims,
            "reservations of a repository": lambda: scope.team.list_claims_near("r"),
            "one's own reservations": scope.team.store.list_own_reservations,
            "who published": scope.team.store.list_publishers,
            "handoffs": lambda: scope.team.store.list_handoffs(200),
            "newest events": lambda: scope.team.store.list_newest_events(50),
            "the end of a stream": events.end,
            "what a stream reads": lambda: events.read(self.cursor),
            "whether it is used": scope.team.is_used,
            "publish": lambda: self.publish("dev-a", "main"),
            "publish and revoke": self.publish_and_revoke,
            "claim and release": self.claim_and_release,
        }
        return {name: await self.counting.measure(work, self.url) for name, work in works.items()}

    async def publish(self, handle: str, branch: str) -> str:
        fields = {"title": "t", "summary": "s", "repo": "r", "branch": branch}
        done = await exchange.publish_context(self.scope(handle), fields)
        return done.result.id

    async def publish_and_revoke(self) -> None:
        await exchange.revoke_context(self.scope("dev-a"), await self.publish("dev-a", "other"))

    async def claim_and_release(self) -> None:
        scope = self.scope("dev-a")
        claim = await exchange.claim(scope, {"paths": ["b.py"], "reason": "x"})
        await exchange.release(scope, claim.result.id)


@pytest.fixture
async def team(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Exchange]:
    counting = Counting(request.getfixturevalue("monkeypatch"))
    async with holdfast.open_database(database_url) as database:
        team = Exchange(request, database_url, database, counting)
        await team.begin()
        yield team


HISTORIES: dict[str, tuple[str, ...]] = {
    "of the caller": ("dev-a",),
    "of another": ("dev-b",),
    "of many": tuple(f"dev-{number}" for number in range(MANY)),
    "of a private developer": ("dev-p",),
}


@pytest.mark.parametrize("whose", HISTORIES)
async def test_a_call_costs_the_same_beside_a_million_old_rows(
    team: Exchange, scale: Scale, whose: str
):
    """1,000,000 old rows against 1,000: superseded, revoked and expired contexts, released and
    expired reservations, handoffs and sessions that ended, events and calls.
    """
    scopes = [team.scope(handle) for handle in HISTORIES[whose]]
    for scope in scopes:
        await scope.team.enter()
    developers = [scope.owner.developer_id for scope in scopes]
    await team.add_history(SHORT // KINDS, developers)
    if "private" in whose:
        await exchange.set_visibility(scopes[0], "private")
    before = await team.measure()

    await team.add_history(scale(1_000_000) // KINDS, developers)

    after = await team.measure()
    grown = {
        name: (before[name], after[name])
        for name in before
        if after[name] > MOST * before[name] + DEEPER
    }
    assert grown == {}
