"""Contestants take turns, so that whatever else the machine does hits them alike.

A measurement is a list of lanes. In each round every lane runs one block of calls, in an order that
changes from round to round; a ratio is formed within a round, and what is reported is the median of
those ratios with the span from the tenth to the ninetieth percentile.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Effort:
    """How long a lane's turn lasts and how many turns it has."""

    rounds: int
    block_seconds: float
    lane_seconds: float = 40.0


@dataclass(frozen=True)
class Block:
    """What one turn gave. `done` counts acknowledged calls only."""

    done: int
    seconds: float
    latencies: tuple[float, ...] = ()
    errors: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    gaps: int = 0
    share: float = 0.0
    longest: float = 0.0
    processor: float = 0.0

    @property
    def each(self) -> float:
        """Seconds per acknowledged call; endless when none was."""
        return self.seconds / self.done if self.done else float("inf")


@dataclass
class Lane:
    """One contestant doing one thing."""

    contestant: str
    engine: str
    case: str
    run: Callable[[int], Awaitable[Block]]
    fewest: int = 1
    most: int = 5_000
    calls: int = 0
    blocks: dict[int, Block] = field(default_factory=dict)

    async def calibrate(self, seconds: float) -> None:
        """Warm up, then choose a number of calls that fills a turn."""
        await self.run(self.fewest)
        if self.most == self.fewest:
            self.calls = self.fewest
            return
        each = (await self.run(self.fewest)).each
        wanted = 0 if each == float("inf") else round(seconds / each)
        self.calls = max(self.fewest, min(self.most, wanted))

    @property
    def spent(self) -> float:
        """Seconds of turns so far."""
        return sum(block.seconds for block in self.blocks.values())


@dataclass(frozen=True)
class Absent:
    """A contestant that does not take part in a case, and why; its row stays in the table."""

    contestant: str
    engine: str
    case: str
    reason: str


async def race(lanes: Sequence[Lane], effort: Effort, say: Callable[[str], None]) -> None:
    """Run all lanes round by round; a lane that used up its time leaves after a few rounds."""
    for lane in lanes:
        await lane.calibrate(effort.block_seconds)
    for number in range(effort.rounds):
        say(f"  round {number + 1} of {effort.rounds}")
        order = random.Random(number).sample(lanes, len(lanes))
        for lane in order:
            if lane.spent < effort.lane_seconds or len(lane.blocks) < FEWEST_ROUNDS:
                lane.blocks[number] = await lane.run(lane.calls)


@dataclass(frozen=True)
class Ratio:
    """Median and span of the per-round ratios."""

    median: float
    p10: float
    p90: float


def ratio(lane: Lane, base: Lane) -> Ratio | None:
    """How many times the base's time one call of the lane takes; only rounds that
    both ran count.
    """
    rounds = lane.blocks.keys() & base.blocks.keys()
    both = [n for n in sorted(rounds) if lane.blocks[n].done and base.blocks[n].done]
    return spread([lane.blocks[n].each / base.blocks[n].each for n in both])


def spread(values: Sequence[float]) -> Ratio | None:
    """Median and span, or None when no round counted."""
    return (
        Ratio(statistics.median(values), percentile(values, 10), percentile(values, 90))
        if values
        else None
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of them lie, interpolated."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=1000, method="inclusive")[round(percent * 10) - 1]


def microseconds(lane: Lane) -> float:
    """Median time of one call over the rounds."""
    return statistics.median(block.each for block in lane.blocks.values()) * 1e6


def latencies(lane: Lane) -> list[float]:
    """Every single call's time, for percentiles."""
    return [value for block in lane.blocks.values() for value in block.latencies]


async def one_by_one(call: Callable[[Any], Awaitable[Any]], items: Sequence[Any]) -> Block:
    """Call after call, each one timed; a refusal is counted and its time is not hidden."""
    times, errors, start = [], Counter(), time.perf_counter()
    for item in items:
        before = time.perf_counter()
        try:
            await call(item)
        except Exception as error:
            errors[type(error).__name__] += 1
        else:
            times.append(time.perf_counter() - before)
    return Block(len(times), time.perf_counter() - start, tuple(times), errors)


def count_damage(
    acknowledged: Sequence[str], stored: Sequence[tuple[int | None, str]]
) -> tuple[int, int]:
    """How many acknowledged texts are missing, and how many numbers are missing or taken twice."""
    lost = len(set(acknowledged) - {text for _, text in stored})
    numbers = [number for number, _ in stored if number is not None]
    gaps = len(set(range(1, len(numbers) + 1)) ^ set(numbers)) + len(numbers) - len(set(numbers))
    return lost, gaps
