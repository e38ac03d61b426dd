"""Count what a reader would pass through: the files and functions of the package that one call
enters.

Four calls go through the real MCP door in this process, on a real SQLite store and a real git
repository. All are made once before, so that imports and caches do not count; then they are counted
several times, each time in a session that has just started, and the shortest counts: a slow disk
hands a commit to a thread. A comprehension counts as a part of its function.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = str(Path(__file__).parents[1] / "src" / "holdfast") + os.sep
CODE = "def schedule(attempt):\n    return 30 * 2**attempt\n"
ROUNDS = 6  # the first is not counted
GIT = ("git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org")
PRIVATE_PREFIXES = (
    "HOLDFAST_",
    "SHARED_CONTEXT_",
    "CLAUDE",
    "CODEX",
    "CURSOR",
    "GEMINI",
    "GIT_",
    "PG",
    "XDG_",
)

EVENT = {
    "operation": "append",
    "event_type": "user_message",
    "role": "user",
    "content": "Retry failed webhooks",
}
FILES = {"setName": "files", "items": ["src/retry.py"]}
CLAIM = {"operation": "claim", "text": "The pause doubles", "evidence": ["src/retry.py#schedule"]}
WALKS: dict[str, tuple[str, dict[str, Any]]] = {
    "append": ("session", EVENT),
    "set_relevant_context": ("set_relevant_context", FILES),
    "claim": ("repo_context", CLAIM),
    "bundle": ("repo_context", {"operation": "bundle"}),
}


class Recorder:
    """The functions of the package in the order in which they are first entered, on
    every thread.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.entered: dict[CodeType, None] = {}

    def start_listening(self) -> None:
        """Before there is any other thread: each one gets it when it starts."""
        threading.setprofile(self._notice)
        sys.setprofile(self._notice)

    def _notice(self, frame: FrameType, event: str, argument: object) -> None:
        if self.is_on and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.entered.setdefault(frame.f_code)

    def take(self) -> list[CodeType]:
        found, self.entered = list(self.entered), {}
        return found


def name_function(code: CodeType) -> tuple[str, str]:
    """Its file and its name; a comprehension belongs to the function that it stands in."""
    return code.co_filename.removeprefix(PACKAGE), code.co_qualname.partition(".<locals>.<")[0]


def make_repository(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "retry.py").write_text(CODE)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "begin"]):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    return folder


def prepare_environment(home: str) -> None:
    """Nothing of the person who runs it, and shared context on."""
    for name in [name for name in os.environ if name.startswith(PRIVATE_PREFIXES)]:
        del os.environ[name]
    os.environ.update(
        HOME=home, HOLDFAST_HOME=home, HOLDFAST_DEVELOPER="ana", SHARED_CONTEXT_ENABLED="true"
    )


async def walk_all(folder: Path, recorder: Recorder) -> dict[str, list[CodeType]]:
    from mcp import Client

    from holdfast.app import App
    from holdfast.surfaces.mcp.server import make_server

    async with App() as app:

        async def app_for(request: object) -> App:
            return app

        server = make_server(app_for, folder=str(folder), exists=os.path.exists)
        async with Client(server) as client:
            _, *rounds = [await walk_round(client, recorder) for _ in range(ROUNDS)]
            return {name: min((found[name] for found in rounds), key=len) for name in WALKS}


async def walk_round(client: Any, recorder: Recorder) -> dict[str, list[CodeType]]:
    await client.call_tool("session", {"operation": "start", "chatmode": "architect"})
    entered = {name: await walk(client, name, recorder) for name in WALKS}
    await client.call_tool("session", {"operation": "end"})
    return entered


async def walk(client: Any, name: str, recorder: Recorder) -> list[CodeType]:
    tool, arguments = WALKS[name]
    recorder.is_on = True
    answer = await client.call_tool(tool, arguments)
    recorder.is_on = False
    assert not answer.is_error, answer
    return recorder.take()


def print_walks(walks: dict[str, list[CodeType]], *, is_long: bool) -> None:
    print(f"{'walk':<22}{'files':>7}{'functions':>11}")
    for walk_name, entered in walks.items():
        functions = list(dict.fromkeys(map(name_function, entered)))
        files = list(dict.fromkeys(file for file, _ in functions))
        print(f"{walk_name:<22}{len(files):>7}{len(functions):>11}")
        if is_long:
            for number, (file, function) in enumerate(functions, start=1):
                print(f"  {number:>4}  {file} {function}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make walks", description=__doc__)
    parser.add_argument(
        "--list", action="store_true", dest="is_long", help="name what is entered, in its order"
    )
    arguments = parser.parse_args()
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        prepare_environment(folder)
        repository = make_repository(Path(folder) / "payouts")
        recorder.start_listening()
        walks = asyncio.run(walk_all(repository, recorder))
        sys.setprofile(None)
    print_walks(walks, is_long=arguments.is_long)


if __name__ == "__main__":
    main()
