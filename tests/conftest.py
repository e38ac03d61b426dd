"""Fixtures that every test may use.

A test that takes `database`, `sessions` or `database_url` runs twice: on SQLite and on a real
PostgreSQL. Each test has its own workspace, its own home and an environment without anything of the
person who runs it. The SQLite file is the test's own as well; the PostgreSQL database is shared by
the tests of a worker, unless a test is marked `own_database`.
"""

import faulthandler
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.rig import postgres as rig
from tests.rig.memory import keep_files_in_memory
from tests.rig.shared import Run

# A test's count is written for the soak; the gate runs a tenth of it.
SCALE = float(os.environ.get("HOLDFAST_SCALE", "0.1"))

# What a developer's shell may carry that would change an answer: our settings, a client's session,
# git and libpq.
PRIVATE_PREFIXES = (
    "HOLDFAST_",
    "SHARED_CONTEXT_",
    "CLAUDE",
    "CODEX",
    "COLUMNS",
    "CURSOR",
    "GEMINI",
    "GIT_",
    "PG",
    "XDG_",
)

# Makes every Python process measure its coverage, which doubles the time that a short one takes.
MEASURED = "COVERAGE_PROCESS_CONFIG"

GRACE_SECONDS = 60.0

RUN = pytest.StashKey[Run]()

TESTS = Path(__file__).parent
TESTS_OF_THE_WHOLE = ("faults", "house", "rig", "security", "tools", "walks")
WITH_SQL = ("memories", "sessions", "storage")

# A busy machine is not a finding: neither a slow example nor slowly drawn data fails a test. What
# decides about a change draws the same examples each time; a developer's runs and the soak draw
# new ones, and what they find becomes a test of its own.
hypothesis.settings.register_profile(
    "holdfast",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
hypothesis.settings.load_profile("holdfast")


def pytest_configure(config: pytest.Config) -> None:
    """The controller begins the run; a worker gets to know it."""
    let_children_be_interrupted()
    keep_files_in_memory()
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.stash[RUN] = Run.begin(os.environ.get("HOLDFAST_TEST_POSTGRES"))
    else:
        config.stash[RUN] = Run.from_worker_input(worker["holdfast_run"])


def let_children_be_interrupted() -> None:
    """Have them start with Ctrl-C as it usually is, although a shell ignores it in `make test &`.

    A child inherits that a signal is ignored, but not that it is handled.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["holdfast_run"] = node.config.stash[RUN].to_worker_input()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Function) -> Iterator[None]:
    """A test that never gives way ends its process a while after its timeout.

    The timeout itself cannot end a single long call, as that of a pattern.
    """
    faulthandler.dump_traceback_later(
        find_timeout(item) + GRACE_SECONDS, exit=True, file=sys.__stderr__
    )
    try:
        return (yield from run_measured(item))
    finally:
        faulthandler.cancel_dump_traceback_later()


def find_timeout(item: pytest.Function) -> float:
    marker = item.get_closest_marker("timeout")
    if marker is not None:
        return float(marker.args[0])
    return float(item.config.getoption("timeout") or item.config.getini("timeout"))


def run_measured(item: pytest.Function) -> Iterator[None]:
    """Measure coverage only where it says something, because it costs a quarter of the time.

    pytest-cov's `no_cover` does not do it: a worker measures twice, and only one of the two is
    paused.
    """
    if is_measured(item):
        return (yield)
    tracers = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracers[0])
        threading.settrace(tracers[1])


def is_measured(item: pytest.Function) -> bool:
    """Whether a test's lines count.

    A line that only a test of the whole reaches has no test of its own, so those do not count.
    Outside of the folders with SQL the lines are the same on both engines. The thousandth time
    reaches the lines of the first; and which lines count must not depend on what was drawn.
    """
    folder = item.path.relative_to(TESTS).parts[0]
    if folder in TESTS_OF_THE_WHOLE or "scale" in item.fixturenames:
        return False
    if getattr(item.obj, "is_hypothesis_test", False):
        return False
    if item.get_closest_marker("unmeasured") is not None:
        return False
    return folder in WITH_SQL or not is_on_postgres(item)


def is_on_postgres(item: pytest.Function) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("database_url") == "postgres"


def pytest_unconfigure(config: pytest.Config) -> None:
    """The end, also after Ctrl-C. A killed run is cleaned up by the server's guard."""
    if not hasattr(config, "workerinput") and RUN in config.stash:
        config.stash[RUN].end()


def pytest_report_header() -> str:
    where = (
        "HOLDFAST_TEST_POSTGRES" if os.environ.get("HOLDFAST_TEST_POSTGRES") else "from the wheel"
    )
    return f"holdfast: scale {SCALE:g}, PostgreSQL {where}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Every run prints its counts: a fault test that says nothing about N says nothing."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    counts = [
        (r.nodeid, value)
        for r in reports
        for name, value in r.user_properties
        if name == "N" and r.when == "call"
    ]
    if counts:
        terminalreporter.section(f"counts at scale {SCALE:g}")
        for nodeid, n in sorted(counts):
            terminalreporter.write_line(f"N={n:<8} {nodeid}")


@pytest.fixture(scope="session")
def runtime_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: what a data folder leaves there has a name of its own."""
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(autouse=True)
def home(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    runtime_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """An empty home and an own data folder; returns the home."""
    if request.node.get_closest_marker("measures_processes") is None:
        monkeypatch.delenv(MEASURED, raising=False)
    for name in list(os.environ):
        if name.startswith(PRIVATE_PREFIXES):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "holdfast"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime_folder))
    return folder


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """A folder on a disk, for what a kill must leave whole and where times of files are exact.

    `tmp_path` may be in memory.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def scale(record_property: Callable[[str, object], None]) -> Callable[[int], int]:
    """How many of `n` this run does: all in the soak, a tenth in the gate, at least one. The run
    prints it.
    """

    def scaled(n: int) -> int:
        count = max(1, int(n * SCALE))
        record_property("N", count)
        return count

    return scaled


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> rig.Cluster:
    """The run's PostgreSQL, shared by all workers: never stop it. To stop one, take
    `own_postgres`.
    """
    return pytestconfig.stash[RUN].server()


@pytest.fixture(scope="session")
def postgres_template(pytestconfig: pytest.Config, postgres: rig.Cluster) -> str:
    """The database that was migrated once, as the owner."""
    return pytestconfig.stash[RUN].template(migrate)


@pytest.fixture
def workspace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test's own workspace in the shared database; in a database of its own the usual one."""
    if has_own_database(request):
        return "local"
    name = rig.new_workspace()
    monkeypatch.setenv("HOLDFAST_WORKSPACE", name)
    return name


def has_own_database(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("own_database") is not None


@pytest.fixture(scope="session")
def shared_database(postgres: rig.Cluster, postgres_template: str) -> Iterator[str]:
    """The name of the database that this worker's tests share, each in its own workspace."""
    name = postgres.create_shared_database(postgres_template)
    yield name
    postgres.drop_database(name)


@pytest.fixture
def postgres_database(
    request: pytest.FixtureRequest, postgres: rig.Cluster, postgres_template: str
) -> Iterator[str]:
    """The database that this test uses: a clone if it is marked `own_database`, or
    the shared one.
    """
    if has_own_database(request):
        name = postgres.create_database(postgres_template)
        yield name
        postgres.drop_database(name)
    else:
        yield request.getfixturevalue("shared_database")


@pytest.fixture
def postgres_url(postgres: rig.Cluster, postgres_database: str, workspace: str) -> str:
    """That database, as the role that Holdfast runs as."""
    return postgres.dsn(postgres_database, rig.APP)


@pytest.fixture
def postgres_owner_url(postgres: rig.Cluster, postgres_database: str) -> str:
    """That database, as the role that migrates."""
    return postgres.dsn(postgres_database, rig.OWNER)


@pytest.fixture
def own_postgres() -> Iterator[rig.Server]:
    """A second server for a test that stops or kills it. It has the roles, and no database yet."""
    server = rig.Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def own_postgres_url(own_postgres: rig.Server) -> str:
    """A migrated database on that second server, as the role that Holdfast runs as."""
    return own_postgres.dsn(
        own_postgres.create_database(own_postgres.create_template(migrate)), rig.APP
    )


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A database file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, workspace: str) -> str:
    """The same test on both engines, in a workspace of its own on both."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Any]:
    """An open database, on both engines."""
    import holdfast

    async with holdfast.open_database(database_url) as opened:
        yield opened


@pytest.fixture
def sessions(database: Any) -> Any:
    """The service of the sessions room, on both engines."""
    import holdfast

    return holdfast.SessionService(database)


async def migrate(dsn: str) -> None:
    """Imported late, so that a test without PostgreSQL does not pay for it."""
    from holdfast.storage.migrate import migrate_postgres

    await migrate_postgres(dsn)
