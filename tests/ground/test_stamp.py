"""Moments as numbers and texts: the same as the clock's, without its price."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.ground import clock
from holdfast.ground.stamp import now_microseconds, stamp

LAST = 253_402_300_799_999_999  # the last microsecond of the year 9999


@given(st.integers(0, LAST))
@example(0)
@example(999_999)
@example(LAST)
@example(951_782_400_000_000)  # the leap day of 2000
def test_a_stamp_is_the_clocks_own_text(microseconds: int):
    moment = clock.EPOCH + microseconds * clock.MICROSECOND

    assert stamp(microseconds) == clock.to_text(moment)
    assert clock.microseconds(clock.from_text(stamp(microseconds))) == microseconds


def test_stamps_of_one_second_differ_in_their_fraction_only():
    assert [stamp(1_000_000 + rest) for rest in (0, 1, 999_999)] == [
        "1970-01-01T00:00:01.000000Z",
        "1970-01-01T00:00:01.000001Z",
        "1970-01-01T00:00:01.999999Z",
    ]
    assert stamp(2_000_000) == "1970-01-01T00:00:02.000000Z"
    assert stamp(0) == "1970-01-01T00:00:00.000000Z"


def test_now_lies_between_two_looks_at_the_clock():
    before = datetime.now(UTC)
    number = now_microseconds()
    after = datetime.now(UTC)

    assert clock.microseconds(before) <= number <= clock.microseconds(after)
