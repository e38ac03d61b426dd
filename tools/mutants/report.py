"""A table by room, and what was not noticed."""

from __future__ import annotations

from collections import Counter, defaultdict

from tools.mutants import targets
from tools.mutants.trial import Trial

HEAD = f"{'room':<16}{'mutants':>9}{'noticed':>9}{'share':>9}"
TESTS_SHOWN = 3


def print_report(trials: list[Trial]) -> None:
    print_table(trials)
    print_trials(
        "Timed out, which counts as noticed", [t for t in trials if t.outcome == "timed out"]
    )
    print_trials("Survived", [t for t in trials if t.outcome == "survived"])


def print_table(trials: list[Trial]) -> None:
    rooms: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        rooms[targets.room_of(trial.mutant.path)].append(trial)
    print(f"\n{HEAD}")
    for room, found in sorted(rooms.items()):
        print(row(room, found))
    print(row("in all", trials))


def row(name: str, trials: list[Trial]) -> str:
    noticed = sum(trial.outcome != "survived" for trial in trials)
    share = 100 * noticed / max(1, len(trials))
    return f"{name:<16}{len(trials):>9}{noticed:>9}{share:>7.1f} %"


def print_trials(title: str, trials: list[Trial]) -> None:
    print(f"\n{title}: {len(trials)}")
    for trial in sorted(trials, key=lambda trial: (trial.mutant.path, trial.mutant.span)):
        print(f"  {trial.mutant}\n      {describe_tests(trial.tests)}")


def describe_tests(tests: tuple[str, ...]) -> str:
    """The files with how many tests of each, and the first few by name."""
    if not tests:
        return "no test runs it"
    files = Counter(test.partition("::")[0] for test in tests)
    return ", ".join(f"{count} of {file}" for file, count in files.most_common(TESTS_SHOWN))
