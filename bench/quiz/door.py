"""An agent's side of a real `holdfast mcp` process, and what arrives there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import holdfast
from bench.doors import INITIALIZE, pipe

HOLDFAST = (sys.executable, "-m", "holdfast")
DEVELOPER = "ana"


@dataclass(frozen=True)
class Reply:
    """The two halves of an answer. A client hands one of them to its model."""

    text: str
    structured: dict[str, Any]

    @property
    def bundle_text(self) -> str:
        text: str = self.structured["data"]["bundle"]["text"]
        return text

    @property
    def structured_chars(self) -> int:
        """Without blanks between the values, as it is sent and as clients write it."""
        return len(json.dumps(self.structured, ensure_ascii=False, separators=(",", ":")))


class Door:
    def __init__(self, server: Any):
        self.server = server
        self._tools: dict[str, Any] = {}

    def call(self, tool: str, **arguments: Any) -> Reply:
        answer = self.server.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(part["text"] for part in answer["content"])
        if answer.get("isError"):
            raise RuntimeError(f"{tool} {arguments}: {text}")
        return Reply(text, answer["structuredContent"])

    def get_prompt(self, name: str) -> Reply:
        answer = self.server.ask("prompts/get", {"name": name})
        text = "\n".join(message["content"]["text"] for message in answer["messages"])
        return Reply(text, {"text": text})

    def offers(self, tool: str, operation: str) -> bool:
        if not self._tools:
            listed = self.server.ask("tools/list", {})["tools"]
            self._tools = {entry["name"]: entry["inputSchema"]["properties"] for entry in listed}
        return operation in self._tools[tool]["operation"]["enum"]


@contextmanager
def open_door(home: Path, repository: Path, client: str) -> Iterator[Door]:
    """A server of its own, started in the repository as clients do."""
    environment = make_environment(home)
    with pipe([*HOLDFAST, "mcp"], environment, repository) as server:
        introduction = INITIALIZE["params"] | {"clientInfo": {"name": client, "version": "1"}}
        server.send(INITIALIZE | {"params": introduction})
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        server.number = 1
        yield Door(server)


def run_command(home: Path, folder: Path, *argv: str, exit_code: int = 0) -> str:
    done = subprocess.run(
        argv, cwd=folder, env=make_environment(home), capture_output=True, text=True
    )
    if done.returncode != exit_code:
        raise RuntimeError(f"{argv} returned {done.returncode}: {done.stderr}")
    return done.stdout


def make_environment(home: Path) -> dict[str, str]:
    """Nothing of the person who runs the quiz; `python3` is the interpreter of this process."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        "PATH": programs,
        "PYTHONPATH": str(Path(holdfast.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "HOLDFAST_HOME": str(home / "holdfast"),
        "HOLDFAST_DEVELOPER": DEVELOPER,
        "SHARED_CONTEXT_ENABLED": "true",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": DEVELOPER,
        "GIT_AUTHOR_EMAIL": f"{DEVELOPER}@example.org",
        "GIT_COMMITTER_NAME": DEVELOPER,
        "GIT_COMMITTER_EMAIL": f"{DEVELOPER}@example.org",
    }
