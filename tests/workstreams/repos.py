"""Real git repositories for the tests, and a service that works in one."""

import os
import subprocess
from pathlib import Path
from typing import Any

from holdfast.ground.settings import load_settings
from holdfast.storage.journal import Journal
from holdfast.workstreams.service import WorkstreamService

ON = {"SHARED_CONTEXT_ENABLED": "true"}
RETRY = (
    "def schedule(attempt):\n    return 30 * 2**attempt\n\n\ndef deliver(event):\n"
    "    return event\n"
)


# Nothing here outlives its test, so nothing is tidied up or waited for until it is on disk.
QUICK = ["-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]


class Repo:
    def __init__(self, folder: Path, *, begin: bool = True):
        self.folder = folder
        if begin:
            folder.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main", "--template=")

    def git(self, *command: str, check: bool = True) -> str:
        flags = [
            "-c",
            "user.name=Ana",
            "-c",
            "user.email=ana@example.org",
            "-c",
            "protocol.file.allow=always",
        ]
        command = ("git", *QUICK, *flags, *command)
        done = subprocess.run(command, cwd=self.folder, capture_output=True)
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.stdout.decode(errors="surrogateescape").strip()

    def write(self, path: str, text: str | bytes) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")


def with_code(folder: Path) -> Repo:
    repo = Repo(folder)
    repo.write("src/retry.py", RETRY)
    repo.write("src/models.py", "class Attempt:\n    number: int\n")
    repo.write("README.md", "payouts\n")
    repo.commit("begin")
    return repo


def service_in(repo: Repo, database: Any, *, folder: str = "", **more: Any) -> WorkstreamService:
    settings = load_settings({**os.environ, "HOLDFAST_DEVELOPER": "ana"})
    more.setdefault("environment", ON)
    journal = Journal(database, settings.owner)
    return WorkstreamService(settings, journal, folder=str(repo.folder / folder), **more)
