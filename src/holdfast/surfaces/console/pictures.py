"""Small pictures as numbers: the positions of lines and bars in an SVG that a template draws.

They are made from a sample that is spread over a session's log, so a picture costs the same for ten
events and for a million. Of a long log they show shares and shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.sessions.model import EventSample

FEWEST_DRAWN = 4  # fewer events, or all at the same moment, would be drawn as a plain block
SPARK_SAMPLES = 24
SPARK_BUCKETS = 24
FIGURE_SAMPLES = 400
WIDTH, HEIGHT = 96, 20
BAR_WIDTH, BAR_GAP = 1000, 4
BAR_SHARE = 0.012  # of the whole: the narrowest piece that is still visible

KINDS = {
    "user_message": "requests",
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
    size: str
    is_exact: bool
    activity: str
    bars: tuple[Bar, ...]


def count_activity(samples: Sequence[EventSample], buckets: int = SPARK_BUCKETS) -> list[float]:
    """Events per slice of time, from the numbers of neighbouring samples; [] for too few."""
    if len(samples) < FEWEST_DRAWN:
        return []
    start = samples[0].created_at
    whole = (samples[-1].created_at - start).total_seconds()
    if whole <= 0:
        return []
    ages = [(sample.created_at - start).total_seconds() for sample in samples]
    positions = [buckets * age / whole for age in ages]
    counts = [0.0] * buckets
    neighbours = zip(pairwise(samples), pairwise(positions), strict=True)
    for (before, after), (begin, end) in neighbours:
        share = float(after.sequence - before.sequence)
        _spread(counts, max(begin, 0.0), min(max(end, begin), float(buckets)), share)
    return counts


def _spread(counts: list[float], begin: float, end: float, share: float) -> None:
    """Add a share to the slices between two positions, to each by its overlap."""
    last = len(counts) - 1
    if int(end) == int(begin) or end - begin < 1e-9:
        counts[min(int(begin), last)] += share
        return
    for slice_ in range(int(begin), min(int(end), last) + 1):
        overlap = min(end, slice_ + 1) - max(begin, slice_)
        counts[slice_] += share * max(overlap, 0.0) / (end - begin)


def make_spark_points(counts: Sequence[float], width: int = WIDTH, height: int = HEIGHT) -> str:
    """The outline of an area: along the counts and back along the base.

    Equal counts make it half as high.
    """
    if not counts:
        return ""
    top = max(*counts, 2 * sum(counts) / len(counts)) or 1.0
    step = width / max(len(counts) - 1, 1)
    heights = [height - 1 - (height - 3) * count / top for count in counts]
    line = [f"{number * step:.1f},{y:.1f}" for number, y in enumerate(heights)]
    return " ".join([f"0,{height}", *line, f"{width},{height}"])


def make_figures(events: int, samples: Sequence[EventSample], width: int = 120) -> Figures:
    """Counts and sizes of the whole log, estimated from its sample."""
    factor = events / len(samples) if samples else 0.0
    size = round(sum(sample.bytes for sample in samples) * factor)
    return Figures(
        events=events,
        size=describe_size(size),
        is_exact=events == len(samples),
        activity=make_spark_points(count_activity(samples, 60), 240, 36),
        bars=tuple(_make_bars(samples, factor, width)),
    )


def _make_bars(samples: Sequence[EventSample], factor: float, width: int) -> list[Bar]:
    counts = Counter(sample.type for sample in samples)
    most = max(counts.values(), default=1)
    drawn = [(label, counts[kind]) for kind, label in KINDS.items() if counts[kind]]
    return [
        Bar(label, round(count * factor), max(2, round(width * count / most)))
        for label, count in drawn
    ]


def stack_pieces(parts: Sequence[tuple[str, str, int]], width: int = BAR_WIDTH) -> list[Piece]:
    """Side by side, each as wide as its share; a count above zero is always visible."""
    counted = [(kind, label, count) for kind, label, count in parts if count > 0]
    whole = sum(count for _, _, count in counted)
    shares = [max(count / whole, BAR_SHARE) for _, _, count in counted]
    pieces = []
    x = 0.0
    for (kind, label, count), share in zip(counted, shares, strict=True):
        size = width * share / sum(shares)
        pieces.append(Piece(kind, label, count, round(x, 1), round(size - BAR_GAP, 1)))
        x += size
    return pieces


def describe_size(count: int) -> str:
    """A number of bytes as people write it: 1.2 MB."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            digits = 0 if unit == "bytes" or size >= 100 else 1
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
