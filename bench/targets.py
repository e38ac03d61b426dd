"""The ratios that we promised (P1, P2, P4, P7) and the latencies that the interface asks for,
against what was measured.

A word like "about" is made a number here, in the open, so that a verdict can be argued with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import mcp_start, staleness
from bench import measurements as m
from bench.contestants import BARE, OURS
from bench.measure import Lane, Ratio, latencies, percentile, ratio, spread
from bench.measurements import Row
from bench.startup import BARE_PYTHON

ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
SEVERAL_TIMES = 3.0
ABOUT_THE_SAME = 2.0
NOT_STARVED = 0.5

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
        peers = [
            lane.contestant for lane in lanes if lane.contestant not in (BARE[engine], OURS[engine])
        ]
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
    """P1 and P2 in their own order, then the doors, then P4."""
    for engine, title in ENGINES.items():
        yield Verdict(
            f"P1 {title}: `append_event` / bare call",
            1.3,
            found.against_bare(engine, m.APPEND.name),
        )
        peer, slower = found.nearest_peer(engine)
        yield Verdict(f"P1 {title}: {peer} / `append_event`", SEVERAL_TIMES, slower, True)
        yield Verdict(
            f"P1 {title}: 16 tasks on one session / sequential rate",
            5,
            found.speed_up(engine, m.HOT_16.name),
            True,
        )
        if engine == "sqlite":
            many = found.speed_up(engine, m.MANY_16.name)
            yield Verdict(f"P1 {title}: 16 tasks on 16 sessions / sequential rate", 4, many, True)
        harm = found.damage(engine, [case.name for case in m.TASKS])
        yield Verdict(f"P1 {title}: errors, lost and gaps in all task cases", 0, harm)
        tens = found.ratio((OURS[engine], m.TEN.name), (OURS[engine], m.ONE.name))
        yield Verdict(f"P1 {title}: ten events in one call / one event", ABOUT_THE_SAME, tens)
        yield Verdict(
            f"P1 {title}: errors, lost and gaps with 8 processes",
            0,
            found.damage(engine, [m.PROCESSES]),
        )
        yield Verdict(
            f"P1 {title}: slowest of 8 processes / equal share",
            NOT_STARVED,
            found.share(engine),
            True,
        )
    for engine, title in ENGINES.items():
        for size in (1_000, 1_000_000):
            measured = found.against_bare(engine, m.RECENT[size].name)
            yield Verdict(
                f"P2 {title}: `get_recent_events(30)` of {size:,} / bare statement", 1.5, measured
            )
        growth = found.ratio(
            (OURS[engine], m.RECENT[1_000_000].name), (OURS[engine], m.RECENT[1_000].name)
        )
        yield Verdict(f"P2 {title}: of 1,000,000 events / of 1,000", 1.2, growth)
        state = found.against_bare(engine, m.UPDATE_STATE.name)
        yield Verdict(f"P2 {title}: `update_state` / bare statement", 1.3, state)
    for method in mcp_start.ASKED:
        answer = mcp_start.name_answer(mcp_start.OURS, method)
        measured = found.ratio((answer, mcp_start.ANSWERS), (BARE_PYTHON, mcp_start.ANSWERS))
        yield Verdict(f"P7 {answer} / {BARE_PYTHON}", 4, measured)
    for servers in (mcp_start.OURS, mcp_start.FIFTY):
        memory = found.ratio((servers, mcp_start.MEMORY), (mcp_start.IDLE_PYTHON, mcp_start.MEMORY))
        yield Verdict(f"P7 memory of {servers}, idle / {mcp_start.IDLE_PYTHON}", 2.5, memory)
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
    calls: int


def verb_latencies(found: Found) -> Iterator[Latency]:
    """Every single call of ours in the sequential cases."""
    for verb, (case, target) in LATENCY_TARGETS.items():
        for engine, title in ENGINES.items():
            lane = found.lane(OURS[engine], case)
            if times := latencies(lane) if lane else []:
                p50, p99 = (percentile(times, percent) * 1e3 for percent in (50, 99))
                yield Latency(verb, title, target, p50, p99, len(times))
