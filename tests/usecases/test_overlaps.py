"""Whose reservations a claim touches, however many there are."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import ids
from holdfast.team.model import Person, Reservation
from holdfast.team.overlap import find_overlaps
from holdfast.usecases.overlaps import list_overlaps

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
ENTRIES = st.sampled_from(
    ["src", "src/a.py", "src/a.py#f", "src/a.py#g", "src/b/c.py", "src/*.py", "**/c.py", "docs/**"]
)  # fmt: skip
PATHS = st.lists(ENTRIES, min_size=1, max_size=4)


def reserve(handle: str, paths: list[str]) -> Reservation:
    person = Person(handle, handle, handle)
    until = NOW + timedelta(hours=1)
    return Reservation(
        ids.new_id(), person, "acme/payouts", None, tuple(paths), "Rework", None, NOW, until, None
    )


@given(PATHS, st.lists(PATHS, max_size=4))
def test_every_claim_with_an_entry_that_touches_is_found(mine: list[str], others: list[list[str]]):
    known = [reserve("dev-b", paths) for paths in others]

    found = list_overlaps(reserve("dev-a", mine), known)

    assert [each.other for each in found] == [
        each for each in known if find_overlaps(mine, each.paths)
    ]


def test_the_newest_of_very_many_patterns_are_compared():
    """All pairs would take many minutes."""
    mine = [f"src/*{number}*/[a-z]*.py" for number in range(50)]
    patterns = [f"src/[a-z]*/{number}/**/[!x]*.py" for number in range(50)]
    newest = reserve("dev-b", ["src/1/retry.py"])

    found = list_overlaps(reserve("dev-a", mine), [newest, *[reserve("dev-b", patterns)] * 2_000])

    assert found[0].other == newest


def test_the_same_names_of_very_many_are_compared_once_each():
    names = [f"src/{number}.py" for number in range(50)]
    elsewhere = [f"docs/{number}.md" for number in range(50)]
    known = [*[reserve("dev-b", elsewhere)] * 2_000, reserve("dev-b", names)]

    [found] = list_overlaps(reserve("dev-a", names), known)

    assert found.touched == {name: name for name in names}
