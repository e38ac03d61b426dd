"""The measurements by name, in the order of the report. Each opens its contestants, lets them race,
and closes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from bench import cases
from bench.agents import Worked, measure_agents
from bench.cases import Entry, Run
from bench.contestants import BARE, EQUAL, OURS, engine_of, make
from bench.doors import append_lanes, page_lanes
from bench.exchange import ENGINES, exchange_lanes, tool_lanes
from bench.exchange_history import LARGE as LARGE_HISTORY
from bench.exchange_history import QUICK_LARGE as QUICK_LARGE_HISTORY
from bench.exchange_history import history_lanes
from bench.hooks import LONG_BYTES, QUICK_LONG_BYTES, hook_lanes
from bench.mcp_start import answer_lanes, memory_lanes
from bench.measure import Absent, Block, Effort, Lane, race
from bench.noise import Noise, measure_noise
from bench.place import Places
from bench.recall import Answered, measure_recall
from bench.scaling import LARGE, QUICK_LARGE, scaling_lanes
from bench.staleness import SIZES, staleness_lanes
from bench.startup import startup_lanes

Row = Lane | Absent | Answered | Noise | Worked


@dataclass(frozen=True)
class Case:
    """One thing to do, and how few and how many calls a turn may have. With `events` a session is
    loaded first; without `analysed` no statistics are ever made.
    """

    name: str
    build: Callable[[Entry], Run]
    fewest: int = 3
    most: int = 5_000
    events: int = 0
    analysed: bool = True


CREATE = Case("create", cases.create_run)
APPEND = Case("append", cases.append_run)
UPDATE_STATE = Case("update state", cases.update_state_run)
GET_STATE = Case("get state", cases.get_state_run)
ONE = Case("one event", cases.append_run)
TEN = Case("ten events in one call", cases.ten_run)
SEQUENTIAL = Case("sequential", partial(cases.tasks_run, tasks=1, sessions=1))
HOT_16 = Case("16 tasks, one session", partial(cases.tasks_run, tasks=16, sessions=1), fewest=16)
HOT_64 = Case("64 tasks, one session", partial(cases.tasks_run, tasks=64, sessions=1), fewest=64)
MANY_16 = Case("16 tasks, 16 sessions", partial(cases.tasks_run, tasks=16, sessions=16), fewest=16)
MANY_64 = Case("64 tasks, 64 sessions", partial(cases.tasks_run, tasks=64, sessions=64), fewest=64)
TASKS = (SEQUENTIAL, HOT_16, HOT_64, MANY_16, MANY_64)
PROCESSES = "8 processes, one session"
RECENT = {
    size: Case(f"of {size:,} events", cases.recent_run, events=size)
    for size in (100, 1_000, 10_000, 1_000_000)
}
# Few calls, so that the store without events stays almost without.
NEVER_ANALYSED = {
    size: Case(f"{size:,} events", cases.append_run, most=20, events=size, analysed=False)
    for size in (0, 20_000)
}
SIZE = "bytes per event"
SIZE_EVENTS = 500
START_UP = "start-up"


@dataclass
class Bench:
    """One run: who takes part, where, how long, and how progress is reported."""

    names: list[str]
    places: Places
    quick: bool
    say: Callable[[str], None]
    durability: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def effort(self, rounds: int, block_seconds: float) -> Effort:
        """A quick run gives an impression in seconds; its figures are not for quoting."""
        return (
            Effort(3, min(block_seconds, 0.04), 3.0)
            if self.quick
            else Effort(rounds, block_seconds)
        )

    async def run(
        self, wanted: Sequence[Case], effort: Effort, *, apart: bool = False
    ) -> list[Row]:
        """Every contestant, every case, in the same rounds; `apart` gives each case a store of its
        own.
        """
        groups = [[case] for case in wanted] if apart else [list(wanted)]
        async with AsyncExitStack() as stack:
            rows = [
                row
                for name in self.names
                for group in groups
                for row in await self.enter(stack, name, group)
            ]
            await race([row for row in rows if isinstance(row, Lane)], effort, self.say)
        return rows

    async def enter(self, stack: AsyncExitStack, name: str, wanted: Sequence[Case]) -> list[Row]:
        """Open a contestant for these cases; one store that does not open does not end the run."""
        try:
            entry = await stack.enter_async_context(self.opened(name))
            return [await self.row(entry, case) for case in wanted]
        except Exception as error:
            return self.explain_absence(name, [case.name for case in wanted], error)

    def explain_absence(self, name: str, wanted: Sequence[str], error: Exception) -> list[Row]:
        reason = f"{type(error).__name__}: {str(error)[:160]}"
        self.say(f"  {name} does not take part: {reason}")
        return [Absent(name, engine_of(name), case, reason) for case in wanted]

    @asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[Entry]:
        """A contestant on a store of its own, closed and removed afterwards."""
        place, contestant = self.places.new(engine_of(name)), make(name)
        await contestant.open(place)
        try:
            self.durability.setdefault(name, await contestant.durability())
            entry = Entry(name, contestant, place)
            yield entry
            if entry.session is not None:
                await contestant.release(entry.session)
        finally:
            await contestant.close()
            self.places.remove(place)

    async def row(self, entry: Entry, case: Case) -> Row:
        """A lane, or the reason why the library cannot do this."""
        engine, most = engine_of(entry.name), entry.contestant.most_events
        if reason := entry.contestant.lacks.get(case.name):
            return Absent(entry.name, engine, case.name, reason)
        if case.events > most:
            return Absent(
                entry.name,
                engine,
                case.name,
                f"not tried: it reads a session whole (largest tried {most:,})",
            )
        if not case.analysed:
            self.places.never_analyse(entry.place)
            await plan_on_empty_tables(entry)
        if case.events:
            await self.load(entry, case)
        return Lane(entry.name, engine, case.name, case.build(entry), case.fewest, case.most)

    async def load(self, entry: Entry, case: Case) -> None:
        """A session of that many events, alone in its store."""
        self.say(f"  {entry.name}: loading {case.events:,} events")
        entry.session = await entry.contestant.create()
        await entry.contestant.fill(entry.session, case.events)
        if case.analysed:
            self.places.settle(entry.place)
        found = len(await entry.contestant.recent(entry.session, 30))
        if found != 30:
            raise ValueError(f"{found} events came back where 30 were asked for")

    async def weigh(self, name: str, events: int) -> Row:
        """What the events add to a store that has one; the block has bytes in place of seconds."""

        async def run(calls: int) -> Block:
            added = await self.weigh_store(name, 1 + calls) - await self.weigh_store(name, 1)
            return Block(calls, added)

        try:
            return Lane(name, engine_of(name), SIZE, run, blocks={0: await run(events)})
        except Exception as error:
            return self.explain_absence(name, [SIZE], error)[0]

    async def weigh_store(self, name: str, events: int) -> int:
        """Bytes of a closed store with one session of that many events, appended one by one."""
        place, contestant = self.places.new(engine_of(name)), make(name)
        await contestant.open(place)
        try:
            async with cases.fresh_sessions(contestant) as [session]:
                for text in cases.fresh_texts(events):
                    await contestant.append(session, text)
        finally:
            await contestant.close()
        size = self.places.weigh(place)
        self.places.remove(place)
        return size


async def plan_on_empty_tables(entry: Entry) -> None:
    """A connection keeps the plans of its first calls, and later rows do not change them."""
    async with cases.fresh_sessions(entry.contestant) as [session]:
        for text in cases.fresh_texts(10):
            await entry.contestant.append(session, text)


async def create(bench: Bench) -> list[Row]:
    return await bench.run([CREATE], bench.effort(15, 0.1))


async def append(bench: Bench) -> list[Row]:
    return await bench.run([APPEND], bench.effort(25, 0.2))


async def never_analysed(bench: Bench) -> list[Row]:
    ours = [*BARE.values(), *EQUAL.values(), *OURS.values()]
    names = [name for name in bench.names if name in ours and engine_of(name) == "postgres"]
    postgres = replace(bench, names=names)
    return await postgres.run(list(NEVER_ANALYSED.values()), bench.effort(25, 0.1), apart=True)


async def ten(bench: Bench) -> list[Row]:
    return await bench.run([ONE, TEN], bench.effort(11, 0.15))


async def tasks(bench: Bench) -> list[Row]:
    return await bench.run(TASKS, bench.effort(9, 0.2))


async def processes(bench: Bench) -> list[Row]:
    build = partial(cases.processes_run, seconds=0.5 if bench.quick else 1.5)
    case = Case(PROCESSES, build, fewest=1, most=1)
    return await bench.run([case], Effort(1 if bench.quick else 5, 0))


async def recent(bench: Bench) -> list[Row]:
    wanted = [case for size, case in RECENT.items() if size <= 10_000 or not bench.quick]
    return await bench.run(wanted, bench.effort(15, 0.05), apart=True)


async def update_state(bench: Bench) -> list[Row]:
    return await bench.run([UPDATE_STATE], bench.effort(15, 0.1))


async def get_state(bench: Bench) -> list[Row]:
    return await bench.run([GET_STATE], bench.effort(15, 0.1))


async def size(bench: Bench) -> list[Row]:
    events = SIZE_EVENTS // 5 if bench.quick else SIZE_EVENTS
    return [await bench.weigh(name, events) for name in bench.names]


async def start_up(bench: Bench) -> list[Row]:
    lanes = startup_lanes(bench.places.folder)
    await race(lanes, Effort(3 if bench.quick else 9, 0), bench.say)
    return list(lanes)


async def hooks(bench: Bench) -> list[Row]:
    long_bytes = QUICK_LONG_BYTES if bench.quick else LONG_BYTES
    lanes = hook_lanes(bench.places.folder / "hooks", long_bytes)
    await race(lanes, Effort(3 if bench.quick else 15, 0), bench.say)
    return list(lanes)


async def mcp_start(bench: Bench) -> list[Row]:
    """Apart from the calls: a process that starts disturbs a call that is timed."""
    rows: list[Row] = []
    for lanes in (answer_lanes(bench.places.folder), memory_lanes(bench.places.folder)):
        await race(lanes, Effort(3 if bench.quick else 9, 0), bench.say)
        rows += lanes
    return rows


async def doors(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    folder = bench.places.folder
    for opened in (append_lanes(folder), page_lanes(folder)):
        async with opened as lanes:
            await race(lanes, bench.effort(15, 0.1), bench.say)
            rows += lanes
    return rows


async def scaling(bench: Bench) -> list[Row]:
    large = QUICK_LARGE if bench.quick else LARGE
    async with scaling_lanes(bench.places.folder, large) as lanes:
        await race(lanes, bench.effort(9, 0.05), bench.say)
    return list(lanes)


async def staleness(bench: Bench) -> list[Row]:
    sizes = SIZES[:2] if bench.quick else SIZES
    lanes = staleness_lanes(bench.places.folder, sizes)
    await race(lanes, bench.effort(15, 0.2), bench.say)
    return list(lanes)


async def exchange(bench: Bench) -> list[Row]:
    """An engine at a time; the tool apart, because its processes disturb a call that is timed."""
    places = bench.places
    opened = [exchange_lanes(places, engine) for engine in ENGINES]
    rows: list[Row] = []
    for lanes_of in (*opened, tool_lanes(places.folder)):
        async with lanes_of as lanes:
            await race(lanes, bench.effort(25, 0.2), bench.say)
            rows += lanes
    return rows


async def exchange_history(bench: Bench) -> list[Row]:
    large = QUICK_LARGE_HISTORY if bench.quick else LARGE_HISTORY
    rows: list[Row] = []
    for engine in ENGINES:
        bench.say(f"  {engine}: filling {large:,} rows")
        async with history_lanes(bench.places, engine, large) as lanes:
            await race(lanes, bench.effort(25, 0.1), bench.say)
            rows += lanes
    return rows


async def agents(bench: Bench) -> list[Row]:
    return list(await measure_agents(bench.places, quick=bench.quick))


async def recall(bench: Bench) -> list[Row]:
    return list(await measure_recall(bench.places))


async def noise(bench: Bench) -> list[Row]:
    folder = bench.places.folder / "noise"
    return list(await asyncio.to_thread(measure_noise, folder))


MEASUREMENTS = {
    "create": create,
    "append": append,
    "never-analysed": never_analysed,
    "ten": ten,
    "tasks": tasks,
    "processes": processes,
    "recent": recent,
    "update-state": update_state,
    "get-state": get_state,
    "size": size,
    "start-up": start_up,
    "hooks": hooks,
    "mcp-start": mcp_start,
    "doors": doors,
    "scaling": scaling,
    "exchange": exchange,
    "exchange-history": exchange_history,
    "agents": agents,
    "staleness": staleness,
    "recall": recall,
    "noise": noise,
}
