"""What makes a context stale, in words."""

import pytest

from holdfast.workstreams.staleness import describe_changed, describe_noted


@pytest.mark.parametrize(
    ("changed", "noted", "expected"),
    [
        (0, 0, "no noted file"),
        (0, 1, "none of the 1 file noted here"),
        (1, 1, "the 1 file noted here"),
        (2, 2, "all 2 files noted here"),
        (1, 2, "1 of the 2 files noted here"),
    ],
)
def test_changed_files_are_counted_among_those_that_are_noted(
    changed: int, noted: int, expected: str
):
    assert describe_noted(changed, noted) == expected


def test_a_change_is_described_by_how_many_noted_files_it_touches():
    assert describe_changed(1, 2) == "1 of the 2 files noted here changed"
    assert describe_changed(3, 0) == "no file is noted here"
