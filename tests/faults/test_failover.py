"""R30: PostgreSQL that fails over, as a real cluster. `make failover` runs the same."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_nothing_that_was_acknowledged_is_lost_or_doubled_when_nodes_fail() -> None:
    """16 writers; the primary is killed, switched over, stopped and cut off; all go on."""
    command = [sys.executable, "-m", "tests.failover"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    print(done.stdout)
    assert done.returncode == 0, done.stderr
