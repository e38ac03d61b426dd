"""Holdfast as a process that counts what it asks of SQLite: rows that it gets, and steps of work.

    python -m tests.rig.counting FILE hook claude Stop

Steps count what a statement looks at, also where it returns little. They do not depend on how busy
the machine is.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig.commands import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
STEPS = 100  # of SQLite's machine, that count as one


@dataclass(frozen=True)
class Counted:
    out: str
    rows: int
    steps: int


def count_work(
    counts: Path, arguments: Sequence[str], *, cwd: Path, payload: Any = None
) -> Counted:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(counts), *arguments],
        input=json.dumps(payload),
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=PATIENCE_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return Counted(done.stdout, **json.loads(counts.read_text()))


def main() -> None:
    from holdfast import __main__
    from holdfast.storage import sqlite
    from holdfast.surfaces import hook

    hook.TEXT_SECONDS = PATIENCE_SECONDS  # a busy machine is no finding
    path = sys.argv.pop(1)
    counted = {"rows": 0, "steps": 0}
    really_connect, really_end = sqlite.connect, os._exit

    def count_row(cursor: Any, row: Any) -> Any:
        counted["rows"] += 1
        return row

    def count_step() -> bool:
        counted["steps"] += 1
        return False

    def connect(*args: Any) -> Any:
        connection = really_connect(*args)
        connection.row_trace = count_row
        connection.set_progress_handler(count_step, STEPS)
        return connection

    def end(code: int) -> None:
        Path(path).write_text(json.dumps(counted))
        sys.stdout.flush()
        really_end(code)

    sqlite.connect = connect
    os._exit = end  # type: ignore[assignment]
    end(__main__.main())


if __name__ == "__main__":
    main()
