"""Pictures from a sample: shapes that are right, at any length."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions.model import EventSample
from holdfast.surfaces.console.pictures import (
    BAR_GAP,
    BAR_WIDTH,
    BarPart,
    count_activity,
    describe_size,
    make_figures,
    make_spark_points,
    stack_pieces,
)

START = datetime(2026, 11, 16, 9, tzinfo=UTC)


def sample(
    sequence: int, seconds: float, kind: str = "tool_result", size: int = 100
) -> EventSample:
    return EventSample(sequence, kind, START + timedelta(seconds=seconds), size)


def test_activity_is_high_where_many_events_lie_close_together():
    counts = count_activity([sample(1, 0), sample(25, 0.5), sample(50, 1), sample(100, 100)], 10)

    assert counts[0] > 10 * counts[5]
    assert sum(counts) == pytest.approx(99)


@pytest.mark.parametrize("moments", [[], [0], [0, 9], [0, 1, 9], [5, 5, 5, 5, 5]])
def test_few_or_simultaneous_events_are_not_drawn(moments: list[float]):
    """A few events, or all at one moment: a picture of them would be a block."""
    samples = [sample(number, at) for number, at in enumerate(moments, 1)]

    assert count_activity(samples) == []
    assert (
        make_spark_points(count_activity(samples))
        == make_figures(len(samples), samples).activity
        == ""
    )


def test_an_even_log_is_drawn_half_as_high_as_a_peak():
    def top(*moments: float) -> float:
        points = make_spark_points(
            count_activity([sample(number, at) for number, at in enumerate(moments, 1)]), 96, 20
        )
        return min(float(point.split(",")[1]) for point in points.split())

    assert top(0, 1, 2, 3, 4) == pytest.approx(10.5, abs=0.1)
    assert top(0, 0.1, 0.2, 0.3, 9) == 2


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=30))
def test_activity_counts_every_event_once(moments: list[float]):
    samples = [sample(number, at) for number, at in enumerate(sorted(moments), 1)]
    counts = count_activity(samples)

    assert min(counts, default=0) >= 0
    assert (
        sum(counts) == pytest.approx(len(samples) - 1)
        or len({sampled.happened_at for sampled in samples}) == 1
    )


def test_points_stay_inside_their_picture():
    points = [
        tuple(map(float, point.split(",")))
        for point in make_spark_points([0, 5, 2, 9], 96, 20).split()
    ]

    assert all(0 <= x <= 96 and 0 <= y <= 20 for x, y in points)
    assert make_spark_points([]) == ""
    assert make_spark_points([3.0])
    assert make_spark_points([0.0, 0.0])


def test_figures_of_a_long_log_are_marked_as_estimates():
    samples = [
        sample(1 + 10 * n, n, "user_message" if n % 4 == 0 else "tool_result", 1000)
        for n in range(100)
    ]

    drawn = make_figures(1000, samples)

    assert not drawn.is_exact
    assert {bar.label: bar.count for bar in drawn.bars} == {"prompts": 250, "tool results": 750}
    assert drawn.size == "1.0 MB"


def test_figures_of_a_short_log_are_exact():
    drawn = make_figures(1, [sample(1, 0)])

    assert drawn.is_exact
    assert drawn.size == "100 bytes"
    assert make_figures(0, []).bars == ()


def test_a_log_of_which_nothing_is_left_has_no_size():
    """Its events were erased; their number is still true."""
    drawn = make_figures(2, [sample(1, 0, size=0), sample(2, 1, size=0)])

    assert (drawn.events, drawn.size) == (2, "")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (123_000_000, "123 MB"),
        (5 * 10**9, "5.0 GB"),
    ],
)
def test_a_size_is_described_in_readable_units(count: int, expected: str):
    assert describe_size(count) == expected


@given(st.lists(st.integers(0, 5000), max_size=12))
def test_a_stacked_bar_is_one_line_without_gaps_or_overlaps(counts: list[int]):
    """Nothing that counts is left out or too narrow to be seen."""
    parts = [BarPart(f"kind-{number}", "label", count) for number, count in enumerate(counts)]
    pieces = stack_pieces(parts)

    assert [piece.count for piece in pieces] == [count for count in counts if count]
    assert all(piece.width >= 5 for piece in pieces)
    for before, after in pairwise(pieces):
        assert before.x + before.width + BAR_GAP == pytest.approx(after.x, abs=0.3)
    if pieces:
        assert pieces[-1].x + pieces[-1].width + BAR_GAP == pytest.approx(BAR_WIDTH, abs=0.3)
