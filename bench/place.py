"""Where stores live: SQLite files in one temporary folder, and a database each on one PostgreSQL
server.

Every contestant gets a store of its own for every measurement, so that no table grows under
another's feet. The server is the tests' own: from a wheel, in a temporary folder, with fsync on;
`HOLDFAST_TEST_POSTGRES` (the DSN of a superuser) names another one. `TMPDIR` chooses the disk.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import apsw

from tests.rig.postgres import APP, OWNER, Cluster, Server, execute

STOP_AUTOVACUUM = """
do $$
declare
    made record;
begin
    for made in
        select c.oid::regclass as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
    loop
        execute format('alter table %s set (autovacuum_enabled = off)', made.name);
    end loop;
end
$$
"""


@dataclass(frozen=True)
class Place:
    """One store's address. `first` is true for the process that opens it first and so has to make
    the tables.
    """

    path: str = ""
    dsn: str = ""
    app_dsn: str = ""
    first: bool = True

    def again(self) -> Place:
        """The same store for a second process."""
        return replace(self, first=False)


class Places:
    """Hands out fresh stores, and takes them back between measurements: a million events are not
    kept for the next.
    """

    def __init__(self, folder: Path, cluster: Cluster):
        self.folder, self.cluster = folder, cluster
        self.numbers = itertools.count(1)

    def new(self, engine: str) -> Place:
        """A file name that does not exist yet, or a database that was just made."""
        if engine == "sqlite":
            return Place(path=str(self.folder / f"{next(self.numbers)}.db"))
        name = self.cluster.create_database()
        return Place(dsn=self.cluster.dsn(name, OWNER), app_dsn=self.cluster.dsn(name, APP))

    def settle(self, place: Place) -> None:
        """After a bulk load, do what autovacuum would do within a minute, for every contestant
        alike.
        """
        if place.dsn:
            execute(self.superuser_dsn(place), "vacuum analyze")

    def superuser_dsn(self, place: Place) -> str:
        """For what no contestant may do."""
        return self.cluster.dsn(urlsplit(place.dsn).path[1:])

    def never_analyse(self, place: Place) -> None:
        """Keep the planner without statistics on every table, of every contestant alike."""
        execute(self.superuser_dsn(place), STOP_AUTOVACUUM)

    def weigh(self, place: Place) -> int:
        """Bytes on disk of a store that is closed, with its log moved into the file."""
        if place.dsn:
            name = urlsplit(place.dsn).path[1:]
            return execute(self.cluster.dsn(name), f"select pg_database_size('{name}')")[0][0]
        connection = apsw.Connection(place.path)
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        connection.close()
        return Path(place.path).stat().st_size

    def remove(self, place: Place) -> None:
        """Remove the file with its companions, or the database."""
        if place.dsn:
            self.cluster.drop_database(urlsplit(place.dsn).path[1:])
        for file in self.folder.glob(f"{Path(place.path).name}*") if place.path else ():
            file.unlink()


@contextmanager
def open_places() -> Iterator[Places]:
    """A folder and a server that are gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        running_cluster() as cluster,
    ):
        yield Places(Path(folder), cluster)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A given server, or one of our own for the time of the run."""
    if url := os.environ.get("HOLDFAST_TEST_POSTGRES"):
        cluster = Cluster(url, "holdfast_bench")
        cluster.prepare_roles()
        try:
            yield cluster
        finally:
            cluster.drop_databases()
    else:
        server = Server()
        try:
            server.start()
            yield server
        finally:
            server.remove()
