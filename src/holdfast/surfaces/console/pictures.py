"""Small pictures as numbers: where lines and bars of an SVG stand. The templates draw them, nothing
else does.

They are made from a sample that is spread over a session's log, so a picture costs the same for ten
events and for a million. Of a long log they show shares and shapes, which is what one looks at a
picture for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.sessions.model import EventSample

FEWEST_DRAWN = (
    4  # fewer events, or all at one moment, have no shape: what would be drawn is a block
)
SPARK_SAMPLES = 24
SPARK_BUCKETS = 24
FIGURE_SAMPLES = 400
WIDTH, HEIGHT = 96, 20
BAR_WIDTH, BAR_GAP = 1000, 4
BAR_SHARE = 0.012  # of the whole: the narrowest piece that one still sees

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
    """A part of a bar that is one line: what kind it is, how many, and where it stands."""

    kind: str
    label: str
    count: int
    x: float
    width: float


@dataclass(frozen=True)
class Figures:
    """What stands above a timeline."""

    events: int
    size: str
    is_exact: bool
    activity: str
    bars: tuple[Bar, ...]


def count_activity(samples: Sequence[EventSample], buckets: int = SPARK_BUCKETS) -> list[float]:
    """Events per slice of time; none where there are too few. Two neighbours say how many passed
    between them.
    """
    if len(samples) < FEWEST_DRAWN:
        return []
    start = samples[0].created_at
    whole = (samples[-1].created_at - start).total_seconds()
    if whole <= 0:
        return []
    counts = [0.0] * buckets
    for before, after in pairwise(samples):
        share = after.sequence - before.sequence
        begin, end = (
            buckets * (sample.created_at - start).total_seconds() / whole
            for sample in (before, after)
        )
        _spread(counts, max(begin, 0.0), min(max(end, begin), float(buckets)), float(share))
    return counts


def _spread(counts: list[float], begin: float, end: float, share: float) -> None:
    """Over the slices that lie between two places, each by the part of it that does."""
    last = len(counts) - 1
    if int(end) == int(begin) or end - begin < 1e-9:
        counts[min(int(begin), last)] += share
        return
    for slice_ in range(int(begin), min(int(end), last) + 1):
        overlap = min(end, slice_ + 1) - max(begin, slice_)
        counts[slice_] += share * max(overlap, 0.0) / (end - begin)


def make_spark_points(counts: Sequence[float], width: int = WIDTH, height: int = HEIGHT) -> str:
    """The outline of an area: along the counts, and back along the ground. Where all are even it is
    half as high.
    """
    if not counts:
        return ""
    top = max(*counts, 2 * sum(counts) / len(counts)) or 1.0
    step = width / max(len(counts) - 1, 1)
    line = [
        f"{at * step:.1f},{height - 1 - (height - 3) * value / top:.1f}"
        for at, value in enumerate(counts)
    ]
    return " ".join([f"0,{height}", *line, f"{width},{height}"])


def make_figures(events: int, samples: Sequence[EventSample], width: int = 120) -> Figures:
    counts = Counter(sample.type for sample in samples)
    factor = events / len(samples) if samples else 0.0
    most = max(counts.values(), default=1)
    bars = [
        Bar(label, round(counts[kind] * factor), max(2, round(width * counts[kind] / most)))
        for kind, label in KINDS.items()
        if counts[kind]
    ]
    is_exact = events == len(samples)
    size = round(sum(sample.bytes for sample in samples) * factor)
    points = make_spark_points(count_activity(samples, 60), 240, 36)
    return Figures(events, describe_size(size), is_exact, points, tuple(bars))


def stack_pieces(parts: Sequence[tuple[str, str, int]], width: int = BAR_WIDTH) -> list[Piece]:
    """Side by side, each as wide as its share; what is there at all is wide enough to be seen."""
    some = [part for part in parts if part[2] > 0]
    whole = sum(count for *_, count in some) or 1
    wide = [max(count / whole, BAR_SHARE) for *_, count in some]
    pieces, x = [], 0.0
    for (kind, label, count), share in zip(some, wide, strict=True):
        size = width * share / sum(wide)
        pieces.append(Piece(kind, label, count, round(x, 1), round(size - BAR_GAP, 1)))
        x += size
    return pieces


def describe_size(count: int) -> str:
    """1.2 MB, as one would say it."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
