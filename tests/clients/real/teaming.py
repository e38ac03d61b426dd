"""What tests of a team with real clients share: a person with a machine, what that person's agent
publishes, a PostgreSQL that the sandbox reaches, and what a model was given.
"""

import re
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from tests.rig.installed import Installed
from tools.clients.conversation import FIND, Answer
from tools.clients.machine import Machine, Started

EDITS = "gpt-5.5"  # only a model that Codex knows is given a tool that edits
ORIGIN = "https://github.com/acme/payouts.git"
ID = "([0-9a-f-]{36})"
TITLE = "Webhooks are retried"
SUMMARY = "Eight attempts, because the provider forgets a key after a day."
STEP, BLOCKER = "Move the schedule into a table.", "Redis streams: ops refused them."
REASON, NOTE = "The pause doubles.", "The table is missing."
PUBLISHED = (TITLE, SUMMARY, STEP, BLOCKER)
WORDS = (*PUBLISHED, REASON, NOTE)
PUBLICATION = {
    "title": TITLE,
    "summary": SUMMARY,
    "files_touched": ["retry.py"],
    "next_actions": [STEP],
    "blockers": [BLOCKER],
}
FETCHED_CHARS = 1_200  # a client's own lines included
MARKS = ("[untrusted text ", "[end of untrusted text ")


def call(tool: str, operation: str, **arguments: Any) -> Answer:
    given = {"operation": operation, **arguments}
    return {"calls": [{"tool": f"holdfast_covibe_{tool}", "arguments": given}]}


def find_id(what: str) -> str:
    """Of the newest claim, handoff or context that a tool has named, as values or as prose."""
    return rf"{FIND}{what}s?\W+(?:id\W+)?{ID}"


class Person:
    """A developer with a machine, on which one client is set up."""

    def __init__(self, machine: Machine):
        self.machine = machine
        [(self.program, _)] = machine.clients
        self.holdfast = Installed(machine)
        self.holdfast("init", "--yes")

    def run(self, prompt: str, *answers: Answer, resumed: str | None = None) -> Started:
        script = [{"answers": [*answers, {"text": "Done."}]}]
        return self.machine.run(self.program, prompt, script, resumed)

    def start(self, prompt: str, *answers: Answer) -> Started:
        script = [{"answers": [*answers, {"text": "Done."}]}]
        return self.machine.start(self.program, prompt, script)

    def edit(self, name: str) -> Answer:
        return {"calls": [self.program.make_write_call(self.machine.project / name, "X = 1\n")]}


# --- the store ------------------------------------------------------------------------------------


@contextmanager
def forward(url: str) -> Iterator[str]:
    """The same database at a socket in a folder: another network is no obstacle to that."""
    parts = urlsplit(url)
    with tempfile.TemporaryDirectory(prefix="hf-") as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/.s.PGSQL.5432")
        door.listen()
        server = (str(parts.hostname), int(parts.port or 5432))
        threading.Thread(target=accept, args=(door, server), daemon=True).start()
        login = parts.netloc.rpartition("@")[0]
        yield f"{parts.scheme}://{login}@{parts.path}?host={folder}"
        door.shutdown(socket.SHUT_RDWR)


def accept(door: socket.socket, server: tuple[str, int]) -> None:
    with suppress(OSError):  # the door was closed
        while True:
            ends = door.accept()[0], socket.create_connection(server)
            threading.Thread(target=join, args=ends, daemon=True).start()


def join(inside: socket.socket, outside: socket.socket) -> None:
    with inside, outside:
        answers = threading.Thread(target=copy, args=(outside, inside), daemon=True)
        answers.start()
        copy(inside, outside)
        answers.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


# --- what a model was given -----------------------------------------------------------------------


def list_texts(run: Started, number: int = -1) -> list[str]:
    return [text for _, text in run.requests[number]["texts"]]


def read_block(run: Started) -> str:
    """What the first request says about the team; empty where it says nothing."""
    found = [text for text in list_texts(run, 0) if "HOLDFAST team" in text]
    if not found:
        return ""
    [text] = found
    block = text[text.index("HOLDFAST team") :]
    return re.split(r"\s*</(?:system-reminder|hook_context)>", block)[0].strip()


def read_results(run: Started) -> list[str]:
    return [text for role, text in run.requests[-1]["texts"] if role == "tool"]


def hide(text: str) -> str:
    """Times and ids, which are others in each run."""
    text = re.sub(ID, "ID", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\dZ|(\d\d-\d\d )?\d\d:\d\dZ", "TIME", text)


def find_words(texts: Sequence[str]) -> list[str]:
    """What dev-a wrote by hand."""
    return [words for words in WORDS if any(words in text for text in texts)]


def find_notices(run: Started) -> list[str]:
    """What hooks said about the team after the start."""
    return [found for text in list_texts(run) for found in re.findall(r"team: [^<\n\\]+", text)]


def assert_fetched_once(run: Started) -> None:
    """As text or as values, whichever the client passes on, between two markers."""
    fetched = read_results(run)[0]
    words = (SUMMARY, STEP, BLOCKER)
    begin, end = (fetched.index(mark) for mark in MARKS)
    assert [fetched.count(each) for each in words] == [1, 1, 1]
    assert all(begin < fetched.index(each) < end for each in words)
    assert sum(text.count(SUMMARY) for text in list_texts(run)) == 1
    assert len(fetched) <= FETCHED_CHARS
