"""After `holdfast init --yes` in a new repository, with nothing wired by hand."""

from collections import Counter
from pathlib import Path

import pytest

from tests.rig.installed import Installed
from tools.clients.conversation import Answer, Script
from tools.clients.machine import Machine, Started
from tools.clients.programs import PROGRAMS
from tools.clients.programs.contract import FULL_TOKENS, Message, Program
from tools.clients.sandbox import Sandbox
from tools.clients.terminal import Terminal

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

FORKING = [name for name, program in PROGRAMS.items() if program.can_fork]


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

    assert machine.git("status", "--porcelain", "--ignored") == ""
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


def test_a_compaction_brings_back_what_was_lost_and_nothing_that_is_still_there(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    keep_a_session(holdfast, "Paint the shed green.")
    check = Path(machine.project, "test.sh")
    check.write_text("#!/bin/sh\necho 'FAILED test_boards - assert 9 == 8'\nexit 1\n")
    check.chmod(0o755)
    fails = program.make_shell_call("./test.sh")
    dry = " ".join(f"Board {number * 7919 % 10007} is dry." for number in range(300))
    wet = {"text": "One board is wet.", "tokens": FULL_TOKENS}
    script: Script = [
        {"when": "board", "answers": [{"calls": [fails]}, {"text": dry}]},
        {"when": "rest", "answers": [wet]},
    ]
    asked = ["Is every board dry, of at most 8.", "And what of the rest."]
    native_id = None
    for prompt in asked:
        machine.run(program, prompt, script, native_id)
        native_id = program.find_native_id(machine.home)
    for prompt, answers in program.make_compacting_script():
        machine.run(program, prompt, [{"answers": answers}], native_id)
        asked += [prompt] if prompt[0] != "/" else []

    after = machine.run(program, "Which colour was it.", answer("Green."), native_id)
    later = machine.run(program, "And which wood.", answer("Oak."), native_id)

    assert not find_texts(after, "Board 7919 is dry.")
    (document,) = find_texts(after, "HOLDFAST implementation")
    assert "This session, before its compaction." in document
    for lost in ("Paint the shed green.", "./test.sh", "assert 9 == 8"):
        assert lost in document
    others = [text for _, text in after.requests[0]["texts"] if text != document]
    for words in (*asked, "One board is wet.", "That is all."):
        places = [text for text in (*others, document) if words in text]
        assert len(places) <= 1, (words, places)
    for words in asked[:2]:
        assert any(words in text for text in (*others, document)), words
    (again,) = find_texts(later, "HOLDFAST implementation")
    # One that keeps no text of ours in its history is handed it anew when it is started.
    assert again == document or program.client == "opencode"
    assert program.find_native_id(machine.home) == native_id
    assert_each_once(program, machine, holdfast)


@pytest.mark.parametrize("program", FORKING, indirect=True)
def test_a_fork_is_kept_once_and_continues_the_session_that_it_is_a_copy_of(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    machine.run(program, "Paint the shed green.", answer("It is green."))
    native_id = program.find_native_id(machine.home)
    machine.run(program, "Paint the door red.", answer("It is red."), native_id, is_fork=True)
    assert program.find_native_id(machine.home) != native_id

    after = machine.run(program, "Which colour was it.", answer("Red."))

    (document,) = find_texts(after, "LAST REQUEST")
    assert "Paint the door red." in document
    first, fork, last = holdfast.list_sessions()
    assert [first["resumed_from"], fork["resumed_from"], last["resumed_from"]] == [
        None,
        first["id"],
        None,
    ]
    assert holdfast.list_messages(program.client) == [
        ("user", "Paint the shed green."),
        ("assistant", "It is green."),
        ("user", "Paint the door red."),
        ("assistant", "It is red."),
        ("user", "Which colour was it."),
        ("assistant", "Red."),
    ]


def test_a_request_that_was_taken_back_is_not_handed_on(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    script = [
        {"when": "shed", "answers": [{"text": "Painted."}]},
        {"when": "fence", "answers": [{"text": "Mended."}]},
        {"when": "door", "answers": [{"text": "Opened."}]},
    ]
    wanted = "Paint the shed green."
    terminal = Terminal(machine, program, script)
    terminal.say(wanted, "Painted.")
    terminal.say("Mend the fence.", "Mended.")
    terminal.rewind("Mend the fence.", "Mended.")
    if not program.notes_rewinds:
        wanted = "Open the door."
        terminal.say(wanted, "Opened.")
    terminal.quit()

    after = machine.run(program, "Go on.", answer("Yes."))

    (document,) = find_texts(after, "LAST REQUEST")
    assert wanted in document
    assert "Mend the fence." not in document
    assert holdfast.list_messages(program.client).count(("user", "Mend the fence.")) == 1


def test_a_client_that_is_killed_in_a_turn_loses_nothing_that_it_wrote_down(
    program: Program, machine: Machine, holdfast: Installed
):
    """Before an answer, in the middle of one, during a tool and after it."""
    holdfast("init", "--yes")
    pipe = machine.make_pipe("held")
    wait = program.make_shell_call(f"echo held >{pipe}; sleep 1000")
    recent = {"tool": "holdfast_session", "arguments": {"operation": "recent"}}
    deaths: dict[str, list[Answer]] = {
        "Count the boards.": [{"hold": str(pipe)}],
        "Count the nails.": [{"text": "There are many of them.", "cut": str(pipe)}],
        "Count the tiles.": [{"text": "I begin.", "calls": [wait]}],
        "Count the bolts.": [{"text": "First I look.", "calls": [recent]}, {"hold": str(pipe)}],
    }
    for prompt, answers in deaths.items():
        killed = machine.start(program, prompt, [{"answers": answers}])
        pipe.read_text()
        machine.kill(killed)
        last = find_last_written(program, machine, prompt, answers)
        if prompt != "Count the bolts.":  # which is left to the next start
            assert last in holdfast("handoff", "show")

    after = machine.run(program, "Where were we.", answer("At the bolts."))

    kept = count(holdfast.list_messages(program.client))
    assert count(program.list_messages(machine.home)) <= kept
    assert set(kept.values()) == {1}
    asked = {text for role, text in kept if role == "user"}
    assert asked == {*deaths, "Where were we."}  # also what a client had not written down yet
    (given,) = find_texts(after, "Count the bolts.")
    assert ", cut off at " in given
    assert last in given


def find_last_written(
    program: Program, machine: Machine, prompt: str, answers: list[Answer]
) -> str:
    """The last message of a turn that its client wrote down; nothing where it has none yet."""
    written = {text.strip() for _, text in program.list_messages(machine.home)}
    said = [prompt, *(str(answer.get("text")) for answer in answers)]
    return next((text for text in reversed(said) if text in written), "")


def test_a_client_goes_on_when_the_program_is_gone(
    program: Program, machine: Machine, holdfast: Installed
):
    holdfast("init", "--yes")
    holdfast.remove()

    run = machine.run(program, "Paint the shed.", answer("It is painted."))

    said = run.output.read_text()
    assert "It is painted." in said
    assert "mcp" not in said.casefold()


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


def test_uninstall_leaves_what_a_client_has_written_since(
    program: Program, machine: Machine, holdfast: Installed
):
    changes = holdfast.read("init", "--yes")["clients"][0]["changes"]
    machine.command(*program.make_server_command())

    holdfast("uninstall")

    left = read_files(machine.home)
    touched = {str(Path(change["path"]).relative_to(machine.home)) for change in changes}
    texts = {name: left[name].decode() for name in sorted(touched & set(left))}
    assert [name for name, text in texts.items() if "/bin/true" in text]
    assert not [name for name, text in texts.items() if "holdfast" in text.lower()]
    holdfast("uninstall")
    assert {name: read_files(machine.home).get(name) for name in texts} == {
        name: left[name] for name in texts
    }


def test_a_colleague_without_holdfast_sees_nothing_of_it(
    program: Program, machine: Machine, holdfast: Installed, sandbox: Sandbox, tmp_path: Path
):
    holdfast("init", "--yes", "--project", "--shared-context")
    machine.commit("Set Holdfast up for everybody")
    theirs = Machine(sandbox, tmp_path / "colleague", machine.clients, cloned=machine.project)

    terminal = Terminal(theirs, program, answer("It is painted."))
    terminal.say("Paint the shed green.", "It is painted.")

    assert "holdfast" not in terminal.read_screen().lower()
    terminal.quit()
    assert theirs.git("status", "--porcelain", "--ignored") == ""


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
