"""The plugin as Node runs it, with a program in the place of ours that writes down its calls."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import opencode
from holdfast.clients.opencode.setup import make_plugin
from holdfast.clients.setup import OWN_MARK
from tests.surfaces.mcp import node

HOST = Path(__file__).with_name("opencode_host.mjs")
SECONDS = 60.0
LIMITS = {"TEXT_MS": 2000, "LOOK_UP_MS": 500, "COMMAND_MS": 5000, "HOOK_MS": 10000, "END_MS": 1500}
PATIENT = dict.fromkeys(LIMITS, 50_000)  # a busy machine changes nothing
SHORT = {"TEXT_MS": 100, "HOOK_MS": 300, "END_MS": 100}
MAIN = "You are opencode"
TITLE = "You are a title generator. You output ONLY a thread title."
TEXT = {"text": "What was decided.", "session_id": "01J"}

Step = dict[str, Any]


class Host:
    """A client with our plugin, and what answers it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.shim = folder / "it's holdfast"
        self.log = folder / "calls"
        self.parents: dict[str, str] = {}
        self.limits = PATIENT
        self.write_shim('[ ! -e "answer.$3" ] || cat "answer.$3"')

    def write_shim(self, then: str) -> None:
        """Write down the payload and the event, and go on with a command.

        At once, because several may run at a time.
        """
        folder = shlex.quote(str(self.folder))
        note = 'line=$(cat)\nprintf "%s %s\\n" "$line" "$3" >> calls'
        self.shim.write_text(f"#!/bin/sh\ncd {folder}\n{note}\n{then}\n")
        self.shim.chmod(0o755)

    def answer(self, event: str, answer: dict[str, str]) -> None:
        (self.folder / f"answer.{event}").write_text(json.dumps(answer))

    def play(self, *steps: Step) -> list[Any]:
        """What each callback left in the object that it was given."""
        plugin = self.folder / "holdfast.mjs"
        text = make_plugin(str(self.shim))
        for name, milliseconds in self.limits.items():
            text = text.replace(f"{name} = {LIMITS[name]} ", f"{name} = {milliseconds} ")
        plugin.write_text(text)
        given = {"plugin": str(plugin), "parents": self.parents, "steps": [*steps, DISPOSE]}
        done = subprocess.run(
            [node.wheel() / "bin" / "node", HOST],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert (done.returncode, done.stderr) == (0, "")
        outputs: list[Any] = json.loads(done.stdout)
        return outputs[:-1]

    def list_calls(self) -> list[tuple[str, dict[str, Any]]]:
        if not self.log.exists():
            return []
        lines = [line.rpartition(" ") for line in self.log.read_text().splitlines()]
        return [(event, json.loads(payload)) for payload, _, event in lines]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    folder = tmp_path / "client"
    folder.mkdir()
    return Host(folder)


DISPOSE: Step = {"hook": "dispose", "input": None, "output": None}


def event(name: str, **properties: Any) -> Step:
    return {"hook": "event", "input": {"event": {"type": name, "properties": properties}}}


def create(session: str, **info: Any) -> Step:
    return event("session.created", sessionID=session, info={"id": session, **info})


def say(session: str, words: str, message: str = "msg_1", **part: Any) -> Step:
    return {
        "hook": "chat.message",
        "input": {"sessionID": session, "agent": "build"},
        "output": {
            "message": {"id": message, "agent": "build"},
            "parts": [
                {"type": "text", "text": words, **part},
                {"type": "text", "text": "added by OpenCode", "synthetic": True},
                {"type": "file", "url": "data:,"},
            ],
        },
    }


def request(session: str, system: str = MAIN) -> Step:
    return {
        "hook": "experimental.chat.system.transform",
        "input": {"sessionID": session, "model": {}},
        "output": {"system": [system]},
    }


def use(session: str, tool: str, **given: Any) -> Step:
    return {
        "hook": "tool.execute.before",
        "input": {"sessionID": session, "tool": tool, "callID": "call_1"},
        "output": {"args": given},
    }


def list_system(outputs: list[Any]) -> list[list[str]]:
    return [output["system"] for output in outputs if output and "system" in output]


def list_given(outputs: list[Any]) -> list[dict[str, Any]]:
    return [output["args"] for output in outputs if output and "args" in output]


# --- what is told ---------------------------------------------------------------------------------


def test_a_session_is_told_from_its_start_to_its_end(host: Host):
    host.play(
        create("ses_1", directory="/home/dev/project/src"),
        say("ses_1", "add a table"),
        event("message.updated", sessionID="ses_1", info={"id": "msg_2", "role": "assistant"}),
        event(
            "message.part.updated",
            part={
                "id": "prt_9",
                "sessionID": "ses_1",
                "messageID": "msg_2",
                "type": "text",
                "text": "Done.",
                "time": {"start": 1, "end": 2},
            },
        ),
        event("session.idle", sessionID="ses_1"),
    )

    calls = host.list_calls()
    assert [name for name, _ in calls] == [
        *("session.created", "chat.message", "session.idle", "dispose"),
    ]
    assert {payload["session_id"] for _, payload in calls} == {"ses_1"}
    assert {payload["cwd"] for _, payload in calls} == {"/home/dev/project/src"}
    assert all(payload["hook_event_name"] == name for name, payload in calls)
    assert all(payload["transcript_path"].endswith("/opencode.db") for _, payload in calls)
    _, (_, prompt), (_, idle), _ = calls
    assert (prompt["prompt"], prompt["prompt_id"]) == ("add a table", "msg_1")
    assert (prompt["source"], prompt["agent"]) == ("startup", "build")
    assert (idle["turn_id"], idle["last_assistant_message"]) == ("prt_9", "Done.")


def test_our_side_understands_what_is_told(host: Host):
    host.play(create("ses_1"), say("ses_1", "add a table"), use("ses_1", "write", filePath="/a"))

    calls = host.list_calls()
    assert {name for name, _ in calls} <= set(opencode.MOMENTS)
    kept = [opencode.parse(name, payload) for name, payload in calls]
    [prompt] = [found for found in kept if found]
    assert (prompt.event_type, prompt.content) == ("user_message", "add a table")


def test_a_command_is_told_as_it_was_typed(host: Host):
    command = {"command": "workspace.resume", "sessionID": "ses_1", "arguments": "S-1"}
    host.play(
        {"hook": "command.execute.before", "input": command, "output": {"parts": []}},
        say("ses_1", "the text of the command"),
        say("ses_1", "the text of the person"),
    )

    prompts = [given["prompt"] for name, given in host.list_calls() if name == "chat.message"]
    assert prompts == ["/workspace.resume S-1", "the text of the person"]


def test_an_edit_is_told_and_any_other_tool_is_not(host: Host):
    host.parents = {"ses_2": "ses_1"}
    host.play(
        use("ses_1", "bash", command="ls"),
        use("ses_1", "edit", filePath="/a"),
        use("ses_2", "apply_patch", patchText="*** Begin Patch"),
    )

    told = [given for name, given in host.list_calls() if name == "tool.execute.before"]
    assert [(given["session_id"], given["tool_name"]) for given in told] == [
        ("ses_1", "edit"),
        ("ses_1", "apply_patch"),
    ]
    assert [given.get("agent_id") for given in told] == [None, "ses_2"]


def test_a_summary_is_not_told_as_an_answer(host: Host):
    info = {"id": "msg_2", "role": "assistant", "summary": True}
    part = {"id": "prt_9", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": "S"}
    host.play(
        create("ses_1"),
        event("message.updated", sessionID="ses_1", info=info),
        event("message.part.updated", part={**part, "time": {"end": 2}}),
        event("session.idle", sessionID="ses_1"),
    )

    [idle] = [given for name, given in host.list_calls() if name == "session.idle"]
    assert "last_assistant_message" not in idle


# --- our text -------------------------------------------------------------------------------------


def test_every_request_of_a_session_has_our_text_in_the_same_bytes(host: Host):
    host.answer("chat.message", TEXT)
    outputs = host.play(
        create("ses_1"),
        say("ses_1", "go"),
        request("ses_1"),
        request("ses_1", TITLE),
        request("ses_1"),
        request("ses_of_another_plugin"),
    )

    assert list_system(outputs) == [[MAIN, TEXT["text"]], [TITLE], [MAIN, TEXT["text"]], [MAIN]]


def test_a_session_that_is_resumed_asks_for_the_text_again(host: Host):
    host.answer("chat.message", TEXT)

    outputs = host.play(say("ses_1", "go on"), request("ses_1"))

    assert list_system(outputs) == [[MAIN, TEXT["text"]]]
    assert [given.get("source") for _, given in host.list_calls()] == ["startup", None]


def test_a_fork_says_that_it_is_one(host: Host):
    host.play(create("ses_1", title="Retries (fork #2)"), say("ses_1", "go"))

    assert [given.get("source") for _, given in host.list_calls()] == ["fork", "fork", None]


def test_a_compaction_brings_a_new_text_and_its_summary_is_made_without_ours(host: Host):
    host.answer("chat.message", TEXT)
    host.answer("session.compacted", {"text": "What was lost."})
    outputs = host.play(
        create("ses_1"),
        say("ses_1", "go"),
        request("ses_1"),
        {"hook": "experimental.session.compacting", "input": {"sessionID": "ses_1"}},
        request("ses_1", "You are a context summarization agent."),
        event("session.compacted", sessionID="ses_1"),
        request("ses_1"),
        say("ses_1", "and on", "msg_2"),
        request("ses_1"),
    )

    assert [system[1:] for system in list_system(outputs)[:2]] == [[TEXT["text"]], []]
    assert list_system(outputs)[2] == [MAIN, "What was lost."]
    sources = [(name, given.get("source")) for name, given in host.list_calls()]
    assert sources[1:4] == [
        ("chat.message", "startup"),
        ("session.compacted", "compact"),
        ("chat.message", None),
    ]


def test_after_a_compaction_without_a_text_the_next_prompt_asks(host: Host):
    host.play(
        create("ses_1"),
        say("ses_1", "go"),
        event("session.compacted", sessionID="ses_1"),
        say("ses_1", "and on", "msg_2"),
    )

    prompts = [given for name, given in host.list_calls() if name == "chat.message"]
    assert [prompt.get("source") for prompt in prompts] == ["startup", "compact"]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_subagent_gets_no_text_and_its_prompt_is_not_told(host: Host, is_known: bool):
    host.answer("chat.message", TEXT)
    host.parents = {"ses_2": "ses_1"}
    steps = [create("ses_2", parentID="ses_1")] if is_known else []

    outputs = host.play(
        *steps,
        say("ses_2", "do it"),
        request("ses_2"),
        event("session.idle", sessionID="ses_2"),
    )

    assert list_system(outputs) == [[MAIN]]
    assert host.list_calls() == []


# --- which session our tools mean -----------------------------------------------------------------


def test_a_call_of_our_tools_names_the_session_that_it_is_made_in(host: Host):
    host.answer("chat.message", TEXT)
    host.parents = {"ses_2": "ses_1"}
    outputs = host.play(
        say("ses_1", "go"),
        use("ses_1", "holdfast_set_relevant_context", setName="files"),
        use("ses_1", "holdfast_session", operation="recent", session_id="01A"),
        use("ses_1", "another_session", operation="recent"),
        say("ses_1", "go", "msg_2"),
        use("ses_2", "holdfast_memory", operation="list"),
        use("ses_1", "holdfast_session", operation="start"),
    )

    given = [(args.get("setName"), args.get("session_id")) for args in list_given(outputs)]
    assert given == [("files", "01J"), (None, "01A"), (None, None), (None, "01J"), (None, None)]


def test_a_call_in_a_new_session_means_the_new_one(host: Host):
    """Where the program names no session, its last call says which one is meant."""
    host.play(
        say("ses_1", "go"),
        say("ses_2", "go", "msg_2"),
        use("ses_2", "holdfast_get_relevant_context"),
        use("ses_1", "holdfast_get_relevant_context"),
    )

    calls = [(name, given["session_id"]) for name, given in host.list_calls()]
    assert calls[:3] == [
        ("chat.message", "ses_1"),
        ("chat.message", "ses_2"),
        ("tool.execute.before", "ses_1"),
    ]


# --- nothing disturbs the agent -------------------------------------------------------------------

WHOLE = (
    create("ses_1"),
    say("ses_1", "go"),
    request("ses_1"),
    use("ses_1", "holdfast_get_relevant_context"),
    use("ses_1", "edit", filePath="/a"),
    event("session.compacted", sessionID="ses_1"),
    request("ses_1"),
    event("session.idle", sessionID="ses_1"),
)


@pytest.mark.parametrize(
    "command", ["exec sleep 60", "exit 2", "printf '\\0{broken]'", "echo '[1]'; kill -9 $$"]
)
def test_a_program_that_fails_changes_nothing(host: Host, command: str):
    host.write_shim(command)
    host.limits = SHORT

    outputs = host.play(*WHOLE)

    assert list_system(outputs) == [[MAIN], [MAIN]]
    assert list_given(outputs) == [{}, {"filePath": "/a"}]


@pytest.mark.parametrize("make", [Path.unlink, lambda path: path.chmod(0o600)])
def test_a_program_that_is_gone_changes_nothing(host: Host, make: Any):
    make(host.shim)

    assert list_system(host.play(*WHOLE)) == [[MAIN], [MAIN]]


def test_a_text_that_comes_late_is_in_the_requests_after_it(host: Host):
    host.answer("chat.message", TEXT)
    host.write_shim('until [ -e released ]; do sleep 0.01; done; cat "answer.$3"')
    host.limits = {"TEXT_MS": 100}

    outputs = host.play(
        say("ses_1", "go"),
        request("ses_1"),
        {"create": str(host.folder / "released")},
        {**request("ses_1"), "until": "system"},
    )

    assert list_system(outputs) == [[MAIN], [MAIN, TEXT["text"]]]


@pytest.mark.parametrize("odd", [None, {}, [], "x", {"sessionID": 7}])
def test_callbacks_with_odd_arguments_never_fail(host: Host, odd: Any):
    hooks = [
        "event",
        "chat.message",
        "command.execute.before",
        "experimental.chat.system.transform",
        "experimental.session.compacting",
        "tool.execute.before",
    ]

    host.play(*({"hook": hook, "input": odd, "output": odd} for hook in hooks))


# --- the file -------------------------------------------------------------------------------------


def test_the_limits_are_those_that_the_tests_change():
    text = make_plugin("/holdfast")

    assert all(f"{name} = {value} //" in text for name, value in LIMITS.items())


def test_the_file_is_the_same_for_the_same_program():
    text = make_plugin("/home/dev/.local/share/holdfast/bin/holdfast")

    assert text == make_plugin("/home/dev/.local/share/holdfast/bin/holdfast")
    assert 'const SHIM = "/home/dev/.local/share/holdfast/bin/holdfast"\n' in text
    assert "@" not in text
    assert text.startswith(f"// {OWN_MARK}")


def test_opencode_2_finds_an_entry_of_its_own(host: Host):
    """Untested with the program itself; here only that it loads, and hands over our text."""
    host.answer("chat.message", TEXT)
    plugin = host.folder / "holdfast.mjs"
    plugin.write_text(make_plugin(str(host.shim)))
    script = f"""
      const {{ default: plugin }} = await import({json.dumps(str(plugin))})
      const hooks = {{}}
      const session = {{ hook: (name, callback) => {{ hooks[name] = callback }} }}
      await plugin.setup({{ location: {{ directory: "/home/dev/project" }}, session }})
      const event = {{ sessionID: "ses_1", system: [] }}
      await hooks.context(event)
      await plugin.setup({{}})
      console.log(plugin.id, JSON.stringify(event.system))
    """

    done = subprocess.run(
        [node.wheel() / "bin" / "node", "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    expected = json.dumps([{"type": "text", "text": TEXT["text"]}], separators=(",", ":"))
    assert (done.stdout, done.stderr) == (f"holdfast {expected}\n", "")


# --- notices --------------------------------------------------------------------------------------


def test_a_notice_goes_into_every_request_after_it_and_leaves_our_text_as_it_is(host: Host):
    host.answer("chat.message", {**TEXT, "notice": "D1 rejected."})
    host.answer("tool.execute.before", {"text": "", "notice": "D2 rejected."})

    outputs = host.play(
        create("ses_1"),
        say("ses_1", "use redis"),
        request("ses_1"),
        use("ses_1", "edit", filePath="/a", oldString="", newString="import kafka"),
        request("ses_1"),
        request("ses_1", TITLE),
    )

    first = [MAIN, TEXT["text"], "D1 rejected."]
    assert list_system(outputs) == [first, [*first, "D2 rejected."], [TITLE]]


def test_an_offer_is_in_the_requests_of_its_own_turn_only(host: Host):
    answer = json.dumps({"text": "", "notice": "D1 rejected.", "offer": "Not saved."})
    host.write_shim(f"case \"$line\" in *gotta*) echo '{answer}';; esac")

    outputs = host.play(
        create("ses_1"),
        say("ses_1", "gotta run"),
        request("ses_1"),
        request("ses_1"),
        say("ses_1", "no"),
        request("ses_1"),
    )

    told = [MAIN, "D1 rejected.", "Not saved."]
    assert list_system(outputs) == [told, told, [MAIN, "D1 rejected."]]


def test_a_notice_of_a_subagents_edit_is_for_the_subagent(host: Host):
    host.answer("tool.execute.before", {"text": "", "notice": "D2 rejected."})

    outputs = host.play(
        create("ses_1"),
        create("ses_2", parentID="ses_1"),
        use("ses_2", "edit", filePath="/a", oldString="", newString="import kafka"),
        request("ses_2"),
        request("ses_1"),
    )

    assert list_system(outputs) == [[MAIN, "D2 rejected."], [MAIN]]


def test_a_file_that_is_replaced_is_told_as_it_was(host: Host):
    (host.folder / "old.py").write_text("x = 1\n")
    for name in ("old.py", "new.py", "."):
        path = str(host.folder / name)
        host.play(create("ses_1"), use("ses_1", "write", filePath=path, content="x = 2\n"))

    edits = [given for event, given in host.list_calls() if event == "tool.execute.before"]
    assert [edit["original_content"] for edit in edits] == ["x = 1\n", "", ""]
