"""Whose reservations touch one's own work, without a store."""

import time
from collections.abc import Sequence

import pytest

from holdfast.ground.frozen import replace
from holdfast.surfaces.console.own_work import list_shared_work
from holdfast.team.block import LISTED, RESERVED, UNCOMMITTED
from holdfast.team.model import Reservation
from tests.surfaces.console.test_coordination_view import CLAIM, CONTEXT, DEV_B, ME, state

OWN = replace(CLAIM, id="own", developer=ME.person)


def name_shared(claims: Sequence[Reservation]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    found = list_shared_work(state(claims=claims))
    return [(each.handle, each.how, each.mine, each.paths) for each in found]


@pytest.mark.parametrize(
    ("mine", "theirs", "named"),
    [
        ("src/retry.py", "src/**", "src/retry.py"),
        ("src/**", "src/retry.py", "src/retry.py"),
        ("src", "src/retry.py", "src/retry.py"),
        ("src/retry.py", "src", "src/retry.py"),
        ("src/*.py", "src/**", "src/**"),
        ("src/retry.py", "src/retry.py#schedule", "src/retry.py#schedule"),
        ("src/retry.py", "docs/**", None),
    ],
)
def test_what_is_shared_is_called_by_the_narrower_name(mine: str, theirs: str, named: str | None):
    claims = [replace(OWN, paths=(mine,)), replace(CLAIM, paths=(theirs,))]

    expected = [("dev-a", RESERVED, RESERVED, (named,))] if named else []
    assert name_shared(claims) == expected


def test_a_path_of_another_is_named_once_in_the_way_that_says_most():
    """What one has oneself in two ways, and another one in two ways."""
    paths = ("src/a.py", "src/b.py")
    own = [replace(OWN, paths=("src/a.py",)), replace(OWN, paths=paths, is_soft=True)]
    soft = replace(CLAIM, developer=DEV_B, paths=paths, is_soft=True)
    hard = replace(CLAIM, developer=DEV_B, paths=("src/a.py",))

    assert name_shared([soft, hard, *own]) == [
        ("dev-b", RESERVED, RESERVED, ("src/a.py",)),
        ("dev-b", UNCOMMITTED, UNCOMMITTED, ("src/b.py",)),
    ]


def test_what_one_lists_in_a_context_counts_and_what_others_list_does_not():
    own = replace(CONTEXT, developer=ME.person, files_touched=("src/a.py",))
    theirs = replace(CONTEXT, developer=DEV_B, files_touched=("src/c.py",))
    claims = [replace(CLAIM, paths=("src/a.py",)), replace(OWN, paths=("src/c.py",))]

    found = list_shared_work(state([own, theirs], claims))

    assert [(each.handle, each.mine, each.paths) for each in found] == [
        ("dev-a", LISTED, ("src/a.py",))
    ]


def test_a_comparison_of_many_patterns_is_bounded():
    globs = tuple(f"src/**/*{number}*/x?.py" for number in range(50))
    claims = [replace(OWN, id=str(number), paths=globs) for number in range(100)]
    claims += [replace(CLAIM, id=f"o{number}", paths=globs) for number in range(100)]

    began = time.process_time()
    list_shared_work(state(claims=claims))

    assert time.process_time() - began < 5
