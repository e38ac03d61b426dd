"""Small pictures as numbers: the positions of lines and bars in an SVG that a template draws.

They are made from a sample that is spread over a session's log, so a picture costs the same for ten
events and for a million. Of a long log they show shares and shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from holdfast.ground.frozen import dataclass
from holdfast.sessions.model import EventSample

FEWEST_DRAWN = 4  # fewer events, or all at the same moment, would be drawn as a plain block
SPARK_SAMPLES = 24
SPARK_BUCKETS = 24
FIGURE_SAMPLES = 400
FIGURE_BUCKETS = 60
FIGURE_WIDTH, FIGURE_HEIGHT = 240, 36
WIDTH, HEIGHT = 96, 20
BAR_WIDTH, BAR_GAP = 1000, 4
BAR_SHARE = 0.012  # of the whole: the narrowest piece that is still visible

KINDS = {
    "user_message": "prompts",  # of the person, and those that subagents were given
    "model_message": "answers",
    "tool_call": "tool calls",
    "tool_result": "tool results",
    "validation_gate": "gates",
    "memory_recall": "memories",
    "system_event": "system",
}


@dataclass(frozen=True)
class Bar:
    label: str
    count: int
    width: int


@dataclass(frozen=True)
class HourBar:
    """One of a row: where it stands, and how high."""

    x: float
    y: float
    height: float


@dataclass(frozen=True)
class BarPart:
    """What is to be drawn as a piece of a stacked bar."""

    kind: str
    label: str
    count: int


@dataclass(frozen=True)
class Piece:
    """A part of a stacked bar: its kind, its count and its position."""

    kind: str
    label: str
    count: int
    x: float
    width: float


@dataclass(frozen=True)
class Figures:
    """The figures above a timeline."""

    events: int
    size: str  # empty where nothing is left of the events, because all were erased
    is_exact: bool
    activity: str
    bars: tuple[Bar, ...]


def count_activity(samples: Sequence[EventSample], buckets: int = SPARK_BUCKETS) -> list[float]:
    """Events per slice of time, from the numbers of neighbouring samples; [] for too few."""
    if len(samples) < FEWEST_DRAWN:
        return []
    start = samples[0].happened_at
    whole = (samples[-1].happened_at - start).total_seconds()
    if whole <= 0:
        return []
    ages = [(sample.happened_at - start).total_seconds() for sample in samples]
    positions = [buckets * age / whole for age in ages]
    counts = [0.0] * buckets
    neighbours = zip(pairwise(samples), pairwise(positions), strict=True)
    for (before, after), (begin, end) in neighbours:
        share = float(after.sequence - before.sequence)
        upper = min(max(end, begin), float(buckets))
        _spread(counts, max(begin, 0.0), upper, share)
    return counts


def _spread(counts: list[float], begin: float, end: float, share: float) -> None:
    """Add a share to the slices between two positions, to each by its overlap."""
    last = len(counts) - 1
    length = end - begin
    first_slice = int(begin)
    last_slice = int(end)
    if first_slice == last_slice or length < 1e-9:
        counts[min(first_slice, last)] += share
        return
    for slice_ in range(first_slice, min(last_slice, last) + 1):
        overlap = min(end, slice_ + 1) - max(begin, slice_)
        counts[slice_] += share * max(overlap, 0.0) / length


def make_spark_points(counts: Sequence[float], width: int = WIDTH, height: int = HEIGHT) -> str:
    """The outline of an area: along the counts and back along the base.

    Equal counts make it half as high.
    """
    if not counts:
        return ""
    mean = sum(counts) / len(counts)
    top = max(*counts, 2 * mean) or 1.0
    step = width / max(len(counts) - 1, 1)
    room = height - 3
    heights = [height - 1 - room * count / top for count in counts]
    line = [f"{number * step:.1f},{y:.1f}" for number, y in enumerate(heights)]
    return " ".join([f"0,{height}", *line, f"{width},{height}"])


def make_figures(events: int, samples: Sequence[EventSample], width: int = 120) -> Figures:
    """Counts and sizes of the whole log, estimated from its sample."""
    factor = events / len(samples) if samples else 0.0
    sampled_bytes = sum(sample.bytes for sample in samples)
    activity = count_activity(samples, FIGURE_BUCKETS)
    return Figures(
        events=events,
        size=describe_size(round(sampled_bytes * factor)) if sampled_bytes else "",
        is_exact=events == len(samples),
        activity=make_spark_points(activity, FIGURE_WIDTH, FIGURE_HEIGHT),
        bars=tuple(_make_bars(samples, factor, width)),
    )


def _make_bars(samples: Sequence[EventSample], factor: float, width: int) -> list[Bar]:
    counts = Counter(sample.type for sample in samples)
    most = max(counts.values(), default=1)
    bars = []
    for kind, label in KINDS.items():
        count = counts[kind]
        if count:
            drawn_width = max(2, round(width * count / most))
            bars.append(Bar(label, round(count * factor), drawn_width))
    return bars


def stack_pieces(parts: Sequence[BarPart], width: int = BAR_WIDTH) -> list[Piece]:
    """Side by side, each as wide as its share; a count above zero is always visible."""
    counted = [part for part in parts if part.count > 0]
    whole = sum(part.count for part in counted)
    shares = [max(part.count / whole, BAR_SHARE) for part in counted]
    pieces = []
    x = 0.0
    for part, share in zip(counted, shares, strict=True):
        size = width * share / sum(shares)
        drawn_width = round(size - BAR_GAP, 1)
        pieces.append(Piece(part.kind, part.label, part.count, round(x, 1), drawn_width))
        x += size
    return pieces


def make_hour_bars(counts: Sequence[int]) -> list[HourBar]:
    """One for each hour, also for one in which nothing happened: that is the base line."""
    step = FIGURE_WIDTH / max(len(counts), 1)
    top = max(counts, default=0) or 1
    room = FIGURE_HEIGHT - 2
    heights = [2 + room * count / top if count else 1.0 for count in counts]
    return [
        HourBar(round(number * step, 1), round(FIGURE_HEIGHT - height, 1), round(height, 1))
        for number, height in enumerate(heights)
    ]


def describe_size(count: int) -> str:
    """A number of bytes as people write it: 1.2 MB."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            is_whole = unit == "bytes" or size >= 100
            digits = 0 if is_whole else 1
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
