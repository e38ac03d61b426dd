"""Clients that write down what happens and are killed: processes from the nursery.

Each is told how far to write, says when it has, and kills itself where it is told to.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import apsw

from tests.rig.nursery import Line


def append_bytes(line: Line, path: str, source: str) -> None:
    """To a transcript, up to the byte that is named; a negative one is the last."""
    data = Path(source).read_bytes()
    with open(path, "ab", buffering=0) as file:
        while (wanted := line.hear()) is not None:
            end = abs(wanted)
            file.write(data[os.fstat(file.fileno()).st_size : end])
            if wanted < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            line.say(end)


def run_statements(line: Line, path: str, source: str) -> None:
    """On OpenCode's database, each one committed, up to the one that is named; a negative one is
    begun and not committed.
    """
    statements: list[tuple[str, list[Any]]] = json.loads(Path(source).read_text())
    connection = apsw.Connection(path)
    done = 0
    while (wanted := line.hear()) is not None:
        end = abs(wanted)
        for statement, values in statements[done:end]:
            connection.execute(statement, values)
        if wanted < 0:
            connection.execute("begin immediate")
            for statement, values in statements[end : end + 1]:
                connection.execute(statement, values)
            os.kill(os.getpid(), signal.SIGKILL)
        done = end
        line.say(end)
