"""Codex, as a person starts it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.clients.conversation import Answer
from tools.clients.programs.contract import (
    HOOK_SECONDS,
    KEY,
    MODEL,
    Body,
    Message,
    make_hooks,
    read_lines,
    write_json,
)


class CodexProgram:
    model = MODEL
    client = "codex"
    ready = "Ask Codex"
    can_fork = True
    notes_rewinds = True
    rewind = (
        ("", r"{answer}\s+Worked for"),
        ("Escape", "esc again"),
        ("Escape", "Browsing transcript"),
        ("Enter", "reverted"),
    )
    hooks = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")

    def make_environment(self, url: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": KEY}

    def make_command(
        self, url: str, prompt: str, resumed: str | None = None, *, is_fork: bool = False
    ) -> list[str]:
        how = "fork" if is_fork else "resume"
        resume = [how, resumed] if resumed else []
        return ["codex", "exec", *self._make_options(url), *resume, prompt]

    def make_terminal_command(self, url: str) -> list[str]:
        return ["codex", "--no-daemon", "--no-alt-screen", *self._make_options(url)]

    def _make_options(self, url: str) -> list[str]:
        provider = {
            "name": "scripted",
            "base_url": f"{url}/v1",
            "wire_api": "responses",
            "env_key": "SCRIPTED_KEY",
        }
        pairs = ",".join(f"{key}={json.dumps(value)}" for key, value in provider.items())
        settings = {
            "model": json.dumps(self.model),
            "model_provider": '"scripted"',
            "model_providers.scripted": f"{{{pairs}}}",
            "approval_policy": '"never"',
            "sandbox_mode": '"danger-full-access"',
            "check_for_update_on_startup": "false",
            "analytics.enabled": "false",
            "model_auto_compact_token_limit": "100000",
        }
        options = ["--dangerously-bypass-hook-trust"]
        for key, value in settings.items():
            options += ["-c", f"{key}={value}"]
        return options

    def prepare(self, home: Path, project: Path) -> None:
        settings = home / ".codex" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(f'[projects.{json.dumps(str(project))}]\ntrust_level = "trusted"\n')

    def wire(self, home: Path, server: Sequence[str], hooks: Mapping[str, str]) -> None:
        folder = home / ".codex"
        write_json(folder / "hooks.json", {"hooks": make_hooks(hooks, HOOK_SECONDS)})
        lines = [
            "[mcp_servers.holdfast]",
            f"command = {json.dumps(server[0])}",
            f"args = {json.dumps(list(server[1:]))}",
            "required = true",
            'default_tools_approval_mode = "approve"',
        ]
        with open(folder / "config.toml", "a") as settings:
            settings.write("\n".join(["", *lines, ""]))

    def make_shell_call(self, command: str) -> Body:
        return {"tool": "exec_command", "arguments": {"cmd": command}}

    def make_write_call(self, path: Path, text: str) -> Body:
        added = "\n".join(f"+{line}" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path.name}\n{added}\n*** End Patch\n"
        return {"tool": "apply_patch", "arguments": {"input": patch}}

    def make_server_command(self) -> list[str]:
        return ["codex", "mcp", "add", "other", "--", "/bin/true"]

    def make_subagent_call(self, prompt: str) -> Body:
        return {"tool": "multi_agent_v1_spawn_agent", "arguments": {"message": prompt}}

    def make_subagent_answer(self, text: str) -> Answer:
        return {"text": text}

    def make_compacting_script(self) -> list[tuple[str, list[Answer]]]:
        """It looks before it sends the next prompt."""
        return []

    def find_native_id(self, home: Path) -> str:
        return str(self._read_header(self._list_transcripts(home)[-1])["id"])

    def list_messages(self, home: Path) -> list[Message]:
        roles = {"UserMessage": "user", "AgentMessage": "assistant"}
        messages = []
        for record in read_lines(self._list_transcripts(home)):
            item = record["payload"].get("item") or {}
            if record["payload"].get("type") == "item_completed" and item["type"] in roles:
                text = "".join(block.get("text", "") for block in item["content"])
                messages.append((roles[item["type"]], text))
        return messages

    def _list_transcripts(self, home: Path) -> list[Path]:
        """Subagents have transcripts of their own, in the same place."""
        found = sorted((home / ".codex" / "sessions").rglob("rollout-*.jsonl"))
        return [path for path in found if not self._read_header(path).get("parent_thread_id")]

    def _read_header(self, path: Path) -> Body:
        header: Body = next(read_lines([path]))["payload"]
        return header
