"""Claude Code as our hooks see it: it writes its transcript and starts a process for each event."""

import json
from pathlib import Path
from typing import Any

from holdfast.app import App
from holdfast.sessions.model import SessionEvent
from tests.rig.commands import Answer, run_process

FIRST, SECOND = "0af395d8-6c4b-4446-89a7-d52beac3d8cd", "11111111-2222-4333-8444-555555555555"


class Claude:
    """What the program does around our hooks: it writes its transcript and fires them."""

    def __init__(self, home: Path, project: Path, session_id: str = FIRST):
        self.project = project
        self.session_id = session_id
        name = "".join(char if char.isalnum() else "-" for char in str(project))
        self.path = home / ".claude" / "projects" / name / f"{session_id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.records = 0
        self.last: str | None = None

    def fire(self, event: str, **fields: Any) -> Answer:
        return run_process("hook", "claude", event, stdin=json.dumps(self.payload(event, **fields)))

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "transcript_path": str(self.path),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }

    def write(self, kind: str, content: object, parent: object = "last", **fields: Any) -> str:
        self.records += 1
        uuid = f"{self.session_id[:8]}-{self.records:04d}"
        record = {
            "parentUuid": self.last if parent == "last" else parent,
            "isSidechain": False,
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": uuid,
            "cwd": str(self.project),
            "sessionId": self.session_id,
            **fields,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self.last = uuid
        return uuid

    def ask(self, text: object, prompt_id: str, **fields: Any) -> str:
        return self.write("user", text, promptId=prompt_id, promptSource="typed", **fields)

    def answer(self, text: str) -> str:
        return self.write("assistant", [{"type": "text", "text": text}])

    def turn(self, request: str, answer: str, prompt_id: str) -> None:
        """A whole turn, with the hooks that the program fires."""
        assert self.fire("UserPromptSubmit", prompt=request, prompt_id=prompt_id).out == ""
        self.ask(request, prompt_id)
        self.answer(answer)
        stop = self.fire("Stop", prompt_id=prompt_id, last_assistant_message=answer)
        assert stop == Answer(0, "", "")


def stored(native_id: str) -> list[SessionEvent]:
    """The events of every session with this native id, oldest first."""
    with App() as app:
        sessions = app.run(app.scope.sessions.list_all_sessions())
        return [
            event
            for session in reversed(sessions)
            if session.native_id == native_id
            for event in app.run(app.scope.sessions.get_recent_events(session.id, 1000))
        ]


def said(native_id: str) -> list[str]:
    return [event.content for event in stored(native_id)]
