"""Two laptops, each with a home, a clone and a client of its own, and one server on PostgreSQL.

They reach it over HTTP alone. A person approves them at a second server process of the same store.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.app import App
from holdfast.ground.settings import load_settings, owner_of
from holdfast.scope import Scope
from holdfast.usecases import administration
from tests.clients.real.conftest import find_commands, wants_newest
from tests.clients.real.teaming import (
    EDITS,
    NOTE,
    ORIGIN,
    PUBLICATION,
    PUBLISHED,
    REASON,
    Person,
    assert_fetched_once,
    call,
    find_id,
    find_notices,
    find_words,
    forward,
    hide,
    list_texts,
    read_block,
    read_results,
)
from tests.rig.commands import PATIENCE_SECONDS
from tests.surfaces.http.server import Server, environment, run_server
from tools.clients.conversation import Answer
from tools.clients.machine import Machine, Started
from tools.clients.programs import PROGRAMS
from tools.clients.programs.codex import CodexProgram
from tools.clients.sandbox import ROOT, Sandbox

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

PAIRS = {"Claude Code, Codex": ("claude", "codex"), "OpenCode, Gemini CLI": ("opencode", "gemini")}
LATER = "Written on a train"
GET: Answer = call("session", "get_context", developer="dev-a")
STATE: Answer = call("team", "state")


class Office:
    """The server that laptops reach, in the sandbox; who administers and approves, outside."""

    def __init__(self, sandbox: Sandbox, folder: Path, url: str, desk: Server):
        self.sandbox, self.folder, self.url, self.desk = sandbox, folder, url, desk
        self.port, self.starts = 0, 0
        self.pid: int | None = None
        self.settings = load_settings(environment(folder / "admin", url))
        self.start()

    def start(self) -> None:
        """At the same address as before."""
        self.starts += 1
        output = self.folder / f"served-{self.starts}.txt"
        known = environment(self.folder / "served", self.url, PYTHONPATH=str(ROOT / "src"))
        words = ["-m", "holdfast", "serve", "--json", "--port", str(self.port)]
        self.pid = self.sandbox.start([sys.executable, *words], known, self.folder, output)
        line = wait_for(lambda: re.match(r"\{.*\}\n", read(output)), lambda: read(output))
        self.address = json.loads(line[0])["url"]
        self.port = int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        assert self.pid is not None
        self.sandbox.kill(self.pid)
        self.pid = None

    def add(self, handle: str) -> str:
        """A developer; returns a token for the first look with a browser."""
        with App(self.settings) as app:
            app.run(administration.add_workspace(app, app.settings.workspace))
            app.run(administration.add_developer(app, handle, "private"))
            return app.run(administration.add_token(app, handle, "first-login", ())).text

    def approve(self, token: str, code: str) -> None:
        """As the page does that the command names."""
        origin = {"Origin": self.desk.url}
        with httpx.Client(base_url=self.desk.url, headers=origin, verify=False) as browser:
            assert browser.post("/login", data={"token": token}).status_code == 303
            decision = {"user_code": code, "decision": "approve"}
            assert "Approved" in browser.post("/login/device", data=decision).text

    def revoke_tokens(self, handle: str) -> None:
        """Of its agents: a lost laptop."""
        with App(self.settings) as app:
            for token in app.run(administration.list_tokens(app, handle)):
                app.run(administration.revoke_token(app, token.id))

    def count_contexts(self, handle: str) -> int:
        """All that a developer has ever published."""
        with App(self.settings) as app:
            scope = Scope(app.database, owner_of(app.settings.workspace, handle))
            return len(app.run(scope.own_team.list_own_contexts()))


def read(output: Path) -> str:
    return output.read_text(errors="replace") if output.exists() else ""


def wait_for(look: Callable[[], Any], describe: Callable[[], str]) -> Any:
    """What a process in the sandbox prints."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        assert time.monotonic() < deadline, describe()
        time.sleep(0.05)
    return found


class Team:
    def __init__(self, office: Office, folder: Path, commands: dict[str, Path]):
        self.office, self.folder, self.commands = office, folder, commands

    def add(self, handle: str, client: str, other: Person | None = None) -> Person:
        """A laptop with a client, whose person has joined the server and is visible there."""
        machine = Machine(
            self.office.sandbox,
            self.folder / handle,
            [(PROGRAMS[client], self.commands[client])],
            cloned=other.machine.project if other else None,
        )
        if other is None:
            (machine.project / "retry.py").write_text("PAUSE = 30\n")
            machine.commit("Retry")
            machine.git("remote", "add", "origin", ORIGIN)
        machine.git("remote", "set-url", "origin", ORIGIN)
        person = Person(machine)
        self.join(person, self.office.add(handle))
        return person

    def join(self, person: Person, token: str) -> None:
        output = self.folder / f"{person.machine.folder.name}-joining.txt"
        path = str(person.holdfast.path)
        known = person.machine.make_environment()
        words = [path, "team", "join", self.office.address, "--yes"]
        pid = person.machine.sandbox.start(words, known, person.machine.project, output)
        code = wait_for(
            lambda: re.search(r"shows the code (\S+?)\.", read(output)), lambda: read(output)
        )
        self.office.approve(token, code[1])
        assert person.machine.sandbox.wait(pid, PATIENCE_SECONDS) == 0, read(output)
        assert "not visible to the team" in read(output)
        person.holdfast("team", "visibility", "public")


@pytest.fixture
def team(
    sandbox: Sandbox,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
) -> Iterator[Team]:
    monkeypatch.setattr(CodexProgram, "model", EDITS)
    commands = find_commands(wants_newest(pytestconfig))
    (tmp_path / "office").mkdir()
    with run_server(tmp_path / "desk", postgres_url) as desk, forward(postgres_url) as url:
        office = Office(sandbox, tmp_path / "office", url, desk)
        yield Team(office, tmp_path, commands)
        if office.pid is not None:
            office.stop()


@pytest.mark.parametrize(("giver", "taker"), PAIRS.values(), ids=PAIRS)
def test_what_one_laptop_publishes_the_other_sees_takes_over_and_loses(
    giver: str, taker: str, team: Team
):
    a = team.add("dev-a", giver)
    b = team.add("dev-b", taker, a)
    office = team.office
    offers = a.machine.make_pipe("offers")
    handed = call("coordination", "handoff", claim_id=find_id("claim"), to="dev-b", note=NOTE)
    working = a.start(
        "Publish what you do, and hand it over.",
        call("session", "publish_context", **PUBLICATION),
        call("coordination", "claim", paths=["retry*"], reason=REASON),
        {**handed, "hold": str(offers)},
    )
    offers.read_text()

    # Metadata at the start of the other; then it is fetched, and an edit of claimed files is told.
    reading = b.run("Go on with the retry.", GET, b.edit("retry_table.py"))
    native_id = b.program.find_native_id(b.machine.home)
    [context] = b.holdfast.read("team", "state")["published_contexts"]
    assert_block(reading, context["id"])
    assert_fetched_once(reading)
    [told] = find_notices(reading)
    assert hide(told) == "team: dev-a reserved retry* until TIME"

    # An offer is told at the next prompt, and accepted.
    offers.write_text("go")
    a.machine.finish(working)
    accepted = call("coordination", "accept", handoff_id=find_id("handoff"))
    taking = b.run("What else?", STATE, accepted, resumed=native_id)
    [handoff] = b.holdfast.read("team", "state")["handoffs"]
    assert find_notices(taking)[-1].startswith("team: handoffs offered to this user: 1 (dev-a).")
    assert (handoff["status"], handoff["context"]["id"]) == ("accepted", context["id"])
    assert NOTE in read_results(taking)[-1]

    # Without the server nobody is delayed or stopped, and what is published waits.
    office.stop()
    again = {**PUBLICATION, "title": LATER}
    offline = a.run("Publish again.", call("session", "publish_context", **again))
    assert "waits on this machine" in read_results(offline)[-1]
    alone = b.run("Anything new?")
    assert read_block(alone) == ""
    assert find_notices(alone) == []
    assert office.count_contexts("dev-a") == 1

    # It is sent once, by the next turn that reaches the server.
    office.start()
    forget_pause(a, b)
    a.run("Go on.")
    assert office.count_contexts("dev-a") == 2
    [newest] = b.holdfast.read("team", "state")["published_contexts"]
    assert newest["title"] == LATER

    # What is revoked is gone everywhere but where it was read before.
    a.holdfast("team", "revoke", newest["id"])
    later = b.run("And now?", GET)
    assert_gone(b, later, newest["id"])

    # A token that is revoked in the middle of a turn ends at once; the agent goes on.
    waits = b.machine.make_pipe("waits")
    running = b.start("Look again.", STATE, {**STATE, "hold": str(waits)})
    waits.read_text()
    office.revoke_tokens("dev-b")
    waits.write_text("go")
    b.machine.finish(running)
    first, second = read_results(running)
    assert "dev-a" in first
    assert "holdfast team join" in second
    assert "dev-a" not in second
    assert read_block(b.run("Still there?")) == ""


def assert_block(run: Started, context_id: str) -> None:
    """Metadata only: not a word that dev-a wrote."""
    block = read_block(run).replace(os.environ["HOLDFAST_WORKSPACE"], "WORKSPACE")
    assert hide(block) == (
        "HOLDFAST team WORKSPACE · acme/payouts · TIME\n"
        "| dev-a · main · context ID · published TIME"
        " · 1 file, 1 blocker, 1 next action · all as here\n"
        "Reserved: retry* by dev-a until TIME\n"
        "Details: covibe_session operation=get_context developer=dev-a"
    )
    assert context_id in block
    assert not find_words(list_texts(run, 0))


def assert_gone(person: Person, run: Started, context_id: str) -> None:
    receipt = person.holdfast.read("why")["id"]
    shown = [
        *list_texts(run, 0),
        *read_results(run),
        person.holdfast("bundle", "show"),
        person.holdfast("bundle", "rebuild", receipt),
        person.holdfast("handoff", "show"),
        person.holdfast("team", "contexts"),
        str(person.holdfast.read("team", "state")),
    ]
    assert not [text for text in shown if context_id in text]
    words = (*PUBLISHED, LATER)
    assert not [text for text in shown for word in words if word in text]


def forget_pause(*people: Person) -> None:
    """A server that did not answer is left alone for a minute; the minute is over."""
    for person in people:
        for place in person.machine.home.rglob("team-pause"):
            place.unlink()
