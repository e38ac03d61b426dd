"""A copy of the package that tests run against, so that nothing in the checkout is ever changed."""

from __future__ import annotations

import compileall
import importlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from types import ModuleType

import _hypothesis_pytestplugin
import hypothesis
import pytest
import pytest_asyncio.plugin
import pytest_timeout

from tools.mutants import targets
from tools.mutants.source import Span

PLUGINS = (pytest_asyncio.plugin, pytest_timeout, _hypothesis_pytestplugin)
TIMEOUT = (
    "--timeout=60",
    "--timeout-method=signal",
)  # a test that hangs fails, and the others go on
# By option: `conftest.py` loads a profile of its own, and the option is read after that.
PROFILE = "mutants"
HYPOTHESIS = ("--hypothesis-seed=0", f"--hypothesis-profile={PROFILE}")
OPTIONS = ("-q", "--no-header", "-p", "no:cacheprovider", *HYPOTHESIS, *TIMEOUT)
# What many tests import and is slow to load: it is loaded once, and each run of tests is a fork.
PRELOADED = ("apsw", "asyncpg", "click", "fastapi", "httpx", "hypothesis.strategies", "jinja2")

FORK = multiprocessing.get_context("fork")


class PackageCopy:
    def __init__(self, folder: Path, root: Path):
        self.folder, self.root = folder, root
        self.package = folder / Path(targets.PACKAGE).name
        self.output = folder / "output.txt"

    @contextmanager
    def change(self, path: Path, span: Span, new: str) -> Iterator[None]:
        """One change, reverted at the end."""
        file = self.package / path
        data = file.read_bytes()
        start, end = span
        file.write_bytes(data[:start] + new.encode() + data[end:])
        try:
            yield
        finally:
            file.write_bytes(data)

    def run_tests(
        self, *arguments: str, plugins: Sequence[object] = (), is_limited: bool = True
    ) -> tuple[int, str]:
        """What pytest exits with and what it prints; raises TimeoutError where that
        takes too long.
        """
        process = FORK.Process(target=self.run_pytest, args=(arguments, plugins, is_limited))
        process.start()
        try:
            process.join(targets.WAITING_SECONDS if is_limited else None)
            if process.exitcode in (None, -signal.SIGXCPU):
                raise TimeoutError
            return process.exitcode, self.output.read_text(errors="replace")
        finally:
            if process.pid and process.is_alive():
                os.killpg(process.pid, signal.SIGKILL)
                process.join()

    def run_pytest(
        self, arguments: tuple[str, ...], plugins: Sequence[object], is_limited: bool
    ) -> None:
        """In the fork: a session of its own, so that it can be ended with all that it started."""
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a shell in the background has it ignored
        if is_limited:
            set_limits()
        output = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self.root)
        os.environ.update(self.environment())
        sys.path.insert(0, str(self.folder))
        sys.modules["__main__"] = ModuleType(
            "__main__"
        )  # or a process that a test spawns would load this tool
        register_profile()
        sys.exit(pytest.main([*OPTIONS, *arguments], plugins=[*PLUGINS, *plugins]))

    def environment(self) -> dict[str, str]:
        """Processes that tests start find the copy before the installed package, too."""
        return {
            "PYTHONPATH": str(self.folder),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HOLDFAST_SCALE": str(targets.SCALE),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
        }


@contextmanager
def copy_package(root: Path) -> Iterator[PackageCopy]:
    for module in PRELOADED:
        importlib.import_module(module)
    with TemporaryDirectory(prefix="mutants-") as name:
        copy = PackageCopy(Path(name).resolve(), root)
        shutil.copytree(
            root / targets.PACKAGE, copy.package, ignore=shutil.ignore_patterns("__pycache__")
        )
        # By hash: a change may keep the size of a file and, within a second, its time.
        compileall.compile_dir(
            copy.package, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
        yield copy


def set_limits() -> None:
    """A mutant may never leave a loop, and never stop appending in it."""
    resource.setrlimit(resource.RLIMIT_CPU, (targets.CPU_SECONDS, targets.CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (targets.MEMORY_BYTES, targets.MEMORY_BYTES))


def register_profile() -> None:
    """A mutant is to be seen, not explained: no examples are made smaller, and none are kept."""
    hypothesis.settings.register_profile(
        PROFILE,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        database=None,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        max_examples=targets.EXAMPLES,
    )
