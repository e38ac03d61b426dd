"""docs/requirements.md is true: every id is there, and every test that it names exists."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.house import source

PAGE = source.ROOT / "docs" / "requirements.md"


def number_ids(letters: str, last: int, *extra: str) -> list[str]:
    return [*(f"{letters}{number}" for number in range(1, last + 1)), *extra]


# Every id of the specification and of its chapter on reliability.
IDS = [
    *number_ids("S", 19),
    *number_ids("M", 5),
    *number_ids("D", 4),
    *number_ids("W", 10),
    *number_ids("B", 12),
    *number_ids("C", 9),
    *number_ids("K", 7),
    *number_ids("T", 15),
    *number_ids("U", 6),
    *number_ids("P", 8, "Q"),
    *number_ids("R", 30, "R3b", "R4b"),
    *number_ids("F", 2),
    *number_ids("TS", 27, "TS6b", "TS17b"),
    *number_ids("TW", 2),
    *number_ids("TH", 25),
]

# What the first room stands on: each of these is shown by a test, wholly or in the part that
# exists.
SHOWN = [
    *(f"S{number}" for number in range(1, 20) if number not in (11, 16)),
    *("Q", "T9", "P2", "P3"),
    *(
        "R1",
        "R2",
        "R3",
        "R3b",
        "R4",
        "R4b",
        "R5",
        "R6",
        "R9",
        "R10",
        "R11",
        "R16",
        "R20",
        "R24",
        "R25",
        "R26",
        "F1",
        "F2",
    ),
    *("TS1", "TS2", "TS3", "TS4", "TS19", "TS20", "TS21", "TS22"),
]


class Line(NamedTuple):
    id: str
    state: str
    shown_by: str

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([\w/]+\.py(?:::\w+)?)`", self.shown_by)


def lines() -> Iterator[Line]:
    for row in re.findall(
        r"^\| ([A-Z]+\d*b?) \| [^|]+ \| ([^|]+) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE
    ):
        yield Line(*(cell.strip() for cell in row))


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((source.ROOT / "tests" / path).read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_id_has_exactly_one_line():
    """Nothing is forgotten, and nothing is made up."""
    assert sorted(line.id for line in lines()) == sorted(IDS)


def test_every_line_has_a_state_that_says_something():
    """What is only partly there says what is missing."""
    vague = [
        line for line in lines() if not re.fullmatch(r"done|not yet|partly: .{8,}", line.state)
    ]

    assert vague == []


def test_every_test_that_is_named_exists():
    missing = []
    for line in lines():
        for test in line.tests:
            path, _, name = test.partition("::")
            if not (source.ROOT / "tests" / path).is_file() or (
                name and name not in functions(path)
            ):
                missing.append(f"{line.id}: {test}")

    assert missing == []


def test_every_line_that_is_done_names_its_tests():
    """By a test, or for a threat by the ids that answer it."""
    answered = {line.id for line in lines() if line.tests}
    unshown = [
        line.id
        for line in lines()
        if line.state == "done"
        and not line.tests
        and not (line.id.startswith("TH") and set(line.shown_by.split(", ")) <= answered)
    ]

    assert unshown == []


def test_every_requirement_of_the_first_room_has_tests():
    by_id = {line.id: line for line in lines()}
    unshown = [id_ for id_ in SHOWN if by_id[id_].state == "not yet" or not by_id[id_].tests]

    assert unshown == []


def test_a_line_that_is_not_done_yet_names_no_test():
    claims = [line.id for line in lines() if line.state == "not yet" and line.shown_by]

    assert claims == []
