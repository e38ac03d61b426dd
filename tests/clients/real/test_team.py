"""Two developers, each with a client of their own and a clone of one repository, on one store.

What is looked at is what the model of each client was given, and which answer it could act on.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.real.conftest import find_commands, wants_newest
from tests.clients.real.teaming import (
    EDITS,
    NOTE,
    ORIGIN,
    PUBLICATION,
    PUBLISHED,
    REASON,
    SUMMARY,
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
from tests.surfaces.http.server import run_server
from tools.clients.machine import Machine, Started
from tools.clients.programs import PROGRAMS
from tools.clients.programs.codex import CodexProgram
from tools.clients.sandbox import Sandbox

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

NOBODY = "dev-x"

PAIRS = {
    "Claude Code, Codex, SQLite": ("claude", "codex", "sqlite"),
    "OpenCode, Gemini CLI, PostgreSQL": ("opencode", "gemini", "postgres"),
}


class Team:
    """dev-a and dev-b."""

    def __init__(self, sandbox: Sandbox, folder: Path, commands: dict[str, Path], url: str):
        self.sandbox, self.folder, self.commands, self.url = sandbox, folder, commands, url

    def add(self, handle: str, client: str, other: Person | None = None) -> Person:
        exports = {
            "HOLDFAST_DEVELOPER": handle,
            "HOLDFAST_DATABASE": self.url,
            "HOLDFAST_WORKSPACE": os.environ["HOLDFAST_WORKSPACE"],
        }
        machine = Machine(
            self.sandbox,
            self.folder / handle,
            [(PROGRAMS[client], self.commands[client])],
            cloned=other.machine.project if other else None,
            exports=exports,
        )
        if other is None:
            (machine.project / "retry.py").write_text("PAUSE = 30\n")
            machine.commit("Retry")
            machine.git("remote", "add", "origin", ORIGIN)
        machine.git("remote", "set-url", "origin", ORIGIN)
        return Person(machine)


@pytest.fixture
def team(
    sandbox: Sandbox,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    store_url: str,
) -> Team:
    monkeypatch.setattr(CodexProgram, "model", EDITS)
    commands = find_commands(wants_newest(pytestconfig))
    return Team(sandbox, tmp_path, commands, store_url)


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path, workspace: str) -> Iterator[str]:
    """A file that both open, or a PostgreSQL that the sandbox reaches by a socket."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/team.db"
    else:
        with forward(request.getfixturevalue("postgres_url")) as url:
            yield url


# --- the story ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("giver", "taker", "store_url"), PAIRS.values(), ids=PAIRS, indirect=["store_url"]
)
def test_an_agent_sees_fetches_and_takes_over_what_another_developers_agent_published(
    giver: str, taker: str, team: Team, tmp_path: Path
):
    a = team.add("dev-a", giver)
    b = team.add("dev-b", taker, a)
    offers, revokes = (a.machine.make_pipe(name) for name in ("offers", "revokes"))
    handed = call("coordination", "handoff", claim_id=find_id("claim"), to="dev-b", note=NOTE)
    revoked = call("session", "revoke_context", context_id=find_id("context"))
    working = a.start(
        "Publish what you do, and hand it over.",
        call("session", "publish_context", **PUBLICATION),
        call("coordination", "claim", paths=["retry*"], reason=REASON),
        {**handed, "hold": str(offers)},
        {**revoked, "hold": str(revokes)},
    )
    offers.read_text()

    # At the start metadata; then it is fetched; and an edit of claimed files is told.
    get = call("session", "get_context", developer="dev-a")
    reading = b.run("Go on with the retry.", get, b.edit("retry_table.py"))
    native_id = b.program.find_native_id(b.machine.home)
    [context] = b.holdfast.read("team", "state")["published_contexts"]
    assert_block(reading, context["id"])
    assert_fetched_once(reading)
    [told] = find_notices(reading)
    assert hide(told) == "team: dev-a reserved retry* until TIME"

    # An offer is told at the next prompt, and accepted by what the tools say.
    offers.write_text("go")
    revokes.read_text()
    accepted = call("coordination", "accept", handoff_id=find_id("handoff"))
    taking = b.run("What else?", call("team", "state"), accepted, resumed=native_id)
    [handoff] = b.holdfast.read("team", "state")["handoffs"]
    assert find_notices(taking)[-1].startswith("team: handoffs offered to this user: 1 (dev-a).")
    assert (handoff["status"], handoff["context"]["id"]) == ("accepted", context["id"])
    assert NOTE in read_results(taking)[-1]

    # What is revoked is gone everywhere but where it was read before.
    revokes.write_text("go")
    a.machine.finish(working)
    later = b.run("Anything new?")
    assert read_block(later) == ""
    with (
        run_server(tmp_path / "server", team.url, HOLDFAST_DEVELOPER="dev-b") as server,
        server.client() as http,
    ):
        assert_gone(b, later, http, context["id"])
        a.holdfast("team", "publish", "--title", "Again", "--summary", SUMMARY, "--yes")
        a.holdfast("team", "claim", "retry*", "--reason", REASON)
        assert [each["title"] for each in list_published(http)] == ["Again"]

        a.holdfast("team", "visibility", "private")
        last = b.run("And now?")
        assert_absent(b, last, http, "dev-a")


def hide_workspace(text: str) -> str:
    return text.replace(os.environ["HOLDFAST_WORKSPACE"], "WORKSPACE")


def assert_block(run: Started, context_id: str) -> None:
    """Metadata only: not a word that dev-a wrote."""
    block = read_block(run)
    assert hide_workspace(hide(block)) == (
        "HOLDFAST team WORKSPACE · acme/payouts · TIME\n"
        "| dev-a · main · context ID · published TIME"
        " · 1 file, 1 blocker, 1 next action · all as here\n"
        "Reserved: retry* by dev-a until TIME\n"
        "Details: covibe_session operation=get_context developer=dev-a"
    )
    assert context_id in block
    assert not find_words(list_texts(run, 0))


def list_published(http: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/api/state").json()["sessionContexts"]
    return found


def assert_gone(person: Person, run: Started, http: httpx.Client, context_id: str) -> None:
    state = person.holdfast.read("team", "state")
    receipt = person.holdfast.read("why")["id"]
    shown = [
        *list_texts(run, 0),
        person.holdfast("bundle", "show"),
        person.holdfast("bundle", "rebuild", receipt),
        person.holdfast("handoff", "show"),
        person.holdfast("team", "contexts"),
        str(state),
        http.get("/api/handoffs").text,
    ]
    assert [each["context"] for each in state["handoffs"]] == [None]
    assert list_published(http) == []
    assert not [text for text in shown if context_id in text]
    shown.append(http.get("/api/state").text)  # that it was published and revoked is an event
    assert not [text for text in shown for words in PUBLISHED if words in text]


def assert_absent(person: Person, run: Started, http: httpx.Client, handle: str) -> None:
    """By name it answers as for a developer who does not exist."""
    shown = [
        *list_texts(run, 0),
        person.holdfast("bundle", "show"),
        person.holdfast("team", "state"),
        person.holdfast("team", "contexts"),
        http.get("/api/state").text,
    ]
    asked = [http.get("/api/contexts", params={"developer": name}) for name in (handle, NOBODY)]
    assert not [text for text in shown if handle in text]
    assert {answer.status_code for answer in asked} == {404}
    assert asked[0].text.replace(handle, NOBODY) == asked[1].text
