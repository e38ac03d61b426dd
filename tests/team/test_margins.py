"""T2: code is code behind the margin of a listing too, and what is honest stays it there."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.team.margins import remove_margins
from holdfast.team.metadata_rules import find_problem
from tests.team import fresh_samples, honest_samples, later_samples, third_samples

EXCERPTS = 120
LINES = 10
Margin = Callable[[int, str], str]

MARGINS: dict[str, Margin] = {
    "bar": lambda number, line: f"| {line}",
    "two bars": lambda number, line: f"|| {line}",
    "number": lambda number, line: f"{number} {line}",
    "padded number": lambda number, line: f"{number:6}  {line}",
    "number and bar": lambda number, line: f"{number:4} │ {line}",
    "number and dash": lambda number, line: f"{number}-{line}",
    "number in brackets": lambda number, line: f"[{number}] {line}",
    "named line": lambda number, line: f"L{number}: {line}",
    "comment": lambda number, line: f"# {line}",
    "quotation": lambda number, line: f"> > {line}",
    "quotation marks": lambda number, line: f'"{line}"',
    "row of a table": lambda number, line: f"| {number} | {line} |",
}
# A list is told from code by what is indented, and these words take that away.
WEAKER: dict[str, Margin] = {
    "words": lambda number, line: f"Line {number} says {line.strip()}",
    "star": lambda number, line: f"* {line}",
    "numbered": lambda number, line: f"{number}. {line}",
}
HONEST = [
    text
    for samples in (honest_samples, fresh_samples, third_samples, later_samples)
    for text in samples.HONEST
    if find_problem(text) is None
]


def add_margin(margin: Margin, text: str) -> str:
    return "\n".join(margin(number, line) for number, line in enumerate(text.split("\n"), 8))


def read_excerpts() -> list[str]:
    """Ten lines of code each, from our own modules."""
    chance = random.Random("excerpts")
    root = Path(holdfast.__file__).parent
    modules = [path.read_text().split("\n") for path in sorted(root.rglob("*.py"))]
    long = [lines for lines in modules if len(lines) > 60]
    found: list[str] = []
    while len(found) < EXCERPTS:
        lines = chance.choice(long)
        start = chance.randrange(20, len(lines) - LINES)
        excerpt = lines[start : start + LINES]
        code = [line for line in excerpt if line.strip() and line.strip()[0] not in "#\"'"]
        if len(code) >= 7:
            found.append("\n".join(excerpt))
    return found


@pytest.mark.parametrize("name", MARGINS)
def test_a_margin_hides_no_code(name: str):
    """Before margins were removed, 116 to 120 of 120 passed behind most of these."""
    excerpts = read_excerpts()
    passed = [text for text in excerpts if find_problem(text) is None]
    hidden = [text for text in excerpts if find_problem(add_margin(MARGINS[name], text)) is None]

    assert len(passed) <= 0.05 * EXCERPTS
    assert len(hidden) <= len(passed) + 2


@pytest.mark.parametrize("name", WEAKER)
def test_signs_of_a_list_and_words_hide_little_code(name: str):
    hidden = [t for t in read_excerpts() if find_problem(add_margin(WEAKER[name], t)) is None]

    assert len(hidden) <= 0.1 * EXCERPTS


@pytest.mark.parametrize("name", MARGINS | WEAKER)
def test_a_margin_makes_no_code_of_words(name: str):
    """Each text alone, and six that follow one another. Some margins are signs of code themselves,
    as `||` is: before margins were removed, the same six were refused.
    """
    margin = (MARGINS | WEAKER)[name]
    several = ["\n".join(HONEST[start : start + 6]) for start in range(0, len(HONEST), 6)]

    refused = [text for text in (*HONEST, *several) if find_problem(add_margin(margin, text))]

    assert len(refused) <= 6


def test_words_around_a_listing_do_not_hide_it():
    listing = "41 | def load(self):\n42 |     return self.store.load()"
    problem = find_problem(f"The retry is here:\n{listing}\nand is called twice.")

    assert problem is not None
    assert (problem.reason, problem.line) == ("code", 2)


def test_a_margin_hides_neither_a_diff_nor_a_conversation():
    diff = "@@ -1,2 +1,2 @@\n-a = 1\n+a = 2"
    talk = "User: fix it\nAssistant: done"

    reasons = [find_problem(add_margin(MARGINS["number"], text)) for text in (diff, talk)]

    assert [problem and problem.reason for problem in reasons] == ["a diff", "a transcript"]


def test_the_margin_is_what_neighbours_share_and_numbers_are_alike():
    assert remove_margins([" 9 | a", "", "10 |   b|", "other", "one more"]) == [
        *("a", "", "  b", "other", "one more")
    ]


def test_a_list_keeps_its_signs():
    lines = ["- load()", "- save()", "1. one", "2. two"]

    assert remove_margins(lines) == lines
