"""Hooks that are killed while they read a transcript."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.rig.claude_program import FIRST, SECOND, Claude, said
from tests.rig.commands import HOLDFAST


def test_a_killed_hook_loses_nothing_that_the_transcript_has(
    home: Path, tmp_path: Path, scale: Any
):
    """At another point of its work each time; the next start stores the rest, each once."""
    (tmp_path / ".git").mkdir()
    claude, next_claude = Claude(home, tmp_path), Claude(home, tmp_path, SECOND)
    turns = scale(200)
    for number in range(turns):
        request, answer = f"request {number}", f"answer {number}"
        claude.ask(request, f"p{number}")
        claude.answer(answer)
        payload = claude.payload("Stop", prompt_id=f"p{number}", last_assistant_message=answer)
        process = subprocess.Popen([*HOLDFAST, "hook", "claude", "Stop"], stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        time.sleep((number % 20) * 0.006)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    next_claude.fire("SessionStart", source="startup")

    expected = [text for n in range(turns) for text in (f"request {n}", f"answer {n}")]
    assert sorted(said(FIRST)) == sorted(expected)
    requests = [text for text in said(FIRST) if text.startswith("request")]
    assert requests == [f"request {number}" for number in range(turns)]
