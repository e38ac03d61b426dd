"""The transcript that the story's agent program writes: three turns, one of them with a subagent.

It has the form of a real one, so what `holdfast demo` shows is read as in real work.
"""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.ground.frozen import dataclass

SESSION = "demo-session"
AGENT, AGENT_TYPE = "demo-agent", "Explore"
RETRY = """ATTEMPTS = 8  # the first delivery is attempt 1


def schedule(attempt):
    return 30 * 2**attempt


def next_attempt(attempt):
    return attempt + 1 if attempt <= ATTEMPTS else None


def deliver(event):
    return event
"""
TEST = """from retry import ATTEMPTS, next_attempt


def test_gives_up_after_8():
    attempt = count = 1
    while attempt := next_attempt(attempt):
        count += 1
    assert count == ATTEMPTS
"""
TASK = "Find every caller of deliver() and say whether it may run twice."
FOUND = "One caller, worker.py. It runs again after a crash, so deliver() must not pay twice."
CODE_ANSWER = """The pause doubles from 30 s, and `next_attempt()` decides when to give up:

```python
def next_attempt(attempt):
    return attempt + 1 if attempt <= ATTEMPTS else None
```

12 tests pass."""


@dataclass(frozen=True)
class ToolUse:
    name: str
    given: dict[str, Any]
    answer: str
    is_error: bool = False


@dataclass(frozen=True)
class Turn:
    request: str
    uses: tuple[ToolUse, ...]
    answer: str


def list_turns(folder: str) -> tuple[Turn, ...]:
    """What was asked, done and answered, with the paths of this working tree."""
    code = os.path.join(folder, "retry.py")
    test = os.path.join(folder, "test_retry.py")
    edit = {"file_path": code, "old_string": "def deliver", "new_string": "def next_attempt"}
    first = Turn(
        "Failed webhooks must be retried, and never pay twice. Who calls deliver()?",
        (
            ToolUse("Read", {"file_path": code}, "1  def schedule(attempt):"),
            ToolUse("Agent", {"subagent_type": AGENT_TYPE, "prompt": TASK}, FOUND),
        ),
        "worker.py alone calls it. The key of a payment is the event's id with the attempt.",
    )
    second = Turn(
        "8 attempts over 24 hours, base 30 s",
        (
            ToolUse("Edit", edit, "The file has been updated."),
            ToolUse("Write", {"file_path": test, "content": TEST}, "The file was created."),
            _run("python3 -m pytest -q test_retry.py", "12 passed in 0.58s"),
        ),
        CODE_ANSWER,
    )
    third = Turn(
        "give up after 8, and count the first delivery as attempt 1",
        (
            ToolUse("Edit", edit, "The file has been updated."),
            _run(
                "python3 -m pytest -q test_retry.py",
                "Exit code 1\nFAILED test_gives_up_after_8: assert 9 == 8\n1 failed, 11 passed",
                is_error=True,
            ),
            _run("git diff --stat | tail -1", "1 file changed, 6 insertions(+)"),
        ),
        "The first delivery counts now; the test of the last attempt still fails, 9 for 8.",
    )
    return first, second, third


def _run(command: str, output: str, *, is_error: bool = False) -> ToolUse:
    return ToolUse("Bash", {"command": command}, output, is_error)


class Transcript:
    """A file as Claude Code writes it, and the one of its subagent beside it."""

    def __init__(self, folder: str):
        self.path = os.path.join(folder, f"{SESSION}.jsonl")
        self._agent_folder = os.path.join(folder, SESSION, "subagents")
        self._count = 0
        self._last: str | None = None

    def write_turn(self, turn: Turn, prompt_id: str) -> None:
        self._write("user", turn.request, promptId=prompt_id, promptSource="typed")
        for use in turn.uses:
            self._write_use(use)
        self._write("assistant", [{"type": "text", "text": turn.answer}])

    def write_agent(self) -> str:
        """What the subagent was told, did and answered; returns where that is."""
        os.makedirs(self._agent_folder, exist_ok=True)
        path = os.path.join(self._agent_folder, f"agent-{AGENT}.jsonl")
        with open(path.removesuffix("jsonl") + "meta.json", "w", encoding="utf-8") as about:
            json.dump({"agentType": AGENT_TYPE}, about)
        use = _run("grep -rn 'deliver(' .", "./worker.py:12:    deliver(event)")
        own = Transcript(self._agent_folder)
        own.path = path
        marks = {"isSidechain": True, "agentId": AGENT}
        own._write("user", TASK, **marks)
        own._write_use(use, **marks)
        own._write("assistant", [{"type": "text", "text": FOUND}], **marks)
        return path

    def _write_use(self, use: ToolUse, **marks: Any) -> None:
        call_id = f"t{self._count}-{os.path.basename(self.path)}"
        call = {"type": "tool_use", "id": call_id, "name": use.name, "input": use.given}
        result = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": use.answer,
            "is_error": use.is_error,
        }
        outcome = {}
        if use.name == "Bash" and not use.is_error:  # so it says that a command has passed
            outcome = {"toolUseResult": {"stdout": use.answer, "stderr": "", "interrupted": False}}
        self._write("assistant", [call], **marks)
        self._write("user", [result], **outcome, **marks)

    def _write(self, kind: str, content: object, **marks: Any) -> None:
        self._count += 1
        uuid = f"r{self._count}-{os.path.basename(self.path)}"
        message = {"role": kind, "content": content}
        record = {
            "parentUuid": self._last,
            "type": kind,
            "message": message,
            "uuid": uuid,
            **marks,
        }
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._last = uuid
