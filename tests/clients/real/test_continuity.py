"""What the next session knows although nobody called a tool of ours: only the transcripts say it.

Up to eighteen facts of three turns that the transcript can hold: requests, numbers, refusals, an
edited file, a check that passed and one that failed, and the client's own todos.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.rig.installed import Installed
from tools.clients.conversation import Answer
from tools.clients.machine import Machine
from tools.clients.programs.codex import CodexProgram
from tools.clients.programs.contract import Program

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

EDITS = "gpt-5.5"
LEAST = 14 / 18
CHECK = """#!/bin/sh
[ "$1" = models ] && { echo '3 passed in 0.1s'; exit 0; }
echo 'FAILED tests/test_retry.py::test_gives_up - assert 9 == 8'
echo '1 failed, 2 passed in 0.1s'
exit 1
"""
TASKS = (("off-by-one in next_attempt", "in_progress"), ("a 409 counts as success", "pending"))
# Claude Code finds its own by a search first, and Codex offers none to the model of this test.
TODO_TOOLS = {
    "gemini": ("write_todos", "todos", "description"),
    "opencode": ("todowrite", "todos", "content"),
}
REQUESTS = (
    "Retry webhooks, give up after 8 attempts over 24 hours. Don't use Redis, ops won't run it.",
    "The base pause is 30 seconds with 20 % jitter. Never touch the migrations.",
    "Count the first delivery as attempt 1.",
)
FACTS = (
    *("8 attempts", "24 hours", "Don't use Redis", "ops won't run it"),
    *("30 seconds", "20 %", "Never touch the migrations"),
    *("LAST REQUEST", "Count the first delivery as attempt 1."),
    *("ITS ANSWER", "One check still fails."),
    *("LAST RUN", "./test.sh retry", "assert 9 == 8"),
    *("retry.py", "./test.sh models"),
)


def make_todos(client: str) -> list[dict[str, Any]]:
    """What the model calls so that the client has a list with these tasks."""
    if client not in TODO_TOOLS:
        return []
    tool, name, text = TODO_TOOLS[client]
    entries = [{text: task, "status": status} for task, status in TASKS]
    if client == "opencode":
        entries = [{**entry, "priority": "high", "id": str(n)} for n, entry in enumerate(entries)]
    return [{"tool": tool, "arguments": {name: entries}}]


def test_the_next_session_knows_what_only_the_transcript_has(
    program: Program,
    machine: Machine,
    holdfast: Installed,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Any,
):
    # Only a model that it knows is given a tool that edits.
    monkeypatch.setattr(CodexProgram, "model", EDITS)
    holdfast("init", "--yes")
    check = Path(machine.project, "test.sh")
    check.write_text(CHECK)
    check.chmod(0o755)
    write = program.make_write_call(machine.project / "retry.py", "PAUSE = 30\n")
    passes, fails = (program.make_shell_call(f"./test.sh {name}") for name in ("models", "retry"))
    todos = make_todos(program.client)
    facts = (*FACTS, *(text for text, _ in TASKS)) if todos else FACTS
    turns: list[list[Answer]] = [
        [{"calls": [write]}, {"calls": [passes]}, {"text": "The schedule is there."}],
        [*([{"calls": todos}] if todos else []), {"text": "Noted."}],
        [{"calls": [fails]}, {"text": "One check still fails."}],
    ]
    native_id = None
    for request, answers in zip(REQUESTS, turns, strict=True):
        machine.run(program, request, [{"answers": answers}], native_id)
        native_id = program.find_native_id(machine.home)

    after = machine.run(program, "Go on.", [{"answers": [{"text": "Yes."}]}])

    texts = [text for _, text in after.requests[0]["texts"] if "HOLDFAST implementation" in text]
    missing = [fact for fact in facts if not any(fact in text for text in texts)]
    record_property("N", len(facts) - len(missing))
    assert len(facts) - len(missing) >= LEAST * len(facts), (missing, texts)
