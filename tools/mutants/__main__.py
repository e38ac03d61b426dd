"""Change one thing at a time in a copy of the package, and see whether a test fails.

make mutants                                      100 mutants over all rooms
make mutants ARGS="--count 300 --seed 2"          more, and others
make mutants ARGS="--room sessions"               of one room
make mutants ARGS="sessions/rules.py:120"         of a line or a file, below the package
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from tools.mutants import targets
from tools.mutants.generate import Mutant, choose_sample, find_mutants
from tools.mutants.package_copy import copy_package
from tools.mutants.reach import load_reach
from tools.mutants.report import print_report
from tools.mutants.trial import Trial, try_mutant


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "places", nargs="*", help="FILE or FILE:LINE below the package: all mutants there"
    )
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which sample of them")
    parser.add_argument("--room", help="only of this folder of the package")
    return parser.parse_args()


def choose_mutants(root: Path, arguments: argparse.Namespace) -> list[Mutant]:
    package = root / targets.PACKAGE
    paths = targets.list_targets(root)
    mutants = [
        mutant for path in paths for mutant in find_mutants(path, (package / path).read_bytes())
    ]
    if arguments.places:
        return [mutant for mutant in mutants if is_at(mutant, arguments.places)]
    if arguments.room:
        mutants = [mutant for mutant in mutants if targets.room_of(mutant.path) == arguments.room]
    return choose_sample(mutants, arguments.count, arguments.seed)


def is_at(mutant: Mutant, places: list[str]) -> bool:
    return str(mutant.path) in places or f"{mutant.path}:{mutant.line}" in places


def main() -> None:
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # the process that ends this ends its tests, too
    root = Path.cwd()
    mutants = choose_mutants(root, parse_arguments())
    trials: list[Trial] = []
    with copy_package(root) as copy:
        reach = load_reach(copy)
        for number, mutant in enumerate(mutants, start=1):
            trials.append(try_mutant(copy, mutant, reach.choose_tests(mutant)))
            print(f"{number:>4} of {len(mutants)}  {trials[-1].outcome:<10}{mutant}", flush=True)
    print_report(trials)


if __name__ == "__main__":
    main()
