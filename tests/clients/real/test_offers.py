"""An offer to save reaches the model of each real client, and a typed stop command saves."""

import pytest

from holdfast.clients import find_client
from tests.rig.installed import Installed
from tools.clients.machine import Machine, Started
from tools.clients.programs.contract import Program
from tools.clients.terminal import Terminal

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

OFFER = "Holdfast: the user seems to stop here, and this conversation is not saved to its folder."
GOING = "ok, gotta run, see you tomorrow"
SAYS_SO = ("claude", "codex")


def count_offers(run: Started, number: int = -1) -> int:
    """In everything that the model was given with one request."""
    texts = [text for _, text in run.requests[number]["texts"]]
    return sum(text.count(OFFER) for text in texts)


def find_stop_command(program: Program) -> str:
    client = find_client(program.client)
    assert client is not None
    return client.STOP_COMMAND


def name_debug_command(program: Program) -> str:
    is_skill = find_stop_command(program).startswith("$")
    return "$workspace-debug" if is_skill else "/workspace.debug"


def test_a_person_who_stops_is_offered_a_save_once(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    script = [
        {"when": "Thanks, see you", "answers": [{"text": "Goodbye."}]},
        {"when": GOING, "answers": [{"text": "Shall it be saved?"}]},
        {"answers": [{"text": "It is the retry."}]},
    ]
    terminal = Terminal(machine, program, script)
    terminal.say("Look at the retry.", "It is the retry.")
    holdfast("conversation", "new", "debug", "The retry hangs")

    terminal.say(GOING, "Shall it be saved?")
    offered = "\n".join(text for _, text in terminal.started.requests[-1]["texts"])
    terminal.say("Thanks, see you", "Goodbye.")
    terminal.quit()

    assert count_offers(terminal.started, 0) == 0
    assert offered.count(OFFER) == 1
    assert f"as `{find_stop_command(program)}` does" in offered
    assert count_offers(terminal.started) <= 1  # as a part of the history, or not at all
    (notice,) = holdfast.read("why")["notices"]
    assert (notice["kind"], notice["moment"]) == ("offer", "prompt")


def test_a_stop_command_that_the_model_ignores_still_pauses_and_saves(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    begun = [{"answers": [{"text": "Which command shows it?"}]}]
    machine.run(program, f"{name_debug_command(program)} the retry hangs", begun)
    native_id = program.find_native_id(machine.home)

    ignored = [{"answers": [{"text": "See you."}]}]
    machine.run(program, find_stop_command(program), ignored, resumed=native_id)

    (conversation,) = holdfast.read("conversation", "list")["conversations"]
    assert conversation["status"] == "paused"
    shown = holdfast.read("conversation", "show", conversation["id"])
    said = [message["content"] for message in shown["messages"]]
    assert said[1:] == ["Which command shows it?", "See you."]


def test_nobody_is_offered_a_save_where_the_client_says_that_nobody_is_there(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    begun = [{"answers": [{"text": "Which command shows it?"}]}]
    machine.run(program, f"{name_debug_command(program)} the retry hangs", begun)
    native_id = program.find_native_id(machine.home)

    run = machine.run(program, GOING, [{"answers": [{"text": "Bye."}]}], resumed=native_id)

    assert count_offers(run) == (0 if program.client in SAYS_SO else 1)
