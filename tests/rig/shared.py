"""One server for a whole test run, however many workers it has.

The controlling process owns it: it makes the folder, informs the workers, and removes both at the
end. Nothing is started before a test asks, so a run that touches no database pays nothing: the
first worker that asks starts the server under a file lock, and the others find what it left.
"""

import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig import binaries
from tests.rig.postgres import Cluster, Migrate, Server


@dataclass(frozen=True)
class Run:
    """What workers need to know to share: the folder, who owns it, and a server that another user
    runs, if any.
    """

    folder: Path
    owner: int
    existing_url: str | None = None

    @classmethod
    def begin(cls, existing_url: str | None) -> "Run":
        return cls(binaries.new_folder(), os.getpid(), existing_url)

    @classmethod
    def from_worker_input(cls, values: dict[str, Any]) -> "Run":
        return cls(Path(values["folder"]), values["owner"], values["existing_url"])

    def to_worker_input(self) -> dict[str, Any]:
        """Only plain values cross over to a worker."""
        return {"folder": str(self.folder), "owner": self.owner, "existing_url": self.existing_url}

    def server(self) -> Cluster:
        """The run's server, started or prepared by the first worker that asks."""
        self._once("server", self._prepare_server)
        return self._cluster()

    def template(self, migrate: Migrate) -> str:
        """The name of the migrated database that tests clone."""
        return self._once("template", lambda: self.server().create_template(migrate))

    def end(self) -> None:
        """Leave nothing behind, neither here nor on an external server."""
        if (self.folder / "server").exists() and self.existing_url:
            self._cluster().drop_databases()
        elif (self.folder / "data").exists():
            Server(self.folder, self.owner).remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _cluster(self) -> Cluster:
        if self.existing_url:
            return Cluster(
                self.existing_url, "holdfast_" + self.folder.name.rpartition("-")[2].lower()
            )
        return Server(self.folder, self.owner)

    def _prepare_server(self) -> str:
        cluster = self._cluster()
        if isinstance(cluster, Server):
            cluster.start()
        else:
            cluster.prepare_roles()
        return "ready"

    def _once(self, name: str, make: Callable[[], str]) -> str:
        """What the first caller makes, all callers get; what it could not make, no other tries
        again.
        """
        done, failed = self.folder / name, self.folder / f"{name}-failed"
        with open(self.folder / f"{name}-lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if failed.exists():
                raise binaries.RigError(failed.read_text())
            if not done.exists():
                try:
                    done.write_text(make())
                except Exception as error:
                    failed.write_text(f"{type(error).__name__}: {error}")
                    raise
            return done.read_text()
