"""Whether the tests notice a mutant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.mutants.generate import Mutant
from tools.mutants.package_copy import PackageCopy

Outcome = Literal["noticed", "survived", "timed out"]

PASSED, FAILED, INTERRUPTED, _, UNUSABLE = range(5)  # what pytest exits with
NOT_EVEN_LOADED = ("ERROR collecting", "while loading conftest")
NOT_FOUND = "ERROR: not found:"


@dataclass(frozen=True)
class Trial:
    mutant: Mutant
    outcome: Outcome
    tests: tuple[str, ...]


def try_mutant(copy: PackageCopy, mutant: Mutant, tests: list[str]) -> Trial:
    """A mutant that no test runs has survived."""
    if not tests:
        return Trial(mutant, "survived", ())
    with copy.change(mutant.path, mutant.span, mutant.new):
        return Trial(mutant, run(copy, tests), tuple(tests))


def run(copy: PackageCopy, tests: list[str]) -> Outcome:
    try:
        code, out = copy.run_tests("-x", *tests)
    except TimeoutError:
        return "timed out"
    if code == PASSED:
        return "survived"
    functions = list(dict.fromkeys(test.partition("[")[0] for test in tests))
    if code == UNUSABLE and NOT_FOUND in out and functions != tests:
        return run(copy, functions)  # the change is in the values that a test is run with
    is_broken = code == UNUSABLE and any(words in out for words in NOT_EVEN_LOADED)
    if code in (FAILED, INTERRUPTED) or is_broken or code < 0:
        return "noticed"
    raise SystemExit(f"pytest could not run the tests (exit code {code}):\n{out}")
