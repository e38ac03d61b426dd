"""A real pgbouncer in transaction mode, between the tests and their PostgreSQL.

It hands a server connection to whoever begins a transaction and takes it back at the end, so that
whatever a client leaves on a connection is the next client's. Fewer of them than clients, to have
each used by all.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.rig import binaries
from tests.rig.postgres import execute, pick_port

PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
CONNECTIONS = 2
START_SECONDS = 30.0
SETTINGS = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
server_reset_query =
logfile = {folder}/log
pidfile = {folder}/pid
"""


@contextmanager
def pooled(url: str, size: int = CONNECTIONS) -> Iterator[str]:
    """The URL through a pooler of its own, which ends with the block."""
    program = shutil.which("pgbouncer", path=PLACES)
    if program is None:
        raise binaries.RigError("pgbouncer is missing: sudo apt-get install pgbouncer")
    folder, own_port = binaries.new_folder(), pick_port()
    try:
        _write_settings(folder, url, own_port, size)
        binaries.run([program, "-d", folder / "settings"], folder)
        wait_for_port(own_port)
        parts = urlsplit(url)
        login, _, _ = parts.netloc.rpartition("@")
        through = parts._replace(netloc=f"{login}@127.0.0.1:{own_port}")
        yield through._replace(query="statement_cache_size=0").geturl()
    finally:
        _stop(folder)


def _write_settings(folder: Path, url: str, own_port: int, size: int) -> None:
    parts = urlsplit(url)
    users = folder / "users"
    users.touch(mode=0o600)
    users.write_text(f'"{parts.username}" "{unquote(parts.password or "")}"\n')
    text = SETTINGS.format(
        host=parts.hostname, port=parts.port, own_port=own_port, folder=folder, size=size
    )
    (folder / "settings").write_text(text)
    binaries.give(folder)


def wait_for_port(port: int, name: str = "pgbouncer") -> None:
    """A program has started, or gone to the background, before it listens."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise binaries.RigError(f"{name} does not listen on 127.0.0.1:{port}")


def _stop(folder: Path) -> None:
    """At once, with what its clients have open; it removes its own file when it is gone."""
    pid_file = folder / "pid"
    if pid_file.exists():
        process = int(pid_file.read_text())
        os.kill(process, signal.SIGTERM)
        subprocess.run(["tail", "--pid", str(process), "-f", "/dev/null"], timeout=30, check=True)
    shutil.rmtree(folder)


def count_connections(url: str, role: str) -> int:
    """How many connections of a role to this database the server has, whoever made them."""
    [row] = execute(
        url,
        "select count(*) from pg_stat_activity where datname = current_database()"
        f" and usename = '{role}'",
    )
    return int(row[0])
