"""A person's machine for one test: a home, a repository, and clients that are started there."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tools.clients.conversation import Script
from tools.clients.install import find_node
from tools.clients.model import REQUESTS, SCRIPT
from tools.clients.programs.contract import Program
from tools.clients.sandbox import Sandbox

RUN_SECONDS = 120.0
NO_MODEL = "http://127.0.0.1:9"  # nothing listens there
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Started:
    """A client at work, and what its model was asked so far."""

    pid: int
    output: Path
    folder: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Those of the conversation: titles and summaries are left out."""
        return [entry for entry in self.read_log() if not entry.get("is_auxiliary", True)]

    def read_log(self) -> Iterator[dict[str, Any]]:
        log = self.folder / REQUESTS
        for line in log.read_text().splitlines() if log.exists() else ():
            yield json.loads(line)

    def describe(self) -> str:
        """For a person who reads why a run failed."""
        answers = [json.dumps(entry.get("answer", entry))[:300] for entry in self.read_log()]
        return "\n".join([self.output.read_text(errors="replace")[-3000:], *answers])


class Machine:
    """Each client comes with the folder of its commands, and was started here before."""

    def __init__(
        self,
        sandbox: Sandbox,
        folder: Path,
        clients: Sequence[tuple[Program, Path]] = (),
        *,
        cloned: Path | None = None,
        exports: Mapping[str, str] = MappingProxyType({}),
    ):
        """`exports`: what the person's shell sets for every program."""
        self.sandbox = sandbox
        self.folder = folder
        self.clients = clients
        self.exports = exports
        self.home = folder / "home"
        self.project = folder / "project"
        self.numbers = count(1)
        for place in (self.home, self.project, folder / "tmp"):
            place.mkdir(parents=True, exist_ok=True)
        if cloned is None:
            self.make_repository()
        else:
            self.git("clone", "-q", str(cloned), ".")
        for program, _ in clients:
            program.prepare(self.home, self.project)

    def make_repository(self) -> None:
        (self.project / "README.md").write_text("A project\n")
        self.git("init", "-q", "-b", "main")
        self.commit("Begin")

    def commit(self, subject: str) -> None:
        """All that is in the working tree, which may be nothing new."""
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=Dev", "-c", "user.email=dev@example.org", *words]
        done = subprocess.run(
            command, cwd=self.project, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def run(
        self,
        program: Program,
        prompt: str,
        script: Script,
        resumed: str | None = None,
        *,
        is_fork: bool = False,
    ) -> Started:
        """One headless turn, to its end."""
        started = self.start(program, prompt, script, resumed, is_fork=is_fork)
        self.finish(started)
        return started

    def start(
        self,
        program: Program,
        prompt: str,
        script: Script,
        resumed: str | None = None,
        *,
        is_fork: bool = False,
    ) -> Started:
        folder = self.make_conversation(script)
        url = self.get_url(folder)
        argv = program.make_command(url, prompt, resumed, is_fork=is_fork)
        environment = self.make_environment(url)
        argv[0] = shutil.which(argv[0], path=environment["PATH"]) or argv[0]
        output = folder / "output.txt"
        pid = self.sandbox.start(argv, environment, self.project, output)
        return Started(pid, output, folder)

    def finish(self, started: Started) -> None:
        code = self.sandbox.wait(started.pid, RUN_SECONDS)
        if code != 0:
            raise AssertionError(f"The client ended with {code}:\n{started.describe()}")

    def make_pipe(self, name: str) -> Path:
        pipe = self.folder / name
        os.mkfifo(pipe)
        return pipe

    def kill(self, started: Started) -> None:
        self.sandbox.kill(started.pid)

    def command(self, *argv: str, environment: dict[str, str] | None = None) -> str:
        """What a command printed that the person types, in the sandbox as well."""
        output = self.folder / f"command-{next(self.numbers)}.txt"
        known = environment or self.make_environment()
        pid = self.sandbox.start(argv, known, self.project, output)
        code = self.sandbox.wait(pid, RUN_SECONDS)
        printed = output.read_text(errors="replace")
        assert code == 0, f"{argv} ended with {code}:\n{printed}"
        return printed

    def make_conversation(self, script: Script) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="conversation-", dir=self.sandbox.folder))
        (folder / SCRIPT).write_text(json.dumps(script))
        return folder

    def get_url(self, conversation: Path) -> str:
        return f"http://127.0.0.1:{self.sandbox.port}/{conversation.name}"

    def make_environment(self, url: str = NO_MODEL) -> dict[str, str]:
        """Nothing of the person who runs the tests, and what points each client at the model."""
        folders = [str(commands) for _, commands in self.clients]
        environment = {
            "PATH": os.pathsep.join([*folders, str(find_node() / "bin"), SYSTEM]),
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "USER": "dev",
            "SHELL": "/bin/sh",
            **self.exports,
        }
        for program, _ in self.clients:
            environment |= program.make_environment(url)
        return environment
