"""A real PostgreSQL for the tests.

`Cluster` is any running server that we hold a superuser's DSN of: it makes the roles, the migrated
template, and one cloned database per test. `Server` is a cluster of our own, in a temporary folder,
that can be started, stopped and killed; a fault test starts a second one for itself. Syncing to
disk stays on: what the tests show about lost writes must mean something.

The roles are those of a real installation: the owner migrates, the application only uses, and only
the superuser (whom Holdfast itself never is) could look past row-level security.
"""

import asyncio
import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from tests.rig import binaries

SUPERUSER = "postgres"
OWNER = "holdfast_owner"
RUNTIME = "holdfast_runtime"
APP = "holdfast_app"

Migrate = Callable[[str], Awaitable[Any]]

CLONE_STRATEGY = "wal_log"

WORKSPACE_PREFIX = "test-"
CONFINE_TO_WORKSPACES = f"""
do $$
declare
    owned record;
begin
    for owned in
        select attrelid::regclass as name from pg_attribute join pg_class on pg_class.oid = attrelid
        where attname = 'workspace_id' and relkind = 'r'
    loop
        execute format(
            'alter table %s add constraint only_workspaces_of_tests'
            ' check (starts_with(workspace_id, %L))',
            owned.name, '{WORKSPACE_PREFIX}'
        );
    end loop;
end
$$
"""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # 64 processes in one race, times the test workers.
    "max_connections": "400",
    "shared_buffers": "64MB",
    # The passwords are random and live for minutes: a thousand rounds per connection would only
    # cost time.
    "scram_iterations": "1",
}


def new_workspace() -> str:
    """A name that no other test of any run has."""
    return f"{WORKSPACE_PREFIX}{secrets.token_hex(6)}"


def run_in_thread(work: Callable[[], Any]) -> Any:
    """Run a coroutine to its end in a thread of its own, because the caller may sit in a running
    event loop.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def execute(url: str, *statements: str) -> list[asyncpg.Record]:
    """Run statements one by one on one connection and return the rows of the last."""

    async def work() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(url)
        try:
            rows: list[asyncpg.Record] = []
            for statement in statements:
                rows = await connection.fetch(statement)
            return rows
        finally:
            await connection.close()

    return run_in_thread(work)


def execute_script(url: str, script: str) -> None:
    """Run all statements of a script at once."""

    async def work() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(script)
        finally:
            await connection.close()

    run_in_thread(work)


class Cluster:
    """A running server, seen through its superuser's DSN. `run` sets this run's databases apart
    from others.
    """

    def __init__(self, superuser_url: str, run: str):
        self.superuser_url = superuser_url
        self.run = run

    def dsn(self, database: str = "postgres", role: str = SUPERUSER) -> str:
        """Where `role` finds `database`."""
        parts = urlsplit(self.superuser_url)
        if role == SUPERUSER:
            return parts._replace(path=f"/{database}").geturl()
        at = parts.netloc.rpartition("@")[2]
        return parts._replace(
            netloc=f"{role}:{self._password(role)}@{at}", path=f"/{database}"
        ).geturl()

    def prepare_roles(self) -> None:
        """Make the owner and the application's login; the migrations make the group that the login
        joins.
        """
        self._ensure_role(OWNER, "createrole nobypassrls")
        self._ensure_role(APP, "nocreaterole nobypassrls")

    def create_template(self, migrate: Migrate) -> str:
        """Migrate one database as the owner; every test clones it."""
        name = self._new_name()
        execute(self.dsn(), f"create database {name} owner {OWNER}")
        run_in_thread(lambda: migrate(self.dsn(name, OWNER)))
        execute(
            self.dsn(),
            f"grant {RUNTIME} to {APP}",
            # A template that accepts no connections is never busy, so any number of workers clone
            # it at once.
            f"alter database {name} with is_template true allow_connections false",
        )
        return name

    def create_database(self, template: str = "template1") -> str:
        """Clone a database for the owner and return its name."""
        name = self._new_name()
        execute(
            self.dsn(),
            f"create database {name} template {template} owner {OWNER} strategy {CLONE_STRATEGY}",
        )
        return name

    def create_shared_database(self, template: str) -> str:
        """Clone a database for tests that stay in a workspace each, and return its name.

        Commits are not waited for: what such a test shows does not depend on a crash of the server.
        A row outside the tests' workspaces is refused, because another test would see it.
        """
        name = self.create_database(template)
        execute(self.dsn(), f"alter database {name} set synchronous_commit = off")
        execute(self.dsn(name), CONFINE_TO_WORKSPACES)
        return name

    def dump_statements(self, name: str) -> str:
        """The statements that make the same database."""
        folder = binaries.new_folder()
        try:
            programs = binaries.find_programs(folder)
            return binaries.run([programs / "pg_dump", "--inserts", self.dsn(name)], folder)
        finally:
            shutil.rmtree(folder)

    def copy_by_dump(self, name: str) -> str:
        """Dump a database and restore it as another, as after a move to another server."""
        copy = self.create_database("template0")
        folder = binaries.new_folder()
        try:
            programs, dump = binaries.find_programs(folder), folder / "dump"
            options = ["--format=custom", "--file", dump]
            binaries.run([programs / "pg_dump", *options, self.dsn(name)], folder)
            binaries.run([programs / "pg_restore", "--dbname", self.dsn(copy), dump], folder)
        finally:
            shutil.rmtree(folder)
        return copy

    def drop_database(self, name: str) -> None:
        """Drop it even when a test left connections open."""
        execute(self.dsn(), f"drop database if exists {name} with (force)")

    def drop_databases(self) -> None:
        """Drop whatever this run made, templates as well: for a server that goes on without us."""
        rows = execute(
            self.dsn(), f"select datname from pg_database where datname like '{self.run}\\_%'"
        )
        for row in rows:
            execute(self.dsn(), f"alter database {row['datname']} with is_template false")
            self.drop_database(row["datname"])

    def _new_name(self) -> str:
        return f"{self.run}_{secrets.token_hex(6)}"

    def _password(self, role: str) -> str:
        """The same for every process that knows the superuser's DSN, and for no other."""
        return hashlib.sha256(f"{role} {self.superuser_url}".encode()).hexdigest()[:32]

    def _ensure_role(self, role: str, rights: str) -> None:
        known = execute(self.dsn(), f"select 1 from pg_roles where rolname = '{role}'")
        verb = "alter" if known else "create"
        execute(
            self.dsn(),
            f"{verb} role {role} login nosuperuser {rights} password '{self._password(role)}'",
        )


class Server(Cluster):
    """A cluster of our own in a temporary folder.

    `owner` is the process that the server must not outlive. Another process of the same run
    attaches by giving the folder.
    """

    def __init__(self, folder: Path | None = None, owner: int | None = None):
        self.folder = folder or binaries.new_folder()
        self.owner = owner or os.getpid()
        self.data = self.folder / "data"
        self._url_file = self.folder / "superuser-url"
        super().__init__(
            self._url_file.read_text() if self._url_file.exists() else "", "holdfast_test"
        )

    def start(self) -> None:
        """Start, the first time with a new cluster, and return when it takes connections."""
        if self.superuser_url:
            self._control("start", "-o", f"-p {urlsplit(self.superuser_url).port}")
        else:
            self._start_new()

    def stop(self, immediate: bool = False) -> None:
        """Stop; `immediate` is the crash: no checkpoint, no goodbye to clients, recovery at the
        next start.
        """
        self._control("stop", "-m", "immediate" if immediate else "fast")

    def restart(self, immediate: bool = False) -> None:
        """Stop and start on the same port with the same data."""
        self.stop(immediate)
        self.start()

    def remove(self) -> None:
        """Stop if it runs, and leave nothing behind."""
        if (self.data / "postmaster.pid").exists():
            self.stop(immediate=True)
        shutil.rmtree(self.folder)

    def log(self) -> str:
        """What the server wrote, for a test that wants to see a crash or a message in it."""
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    @cached_property
    def programs(self) -> Path:
        """PostgreSQL's `bin`; asked for late, because finding it may mean copying it."""
        return binaries.find_programs(self.folder)

    def _start_new(self) -> None:
        password = secrets.token_hex(16)
        self._guard()
        self._initialise(password)
        port = self._start_on_free_port()
        self.superuser_url = f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{port}/postgres"
        self._url_file.write_text(self.superuser_url)
        self.prepare_roles()

    def _initialise(self, password: str) -> None:
        password_file = self.folder / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(password)
        binaries.give(password_file)
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [
            self.programs / "initdb",
            "-D",
            self.data,
            "-U",
            SUPERUSER,
            "-A",
            "scram-sha-256",
        ]
        # Only the empty cluster goes to disk lazily; the running server syncs.
        command += [
            "--pwfile",
            password_file,
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
            *settings,
        ]
        binaries.run(command, self.folder)
        password_file.unlink()

    def _start_on_free_port(self) -> int:
        """Another process may take the port between our check and the server's bind: then try
        another.
        """
        for _ in range(4):
            port = pick_port()
            try:
                self._control("start", "-o", f"-p {port}")
            except binaries.RigError:
                if "Address already in use" not in self.log():
                    raise
            else:
                return port
        raise binaries.RigError(
            f"No free port for PostgreSQL on 127.0.0.1 after four tries. Its log:\n{self.log()}"
        )

    def _control(self, verb: str, *options: str) -> None:
        command = [
            self.programs / "pg_ctl",
            verb,
            "-w",
            "-t",
            "120",
            "-D",
            self.data,
            "-l",
            self.folder / "log",
        ]
        try:
            binaries.run([*command, *options], self.folder)
        except binaries.RigError as error:
            raise binaries.RigError(
                f"{error}\nPostgreSQL's log ends with:\n{self.log()[-2000:]}"
            ) from error

    def _guard(self) -> None:
        guard = Path(__file__).with_name("guard.py")
        subprocess.run(
            [sys.executable, "-I", "-S", guard, str(self.owner), self.folder],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def pick_port() -> int:
    """A free port below the range that clients get theirs from.

    While a server is down, a client that knocks on a port inside that range can be given the very
    same port, and then talks to itself.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
