"""Gemini CLI, as a person starts it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.clients.conversation import Answer
from tools.clients.programs.contract import (
    FULL_TOKENS,
    HOOK_SECONDS,
    KEY,
    Body,
    Message,
    add_json,
    make_hooks,
    read_lines,
    write_json,
)


class GeminiProgram:
    client = "gemini"
    ready = "Type your message"
    can_fork = False
    notes_rewinds = True
    rewind = (
        ("/rewind", "Stay at current position"),
        ("Up", "● {request}"),
        ("Enter", "Rewind conversation"),
        ("Enter", ""),
    )
    hooks = ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd")

    def make_environment(self, url: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def make_command(
        self, url: str, prompt: str, resumed: str | None = None, *, is_fork: bool = False
    ) -> list[str]:
        resume = ["--resume", resumed] if resumed else []
        return ["gemini", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", *resume, "-p", prompt]

    def make_terminal_command(self, url: str) -> list[str]:
        return ["gemini", "-m", "gemini-2.5-pro", "--approval-mode", "yolo"]

    def prepare(self, home: Path, project: Path) -> None:
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        write_json(home / ".gemini" / "settings.json", settings)

    def wire(self, home: Path, server: Sequence[str], hooks: Mapping[str, str]) -> None:
        entry = {"command": server[0], "args": list(server[1:]), "trust": True}
        settings = {
            "mcpServers": {"holdfast": entry},
            "hooks": make_hooks(hooks, HOOK_SECONDS * 1000),
        }
        add_json(home / ".gemini" / "settings.json", settings)

    def make_shell_call(self, command: str) -> Body:
        return {"tool": "run_shell_command", "arguments": {"command": command}}

    def make_write_call(self, path: Path, text: str) -> Body:
        return {"tool": "write_file", "arguments": {"file_path": str(path), "content": text}}

    def make_server_command(self) -> list[str]:
        return ["gemini", "mcp", "add", "-s", "user", "other", "/bin/true"]

    def make_subagent_call(self, prompt: str) -> Body:
        told = {"agent_name": "generalist", "prompt": prompt}
        return {"tool": "invoke_agent", "arguments": told}

    def make_subagent_answer(self, text: str) -> Answer:
        result = {"result": {"response": text}}
        return {"calls": [{"tool": "complete_task", "arguments": result}]}

    def make_compacting_script(self) -> list[tuple[str, list[Answer]]]:
        """It forgets the length with its process, and looks between two steps."""
        call = self.make_shell_call("true")
        return [("Look once more.", [{"calls": [call], "tokens": FULL_TOKENS}])]

    def find_native_id(self, home: Path) -> str:
        newest = self._list_transcripts(home)[-1:]
        return str(next(read_lines(newest))["sessionId"])

    def list_messages(self, home: Path) -> list[Message]:
        """A later record with the same id replaces the earlier."""
        by_id: dict[str, Message] = {}
        roles = {"user": "user", "gemini": "assistant"}
        for record in read_lines(self._list_transcripts(home)):
            role = roles.get(record.get("type", ""))
            content = record.get("content")
            if role and content:
                blocks = [{"text": content}] if isinstance(content, str) else content
                texts = [block["text"] for block in blocks if "text" in block]
                words = [text for text in texts if not text.startswith("<")]
                by_id[record["id"]] = (role, "".join(words))
        return [message for message in by_id.values() if message[1]]

    def _list_transcripts(self, home: Path) -> list[Path]:
        found = (home / ".gemini" / "tmp").glob("*/chats/session-*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)
