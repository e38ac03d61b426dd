"""Codex as our hooks see it: its rollout, and a process for each event."""

import json
import time
from pathlib import Path
from typing import Any

from tests.rig.commands import Answer, run_process

THREAD = "01a1eb02-0756-7161-a019-2899d1cbd01b"


class Codex:
    """One thread, with the lines that matter to a reader."""

    def __init__(self, home: Path, project: Path, thread: str = THREAD):
        self.project = project
        self.thread = thread
        now = time.gmtime()
        folder = home / ".codex" / "sessions" / time.strftime("%Y/%m/%d", now)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"rollout-{time.strftime('%Y-%m-%dT%H-%M-%S', now)}-{thread}.jsonl"
        self.ordinal = 0
        self.write("session_meta", {"session_id": thread, "id": thread, "cwd": str(project)})

    def fire(self, event: str, **fields: Any) -> Answer:
        payload = {
            "session_id": self.thread,
            "transcript_path": str(self.path),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        return run_process("hook", "codex", event, stdin=json.dumps(payload))

    def write(self, kind: str, payload: dict[str, Any]) -> None:
        now = time.time()
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        line = {
            "timestamp": f"{whole}.{int(now % 1 * 1000):03d}Z",
            "ordinal": self.ordinal,
            "type": kind,
            "payload": payload,
        }
        self.ordinal += 1
        with self.path.open("a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def ask(self, text: str, turn: str) -> None:
        self.fire("UserPromptSubmit", prompt=text, turn_id=turn)
        self.write("event_msg", {"type": "task_started", "turn_id": turn})
        self.complete("UserMessage", turn, content=[{"type": "text", "text": text}])

    def say(self, text: str, turn: str) -> None:
        self.complete("AgentMessage", turn, content=[{"type": "Text", "text": text}])

    def complete(self, kind: str, turn: str, **fields: Any) -> None:
        item = {"type": kind, "id": f"item-{self.ordinal}", **fields}
        self.write("event_msg", {"type": "item_completed", "turn_id": turn, "item": item})

    def call(self, call_id: str, command: str) -> None:
        self.write(
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": json.dumps({"cmd": command}),
                "call_id": call_id,
            },
        )
