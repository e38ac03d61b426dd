"""Claude Code, as a person starts it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.clients.conversation import Answer
from tools.clients.programs.contract import (
    HOOK_SECONDS,
    KEY,
    Body,
    Message,
    add_json,
    make_hooks,
    read_lines,
    write_json,
)

ALLOWED = "mcp__holdfast,Bash,Edit,Write,Agent"  # as root it refuses to allow everything


class ClaudeProgram:
    client = "claude"
    ready = "? for shortcuts"
    can_fork = True
    notes_rewinds = False
    rewind = (
        ("", r"{answer}[\s\S]*· done "),
        ("/rewind", r"\(current\)"),
        ("Up", r"❯ {request}\s+No code changes"),
        ("Enter", "Restore conversation"),
        ("Enter", ""),
    )
    hooks = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")

    def make_environment(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_MODEL": "claude-sonnet-4-5",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def make_command(
        self, url: str, prompt: str, resumed: str | None = None, *, is_fork: bool = False
    ) -> list[str]:
        resume = ["--resume", resumed] if resumed else []
        resume += ["--fork-session"] if is_fork else []
        return ["claude", "-p", f"--allowedTools={ALLOWED}", *resume, prompt]

    def make_terminal_command(self, url: str) -> list[str]:
        return ["claude"]

    def prepare(self, home: Path, project: Path) -> None:
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(project): {"hasTrustDialogAccepted": True}},
        }
        write_json(home / ".claude.json", known)

    def wire(self, home: Path, server: Sequence[str], hooks: Mapping[str, str]) -> None:
        entry = {"type": "stdio", "command": server[0], "args": list(server[1:])}
        add_json(home / ".claude.json", {"mcpServers": {"holdfast": entry}})
        settings = {"hooks": make_hooks(hooks, HOOK_SECONDS)}
        add_json(home / ".claude" / "settings.json", settings)

    def make_shell_call(self, command: str) -> Body:
        return {"tool": "Bash", "arguments": {"command": command}}

    def make_write_call(self, path: Path, text: str) -> Body:
        return {"tool": "Write", "arguments": {"file_path": str(path), "content": text}}

    def make_server_command(self) -> list[str]:
        return ["claude", "mcp", "add", "-s", "user", "other", "--", "/bin/true"]

    def make_subagent_call(self, prompt: str) -> Body:
        told = {"description": "Look around", "prompt": prompt, "run_in_background": False}
        return {"tool": "Agent", "arguments": told}

    def make_subagent_answer(self, text: str) -> Answer:
        return {"text": text}

    def make_compacting_script(self) -> list[tuple[str, list[Answer]]]:
        return [("/compact", [])]

    def find_native_id(self, home: Path) -> str:
        return self._list_transcripts(home)[-1].stem

    def list_messages(self, home: Path) -> list[Message]:
        messages = []
        for record in read_lines(self._list_transcripts(home)):
            is_added = record.get("isMeta") or record.get("isCompactSummary")
            if record["type"] not in ("user", "assistant") or is_added:
                continue
            content = record["message"]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            said = [text for text in texts if not text.startswith(("<command-", "<local-command-"))]
            messages += [(record["type"], text) for text in said]
        return messages

    def _list_transcripts(self, home: Path) -> list[Path]:
        found = (home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)
