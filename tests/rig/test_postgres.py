"""The rig itself, because every statement about PostgreSQL rests on it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

import holdfast
from holdfast.ground.settings import owner_of
from tests.rig import binaries, guard
from tests.rig.postgres import APP, OWNER, RUNTIME, Cluster, Server, execute, run_in_thread
from tests.rig.shared import Run

ROOT = Path(__file__).parents[2]


async def make_a_table(dsn: str) -> None:
    """A stand-in for the migrations: the group role, and one table that it may use."""
    connection = await asyncpg.connect(dsn)
    try:
        if not await connection.fetchval("select 1 from pg_roles where rolname = $1", RUNTIME):
            await connection.execute(f"create role {RUNTIME} nologin")
        await connection.execute("create table notes (note text)")
        await connection.execute(f"grant select, insert on notes to {RUNTIME}")
    finally:
        await connection.close()


@pytest.fixture
def run() -> Iterator[Run]:
    run = Run.begin(None)
    yield run
    run.end()


def test_a_test_runs_on_a_clone_as_a_role_that_row_level_security_binds(postgres: Cluster):
    """Neither the owner nor the application can look past a policy, and the application owns
    nothing.
    """
    name = postgres.create_database(postgres.create_template(make_a_table))

    execute(postgres.dsn(name, APP), "insert into notes values ('kept')")

    assert execute(postgres.dsn(name, OWNER), "select note from notes")[0]["note"] == "kept"
    for role in (APP, OWNER):
        rights = execute(
            postgres.dsn(name, role),
            "select rolsuper, rolbypassrls from pg_roles where rolname = current_user",
        )
        assert dict(rights[0]) == {"rolsuper": False, "rolbypassrls": False}
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        execute(postgres.dsn(name, APP), "drop table notes")
    postgres.drop_database(name)


def test_clones_do_not_see_each_other(postgres: Cluster):
    """What one test writes, no other test reads."""
    template = postgres.create_template(make_a_table)
    first, second = postgres.create_database(template), postgres.create_database(template)

    execute(postgres.dsn(first, APP), "insert into notes values ('first')")

    assert execute(postgres.dsn(second, APP), "select * from notes") == []
    postgres.drop_database(first)
    postgres.drop_database(second)


async def test_a_row_outside_of_the_tests_workspaces_is_refused_where_tests_share(
    postgres_url: str, workspace: str
):
    """A test that names a workspace by hand would see the rows of another test."""
    async with holdfast.open_database(postgres_url) as database:
        session = await holdfast.SessionService(database).create_session("coder", "u1")

        with pytest.raises(asyncpg.CheckViolationError, match="only_workspaces_of_tests"):
            await holdfast.SessionService(database, owner=owner_of("local", "ana")).create_session(
                "coder", "u1"
            )

        assert os.environ["HOLDFAST_WORKSPACE"] == workspace
        assert [
            listed.id for listed in await holdfast.SessionService(database).list_sessions()
        ] == [session.id]


@pytest.mark.own_database
def test_an_own_database_commits_with_fsync(
    postgres_url: str, postgres_database: str, workspace: str
):
    settings = [
        execute(postgres_url, f"show {name}")[0][0] for name in ("fsync", "synchronous_commit")
    ]

    assert settings == ["on", "on"]
    assert postgres_url.endswith(f"/{postgres_database}")
    assert workspace == "local"


def test_a_database_is_dropped_although_a_connection_is_open(postgres: Cluster):
    """A test that leaks a connection does not break the next one."""
    name = postgres.create_database()

    async def leak() -> None:
        leaked = await asyncpg.connect(postgres.dsn(name, OWNER))
        execute(postgres.dsn(), f"drop database {name} with (force)")
        await leaked.close(timeout=5)

    run_in_thread(leak)

    assert execute(postgres.dsn(), f"select 1 from pg_database where datname = '{name}'") == []


def test_a_killed_server_comes_back_with_what_was_committed(own_postgres: Server):
    """Immediate stop and start: same port, same data, recovery in the log; and it does sync to
    disk.
    """
    name = own_postgres.create_database(own_postgres.create_template(make_a_table))
    url = own_postgres.dsn(name, APP)
    execute(url, "insert into notes values ('committed')")

    own_postgres.stop(immediate=True)
    with pytest.raises(OSError):
        execute(url, "select 1")
    own_postgres.start()

    assert execute(url, "select note from notes")[0]["note"] == "committed"
    assert execute(url, "show fsync")[0]["fsync"] == "on"
    assert "automatic recovery in progress" in own_postgres.log()


def test_a_connection_with_a_wrong_password_is_refused(own_postgres: Server):
    """The server listens on loopback, where other people of the same machine are as well."""
    stranger = own_postgres.superuser_url.replace(
        own_postgres.superuser_url.split("@")[0], "postgresql://postgres:guess"
    )

    with pytest.raises(asyncpg.InvalidPasswordError):
        execute(stranger, "select 1")


def test_workers_share_one_server_and_one_template(run: Run):
    """A second process finds what the first one started, instead of starting its own."""
    template = run.template(make_a_table)

    told = Run.from_worker_input(run.to_worker_input())

    assert told.server().superuser_url == run.server().superuser_url
    assert told.template(make_a_table) == template


def test_a_failed_migration_fails_every_worker_with_the_same_words(run: Run):
    """No worker tries again what could not work, and each of them says why."""

    async def broken(dsn: str) -> None:
        raise ValueError("migration 0007 is broken")

    with pytest.raises(ValueError, match="0007"):
        run.template(broken)
    with pytest.raises(binaries.RigError, match="0007"):
        run.template(make_a_table)


def test_nothing_is_left_at_the_end(run: Run):
    """Neither the process nor the folder."""
    run.server()
    pid = guard.server_pid(run.folder / "data")
    assert pid is not None

    run.end()

    assert not run.folder.exists()
    assert not guard.is_alive(pid)


def test_an_external_server_is_used_and_left_clean(own_postgres: Server):
    """HOLDFAST_TEST_POSTGRES: nothing is started, and only our own databases go."""
    theirs = own_postgres.create_database()
    run = Run.begin(own_postgres.superuser_url)
    cluster = run.server()
    cluster.create_database(run.template(make_a_table))

    run.end()

    rows = execute(
        own_postgres.dsn(), "select datname from pg_database where datname like 'holdfast%'"
    )
    assert [row["datname"] for row in rows] == [theirs]


def test_a_server_does_not_outlive_a_killed_owner(tmp_path: Path):
    """kill -9 of the test run: the guard stops the server and removes the folder."""
    script = (
        "from tests.rig.postgres import Server; s = Server(); s.start(); print(s.folder, "
        "flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        pid = guard.server_pid(folder / "data")
        owner.kill()

    assert pid is not None
    wait_until(lambda: not guard.is_alive(pid) and not folder.exists())


def test_programs_that_the_server_user_cannot_read_are_copied(tmp_path: Path):
    """A virtual environment under /root is closed to the user that the server runs as."""
    folder = binaries.new_folder()
    try:
        programs = binaries.copy_programs(binaries._installed_wheel(), folder)

        assert programs.is_relative_to(folder)
        assert "PostgreSQL" in binaries.run([programs / "psql", "--version"], folder)
        assert "PostgreSQL" in binaries.run([programs / "postgres", "--version"], folder)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def test_a_child_can_be_interrupted_although_the_run_cannot():
    """As in `make test &` of a shell, and after `trap '' INT`."""
    child = [
        sys.executable,
        "-c",
        "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)",
    ]
    script = (
        "import os, signal, subprocess; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "from tests.conftest import let_children_be_interrupted; let_children_be_interrupted();"
        f"os.kill(os.getpid(), signal.SIGINT); subprocess.run({child!r}, check=True)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "True\n"


def test_the_scale_is_at_least_one(scale):
    """A tenth of three is still one attempt."""
    assert scale(3) >= 1


async def test_a_test_has_a_home_of_its_own(home: Path, tmp_path: Path):
    """Nothing of the person who runs the tests can change an answer."""
    assert os.environ["HOME"] == str(home)
    assert os.environ["HOLDFAST_HOME"].startswith(str(tmp_path))
    assert [name for name in os.environ if name.startswith("HOLDFAST_")] == ["HOLDFAST_HOME"]


def wait_until(condition, seconds: float = 30.0) -> None:
    """Only guards against hanging."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
