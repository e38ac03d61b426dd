"""Backups as an operator makes and restores them: by our command, and by the engine's own means."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.rig import binaries
from tests.rig.commands import Answer, run_process
from tests.rig.postgres import APP, Cluster
from tests.rig.roles import new_role

REFUSED, UNAVAILABLE = 5, 6


class Backups:
    """Makes and restores copies of one store."""

    def __init__(self, url: str, home: Path):
        self.url, self.home = url, home

    def make(self, file: Path, **env: str) -> Answer:
        return run_process(
            "admin", "backup", str(file), "--json", HOLDFAST_DATABASE=self.url, **env
        )

    @contextmanager
    def restored(self, file: Path) -> Iterator[str]:
        """The URL of what was restored."""
        copy = self.home / "restored.db"
        shutil.copyfile(file, copy)
        yield f"sqlite:///{copy}"


class PostgresBackups(Backups):
    """As a role that reads every row, and is nothing else."""

    def __init__(self, url: str, home: Path, cluster: Cluster, programs: Path):
        super().__init__(url, home)
        self.cluster, self.programs = cluster, programs

    def make(self, file: Path, **env: str) -> Answer:
        path = f"{self.programs}:{os.environ['PATH']}"
        return super().make(file, **{"PATH": path, **env})

    @contextmanager
    def restored(self, file: Path) -> Iterator[str]:
        name = self.cluster.create_database("template0")
        try:
            target = self.cluster.dsn(name)
            restore = [self.programs / "pg_restore", "--exit-on-error", "--dbname", target]
            folder = binaries.new_folder()
            copy = folder / "backup"
            shutil.copyfile(file, copy)
            binaries.give(copy)
            binaries.run([*restore, copy], folder)
            shutil.rmtree(folder)
            yield self.cluster.dsn(name, APP)
        finally:
            self.cluster.drop_database(name)


@pytest.fixture
def programs() -> Iterator[Path]:
    """PostgreSQL's client programs, of the version of its server."""
    folder = binaries.new_folder()
    yield binaries.find_programs(folder)
    shutil.rmtree(folder)


@pytest.fixture
def backups(
    database_url: str, disk_path: Path, request: pytest.FixtureRequest
) -> Iterator[Backups]:
    """Of the store of this test, on both engines."""
    if urlsplit(database_url).scheme == "sqlite":
        yield Backups(database_url, disk_path)
        return
    cluster = request.getfixturevalue("postgres")
    name = request.getfixturevalue("postgres_database")
    programs = request.getfixturevalue("programs")
    with new_role(cluster, name, "bypassrls in role pg_read_all_data") as role:
        yield PostgresBackups(role.url, disk_path, cluster, programs)


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)
