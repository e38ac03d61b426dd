"""How long each of fifty agents waits when all of them work with one server, and when it tells them
what the others do.

Real `holdfast serve` on PostgreSQL, called over HTTP by connections that stay open, each agent with
a token and a stream of events of its own: one process, and two behind nginx with the file of
`deploy/`, TLS included. The load and what it checks are those of the tests; a run that lost
anything or met an error is not measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.contestants.holdfast import migrate
from bench.doors import Doors, started
from bench.measure import percentile
from bench.place import Place, Places
from bench.startup import installed_command
from holdfast.ground.settings import load_settings
from tests.rig.load import AGENTS, WEIGHTS, Member, Seen, add_members, run_agents
from tests.rig.postgres import pick_port
from tests.rig.proxies import NAME, RunningProxy, run_proxy

TITLE = "Fifty agents at once"
ONE, TWO = "one process", "two processes behind nginx"
ARRIVAL = "from the acknowledgement of a publication to a stream"
COLUMNS = ("call", "calls", "p50 ms", "p95 ms", "p99 ms")
PORT = 0  # of a single process: it has no proxy


@dataclass(frozen=True)
class Pace:
    """Calls of each agent, and how long it pauses before each, on the average."""

    name: str
    calls: int
    pause_seconds: float


PACES = (
    Pace("each agent calls every two seconds", 30, 2.0),
    Pace("each agent calls without a pause", 20, 0.0),
)


@dataclass(frozen=True)
class Worked:
    """What one run of all agents gave."""

    contestant: str
    case: str
    seen: Seen


async def measure_agents(places: Places, *, quick: bool) -> list[Worked]:
    rows = []
    for pace in PACES:
        for name, processes in ((ONE, 1), (TWO, 2)):
            calls = 4 if quick else pace.calls
            seen = await work(places, processes, calls, pace.pause_seconds)
            rows.append(Worked(name, pace.name, seen))
    return rows


async def work(places: Places, processes: int, calls: int, pause_seconds: float) -> Seen:
    place = places.new("postgres")
    await migrate(place)
    folder = places.folder / f"agents-{urlsplit(place.dsn).path[1:]}"
    try:
        async with serving(folder, place, processes) as (url, members, proxy):
            context = proxy.make_context() if proxy else None
            options = {"pause_seconds": pause_seconds, "is_warm": True, "context": context}
            seen = await run_agents(url, members, calls, **options)
    finally:
        places.remove(place)
    refuse_damage(seen)
    return seen


@asynccontextmanager
async def serving(
    folder: Path, place: Place, processes: int
) -> AsyncIterator[tuple[str, list[Member], RunningProxy | None]]:
    """The address of so many processes, and the agents that it knows."""
    port = pick_port()
    async with AsyncExitStack() as stack:
        urls = []
        for number in range(processes):
            environment = Doors(folder).environment(f"{number}")
            environment |= {
                "HOLDFAST_DATABASE": place.app_dsn,
                "HOLDFAST_SERVER_NAMES": f"{NAME}:{port}",
            }
            argv = [*installed_command(), "serve", "--port", "0", "--json"]
            urls.append((await stack.enter_async_context(started(argv, environment)))["url"])
        members = await asyncio.to_thread(add_members, load_settings(environment))
        if processes == 1:
            yield urls[0], members, None
        else:
            ports = [urlsplit(url).port or PORT for url in urls]
            proxy = stack.enter_context(run_proxy("nginx", port, ports))
            yield proxy.url, members, proxy


def refuse_damage(seen: Seen) -> None:
    harm = (seen.errors.total(), seen.lost, seen.doubled, seen.overheard)
    if any(harm) or set(seen.active) != {1}:
        raise ValueError(f"errors, lost, doubled, overheard: {harm}; {seen.errors}; {seen.active}")


def describe(row: Worked) -> list[tuple[str, ...]]:
    """A line for each kind of call, and one for the events."""
    seen = row.seen
    lines = [(f"`{kind}`" if " " not in kind else kind, seen.calls[kind]) for kind in WEIGHTS]
    return [describe_times(name, times) for name, times in [*lines, (ARRIVAL, seen.arrivals)]]


def describe_times(name: str, times: list[float]) -> tuple[str, ...]:
    found = (percentile(times, percent) * 1e3 for percent in (50, 95, 99))
    return (name, f"{len(times):,}", *(f"{value:,.0f}" for value in found))


def sum_up(row: Worked) -> str:
    seen = row.seen
    rate, published = seen.done / seen.seconds, len(seen.acknowledged)
    work = f"{rate:.0f} calls/s for {seen.seconds:.0f} s; {published:,} publications"
    harm = "0 errors, 0 lost, 0 doubled"
    arrivals = f"{len(seen.arrivals):,} arrivals at streams"
    return f"{row.contestant.capitalize()}: {work}, {arrivals}, {harm}.\n"


REMARK = f"""
{AGENTS} agents of 45 developers, five of them private, each with a token, a connection and a stream of events of its own;
three of ten calls publish, three fetch all contexts of the team, two read its state, two do the same as a fetch through
MCP. An event that comes before its acknowledgement counts as 0 ms. The agents share the cores with the servers and with
PostgreSQL, so without a pause a time is mostly that of waiting for a turn. Afterwards everything acknowledged is looked
for, once in the store and once on each stream that may have it; a run in which anything is missing, double or refused has
no figures.
"""  # noqa: E501 - the lines of the page
