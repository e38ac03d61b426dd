"""What is changed, and which tests are asked: all the configuration there is."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

PACKAGE = "src/holdfast"

# Rules, stores and guards, below the package: where a wrong decision does harm.
TARGETS = (
    "*/rules.py",
    "*/store.py",
    "*/*service.py",
    "bundles/*sections.py",
    "bundles/budget.py",
    "bundles/cuts.py",
    "bundles/gathering.py",
    "bundles/receipts.py",
    "bundles/rounds.py",
    "sessions/chain.py",
    "sessions/context_sets.py",
    "workstreams/completion.py",
    "workstreams/completion_senses.py",
    "workstreams/document.py",
    "workstreams/entries.py",
    "workstreams/evidence.py",
    "workstreams/judging.py",
    "workstreams/line_runs.py",
    "workstreams/merging.py",
    "workstreams/staleness.py",
    "workstreams/symbols.py",
    "storage/*.py",
    "usecases/*.py",
    "write.py",
    "ground/canonical.py",
    "ground/confined.py",
    "ground/fence.py",
    "ground/files.py",
    "ground/ids.py",
    "ground/jsonl.py",
    "ground/redaction.py",
    "ground/settings.py",
    "ground/text.py",
    "surfaces/http/bodies.py",
    "surfaces/http/conditions.py",
    "surfaces/http/guard.py",
    "surfaces/http/login.py",
    "surfaces/http/token.py",
)

# Only here can the engine make a difference; elsewhere the tests on SQLite are asked.
TARGETS_WITH_SQL = ("*/store.py", "*/*service.py", "storage/*.py", "usecases/*.py", "write.py")

# These run in the process of a server, which is not measured: all tests of servers are asked.
TARGETS_IN_SERVERS = ("surfaces/http/*",)
TESTS_OF_SERVERS = ("tests/surfaces/http/*", "tests/security/test_http_walls.py*")

# Browsers, official clients, servers that are killed, whole programs: too slow to be asked.
SLOW_TESTS = (
    "tests/faults/*",
    "tests/house/*",
    "tests/rig/*",
    "tests/tools/*",
    "tests/walks/*",
    "*browser*.py",
    "*screenshots*.py",
    "*pictures*.py",
    "*official_checks*.py",
    "*console_xss*.py",
    "*engines_agree*.py",
    "tests/surfaces/http/test_schema.py",
    "tests/surfaces/langgraph/*",
    "tests/surfaces/mcp/test_stdio.py",
)

# Only these are measured on both engines; the others on SQLite.
FOLDERS_ON_BOTH_ENGINES = ("tests/memories", "tests/sessions", "tests/storage")

# By the processor time that they took when they were measured.
MOST_SECONDS = 15.0
MOST_TESTS = 300
# Of the processor, so that a busy machine ends nothing; who only waits is ended after a while, too.
CPU_SECONDS = 30
WAITING_SECONDS = 120.0
MEMORY_BYTES = 4 << 30
# Of the counts of a test that tries many, and of generated examples where a test names no number of
# its own.
SCALE = 0.01
EXAMPLES = 30


def list_targets(root: Path) -> list[Path]:
    """Below the package, in a fixed order."""
    package = root / PACKAGE
    found = {path for pattern in TARGETS for path in package.glob(pattern)}
    return sorted(path.relative_to(package) for path in found)


def room_of(path: Path) -> str:
    """A file's room is its first folder; files beside the rooms count as one more."""
    return path.parts[0] if len(path.parts) > 1 else "(package root)"


def matches(path: Path | str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(str(path), pattern) for pattern in patterns)


def needs_postgres(test: str) -> bool:
    """Whether it is the half on PostgreSQL of a test that runs on both engines."""
    return bool(re.search(r"[\[-]postgres[\]-]", test))


def list_tests(root: Path) -> list[Path]:
    """The files of tests that are quick enough to be asked."""
    found = sorted(path.relative_to(root) for path in (root / "tests").rglob("test_*.py"))
    return [path for path in found if not matches(path, SLOW_TESTS)]
