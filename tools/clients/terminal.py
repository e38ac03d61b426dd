"""An interactive client in a terminal of tmux, which answers what clients ask their terminal."""

import re
import time
from collections.abc import Callable

from tools.clients.conversation import Script
from tools.clients.machine import RUN_SECONDS, Machine, Started
from tools.clients.programs.contract import Program

LOOK_SECONDS = 0.2  # between two looks at the screen
ENTER_SECONDS = 1.0  # between two times that Enter is pressed, where an empty line is nothing
TAKEN_SECONDS = 10.0  # where it is not: a command that stands there for so long was not taken
SIZE = ("-x", "160", "-y", "50")


class Terminal:
    """A client that waits for the person, until it is closed or quits."""

    def __init__(self, machine: Machine, program: Program, script: Script):
        self.machine = machine
        self.program = program
        folder = machine.make_conversation(script)
        self.started = Started(0, folder / "screen.txt", folder)
        self.socket = folder / "tmux"
        url = machine.get_url(folder)
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", *SIZE),
            *program.make_terminal_command(url),
            environment=machine.make_environment(url),
        )
        self.wait_for(program.ready)

    def say(self, line: str, answer: str) -> None:
        """Type it, send it when the client has drawn it, and wait for the answer."""
        self._write(line)
        self._enter_until(lambda: answer in self.read_screen())

    def clear(self, words: str) -> None:
        """Begin a new session: the words are gone from the screen then."""
        self._write("/clear")
        self._enter_until(lambda: words not in self.read_screen())

    def rewind(self, request: str, answer: str) -> None:
        """Take the newest request back; the client offers it to be changed, and it is removed."""
        for key, pattern in self.program.rewind:
            shown = pattern.format(request=re.escape(request), answer=re.escape(answer))
            self._press(key, shown)
        self._wait_until(lambda: answer not in self.read_screen())
        self._tmux("send-keys", "C-u")
        self._wait_until(lambda: request not in self.read_screen())

    def _press(self, key: str, pattern: str) -> None:
        """A key, or a command and Enter, and a look at what it shows.

        What a command shows would take another Enter for an answer. But a busy client may take
        the first for a part of a pasted text, and then the command still stands there.
        """
        if key.startswith("/"):
            self._write(key)
            self._enter_until(lambda: self._shows(pattern), TAKEN_SECONDS)
            return
        if key:
            self._tmux("send-keys", key)
        self._wait_until(lambda: self._shows(pattern))

    def _shows(self, pattern: str) -> bool:
        return re.search(pattern, self.read_screen()) is not None

    def quit(self) -> None:
        self._write("/quit")
        self._enter_until(lambda: not self._list_sessions())

    def wait_for(self, words: str) -> None:
        self._wait_until(lambda: words in self.read_screen())

    def _write(self, line: str) -> None:
        """Again where it was lost: a client that has drawn its screen may not listen yet."""

        def type_and_look() -> bool:
            self._tmux("send-keys", "-l", line)
            typed = time.monotonic()
            while line not in self.read_screen():
                if time.monotonic() > typed + TAKEN_SECONDS:
                    self._tmux("send-keys", "C-u")
                    return False
                time.sleep(LOOK_SECONDS)
            return True

        self._wait_until(type_and_look)

    def _enter_until(self, is_so: Callable[[], object], seconds: float = ENTER_SECONDS) -> None:
        """More than once: while a hook runs, a client may not listen; an empty line is nothing."""
        press = f"tmux -S {self.socket} send-keys Enter 2>/dev/null || true"

        def look() -> object:
            if is_so():
                return True
            self.machine.command("sh", "-c", press)
            pressed = time.monotonic()
            while not is_so() and time.monotonic() < pressed + seconds:
                time.sleep(LOOK_SECONDS)
            return is_so()

        self._wait_until(look)

    def read_screen(self) -> str:
        screen = self._tmux("capture-pane", "-p")
        self.started.output.write_text(screen)
        return screen

    def _list_sessions(self) -> str:
        """tmux itself ends with its last session."""
        listing = f"tmux -S {self.socket} list-sessions 2>/dev/null || true"
        return self.machine.command("sh", "-c", listing)

    def _wait_until(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + RUN_SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"The screen never changed:\n{self.started.describe()}")
            time.sleep(LOOK_SECONDS)

    def _tmux(self, *words: str, environment: dict[str, str] | None = None) -> str:
        return self.machine.command("tmux", "-S", str(self.socket), *words, environment=environment)
