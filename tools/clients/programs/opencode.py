"""OpenCode, as a person starts it."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.clients.conversation import Answer
from tools.clients.programs.contract import KEY, MODEL, Body, Message, write_json

PLUGIN = Path(__file__).with_name("recorder.js")


class OpenCodeProgram:
    client = "opencode"
    ready = "Ask anything"
    can_fork = True
    notes_rewinds = True
    rewind = (("/undo", "message reverted"),)
    hooks = (
        "session.created",
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
        "session.idle",
    )

    def make_environment(self, url: str) -> dict[str, str]:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {MODEL: {"limit": {"context": 128_000, "output": 8_192}}},
        }
        settings = {
            "model": f"scripted/{MODEL}",
            "small_model": f"scripted/{MODEL}",
            "enabled_providers": ["scripted"],
            "provider": {"scripted": provider},
            "permission": {"*": "allow"},
            "share": "disabled",
            "autoupdate": False,
        }
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "npm_config_fetch_retries": "0",  # or it waits for a registry that it cannot reach
        }

    def make_command(
        self, url: str, prompt: str, resumed: str | None = None, *, is_fork: bool = False
    ) -> list[str]:
        """As words: it quotes an argument that has several."""
        resume = ["-s", resumed] if resumed else []
        resume += ["--fork"] if is_fork else []
        return ["opencode", "run", *resume, *prompt.split()]

    def make_terminal_command(self, url: str) -> list[str]:
        return ["opencode"]

    def prepare(self, home: Path, project: Path) -> None:
        """It asks nothing, and has installed what it wants beside plugins.

        A start that ends before that is done leaves a lock, for which the next one waits a minute.
        """
        folder = home / ".config" / "opencode"
        wanted = {"dependencies": {"@opencode-ai/plugin": "*"}}
        write_json(folder / "package.json", wanted)
        write_json(folder / "package-lock.json", {"packages": {"": wanted}})
        (folder / "node_modules").mkdir()

    def wire(self, home: Path, server: Sequence[str], hooks: Mapping[str, str]) -> None:
        folder = home / ".config" / "opencode"
        entry = {"type": "local", "command": list(server), "enabled": True}
        write_json(folder / "opencode.json", {"mcp": {"holdfast": entry}})
        plugin = folder / "plugin" / "recorder.js"
        plugin.parent.mkdir(parents=True)
        commands = f"const HOOKS = {json.dumps(dict(hooks))}\n"
        plugin.write_text(commands + PLUGIN.read_text())

    def make_shell_call(self, command: str) -> Body:
        return {"tool": "bash", "arguments": {"command": command, "description": "Work"}}

    def make_write_call(self, path: Path, text: str) -> Body:
        return {"tool": "write", "arguments": {"filePath": str(path), "content": text}}

    def make_server_command(self) -> list[str]:
        return ["opencode", "mcp", "add", "other", "--", "/bin/true"]

    def make_subagent_call(self, prompt: str) -> Body:
        told = {"description": "Look around", "prompt": prompt, "subagent_type": "general"}
        return {"tool": "task", "arguments": told}

    def make_subagent_answer(self, text: str) -> Answer:
        return {"text": text}

    def make_compacting_script(self) -> list[tuple[str, list[Answer]]]:
        """It has compacted before it ended."""
        return []

    def find_native_id(self, home: Path) -> str:
        newest = "select id from session where parent_id is null order by time_updated desc limit 1"
        return str(self._read(home, newest)[0][0])

    def list_messages(self, home: Path) -> list[Message]:
        parts = (
            "select message.data, part.data from part"
            " join message on message.id = part.message_id"
            " join session on session.id = part.session_id"
            " where session.parent_id is null order by part.id"
        )
        messages = []
        for of_message, of_part in self._read(home, parts):
            message, part = json.loads(of_message), json.loads(of_part)
            is_added = part.get("synthetic") or message.get("agent") == "compaction"
            # One that was killed may have begun a text that has no word yet.
            if part["type"] == "text" and part["text"] and not is_added:
                messages.append((message["role"], part["text"]))
        return messages

    def _read(self, home: Path, statement: str) -> list[tuple[str, ...]]:
        store = home / ".local" / "share" / "opencode" / "opencode.db"
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return database.execute(statement).fetchall()
