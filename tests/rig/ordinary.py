"""Commands as a person without special rights runs them: nothing is closed to root, and tests often
are root.

An interpreter may lie where only root can read it. So the process starts as root, loads what it
needs by running the same command once in a place of its own, and only then becomes another user.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rig.commands import PATIENCE_SECONDS, Answer
from tests.rig.nursery import without_measuring

NOBODY = 65534
BECOME = """
import contextlib, io, os, sys
from holdfast.surfaces.cli import main
wanted = dict(os.environ)
if os.geteuid() == 0:
    warm_up = wanted["WARM_UP"]
    os.environ |= {"HOLDFAST_HOME": warm_up, "HOME": warm_up, "HOLDFAST_DATABASE": ""}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(sys.argv[1:])
    os.environ |= {"HOLDFAST_DATABASE": "", **wanted}
    os.setgroups([])
    os.setgid(int(wanted["NOBODY"]))
    os.setuid(int(wanted["NOBODY"]))
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach and that belongs to the ordinary user; pytest's own are
    closed to others.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        inside = Path(folder) / "home"
        inside.mkdir()
        give(inside)
        yield inside


def give(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def run_as_ordinary(*arguments: str, home: Path) -> Answer:
    """One command with `home` as HOME and as the data folder."""
    environment = without_measuring()
    with tempfile.TemporaryDirectory() as warm_up:
        environment |= {
            "HOME": str(home),
            "HOLDFAST_HOME": str(home),
            "WARM_UP": warm_up,
            "NOBODY": str(NOBODY),
        }
        done = subprocess.run(
            [sys.executable, "-c", BECOME, *arguments],
            cwd=home.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
    return Answer(done.returncode, done.stdout, done.stderr)
