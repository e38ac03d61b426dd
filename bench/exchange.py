"""What a call of the team exchange costs: to publish, to get what teammates have published, and to
read the team's state.

Ours is the call as every door makes it: the texts are checked, the call is counted, and listeners
get an event. Beside it are a bare call on tables of its own, and a bare one that keeps the same
rows as ours. Publications go to a store of their own, so that the others always read the same team.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import holdfast
from bench.contestants import BARE, OURS
from bench.contestants.bare_exchange import BARE_EXCHANGES, BareExchange, Publication
from bench.contestants.holdfast import migrate
from bench.doors import EMPTY_TOOL, EMPTY_TOOL_SERVER, Doors, ask_tool, handshaken, time_calls
from bench.measure import Lane
from bench.place import Places
from bench.staleness import make_repository
from bench.startup import installed_command
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.team.model import Basis
from holdfast.usecases import exchange

ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
PUBLISH, GET, STATE = "`publish_context`", "`get_context`", "`covibe_team state`"
TOOL, TOOL_CASE = "MCP tool `covibe_session publish_context`", "publish through a door"
# As it was reported; how we measured it is in notes.md.
PEER, PEER_SECONDS = "mcp-agent-mail's `send_message`", 0.098

TEAM = [f"dev-{number}" for number in range(10)]
BRANCHES = ("main", "refunds", "ledger")
REPO = "acme/payouts"
FIELDS: dict[str, Any] = {
    "title": "Refunds go through the ledger",
    "summary": "A refund is a ledger entry of its own now. The old table is only read. "
    "What is left: the export, and the retry after a timeout of the bank.",
    "files_touched": [f"src/payouts/part{number}.py" for number in range(5)],
    "next_actions": ["Write the export", "Ask who owns the retry"],
    "blockers": ["The bank's sandbox is down"],
    "task_ids": ["PAY-231"],
}
BASIS = Basis(head="0" * 40, files=dict.fromkeys(FIELDS["files_touched"], f"{1:040x}"))

Call = Callable[[str], Awaitable[object]]


def case_of(engine: str, verb: str) -> str:
    return f"{ENGINES[engine]}: {verb}"


def name_counted(engine: str) -> str:
    return f"{BARE[engine]}, counted"


@asynccontextmanager
async def exchange_lanes(places: Places, engine: str) -> AsyncIterator[list[Lane]]:
    """Three calls, each bare, bare and counted, and ours."""
    async with (
        open_bare(places, engine) as bare_writer,
        open_bare(places, engine) as bare_reader,
        open_ours(places, engine) as writer,
        open_ours(places, engine) as reader,
    ):
        for developer in TEAM:
            await fill_bare(bare_reader, developer)
            await fill_ours(reader, developer)
        await bare_writer.enter(TEAM[0])
        await check_same_team(bare_reader, scope_of(reader, TEAM[0]))
        calls = {
            PUBLISH: publish_calls(bare_writer, scope_of(writer, TEAM[0])),
            GET: get_calls(bare_reader, scope_of(reader, TEAM[0])),
            STATE: state_calls(bare_reader, scope_of(reader, TEAM[0])),
        }
        names = (BARE[engine], name_counted(engine), OURS[engine])
        yield [
            Lane(name, engine, case_of(engine, verb), time_calls(call))
            for verb, three in calls.items()
            for name, call in zip(names, three, strict=True)
        ]


@asynccontextmanager
async def open_bare(places: Places, engine: str) -> AsyncIterator[BareExchange]:
    place, bare = places.new(engine), BARE_EXCHANGES[engine]()
    await bare.open(place)
    try:
        yield bare
    finally:
        await bare.close()
        places.remove(place)


@asynccontextmanager
async def open_ours(places: Places, engine: str) -> AsyncIterator[Any]:
    """As the runtime role under row-level security, where the engine has it."""
    place = places.new(engine)
    if place.dsn:
        await migrate(place)
    try:
        async with holdfast.open_database(place.app_dsn or f"sqlite:///{place.path}") as database:
            yield database
    finally:
        places.remove(place)


def scope_of(database: Any, handle: str) -> Scope:
    return Scope(database, owner_of("local", handle))


def as_texts(branch: str) -> Publication:
    lists = ("files_touched", "next_actions", "blockers", "task_ids")
    texts = [json.dumps(FIELDS[name]) for name in lists]
    basis = json.dumps(BASIS.to_dict())
    return (REPO, branch, FIELDS["title"], FIELDS["summary"], *texts, basis)


async def publish(scope: Scope, branch: str) -> None:
    """What a door gives: the agent's fields, and what code has seen."""
    seen = {"repo": REPO, "branch": branch}
    await exchange.publish_context(scope, FIELDS, basis=BASIS, seen=seen)


async def fill_bare(bare: BareExchange, developer: str) -> None:
    await bare.enter(developer)
    for number in range(5):
        await bare.publish(developer, as_texts(BRANCHES[number % len(BRANCHES)]), counted=True)


async def fill_ours(database: Any, developer: str) -> None:
    """A context on each branch, a claim and an offer of it; events enough for a full list."""
    scope = scope_of(database, developer)
    for number in range(5):
        await publish(scope, BRANCHES[number % len(BRANCHES)])
    claim = await exchange.claim(scope, {"paths": ["a.py"], "reason": "r"})
    await exchange.handoff(scope, {"claim_id": claim.result.id})


async def check_same_team(bare: BareExchange, scope: Scope) -> None:
    theirs = [len(rows) for rows in await bare.read_state(scope.owner.handle, counted=False)]
    state = await exchange.get_state_again(scope)
    lists = (state.published_contexts, state.developers, state.claims, state.handoffs)
    ours = [len(rows) for rows in (*lists, state.work_events)]
    if ours != theirs:
        raise ValueError(f"{ours} rows are seen where the bare call sees {theirs}")


def publish_calls(bare: BareExchange, scope: Scope) -> tuple[Call, Call, Call]:
    """On one branch again and again, as an agent does at its milestones."""
    texts, who = as_texts("main"), scope.owner.handle
    return (
        lambda _: bare.publish(who, texts, counted=False),
        lambda _: bare.publish(who, texts, counted=True),
        lambda _: publish(scope, "main"),
    )


def get_calls(bare: BareExchange, scope: Scope) -> tuple[Call, Call, Call]:
    who = scope.owner.handle
    return (
        lambda _: bare.list_contexts(who, counted=False),
        lambda _: bare.list_contexts(who, counted=True),
        lambda _: exchange.get_contexts(scope),
    )


def state_calls(bare: BareExchange, scope: Scope) -> tuple[Call, Call, Call]:
    who = scope.owner.handle
    return (
        lambda _: bare.read_state(who, counted=False),
        lambda _: bare.read_state(who, counted=True),
        lambda _: exchange.get_state(scope),
    )


@asynccontextmanager
async def tool_lanes(folder: Path) -> AsyncIterator[list[Lane]]:
    """A real `holdfast mcp` in a repository, so that the basis of each context is read from it."""
    doors = Doors(folder)
    root = make_repository(folder / "repository", 100, 0)
    paths = [str(path.relative_to(root)) for path in sorted(root.rglob("*.py"))[:5]]
    given = FIELDS | {"operation": "publish_context", "files_touched": paths}
    empty = [sys.executable, "-c", EMPTY_TOOL_SERVER]
    ours = [*installed_command(), "mcp"]
    with ExitStack() as opened:
        idle = opened.enter_context(handshaken(empty, doors.environment("exchange-empty")))
        environment = doors.environment("exchange")
        agent = opened.enter_context(handshaken(ours, environment, root))

        async def by_empty_tool(_: str) -> None:
            ask_tool(idle, "session", given)

        async def by_tool(_: str) -> None:
            ask_tool(agent, "covibe_session", given)

        calls = {EMPTY_TOOL: by_empty_tool, TOOL: by_tool}
        yield [
            Lane(name, "door", TOOL_CASE, time_calls(call), most=200)
            for name, call in calls.items()
        ]
