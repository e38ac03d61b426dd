"""Which tests run a line: measured once, and again when code changes."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from tools.mutants import targets
from tools.mutants.generate import Mutant
from tools.mutants.package_copy import PackageCopy
from tools.mutants.recorder import Recorder
from tools.mutants.uses import Line, Uses

CACHE = ".mutants"

Record = dict[str, Any]  # of one file of tests: `seconds` by test, and `lines` by test and file


class Reach:
    def __init__(self, root: Path, records: Iterable[Record]):
        self.root = root
        self.seconds: dict[str, float] = {}
        self.tests: dict[Line, set[str]] = defaultdict(set)
        self.tests_of_file: dict[str, set[str]] = defaultdict(set)
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        self.seconds |= record["seconds"]
        for test in record["seconds"]:
            for path, lines in record["lines"].get(test, {}).items():
                self.tests_of_file[path].add(test)
                for line in lines:
                    self.tests[path, line].add(test)

    def choose_tests(self, mutant: Mutant) -> list[str]:
        """Those that run the change, the nearest and quickest first."""
        found = self.find_tests(mutant)
        if not targets.matches(mutant.path, targets.TARGETS_WITH_SQL):
            found = {test for test in found if not targets.needs_postgres(test)}
        ordered = sorted(found, key=lambda test: (distance(test, mutant.path), self.seconds[test]))
        return list(self.take_quick(ordered))

    def find_tests(self, mutant: Mutant) -> set[str]:
        """By line, else by the names that are bound, else all of the file and of the folder."""
        path = str(mutant.path)
        found = self.find_runners((path, line) for line in mutant.lines)
        found = found or self.find_runners(self.uses.find_lines(mutant.names))
        if targets.matches(path, targets.TARGETS_IN_SERVERS):
            return found | self.list_matching(*targets.TESTS_OF_SERVERS)
        in_folder = self.list_matching(f"{mirror_of(mutant.path)}/*")
        return found or self.tests_of_file[path] | in_folder

    def list_matching(self, *patterns: str) -> set[str]:
        return {test for test in self.seconds if targets.matches(test, patterns)}

    def find_runners(self, lines: Iterable[Line]) -> set[str]:
        return {test for line in lines for test in self.tests.get(line, ())}

    @cached_property
    def uses(self) -> Uses:
        return Uses(self.root / targets.PACKAGE)

    def take_quick(self, tests: list[str]) -> Iterator[str]:
        left = targets.MOST_SECONDS
        for test in tests[: targets.MOST_TESTS]:
            left -= self.seconds[test]
            if left >= 0:
                yield test


def distance(test: str, path: Path) -> int:
    """How near a test is to a file: tests mirror the source."""
    folder, _, name = test.partition("::")[0].rpartition("/")
    if folder != mirror_of(path):
        return 2
    return 0 if name == f"test_{path.name}" else 1


def mirror_of(path: Path) -> str:
    return str(Path("tests", path.parent))


# --- measuring -----------------------------------------------------------------------------------


def load_reach(copy: PackageCopy) -> Reach:
    """What is known of every file of tests; what is not, is measured now, folder by folder."""
    ground = hash_files(copy.root, list_support(copy.root))
    keys = {test: ground + hash_files(copy.root, [test]) for test in targets.list_tests(copy.root)}
    unknown = [test for test, key in keys.items() if load_record(copy.root, test).get("key") != key]
    for folder, tests in groupby(unknown, key=lambda test: "/".join(test.parts[:2])):
        print(f"Measuring which lines the tests of {folder} run …", flush=True)
        measure(copy, keys, list(tests))
    return Reach(copy.root, [load_record(copy.root, test) for test in keys])


def measure(copy: PackageCopy, keys: dict[Path, str], tests: list[Path]) -> None:
    result = copy.folder / "record.json"
    recorder, arguments = Recorder(copy.package, result), map(str, tests)
    code, out = copy.run_tests(
        "--continue-on-collection-errors", *arguments, plugins=[recorder], is_limited=False
    )
    if not result.exists():
        raise SystemExit(f"The tests could not be measured (exit code {code}):\n{out}")
    measured = json.loads(result.read_text())
    result.unlink()
    for test in tests:
        save_record(copy.root, test, {"key": keys[test], **part_of(measured, test)})


def part_of(measured: Record, file: Path) -> Record:
    mine = [test for test in measured["seconds"] if test.startswith(f"{file}::")]
    return {
        what: {test: values[test] for test in mine if test in values}
        for what, values in measured.items()
    }


def list_support(root: Path) -> list[Path]:
    """What any test may depend on: the package, and what is beside the tests."""
    package = [
        path for path in (root / targets.PACKAGE).rglob("*") if path.suffix in (".py", ".sql")
    ]
    beside = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
    return sorted(path.relative_to(root) for path in [*package, *beside])


def hash_files(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path).encode() + b"\0" + (root / path).read_bytes() + b"\0")
    return digest.hexdigest()


def load_record(root: Path, test: Path) -> Record:
    try:
        record: Record = json.loads(record_path(root, test).read_text())
        return record
    except FileNotFoundError:
        return {}


def save_record(root: Path, test: Path, record: Record) -> None:
    path = record_path(root, test)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record))


def record_path(root: Path, test: Path) -> Path:
    return root / CACHE / f"{'.'.join(test.with_suffix('').parts)}.json"
