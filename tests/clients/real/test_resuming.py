"""One conversation that goes through every ordered pair of different clients, opened by `holdfast
resume` in a terminal as a person does it; and back into the client's own session.
"""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.clients.real.conftest import find_commands, wants_newest
from tests.rig.installed import Installed
from tools.clients.machine import Machine, Started
from tools.clients.programs import PROGRAMS
from tools.clients.programs.contract import Program
from tools.clients.sandbox import Sandbox
from tools.clients.terminal import SIZE, Terminal

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

# Together every ordered pair once.
ROUTES = {
    "six from Claude Code": ("claude", "codex", "gemini", "opencode", "claude", "gemini", "codex"),
    "six from Codex": ("codex", "opencode", "gemini", "claude", "opencode", "codex", "claude"),
}
BEGINNING, END = "[RESUMED CONVERSATION]", "[END RESUMED CONTEXT]"
CONTINUED = "Continued."


class Traveller:
    """A machine with all four clients, of which each is pointed at the scripted model."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.holdfast = Installed(machine)
        self.holdfast("init", "--yes")

    def ask(self, client: str, request: str, answer: str) -> Started:
        """One headless turn."""
        script = [{"answers": [{"text": answer}]}]
        return self.machine.run(PROGRAMS[client], request, script)

    def resume(self, client: str, words: str, request: str, shown: str) -> Terminal:
        """Type `holdfast resume`, wait until the client shows this, and ask it for something."""
        script = [
            {"when": request, "answers": [{"text": f"Done: {request}"}]},
            {"answers": [{"text": CONTINUED}]},
        ]
        terminal = ResumedTerminal(self, client, script, words)
        terminal.wait_for(shown)
        terminal.say(request, f"Done: {request}")
        return terminal


class ResumedTerminal(Terminal):
    def __init__(self, traveller: Traveller, client: str, script: Any, words: str):
        self.machine = traveller.machine
        self.program = PROGRAMS[client]
        folder = self.machine.make_conversation(script)
        self.started = Started(0, folder / "screen.txt", folder)
        self.socket = folder / "tmux"
        url = self.machine.get_url(folder)
        environment = self.machine.make_environment(url)
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        self._write_aliases(bin_folder, url, environment["PATH"])
        environment["PATH"] = f"{bin_folder}:{traveller.holdfast.path.parent}:{environment['PATH']}"
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", *SIZE),
            f"holdfast resume {words} --in {client}",
            environment=environment,
        )

    def _write_aliases(self, folder: Path, url: str, path: str) -> None:
        """The client with what points it at the model, as a person's alias has it."""
        program, *options = self.program.make_terminal_command(url)
        options = [option for option in options if option != "--no-daemon"]
        real = shutil.which(program, path=path)
        quoted = shlex.join(options)
        file = folder / program
        file.write_text(f'#!/bin/sh\nexec {real} {quoted} "$@"\n')
        file.chmod(0o755)


@pytest.fixture
def traveller(sandbox: Sandbox, tmp_path: Path, pytestconfig: pytest.Config) -> Traveller:
    commands = find_commands(wants_newest(pytestconfig))
    clients = [(program, commands[name]) for name, program in PROGRAMS.items()]
    return Traveller(Machine(sandbox, tmp_path / "machine", clients))


def find_block(started: Started) -> str:
    """The text with the block in the first request of the conversation."""
    texts = [text for _, text in started.requests[0]["texts"] if BEGINNING in text]
    assert len(texts) == 1, json.dumps(started.requests[0])[:4000]
    return texts[0]


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_a_conversation_goes_on_in_every_other_client(route: tuple[str, ...], traveller: Traveller):
    first, *others = route
    command = "$workspace-debug" if first == "codex" else "/workspace.debug"
    request = f"{command} webhooks retry for ever, give up after 8 attempts"
    traveller.ask(first, request, "There are 8 attempts.")
    for number, client in enumerate(others):
        asked = f"Hop {number}: wait 30 seconds in {client}."
        terminal = traveller.resume(client, "webhooks retry", asked, CONTINUED)
        block = find_block(terminal.started)
        assert request in block
        assert block.count(END) == 1
        assert "Conversation: debug / webhooks retry for ever" in block
        request = asked
        terminal.quit()
    (conversation,) = traveller.holdfast.read("conversation", "list")["conversations"]
    assert conversation["title"].startswith("webhooks retry")
    saved = traveller.holdfast.read("conversation", "save", conversation["id"])
    assert saved["conversation"]["message_count"] >= 2 * len(route)


def test_the_same_client_goes_on_in_its_own_session_and_is_told_what_has_changed(
    program: Program, traveller: Traveller
):
    client = program.client
    traveller.ask(client, "Retry webhooks, at most 8 attempts.", "There are 8 attempts.")
    native_id = program.find_native_id(traveller.machine.home)
    traveller.machine.commit("Wait longer")

    asked = "Now wait 30 seconds."
    terminal = traveller.resume(client, "webhooks", asked, "There are 8 attempts.")
    terminal.quit()

    texts = [text for _, text in terminal.started.requests[0]["texts"]]
    (block,) = [text for text in texts if BEGINNING in text]
    assert "1 commit since" in block
    assert "There are 8 attempts." not in block
    for said in ("Retry webhooks, at most 8 attempts.", "There are 8 attempts.", asked):
        assert sum(said in text for text in texts if text != block) == 1
    assert program.find_native_id(traveller.machine.home) == native_id
    assert {each["native_id"] for each in traveller.holdfast.list_sessions()} == {native_id}
