"""Holdfast as people and clients call it: as a process of its own, or in this process where only
the answer matters.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.surfaces.cli import main
from tests.rig import binaries, proxies

HOLDFAST = (sys.executable, "-m", "holdfast")
# A hook gives a text up rather than keep an agent waiting. Where a test asks what the text says,
# a machine that is busy with other tests must not decide whether there is one.
PATIENT_MAIN = (
    "from holdfast import __main__; from holdfast.surfaces import hook, hook_team;"
    "hook.INDEX_SECONDS = hook.TEXT_SECONDS = hook.GIT_SECONDS = 60.0;"
    "hook.LOOK_SECONDS = hook_team.WHOLE_SECONDS = hook_team.BRIEF_SECONDS = 60.0;"
    "raise SystemExit(__main__.main())"
)
PATIENT = (sys.executable, "-c", PATIENT_MAIN)
PATIENCE_SECONDS = 120.0  # only guards against hanging


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str = ""

    @property
    def document(self) -> Any:
        """What `--json` printed: one JSON document, one line, and nothing else."""
        assert self.out.endswith("\n"), self
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)


Call = Callable[..., Answer]


def run_process(
    *arguments: str | bytes, stdin: bytes | str = b"", cwd: Path | None = None, **env: str
) -> Answer:
    """One real process, in this test's home and environment."""
    done = subprocess.run(
        [*(PATIENT if arguments[:1] == ("hook",) else HOLDFAST), *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **env},
        timeout=PATIENCE_SECONDS,
    )
    out, err = (stream.decode(errors="surrogateescape") for stream in (done.stdout, done.stderr))
    return Answer(done.returncode, out, err)


def require_programs(*names: str) -> None:
    """What a machine lacks skips its developer's test with one line, and fails where changes are
    decided.
    """
    try:
        for name in names:
            proxies.find_program(name)
    except binaries.RigError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
def real_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks give up when they would for a person."""
    monkeypatch.setattr(sys.modules[__name__], "PATIENT", HOLDFAST)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The working tree that commands are typed in."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def run(project: Path) -> Call:
    """`run("session", "list")`: a real process in the working tree."""

    def call(
        *arguments: str | bytes, stdin: bytes | str = b"", cwd: Path = project, **env: str
    ) -> Answer:
        return run_process(*arguments, stdin=stdin, cwd=cwd, **env)

    return call


@pytest.fixture
def cli(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`cli("session", "list")`: the same command in this process, for tests that
    ask many things.
    """
    monkeypatch.chdir(project)

    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        code = main(list(arguments))
        return Answer(code, *capsys.readouterr())

    return call
