"""Which files of a published context are as here, in words; and whether it is of this one."""

import pytest

from holdfast.team.freshness import (
    DIFFERS,
    MISSING,
    SAME,
    UNKNOWN,
    Freshness,
    describe_freshness,
    is_id,
    is_same_repo,
)


def describe(*states: str) -> str:
    return describe_freshness(Freshness({str(number): s for number, s in enumerate(states)}))


def test_all_the_same_is_said_in_three_words():
    assert describe(SAME, SAME) == "all as here"


def test_what_differs_and_what_is_missing_are_counted_of_all():
    assert describe(SAME, DIFFERS, SAME) == "1 of 3 differs here"
    assert describe(DIFFERS, DIFFERS, MISSING, SAME, SAME, SAME) == (
        "2 of 6 differ here, 1 missing here"
    )
    assert describe(MISSING, SAME) == "1 of 2 missing here"


def test_what_could_not_be_compared_is_not_called_the_same():
    assert describe() == "not compared"
    assert describe(UNKNOWN, UNKNOWN) == "not compared"
    assert describe(SAME, SAME, UNKNOWN) == "2 of 3 as here, 1 not compared"
    assert describe(DIFFERS, UNKNOWN) == "1 of 2 differs here, 1 not compared"


def test_the_counts_are_given_as_data():
    found = Freshness({"a": SAME, "b": MISSING}, "behind").to_dict()

    assert found == {
        "head": "behind",
        "files": {"a": "same", "b": "missing here"},
        "same": 1,
        "differs": 0,
        "missing_here": 1,
        "unknown": 0,
    }


@pytest.mark.parametrize("value", ["a" * 40, "0" * 64])
def test_a_whole_id_is_one(value: str):
    assert is_id(value)


@pytest.mark.parametrize(
    "value", [None, 1, "", "a" * 39, "A" * 40, "--" + "a" * 38, "a" * 40 + "\n", ["a" * 40]]
)
def test_what_is_no_whole_id_is_none(value: object):
    assert not is_id(value)


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("github.com/acme/payouts", "github.com/acme/payouts"),
        ("github.com/Acme/Payouts", "github.com/acme/payouts"),
        ("https://me:secret@github.com/acme/payouts.git", "github.com/acme/payouts"),
        ("git@github.com:acme/payouts.git", "github.com/acme/payouts"),
        ("acme/payouts", "github.com/acme/payouts"),
        ("payouts", "payouts"),
    ],
)
def test_a_repository_is_known_under_its_other_names(theirs: str, mine: str):
    assert is_same_repo(theirs, mine)
    assert is_same_repo(mine, theirs)


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (None, "github.com/acme/payouts"),
        (None, None),
        ("", ""),
        ("payouts", "github.com/acme/payouts"),
        ("github.com/other/payouts", "github.com/acme/payouts"),
        ("gitlab.com/acme/payouts", "github.com/acme/payouts"),
        ("x" * 501, "x" * 501),
    ],
)
def test_another_repository_is_not_taken_for_this_one(theirs: object, mine: object):
    assert not is_same_repo(theirs, mine)
    assert not is_same_repo(mine, theirs)
