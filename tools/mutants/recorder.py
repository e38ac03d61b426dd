"""A pytest plugin that records which lines of the package each test runs, and how much time it
takes.

Only what passes is recorded: a test that fails without a change says nothing about one.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from tools.mutants import targets


class Recorder:
    def __init__(self, package: Path, result: Path):
        self.package, self.result = package, result
        self.coverage = Coverage(data_file=None, source=[str(package)], config_file=False)
        self.seconds: dict[str, float] = {}
        self.not_passed: set[str] = set()

    def pytest_configure(self) -> None:
        self.coverage.start()
        self.tracers = sys.gettrace(), threading.gettrace()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if is_asked(item.nodeid)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        before = processor_seconds()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = processor_seconds() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Iterator[object]:
        """`conftest.py` does not measure what is done many times; here such a test counts, too."""
        sys.settrace(self.tracers[0])
        threading.settrace(self.tracers[1])
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.not_passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        passed = {
            test: seconds for test, seconds in self.seconds.items() if test not in self.not_passed
        }
        self.result.write_text(json.dumps({"seconds": passed, "lines": self.read_lines()}))

    def read_lines(self) -> dict[str, dict[str, list[int]]]:
        """By test and file."""
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for file in data.measured_files():
            path = str(Path(file).relative_to(self.package))
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    lines[test].setdefault(path, []).append(line)
        return lines


def processor_seconds() -> float:
    """Of this process and of those that have ended: what does not depend on how busy the machine
    is.
    """
    return sum(os.times()[:4])


def is_asked(test: str) -> bool:
    return test.startswith(targets.FOLDERS_ON_BOTH_ENGINES) or not targets.needs_postgres(test)
