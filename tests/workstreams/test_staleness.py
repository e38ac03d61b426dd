"""What makes a context stale, in words."""

import pytest

from holdfast.workstreams.staleness import describe_noted


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
