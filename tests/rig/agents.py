"""Agent programs as processes: each starts hooks by a shell and one MCP server, as real ones do.

    python -m tests.rig.agents SOCKET INTRODUCED_AS

serves one connection at a time on a socket, because an agent that another agent's shell has started
has no pipe to the test. A request is a line of JSON: `hook` fires one, `call` calls a tool, `shell`
starts a command that goes on, `leave` closes the server's pipe and ends.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

HOLDFAST = (sys.executable, "-m", "holdfast")
ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}}


class Agent:
    """A test's end of the socket."""

    def __init__(self, path: Path, introduced_as: str):
        self.path = path
        self.introduced_as = introduced_as
        self.process: subprocess.Popen[bytes] | None = None
        os.mkfifo(f"{path}.ready")
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(PATIENCE_SECONDS)

    def start(self, folder: Path) -> "Agent":
        self.process = subprocess.Popen(["sh", "-c", self.make_command()], cwd=folder)
        return self.wait()

    def start_inside(self, outer: "Agent") -> "Agent":
        """By the shell of another agent, with all that its shell inherits."""
        outer.shell(self.make_command())
        return self.wait()

    def wait(self) -> "Agent":
        """Until the program listens: it writes to the named pipe then."""
        with open(f"{self.path}.ready") as ready:
            ready.read()
        self.connection.connect(str(self.path))
        self.lines = self.connection.makefile("rw")
        return self

    def make_command(self) -> str:
        words = [sys.executable, "-m", "tests.rig.agents", str(self.path), self.introduced_as]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        return f"PYTHONPATH={shlex.quote(path)} {shlex.join(words)}; true"

    def hook(self, client: str, event: str, native_id: str, **fields: Any) -> None:
        payload = {"hook_event_name": event, "session_id": native_id, **fields}
        self._ask(hook=[client, event], payload=payload)

    def call(self, tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
        """The structured content of the answer."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if meta is not None:
            params["_meta"] = meta
        return self._ask(call=params)

    def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt."""
        answer = self._ask(prompt={"name": name, "arguments": arguments})
        return str(answer["messages"][0]["content"]["text"])

    def write(self, text: str, **more: Any) -> str:
        """Append a message without a session's id; returns the session that it went to."""
        message = {"event_type": "user_message", "role": "user", "content": text}
        answer = self.call("session", operation="append", **message, **more)
        return str(answer["data"]["event"]["session_id"])

    def shell(self, command: str) -> None:
        self._ask(shell=command)

    def leave(self) -> None:
        self._ask(leave=True)
        self.lines.close()
        self.connection.close()
        if self.process is not None:
            self.process.wait(PATIENCE_SECONDS)

    def _ask(self, **request: Any) -> Any:
        self.lines.write(json.dumps(request) + "\n")
        self.lines.flush()
        return json.loads(self.lines.readline())["answer"]


# --- the program ----------------------------------------------------------------------------------


class Program:
    def __init__(self, introduced_as: str):
        self.introduced_as = introduced_as
        self.server: subprocess.Popen[str] | None = None
        self.started: list[subprocess.Popen[bytes]] = []
        self.number = 0

    def handle(self, request: dict[str, Any]) -> Any:
        if "hook" in request:
            return self.fire(request["hook"], {"cwd": os.getcwd(), **request["payload"]})
        if "call" in request:
            return self.send("tools/call", request["call"])["result"]["structuredContent"]
        if "prompt" in request:
            return self.send("prompts/get", request["prompt"])["result"]
        if "shell" in request:
            self.started.append(subprocess.Popen(["sh", "-c", request["shell"]]))
        return None

    def fire(self, words: list[str], payload: dict[str, Any]) -> None:
        """By a shell, as clients do; `; true` keeps the shell from becoming the hook."""
        command = f"{shlex.join([*HOLDFAST, 'hook', *words])}; true"
        text = json.dumps(payload)
        subprocess.run(["sh", "-c", command], input=text, text=True, check=True)

    def send(self, method: str, params: dict[str, Any]) -> Any:
        if self.server is None:
            self.server = subprocess.Popen(
                [*HOLDFAST, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            client = {"name": self.introduced_as, "version": "1"}
            self.send("initialize", {**HELLO, "clientInfo": client})
            self.write({"method": "notifications/initialized"})
        self.number += 1
        self.write({"id": self.number, "method": method, "params": params})
        assert self.server.stdout
        return json.loads(self.server.stdout.readline())

    def write(self, message: dict[str, Any]) -> None:
        assert self.server
        assert self.server.stdin
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def leave(self) -> None:
        if self.server is not None:
            assert self.server.stdin
            self.server.stdin.close()
            self.server.wait(PATIENCE_SECONDS)
        for child in self.started:
            child.wait(PATIENCE_SECONDS)


def serve(path: str, introduced_as: str) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(1)
    with open(f"{path}.ready", "w") as ready:
        ready.write("ready")
    connection, _ = listening.accept()
    program = Program(introduced_as)
    with connection.makefile("rw") as lines:
        for line in lines:
            request = json.loads(line)
            if "leave" in request:
                program.leave()
            answer = program.handle(request)
            lines.write(json.dumps({"answer": answer}) + "\n")
            lines.flush()
            if "leave" in request:
                return
    program.leave()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
