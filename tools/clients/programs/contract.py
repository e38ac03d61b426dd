"""What the driver knows of a client, and what several of them share.

As far as a client takes it from its environment or its arguments, nothing that points it at the
scripted model is written into the person's files: what `init` and `uninstall` find there is theirs.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tools.clients.conversation import Answer

KEY = "sk-scripted-000000000000000"
MODEL = "scripted-model"
FULL_TOKENS = 950_000  # a request of which a model says so is too long for every client
HOOK_SECONDS = 30
Message = tuple[str, str]
Body = dict[str, Any]


class Program(Protocol):
    @property
    def client(self) -> str: ...

    @property
    def hooks(self) -> Sequence[str]:
        """Those that fire in a headless run of one turn with a tool, in their order."""

    @property
    def ready(self) -> str:
        """What its screen shows when it waits for the person."""

    def make_environment(self, url: str) -> dict[str, str]: ...

    @property
    def can_fork(self) -> bool:
        """Whether it goes on in a copy of a session, if the person wants that."""

    @property
    def notes_rewinds(self) -> bool:
        """Whether its transcript has that a request was taken back, before there is a next one."""

    @property
    def rewind(self) -> Sequence[tuple[str, str]]:
        """How the newest request is taken back: commands and keys, and what the screen then shows.

        The second is a pattern; `{request}` and `{answer}` stand for the words of that turn.
        """

    def make_command(
        self, url: str, prompt: str, resumed: str | None = None, *, is_fork: bool = False
    ) -> list[str]:
        """Headless: one turn, then the end."""

    def make_terminal_command(self, url: str) -> list[str]:
        """Interactive: prompts are typed."""

    def prepare(self, home: Path, project: Path) -> None:
        """What the person has answered once, at the first start."""

    def wire(self, home: Path, server: Sequence[str], hooks: Mapping[str, str]) -> None:
        """The MCP server, and the command of each hook, in the files of the person."""

    def make_shell_call(self, command: str) -> Body:
        """What the model calls so that a command is run."""

    def make_write_call(self, path: Path, text: str) -> Body:
        """What the model calls so that a new file has this text."""

    def make_server_command(self) -> list[str]:
        """With it the client itself adds another server to the person's settings."""

    def make_subagent_call(self, prompt: str) -> Body:
        """What the model calls so that a subagent is told the prompt."""

    def make_subagent_answer(self, text: str) -> Answer:
        """What a subagent's model says last."""

    def make_compacting_script(self) -> list[tuple[str, list[Answer]]]:
        """Prompts with their answers, after which a session that was full has been compacted."""

    def find_native_id(self, home: Path) -> str:
        """Of the newest session."""

    def list_messages(self, home: Path) -> list[Message]:
        """What the client's own transcripts hold: the role (user, assistant) and the text.

        Those of subagents are left out.
        """


def write_json(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def add_json(path: Path, more: dict[str, Any]) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    write_json(path, {**known, **more})


def read_lines(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        for line in path.read_text().splitlines():
            yield json.loads(line)


def make_hooks(hooks: Mapping[str, str], timeout: int) -> dict[str, Any]:
    """The form that three of the four share."""
    return {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
        for event, command in hooks.items()
    }


def make_recorder(log: Path, then: Sequence[str]) -> str:
    """The command of a hook that appends its payload to a file, and hands it on to another."""
    return f"{{ cat; echo; }} | tee -a {shlex.quote(str(log))} | {shlex.join(then)}"
