"""Time: always UTC, and its text sorts as it reads."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import clock

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=ZONES)


def test_now_has_a_zone_and_it_is_utc() -> None:
    assert clock.now().tzinfo is UTC


def test_the_text_has_one_form() -> None:
    assert clock.to_text(datetime(2026, 11, 16, 9, 4, tzinfo=UTC)) == "2026-11-16T09:04:00.000000Z"


@given(MOMENTS)
def test_a_moment_comes_back_from_its_text_in_utc(moment: datetime) -> None:
    back = clock.from_text(clock.to_text(moment))

    assert back == moment
    assert back.utcoffset() == timedelta(0)


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_the_moments_do_whatever_their_zones(
    first: datetime, other: datetime
) -> None:
    assert (clock.to_text(first) < clock.to_text(other)) == (first < other)
    assert (clock.to_text(first) == clock.to_text(other)) == (first == other)


@pytest.mark.parametrize(
    "text",
    ["2026-11-16T09:04:00Z", "2026-11-16T10:04:00+01:00", "2026-11-16 09:04:00.000000+00:00"],
)
def test_other_forms_of_the_same_moment_are_read_too(text: str) -> None:
    assert clock.to_text(clock.from_text(text)) == "2026-11-16T09:04:00.000000Z"


@given(MOMENTS)
def test_microseconds_since_1970_are_exact(moment: datetime) -> None:
    assert clock.EPOCH + timedelta(microseconds=clock.microseconds(moment)) == moment


def test_microseconds_begin_at_1970_and_go_below_it() -> None:
    assert clock.microseconds(clock.EPOCH) == 0
    assert clock.microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1
