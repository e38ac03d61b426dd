"""After `holdfast init --yes` in a new repository, with nothing wired by hand."""

from collections import Counter
from pathlib import Path

import pytest

from tests.rig.installed import Installed
from tools.clients.conversation import Script
from tools.clients.machine import Machine, Started
from tools.clients.programs.contract import FULL_TOKENS, Message, Program
from tools.clients.sandbox import Sandbox
from tools.clients.terminal import Terminal

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]


def answer(text: str) -> Script:
    return [{"answers": [{"text": text}]}]


def find_texts(run: Started, words: str, *, number: int = 0) -> list[str]:
    """What the model was given before it answered, for the first time if no other is meant."""
    return [text for _, text in run.requests[number]["texts"] if words in text]


def read_files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def keep_a_session(holdfast: Installed, request: str) -> None:
    """One that was before, without a client."""
    session = holdfast.read("session", "start", "--chatmode", "implementation")["id"]
    message = ("--type", "user_message", "--role", "user", "--content", request)
    holdfast("session", "append", session, *message)
    holdfast("session", "end", session)


def test_a_second_session_begins_with_what_the_person_asked_for_last(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    calls = [program.make_subagent_call(f"Scout number {n}, look around.") for n in range(3)]
    script = [
        {"when": "Scout", "answers": [program.make_subagent_answer("Seen.")]},
        {"answers": [{"calls": calls}, {"text": "They are back."}]},
    ]
    machine.run(program, "Paint the shed green and send three of them.", script)
    first_messages = program.list_messages(machine.home)

    recent = {"tool": "holdfast_session", "arguments": {"operation": "recent"}}
    second = machine.run(program, "Go on.", [{"answers": [{"calls": [recent]}, {"text": "Yes."}]}])

    (given,) = find_texts(second, "Paint the shed green and send three of them.")
    assert "Scout" not in given
    assert "holdfast_session" in second.requests[-1]["tools"]
    results = [text for role, text in second.requests[-1]["texts"] if role == "tool"]
    assert results[-1]
    assert Counter(first_messages) <= Counter(holdfast.list_messages(program.client))
    assert_each_once(program, machine, holdfast)


def assert_each_once(program: Program, machine: Machine, holdfast: Installed) -> None:
    """Every message of the client's own transcripts, and none that it does not have."""
    kept = holdfast.list_messages(program.client)
    assert count(kept) == count(program.list_messages(machine.home))


def count(messages: list[Message]) -> Counter[Message]:
    return Counter((role, text.strip()) for role, text in messages)


def test_a_resumed_session_is_kept_once_and_a_compaction_brings_the_document_back(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    keep_a_session(holdfast, "Paint the shed green.")
    dry = " ".join(f"Board {number * 7919 % 10007} is dry." for number in range(300))
    script = [{"when": "board", "answers": [{"text": dry, "tokens": FULL_TOKENS}]}]
    machine.run(program, "Is every board dry by now.", script)
    native_id = program.find_native_id(machine.home)
    asked = ["Is every board dry by now."]
    for prompt, answers in program.make_compacting_script():
        machine.run(program, prompt, [{"answers": answers}], native_id)
        asked += [prompt] if prompt[0] != "/" else []

    after = machine.run(program, "Which colour was it.", answer("Green."), native_id)

    assert not find_texts(after, "Board 7919 is dry.")
    (document,) = find_texts(after, "LAST REQUEST")
    assert asked[-1] in document
    assert program.find_native_id(machine.home) == native_id
    assert_each_once(program, machine, holdfast)


def test_a_client_that_is_killed_in_a_turn_loses_nothing_that_it_wrote_down(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    pipe = machine.make_pipe("held")
    recent = {"tool": "holdfast_session", "arguments": {"operation": "recent"}}
    script = [{"answers": [{"text": "First I look.", "calls": [recent]}, {"hold": str(pipe)}]}]
    killed = machine.start(program, "Count the boards.", script)
    pipe.read_text()
    machine.kill(killed)

    machine.run(program, "Where were we.", answer("At the boards."))

    assert_each_once(program, machine, holdfast)


def test_a_client_goes_on_when_the_program_is_gone(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    holdfast.remove()

    run = machine.run(program, "Paint the shed.", answer("It is painted."))

    assert "It is painted." in run.output.read_text()


def test_a_cleared_session_is_followed_by_one_that_knows_it(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    script = [
        {"when": "shed", "answers": [{"text": "Painted."}]},
        {"when": "next", "answers": [{"text": "Planned."}]},
    ]
    terminal = Terminal(machine, program, script)
    terminal.say("Paint the shed green.", "Painted.")
    terminal.clear("Painted.")
    terminal.say("What comes next", "Planned.")
    terminal.quit()

    (document,) = find_texts(terminal.started, "LAST REQUEST", number=-1)
    assert "Paint the shed green." in document
    sessions = [each for each in holdfast.list_sessions() if each["client"] == program.client]
    assert [each["status"] for each in sessions] == ["ended", "ended"]
    assert len({each["native_id"] for each in sessions}) == 2
    assert_each_once(program, machine, holdfast)


def test_uninstall_leaves_every_file_as_it_was(
    program: Program, machine: Machine, holdfast: Installed
):
    machine.command("sh", "-c", f"{program.client} mcp list || true")  # it writes its own files
    before = read_files(machine.home)
    changes = holdfast.read("init", "--yes")["clients"][0]["changes"]
    assert changes

    holdfast("uninstall")

    after = read_files(machine.home)
    touched = [str(Path(change["path"]).relative_to(machine.home)) for change in changes]
    assert {name: after.get(name) for name in touched} == {
        name: before.get(name) for name in touched
    }


def test_three_clients_at_once_in_one_working_tree_are_three_sessions(
    three_clients: list[tuple[Program, Path]], sandbox: Sandbox, tmp_path: Path
):
    machine = Machine(sandbox, tmp_path / "machine", three_clients)
    holdfast = Installed(machine)
    holdfast("init", "--yes")
    pipes = {program: machine.make_pipe(program.client) for program, _ in three_clients}
    started = [
        machine.start(
            program,
            f"Paint the shed with {program.client}.",
            [{"answers": [{"text": f"{program.client} did.", "hold": str(pipe)}]}],
        )
        for program, pipe in pipes.items()
    ]
    for pipe in pipes.values():
        pipe.read_text()
    for pipe in pipes.values():
        pipe.write_text("go")
    for run in started:
        machine.finish(run)

    assert len(holdfast.list_sessions()) == 3
    for program in pipes:
        assert_each_once(program, machine, holdfast)
        assert len(holdfast.list_messages(program.client)) == 2
