"""TS2: a shared pool of connections never carries one person's settings to the next.

Two workspaces, one of them with two developers, two connections, many tasks at once. A tenth of
the requests fails half-way and a tenth is cancelled wherever it happens to be. The pool does no
cleaning of its own here: whatever a request left behind would be seen, and each connection is
looked at when it comes back.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.ground.settings import Owner
from holdfast.sessions.store import QUERIES
from holdfast.storage.outbox import Outbox
from holdfast.storage.postgres import PostgresDatabase, split_options
from holdfast.team.service import TeamService
from tests.rig.pooler import CONNECTIONS, count_connections, pooled
from tests.rig.postgres import APP, Cluster

pytestmark = pytest.mark.own_database

TASKS = 64
OWNERS = (Owner("north", "ana"), Owner("south", "bo"), Owner("north", "cy"))
UNKNOWN = "01980000-0000-7000-8000-000000000000"


class Person:
    """One of the three, with a session, and every answer."""

    def __init__(self, database: Any, owner: Owner):
        self.owner, self.database = owner, database
        self.mark = f"{owner.workspace_id}.{owner.developer_id}"
        self.service = holdfast.SessionService(database, owner=owner)
        self.outbox = Outbox(database, owner)
        self.session_id = ""
        self.team = TeamService(database, owner=owner)
        self.foreign: list[object] = []

    async def start(self) -> None:
        self.session_id = (await self.service.create_session(self.mark, self.owner.developer_id)).id
        await self.team.set_visibility("private")

    def check(self, *marks: str) -> None:
        """Everything of this person says so; whatever does not belongs to another."""
        self.foreign += [
            mark for mark in marks if not mark.startswith((self.mark, self.session_id))
        ]

    async def append(self) -> None:
        event = await self.service.append_event(
            self.session_id, "user_message", "user", f"{self.mark} speaks"
        )
        self.check(event.content, event.session_id)

    async def read(self) -> None:
        events = await self.service.get_recent_events(self.session_id, 5)
        self.check(*(event.content for event in events), *(event.session_id for event in events))

    async def list(self) -> None:
        self.check(*(session.chatmode for session in await self.service.list_sessions()))

    async def update(self) -> None:
        state = await self.service.update_state(self.session_id, {"mine": self.mark})
        self.check(state.session_id, *state.scratchpad.values())

    async def change(self) -> None:
        change = await self.service.set_relevant_context(
            self.session_id, "files", [f"{self.mark}/a.py"]
        )
        self.check(*change.items)

    async def publish(self) -> None:
        """As a private developer, so whatever another's call returns of it is a leak."""
        owner = self.owner
        published = await self.team.publish_context(title=str(owner.developer_id), summary="s")
        self.check_team(published.developer.id, published.title)

    async def look_at_the_team(self) -> None:
        state = await self.team.get_state()
        self.check_team(state.me.id, *(each.id for each in state.developers))
        self.check_team(*(each.developer.id for each in state.published_contexts))
        self.check_team(*(each.developer.id for each in state.work_events))

    def check_team(self, *developers: str) -> None:
        self.foreign += [each for each in developers if each != self.owner.developer_id]

    async def listen(self) -> None:
        self.check(*(event.data["session_id"] for event in await self.outbox.read(limit=20)))

    async def fail_in_a_verb(self) -> None:
        await self.service.append_event(UNKNOWN, "user_message", "user", "nobody")

    async def fail_in_a_transaction(self) -> None:
        async def work(tx: Any) -> None:
            rows = await tx.run(
                QUERIES["lock_session"],
                self.owner.workspace_id,
                self.owner.developer_id,
                self.session_id,
            )
            self.check(*(row[0] for row in rows))
            raise ZeroDivisionError

        await self.database.transaction(work)

    async def fail_in_the_engine(self) -> None:
        arguments = (
            self.owner.workspace_id,
            self.owner.developer_id,
            self.session_id,
            "[]",
            None,
            None,
        )
        await self.database.write(QUERIES["save_metadata"], *arguments)


async def run_one(person: Person, dice: random.Random) -> str:
    """One request, and how it ended."""
    works: list[Callable[[], Awaitable[None]]] = [
        person.append,
        person.read,
        person.list,
        person.update,
        person.change,
        person.listen,
        person.publish,
        person.look_at_the_team,
    ]
    failures = [person.fail_in_a_verb, person.fail_in_a_transaction, person.fail_in_the_engine]
    fate = dice.random()
    task = asyncio.ensure_future(dice.choice(failures if fate < 0.1 else works)())
    if fate > 0.9:
        for _ in range(dice.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()
    try:
        await task
    except (HoldfastError, ZeroDivisionError, asyncpg.CheckViolationError):
        return "failed"
    except asyncio.CancelledError:
        return "cancelled"
    return "done"


async def test_a_shared_pool_never_shows_one_workspace_to_another(
    postgres_url: str, scale: Callable[[int], int]
):
    """0 foreign rows, 0 connections that come back with a setting, whatever went
    wrong on the way.
    """
    await share_a_pool(postgres_url, scale(20_000), 2)


async def test_a_pooler_in_transaction_mode_never_shows_one_workspace_to_another(
    postgres: Cluster,
    postgres_database: str,
    postgres_url: str,
    scale: Callable[[int], int],
):
    """The same where pgbouncer gives each transaction whichever connection is free."""
    with pooled(postgres_url) as url:
        await share_a_pool(url, scale(20_000), 16)
        used = count_connections(postgres.dsn(postgres_database), APP)

    assert 0 < used <= CONNECTIONS


async def share_a_pool(url: str, requests: int, size: int) -> None:
    returned: list[tuple[str | None, ...]] = []

    async def look(connection: Any) -> None:
        row = await connection.fetchrow(
            "select current_setting('holdfast.workspace', true), "
            "current_setting('holdfast.developer', true)"
        )
        returned.append(tuple(row))

    server_url, options = split_options(url)
    async with asyncpg.create_pool(
        server_url, min_size=size, max_size=size, reset=look, **options
    ) as pool:
        database = PostgresDatabase(pool)
        people = [Person(database, owner) for owner in OWNERS]
        for person in people:
            await person.start()
        outcomes: list[str] = []

        async def serve(number: int) -> None:
            dice = random.Random(number)
            for _ in range(number, requests, TASKS):
                outcomes.append(await run_one(dice.choice(people), dice))

        await asyncio.gather(*map(serve, range(TASKS)))
        await database.close()
        accounts = [await person.service.store.count_events(9, requests) for person in people]

    assert len(outcomes) == requests
    assert requests < 1000 or {"done", "failed", "cancelled"} == set(outcomes)
    assert [person.foreign for person in people] == [[], [], []]
    assert len(returned) > requests / 2
    assert {value for row in returned for value in row} <= {None, ""}
    for numbered, stored, sessions, _ in accounts:
        assert (stored, sessions) == (numbered, 1)
