"""The ratios that we promised (P1 to P4, P7 and P8) and the latencies that the interface asks for,
against what was measured.

A word like "about" is made a number here, in the open, so that a verdict can be argued with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import doors, exchange_history, hooks, mcp_start, scaling, staleness
from bench import measurements as m
from bench.contestants import BARE, EQUAL, OURS
from bench.exchange import ENGINES, case_of
from bench.measure import Lane, Ratio, latencies, percentile, ratio, spread
from bench.measurements import Row
from bench.startup import BARE_PYTHON

ABOUT_THE_SAME = 2.0
FLAT = 1.2
NOT_STARVED = 0.5
ENOUGH_CALLS = 2_000  # for a percentile that leaves out one in a thousand

# Against the bare call; on PostgreSQL an append has a case of its own.
WRITES = {
    "create_session": (m.CREATE.name, {"sqlite": 2.5, "postgres": 1.4}),
    "append_event": (m.APPEND.name, {"sqlite": 1.4}),
    "update_state": (m.UPDATE_STATE.name, {"sqlite": 1.6, "postgres": 1.6}),
}
READS = {"sqlite": 2.3, "postgres": 1.7}

LATENCY_TARGETS = {
    "create_session": (m.CREATE.name, 50),
    "append_event": (m.APPEND.name, 20),
    "get_recent_events (30 turns of 10,000 events)": (m.RECENT[10_000].name, 100),
    "get_state": (m.GET_STATE.name, 20),
    "update_state": (m.UPDATE_STATE.name, 30),
}


@dataclass(frozen=True)
class Verdict:
    """One promise. `measured` is None when the run did not reach it."""

    promise: str
    limit: float
    measured: Ratio | None
    at_least: bool = False

    @property
    def target(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"

    @property
    def verdict(self) -> str:
        """Met or missed by the median, and by how much."""
        if self.measured is None:
            return "not measured"
        median = self.measured.median
        if (median >= self.limit) if self.at_least else (median <= self.limit):
            return "met"
        return f"missed: {median / self.limit:.0%} of the target" if self.limit else "missed"


class Found:
    """Lanes by contestant and case."""

    def __init__(self, results: dict[str, list[Row]]):
        lanes = [row for rows in results.values() for row in rows if isinstance(row, Lane)]
        self.lanes = {(lane.contestant, lane.case): lane for lane in lanes}

    def lane(self, contestant: str, case: str) -> Lane | None:
        """None where the case was not run."""
        return self.lanes.get((contestant, case))

    def ratio(self, over: tuple[str, str], under: tuple[str, str]) -> Ratio | None:
        """Time of one call in `over`, in times of `under`."""
        first, second = self.lane(*over), self.lane(*under)
        return ratio(first, second) if first and second else None

    def against_bare(self, engine: str, case: str) -> Ratio | None:
        """Ours against the bare call."""
        return self.ratio((OURS[engine], case), (BARE[engine], case))

    def against_equal(self, engine: str, case: str) -> Ratio | None:
        """Ours against our own statements on the driver."""
        return self.ratio((OURS[engine], case), (EQUAL[engine], case))

    def tool_call(self) -> Ratio | None:
        """A tool of ours, in times of what an empty server and the service take together."""
        tool, empty, call = (
            self.lane(name, doors.APPEND) for name in (doors.TOOL, doors.EMPTY_TOOL, doors.SERVICE)
        )
        if not (tool and empty and call):
            return None
        rounds = sorted(tool.blocks.keys() & empty.blocks.keys() & call.blocks.keys())
        together = {n: empty.blocks[n].each + call.blocks[n].each for n in rounds}
        return spread([tool.blocks[n].each / together[n] for n in rounds])

    def start_without_git(self) -> Ratio | None:
        """The start of a session less what git takes in its repository, in times of bare Python."""
        names = (hooks.START, hooks.STATUS, BARE_PYTHON)
        start, status, bare = (self.lane(name, hooks.PROCESS) for name in names)
        if not (start and status and bare):
            return None
        rounds = sorted(start.blocks.keys() & status.blocks.keys() & bare.blocks.keys())
        ours = {n: start.blocks[n].each - status.blocks[n].each for n in rounds}
        return spread([ours[n] / bare.blocks[n].each for n in rounds])

    def speed_up(self, engine: str, case: str) -> Ratio | None:
        """How many times our own sequential rate."""
        return self.ratio((OURS[engine], m.SEQUENTIAL.name), (OURS[engine], case))

    def nearest_peer(self, engine: str) -> tuple[str, Ratio | None]:
        """The fastest peer, and how many times our time it takes for one append."""
        mine = (OURS[engine], m.APPEND.name)
        lanes = [
            lane
            for (_, case), lane in self.lanes.items()
            if case == m.APPEND.name and lane.engine == engine
        ]
        no_peers = (BARE[engine], EQUAL[engine], OURS[engine])
        peers = [lane.contestant for lane in lanes if lane.contestant not in no_peers]
        ratios = [
            (name, found) for name in peers if (found := self.ratio((name, m.APPEND.name), mine))
        ]
        return min(ratios, key=lambda pair: pair[1].median, default=("fastest peer", None))

    def damage(self, engine: str, cases: Sequence[str]) -> Ratio | None:
        """Refused, lost and misnumbered events of ours, all together."""
        blocks = [
            block
            for case in cases
            if (lane := self.lane(OURS[engine], case))
            for block in lane.blocks.values()
        ]
        total = float(sum(block.errors.total() + block.lost + block.gaps for block in blocks))
        return Ratio(total, total, total) if blocks else None

    def share(self, engine: str) -> Ratio | None:
        """The slowest of eight writers, in parts of what each would have if all were equal."""
        lane = self.lane(OURS[engine], m.PROCESSES)
        return spread([block.share for block in lane.blocks.values()]) if lane else None


def promises(found: Found) -> Iterator[Verdict]:
    """In the order of their numbers."""
    for engine in ENGINES:
        yield from promise_writes(found, engine)
        yield from promise_many_writers(found, engine)
    for engine in ENGINES:
        yield from promise_reads(found, engine)
    yield from promise_hooks(found)
    yield from promise_staleness(found)
    yield from promise_doors(found)
    for question in scaling.PROMISED:
        sizes = [scaling.name_size(size) for size in (scaling.LARGE, scaling.SMALL)]
        growth = found.ratio((sizes[0], question), (sizes[1], question))
        yield Verdict(f"P8 {question}: {sizes[0]} / {scaling.SMALL:,}", 1.5, growth)
    for engine in ENGINES:
        yield from promise_exchange(found, engine)


def promise_exchange(found: Found, engine: str) -> Iterator[Verdict]:
    large, small = exchange_history.LARGE, exchange_history.SMALL
    sizes = [exchange_history.name_size(size) for size in (large, small)]
    for question in exchange_history.PROMISED:
        case = case_of(engine, question)
        growth = found.ratio((sizes[0], case), (sizes[1], case))
        yield Verdict(f"P8 exchange on {case}: {sizes[0]} / {small:,}", 1.5, growth)


def promise_writes(found: Found, engine: str) -> Iterator[Verdict]:
    title = ENGINES[engine]
    for verb, (case, limits) in WRITES.items():
        equal = found.against_equal(engine, case)
        yield Verdict(f"P1 {title}: `{verb}` / equal work", 1.3, equal)
        if engine in limits:
            bare = found.against_bare(engine, case)
            yield Verdict(f"P1 {title}: `{verb}` / bare call", limits[engine], bare)
    if engine == "postgres":
        empty, long = (case.name for case in m.NEVER_ANALYSED.values())
        at = f"P1 {title}, never analysed: `append_event` at {long}"
        yield Verdict(f"{at} / bare call", 1.5, found.against_bare(engine, long))
        growth = found.ratio((OURS[engine], long), (OURS[engine], empty))
        yield Verdict(f"{at} / at {empty}", FLAT, growth)
    peer, slower = found.nearest_peer(engine)
    yield Verdict(f"P1 {title}: {peer} / `append_event`", 1.6, slower, True)
    tens = found.ratio((OURS[engine], m.TEN.name), (OURS[engine], m.ONE.name))
    yield Verdict(f"P1 {title}: ten events in one call / one event", ABOUT_THE_SAME, tens)


def promise_many_writers(found: Found, engine: str) -> Iterator[Verdict]:
    title = ENGINES[engine]
    hot = found.speed_up(engine, m.HOT_16.name)
    yield Verdict(f"P1 {title}: 16 tasks on one session / sequential rate", 5, hot, True)
    if engine == "sqlite":
        many = found.speed_up(engine, m.MANY_16.name)
        yield Verdict(f"P1 {title}: 16 tasks on 16 sessions / sequential rate", 4, many, True)
    harm = found.damage(engine, [case.name for case in m.TASKS])
    yield Verdict(f"P1 {title}: errors, lost and gaps in all task cases", 0, harm)
    harm = found.damage(engine, [m.PROCESSES])
    yield Verdict(f"P1 {title}: errors, lost and gaps with 8 processes", 0, harm)
    share = found.share(engine)
    yield Verdict(f"P1 {title}: slowest of 8 processes / equal share", NOT_STARVED, share, True)


def promise_reads(found: Found, engine: str) -> Iterator[Verdict]:
    title = ENGINES[engine]
    for size in (1_000, 1_000_000):
        case = m.RECENT[size].name
        window = f"P2 {title}: `get_recent_events(30)` {case}"
        yield Verdict(f"{window} / equal work", 1.3, found.against_equal(engine, case))
        yield Verdict(f"{window} / bare statement", READS[engine], found.against_bare(engine, case))
    large, small = m.RECENT[1_000_000].name, m.RECENT[1_000].name
    growth = found.ratio((OURS[engine], large), (OURS[engine], small))
    yield Verdict(f"P2 {title}: {large} / {small}", 1.2, growth)


def promise_hooks(found: Found) -> Iterator[Verdict]:
    for hook, most in ((hooks.PROMPT, 2.7), (hooks.TURN, 5)):
        measured = found.ratio((hook, hooks.PROCESS), (BARE_PYTHON, hooks.PROCESS))
        yield Verdict(f"P3 {hook} / {BARE_PYTHON}", most, measured)
    without_git = f"({hooks.START} - {hooks.STATUS})"
    yield Verdict(f"P3 {without_git} / {BARE_PYTHON}", 5, found.start_without_git())
    growth = found.ratio((hooks.LONG_TURN, hooks.PROCESS), (hooks.TURN, hooks.PROCESS))
    yield Verdict(f"P3 {hooks.LONG_TURN} / of a short one", FLAT, growth)


def promise_doors(found: Found) -> Iterator[Verdict]:
    for method in mcp_start.ASKED:
        answer = mcp_start.name_answer(mcp_start.OURS, method)
        measured = found.ratio((answer, mcp_start.ANSWERS), (BARE_PYTHON, mcp_start.ANSWERS))
        yield Verdict(f"P7 {answer} / {BARE_PYTHON}", 4, measured)
    for servers in (mcp_start.OURS, mcp_start.FIFTY):
        memory = found.ratio((servers, mcp_start.MEMORY), (mcp_start.IDLE_PYTHON, mcp_start.MEMORY))
        yield Verdict(f"P7 memory of {servers}, idle / {mcp_start.IDLE_PYTHON}", 2.5, memory)
    both = f"({doors.EMPTY_TOOL} + {doors.SERVICE})"
    yield Verdict(f"P7 {doors.TOOL} / {both}", 1.2, found.tool_call())
    http = found.ratio((doors.HTTP, doors.APPEND), (doors.SERVICE, doors.APPEND))
    yield Verdict(f"P7 {doors.HTTP} / {doors.SERVICE}", 2.5, http)


def promise_staleness(found: Found) -> Iterator[Verdict]:
    for files in staleness.SIZES:
        case = staleness.case_of(files, 0)
        measured = found.ratio((staleness.WHOLE, case), (staleness.STATUS, case))
        most = 1.9 if files == staleness.SIZES[0] else 1.3
        yield Verdict(f"P4: staleness check of {files:,} files / `git status`", most, measured)
        again = found.ratio((staleness.AGAIN, case), (staleness.STATUS, case))
        yield Verdict(f"P4: the second one of {files:,} files / `git status`", 1.3, again)


@dataclass(frozen=True)
class Latency:
    """One verb on one engine, in milliseconds."""

    verb: str
    engine: str
    target: int
    p50: float
    p99: float
    p999: float | None
    calls: int


def verb_latencies(found: Found) -> Iterator[Latency]:
    """Every single call of ours in the sequential cases."""
    for verb, (case, target) in LATENCY_TARGETS.items():
        for engine, title in ENGINES.items():
            lane = found.lane(OURS[engine], case)
            if times := latencies(lane) if lane else []:
                p50, p99, p999 = (percentile(times, percent) * 1e3 for percent in (50, 99, 99.9))
                rare = p999 if len(times) >= ENOUGH_CALLS else None
                yield Latency(verb, title, target, p50, p99, rare, len(times))
