"""The examples run as they stand, as a reader would run them."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_runs_of_a_graph_share_what_they_learned():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "shared_context.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.split("---")[2::2]
    assert "Nothing is recorded here yet." in first
    assert "'written': ['decision', 'claim', 'checklist', 'summary'], 'refused': []" in first
    assert "[ok] The schedule is done, retry.py#schedule" in second
    assert "- Redis streams: ops will not run another one" in second
    assert '[changed] "The schedule is done": retry.py#schedule edited since' in third
    assert done.stdout.endswith("to be read again: ['retry.py']\n")
