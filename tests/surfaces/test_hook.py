"""`holdfast hook CLIENT EVENT` as a client starts it: it keeps what it is given, says nothing, and
ends with 0.
"""

import fcntl
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.app import App
from holdfast.clients import CLIENTS, find_client
from holdfast.clients.contract import END, START
from holdfast.ground import files
from holdfast.ground.settings import load_settings
from holdfast.sessions.model import Session, SessionEvent
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.off_sessions import OffSessions
from holdfast.surfaces import hook
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer, run_process
from tests.rig.postgres import Cluster

PAYLOADS = Path(__file__).parents[1] / "clients" / "payloads"
SILENT = Answer(0, "", "")


def payload(client: str, event: str, **fields: Any) -> dict[str, Any]:
    """A recorded payload with some of its fields changed."""
    recorded: dict[str, Any] = json.loads((PAYLOADS / client / f"{event}.json").read_text())
    return {**recorded, **fields}


def fire(client: str, event: str, stdin: bytes | str | dict[str, Any], **env: str) -> Answer:
    """One real hook process."""
    given = json.dumps(stdin) if isinstance(stdin, dict) else stdin
    return run_process("hook", client, event, stdin=given, **env)


def read_stored() -> dict[str, list[SessionEvent]]:
    """What the store holds: the events of each session by the client's own id."""
    with App() as app:
        sessions: list[Session] = app.run(app.scope.sessions.list_all_sessions())
        return {
            str(session.native_id): app.run(app.scope.sessions.get_recent_events(session.id, 1000))
            for session in reversed(sessions)
        }


def contents() -> list[str]:
    return [event.content for events in read_stored().values() for event in events]


def accounts() -> dict[str, int]:
    """Where everything is that was accepted; the equation holds whenever it is asked."""
    with App() as app:
        counted = app.count()
    assert counted.accepted == counted.stored + counted.spooled + counted.rejected
    return {"stored": counted.stored, "spooled": counted.spooled, "rejected": counted.rejected}


def log(tmp_path: Path) -> str:
    file = tmp_path / "holdfast" / "holdfast.log"
    return file.read_text() if file.exists() else ""


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A store that another program writes to for as long as it likes; `rollback` lets go."""
    with App() as app:
        _ = app.database
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    connection.execute("begin immediate")
    yield connection
    connection.close()


def find_hook(name: str, moment: str) -> str:
    """The first hook of a client that tells of a moment."""
    client = find_client(name)
    assert client is not None
    return next(event for event, told in client.MOMENTS.items() if told == moment)


# --- what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_whole_turn_of_each_client_is_kept_in_order(client: str):
    """Every recorded hook, in the order in which the program fires them, some of them twice."""
    expected = json.loads((PAYLOADS / client / "expected.json").read_text())
    start, end = find_hook(client, START), find_hook(client, END)
    for event in (start, *expected, list(expected)[-1], end):
        assert fire(client, event, payload(client, event)) == SILENT

    [(native_id, events)] = read_stored().items()
    assert native_id == payload(client, start)["session_id"]
    assert [(event.type, event.role, event.content, event.parts) for event in events] == [
        (kept["event_type"], kept["role"], kept["content"], kept["parts"])
        for kept in expected.values()
    ]
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
    assert (session.client, session.chatmode, session.worktree) == (
        client,
        client,
        "/home/dev/project",
    )


def test_the_same_hook_twice_is_stored_once():
    twice = payload("claude", "UserPromptSubmit")

    assert [fire("claude", "UserPromptSubmit", twice) for _ in range(2)] == [SILENT, SILENT]

    assert contents() == [twice["prompt"]]
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}


def test_a_repeated_hook_after_the_end_of_its_session_starts_no_other():
    once = payload("claude", "Stop")
    fire("claude", "Stop", once)
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        app.run(app.scope.sessions.end_session(session.id))

    fire("claude", "Stop", once)

    assert (list(read_stored()), accounts()) == (
        [once["session_id"]],
        {"stored": 1, "spooled": 0, "rejected": 0},
    )


def test_a_session_that_was_ended_continues_in_a_new_one():
    fire("claude", "Stop", payload("claude", "Stop"))
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        app.run(app.scope.sessions.end_session(session.id))

    fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit", prompt="more"))

    with App() as app:
        newest, oldest = app.run(app.scope.sessions.list_sessions())
    assert (newest.native_id, newest.ended_at, oldest.id) == (session.native_id, None, session.id)


def test_the_working_tree_is_found_above_the_folder(tmp_path: Path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "deep").mkdir(parents=True)

    fire("codex", "Stop", payload("codex", "Stop", cwd=str(tmp_path / "repo" / "src" / "deep")))

    with App() as app:
        [session] = app.run(app.scope.sessions.find_current_sessions(str(tmp_path / "repo")))
    assert session.client == "codex"


@pytest.mark.parametrize("cwd", ["/" + "long/" * 200, "/a\nb", "a\x00b", "\ud800", ""])
def test_a_folder_with_an_impossible_name_costs_no_event(cwd: str):
    assert fire("claude", "Stop", payload("claude", "Stop", cwd=cwd)) == SILENT

    assert contents() == [payload("claude", "Stop")["last_assistant_message"]]


def test_odd_characters_become_visible_and_nothing_is_refused():
    text = "a\x00b\ud800c \\u0000"

    fire(
        "claude",
        "UserPromptSubmit",
        payload("claude", "UserPromptSubmit", prompt=text, session_id="n\x00\ud800"),
    )
    fire(
        "claude",
        "PostToolUse",
        payload("claude", "PostToolUse", tool_input={"x": text}, tool_response=text),
    )

    [[prompt], [tool]] = read_stored().values()
    assert (prompt.content, tool.content, tool.parts["input"]) == (
        *["a�b?c \\u0000"] * 2,
        {"x": "a�b?c \\u0000"},
    )  # type: ignore[index]


@pytest.mark.measures_processes
def test_ten_megabytes_are_cut_and_kept():
    fire("claude", "PostToolUse", payload("claude", "PostToolUse", tool_response="x" * 10_000_000))

    [content] = contents()
    assert content.endswith("[cut here; 10,000,000 characters in all]")
    assert len(content) > 2_000_000


# --- whatever comes in ----------------------------------------------------------------------------

STOP = payload("claude", "Stop")
GARBAGE: dict[str, tuple[str, str, bytes]] = {
    "nothing": ("claude", "Stop", b""),
    "garbage": ("claude", "Stop", b"\x00\xff\xfe not JSON }"),
    "half of some JSON": ("claude", "Stop", b'{"prompt": "Stop", "a": '),
    "half of a hook that is not kept": (
        "claude",
        "Notification",
        b'{"hook_event_name": "Notification", "a": ',
    ),
    "no object": ("claude", "Stop", b'["Stop"]'),
    "a depth bomb": ("claude", "Stop", b'{"a":' + b"[" * 1_000_000),
    "a closed depth bomb": ("claude", "Stop", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "20 MB": (
        "claude",
        "Stop",
        json.dumps({**STOP, "last_assistant_message": "x" * 20_000_000}).encode(),
    ),
    "an unknown client": ("cursor", "Stop", json.dumps(STOP).encode()),
    "a path as a client": ("../claude", "Stop", json.dumps(STOP).encode()),
    "an unknown event": ("claude", "NoSuchEvent", json.dumps(STOP).encode()),
    "somebody else's payload": (
        "claude",
        "Stop",
        json.dumps(payload("gemini", "AfterAgent")).encode(),
    ),
    "missing keys": (
        "claude",
        "Stop",
        json.dumps({"hook_event_name": "Stop", "session_id": "x"}).encode(),
    ),
    "an empty answer": (
        "claude",
        "Stop",
        json.dumps({**STOP, "last_assistant_message": ""}).encode(),
    ),
    "wrong types": ("claude", "Stop", json.dumps({**STOP, "session_id": 7, "cwd": None}).encode()),
}


@pytest.mark.measures_processes
@pytest.mark.parametrize("what", GARBAGE)
def test_invalid_input_is_ignored_silently_and_not_stored(what: str, tmp_path: Path):
    client, event, stdin = GARBAGE[what]

    assert fire(client, event, stdin) == SILENT

    assert not (tmp_path / "holdfast" / "holdfast.db").exists()
    assert not (tmp_path / "holdfast" / "spool").exists()
    assert STOP["last_assistant_message"] not in log(tmp_path)


DEEP = "[" * 3000 + "]" * 3000
UNREADABLE: dict[str, tuple[str, str]] = {
    "half of it": (json.dumps(STOP)[:-9], "is not JSON"),
    "twice at once": (json.dumps(STOP) * 2, "is not JSON"),
    "too deep": (
        json.dumps({**STOP, "more": "DEEP"}).replace('"DEEP"', DEEP),
        "is nested too deep",
    ),
}


@pytest.mark.measures_processes
@pytest.mark.parametrize("what", UNREADABLE)
def test_a_hook_that_cannot_be_read_is_rejected_and_counted(what: str, tmp_path: Path):
    """Twice the same is one; and the log says that something went wrong, without a word of it."""
    text, reason = UNREADABLE[what]
    if what == "too deep" and can_be_read(text):
        pytest.skip("this Python reads it")

    assert [fire("claude", "Stop", text) for _ in range(2)] == [SILENT, SILENT]

    assert accounts() == {"stored": 0, "spooled": 0, "rejected": 1}
    with App() as app:
        note = json.loads(Path(app.spool.rejected).read_text().splitlines()[0])
        assert app.spool.places_with_text(STOP["last_assistant_message"]) == [app.spool.rejected]
    assert note["record"] == {"client": "claude", "hook": "Stop", "payload": text}
    assert reason in note["message"]
    assert log(tmp_path).count("hook_failed") == 2
    assert STOP["last_assistant_message"] not in log(tmp_path)


def can_be_read(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return False
    return True


def test_a_long_hook_that_cannot_be_read_is_cut_and_rejected():
    fire("claude", "Stop", json.dumps({**STOP, "last_assistant_message": "x" * 10_000_000})[:-1])

    assert accounts() == {"stored": 0, "spooled": 0, "rejected": 1}
    with App() as app:
        note = json.loads(Path(app.spool.rejected).read_text())
    assert note["record"]["payload"].endswith(" characters in all]")


def test_a_number_of_too_many_digits_is_kept_as_a_text():
    digits = "9" * 5000
    said = json.dumps(payload("claude", "PostToolUse", tool_input={"n": "DIGITS"})).replace(
        '"DIGITS"', digits
    )

    assert fire("claude", "PostToolUse", said) == SILENT

    [[event]] = read_stored().values()
    assert event.parts is not None
    assert event.parts["input"] == {"n": digits}


def test_two_tools_that_end_in_the_same_moment_with_the_same_answer_are_two_events():
    for path in ("/a.py", "/b.py", "/a.py"):
        said = payload(
            "gemini", "AfterTool", tool_input={"path": path}, timestamp="2026-07-01T12:00:00.000Z"
        )
        assert fire("gemini", "AfterTool", said) == SILENT

    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}


def test_a_hook_that_is_wired_wrongly_is_noted(tmp_path: Path):
    """The output of a hook is not seen, so `holdfast.log` is where a person finds out."""
    fire("cursor", "Stop", STOP)
    fire("claude", "Stop", b"garbage")

    lines = [json.loads(line) for line in log(tmp_path).splitlines()]
    assert [(line["event"], line["code"]) for line in lines] == [
        ("hook_failed", "invalid_value")
    ] * 2


def test_a_payload_that_is_too_large_is_logged_without_its_content(tmp_path: Path):
    fire("claude", "Stop", GARBAGE["20 MB"][2])

    [line] = log(tmp_path).splitlines()
    assert {
        "event": "hook_failed",
        "error": "InvalidValueError",
        "code": "invalid_value",
    }.items() <= json.loads(line).items()
    assert "xxx" not in line


@pytest.mark.parametrize(
    "arguments", [(), ("claude",), ("claude", "Stop", "more"), ("--json", "claude")]
)
def test_any_other_number_of_arguments_is_silent(arguments: tuple[str, ...]):
    assert run_process("hook", *arguments, stdin=json.dumps(STOP)) == SILENT


def test_the_hook_is_the_same_behind_the_other_entrance():
    """A program that calls the command line as a library."""
    script = (
        "import sys; from holdfast.surfaces.cli import "
        "main; sys.exit(main(['hook', 'claude', "
        "'Stop']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(STOP), capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents() == [STOP["last_assistant_message"]]


@pytest.mark.measures_processes
def test_an_open_pipe_ends_where_the_object_ends():
    """Some clients never close it. Two hooks, of which one hears only half an object and gives up
    by itself.
    """
    whole = (
        json.dumps(payload("claude", "Stop", last_assistant_message="}" * 100_000 + " ")).encode()
        + b" \n"
    )
    hooks = [
        subprocess.Popen(
            [*HOLDFAST, "hook", "claude", "Stop"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(2)
    ]
    for process, data in zip(hooks, (whole, json.dumps(STOP).encode()[:-2]), strict=True):
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()

    for process in hooks:
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.read() == b""
        process.stdout.close()
        process.stdin.close()
    assert contents() == ["}" * 100_000 + " "]


def test_an_endless_slow_input_is_given_up_after_the_read_limit(monkeypatch: pytest.MonkeyPatch):
    """A pipe on which something comes again and again, and never the end."""
    monkeypatch.setattr(hook, "READ_SECONDS", 0.2)
    read, write = os.pipe()
    drip = subprocess.Popen(
        ["sh", "-c", "while printf ' '; do :; done"], stdout=write, stderr=subprocess.DEVNULL
    )
    os.close(write)

    assert hook.read_payload(read) is None
    os.close(read)
    drip.wait(timeout=PATIENCE_SECONDS)


def test_a_terminal_and_a_closed_stdin_are_nothing_to_wait_for():
    ours, theirs = pty.openpty()
    on_a_terminal = subprocess.run(
        [*HOLDFAST, "hook", "claude", "Stop"], stdin=theirs, capture_output=True, timeout=60
    )
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" -m holdfast hook claude Stop <&-', sys.executable],
        capture_output=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)

    for done in (on_a_terminal, closed):
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_control_c_at_the_agent_prints_no_stack_trace():
    process = subprocess.Popen(
        [*HOLDFAST, "hook", "claude", "Stop"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdin is not None
    process.stdin.write(b"{")
    process.stdin.flush()
    while unread(
        process.stdin.fileno()
    ):  # once it has read something, it is where it waits for more
        assert process.poll() is None

    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, out) == (0, b"")


def unread(pipe: int) -> bool:
    return any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))


# --- a store in trouble ---------------------------------------------------------------------------


@pytest.mark.measures_processes
def test_a_locked_store_is_waited_for_a_moment_and_then_spooled(locked: apsw.Connection):
    """The next hook brings in what waited, in order, before its own."""
    assert fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit")) == SILENT
    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT
    with App() as app:
        assert (app.spool.count_spooled(), app.spool.count_rejected()) == (2, 0)
    assert contents() == []

    locked.execute("rollback")
    assert (
        fire("claude", "Stop", payload("claude", "Stop", last_assistant_message="later")) == SILENT
    )

    prompt, answer = (
        payload("claude", "UserPromptSubmit")["prompt"],
        payload("claude", "Stop")["last_assistant_message"],
    )
    assert contents() == [prompt, answer, "later"]
    with App() as app:
        assert app.spool.is_empty()
    assert accounts() == {"stored": 3, "spooled": 0, "rejected": 0}


def test_a_postgres_that_is_down_is_spooled_and_drained_when_it_is_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    down = f"{postgres_url}?sslmode=require"  # which it does not offer
    assert (
        fire(
            "claude",
            "UserPromptSubmit",
            payload("claude", "UserPromptSubmit"),
            HOLDFAST_DATABASE=down,
        )
        == SILENT
    )

    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT

    assert contents() == [
        payload("claude", "UserPromptSubmit")["prompt"],
        payload("claude", "Stop")["last_assistant_message"],
    ]
    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}


@pytest.mark.measures_processes
@pytest.mark.parametrize("entrance", ["program", "library"])
def test_a_slow_name_lookup_is_not_awaited(entrance: str, tmp_path: Path):
    """A name that is looked up for ten minutes: the thread that waits for it cannot be stopped,
    only left.
    """
    (tmp_path / "slow").mkdir()
    script = "import socket, time; socket.getaddrinfo = lambda *_, **__: time.sleep(600)"
    (tmp_path / "slow" / "sitecustomize.py").write_text(script)
    library = (
        "import sys; from holdfast.surfaces.cli import "
        "main; sys.exit(main(['hook', 'claude', "
        "'Stop']))"
    )
    command = (
        [*HOLDFAST, "hook", "claude", "Stop"]
        if entrance == "program"
        else [sys.executable, "-c", library]
    )
    slow = {
        "HOLDFAST_DATABASE": "postgresql://ana@db.example/x",
        "PYTHONPATH": str(tmp_path / "slow"),
    }

    done = subprocess.run(
        command,
        input=json.dumps(STOP).encode(),
        env={**os.environ, **slow},
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with App(load_settings({**os.environ, **slow})) as app:
        assert (app.spool.count_spooled(), app.spool.count_rejected()) == (1, 0)


def test_spooled_events_move_with_the_data_folder(tmp_path: Path):
    """A store and its spool that were restored elsewhere are what they were."""
    store = tmp_path / "holdfast" / "holdfast.db"
    store.mkdir(parents=True)
    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT
    store.rmdir()
    (tmp_path / "holdfast").rename(tmp_path / "moved")

    status = run_process("status", "--json", HOLDFAST_HOME=str(tmp_path / "moved"))

    assert (status.document["stored"], status.document["spooled"], status.err) == (1, 0, "")


@pytest.mark.parametrize(
    "url", ["mysql://ana:secret@db/x", "sqlite://", "postgresql://a:b/c@d:e/f"]
)
def test_a_mistyped_url_loses_nothing(url: str):
    """A hook's errors are not read, so events wait until the setting is fixed."""
    assert fire("claude", "Stop", payload("claude", "Stop"), HOLDFAST_DATABASE=url) == SILENT

    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}


@pytest.mark.parametrize("damage", ["not a database", "another program's", "newer", "a folder"])
def test_a_store_that_cannot_be_used_spools(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is the store that is wrong and not the event, so the event waits for a better one."""
    store = tmp_path / "wrong.db"
    if damage == "not a database":
        store.write_bytes(b"notes " * 1000)
    elif damage == "a folder":
        store.mkdir()
    else:
        connection = apsw.Connection(str(store))
        connection.execute("create table theirs (a)")
        if damage == "newer":
            connection.execute(f"pragma application_id={0x486F6C64}; pragma user_version=99")
        connection.close()
    monkeypatch.setenv("HOLDFAST_DATABASE", f"sqlite:///{store}")

    for _ in range(2):
        assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT

    with App() as app:
        assert (app.spool.count_spooled(), app.spool.count_rejected()) == (2, 0)
    store.rename(tmp_path / "aside.db")
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}


def test_an_event_that_can_never_be_stored_is_rejected_and_counted():
    """A client's own id that is not valid: nothing that tomorrow's store would take."""
    assert fire("claude", "Stop", payload("claude", "Stop", session_id="two\nlines")) == SILENT

    assert accounts() == {"stored": 0, "spooled": 0, "rejected": 1}
    with App() as app:
        [note] = [json.loads(line) for line in Path(app.spool.rejected).read_text().splitlines()]
    assert note["code"] == "invalid_value"
    assert note["record"]["event"]["content"] == payload("claude", "Stop")["last_assistant_message"]


def test_a_broken_installation_loses_nothing(tmp_path: Path):
    """The SQLite library cannot be loaded: the event waits for the repair, and the log has a line
    for it.
    """
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "apsw.py").write_text("raise ImportError('broken')")

    assert (
        fire("claude", "Stop", payload("claude", "Stop"), PYTHONPATH=str(tmp_path / "broken"))
        == SILENT
    )

    assert json.loads(log(tmp_path))["error"] == "ImportError"
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}


def test_an_unwritable_home_costs_the_event_and_never_the_agent(tmp_path: Path):
    (tmp_path / "file").touch()

    assert (
        fire(
            "claude",
            "Stop",
            payload("claude", "Stop"),
            HOLDFAST_HOME=str(tmp_path / "file" / "home"),
        )
        == SILENT
    )


@pytest.mark.measures_processes
@pytest.mark.parametrize("variable", ["HOLDFAST_HOME", "HOME"])
def test_a_data_folder_whose_name_is_not_text_is_used(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / os.fsdecode(b"data\xff")
    folder.mkdir(mode=0o700)
    monkeypatch.delenv("HOLDFAST_HOME")
    monkeypatch.setenv(variable, str(folder))

    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT

    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}
    assert run_process("session", "list").code == 0
    status = run_process("status", "--json")
    assert (status.code, status.document["stored"]) == (0, 1)
    assert "data\\udcff" in run_process("status").out


# As a user whom the system does not know, as in a container that runs under a number of its own.
UNKNOWN_USER = """
import os, sys
os.getuid = lambda: 4_123_456
from holdfast.surfaces import hook
sys.exit(hook.main(["claude", "Stop"]))
"""


def fire_without_home(stdin: str, **env: str) -> Answer:
    kept = {name: value for name, value in os.environ.items() if "HOME" not in name}
    done = subprocess.run(
        [sys.executable, "-c", UNKNOWN_USER],
        input=stdin,
        capture_output=True,
        env=kept | env,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("env", "problem"),
    [({}, "HOME '' is not set"), ({"HOME": "/nonexistent"}, "HOME '/nonexistent' does not exist")],
)
def test_an_event_without_a_data_folder_waits_for_one(
    env: dict[str, str], problem: str, tmp_path: Path
):
    said = payload("claude", "Stop")

    answer = fire_without_home(json.dumps(said), **env)

    place = os.path.join(os.environ["XDG_RUNTIME_DIR"], "holdfast", "no-home.reserve")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith(f"holdfast: {problem}")
    assert answer.err.endswith(f"Until then an event waits in {place}.\n")
    assert not (tmp_path / "holdfast").exists()
    assert fire("claude", "Stop", payload("claude", "Stop", prompt_id="2")) == SILENT
    assert contents() == [said["last_assistant_message"]] * 2
    [session] = {event.session_id for events in read_stored().values() for event in events}
    assert session


def test_an_event_without_a_data_folder_is_kept_only_where_hooks_work(tmp_path: Path):
    """Which folders and sessions these are, is known when a data folder is."""
    enrolled, other = tmp_path / "enrolled", tmp_path / "other"
    for folder in (enrolled, other):
        (folder / ".git").mkdir(parents=True)
    data_folder = tmp_path / "holdfast"
    Enrolment(str(data_folder)).add(str(enrolled))
    OffSessions(str(data_folder)).add("claude", "off")
    for folder, native_id in ((other, "s1"), (enrolled, "off"), (enrolled, "s2")):
        told = {"cwd": str(folder), "session_id": native_id, "prompt_id": native_id}
        fire_without_home(json.dumps(payload("claude", "Stop", **told)))
    gone = {"cwd": str(enrolled / "gone"), "session_id": "s3", "prompt_id": "s3"}
    fire_without_home(json.dumps(payload("claude", "Stop", **gone)))

    told = {"cwd": str(enrolled), "session_id": "s4"}
    assert fire("claude", "Stop", payload("claude", "Stop", **told)) == SILENT

    assert sorted(read_stored()) == ["s2", "s4"]
    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}


def test_what_was_said_without_a_data_folder_in_a_session_that_was_off_stays_out(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    told = {"cwd": str(tmp_path), "session_id": "s1"}
    assert fire("claude", "Stop", payload("claude", "Stop", **told)) == SILENT
    assert run_process("off", "s1", cwd=tmp_path).code == 0
    private = payload("claude", "Stop", **told, prompt_id="2", last_assistant_message="Private.")
    fire_without_home(json.dumps(private))
    assert run_process("on", "s1", cwd=tmp_path).code == 0

    assert fire("claude", "Stop", payload("claude", "Stop", **told, prompt_id="3")) == SILENT
    assert "Private." not in contents()


def test_an_event_without_any_folder_is_reported(tmp_path: Path):
    env = {"XDG_RUNTIME_DIR": str(tmp_path / "none"), "TMPDIR": str(tmp_path / "none")}

    for stdin in (json.dumps(payload("claude", "Stop")), '{"hook_event_name": "Stop",'):
        answer = fire_without_home(stdin, **env)

        assert (answer.code, answer.out) == (0, "")
        assert answer.err.startswith(
            "holdfast: An event could not be kept anywhere. HOME '' is not set"
        )


@pytest.mark.measures_processes
@pytest.mark.parametrize("name", ["HOLDFAST_DEVELOPER", "HOLDFAST_WORKSPACE"])
def test_a_wrong_name_loses_nothing_and_is_noted(name: str, tmp_path: Path):
    """An event before the fix belongs to the developer who fixes it, and is the same event when it
    is delivered again.
    """
    said = payload("claude", "Stop")
    assert (
        fire("claude", "Stop", said, **{name: "no@name", "HOLDFAST_DATABASE": "sqlite://"})
        == SILENT
    )
    assert fire("claude", "Stop", said, **{name: "no@name"}) == SILENT

    lines = [json.loads(line) for line in log(tmp_path).splitlines()]
    assert {(line["event"], line["code"]) for line in lines} == {("hook_failed", "invalid_value")}
    assert [line["field"] for line in lines].count(name) == 2
    assert "no@name" not in log(tmp_path)
    assert fire("claude", "Stop", said) == SILENT
    assert contents() == [said["last_assistant_message"]]
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 0}


@pytest.mark.measures_processes
def test_an_event_for_one_store_is_never_stored_in_another(tmp_path: Path):
    (tmp_path / "first.db").mkdir()
    first = f"sqlite:///{tmp_path}/first.db"
    assert fire("claude", "Stop", payload("claude", "Stop"), HOLDFAST_DATABASE=first) == SILENT

    assert (
        fire("claude", "Stop", payload("claude", "Stop", last_assistant_message="for the second"))
        == SILENT
    )

    assert contents() == ["for the second"]
    assert accounts() == {"stored": 1, "spooled": 1, "rejected": 0}
    (tmp_path / "first.db").rmdir()
    there = run_process("status", "--json", HOLDFAST_DATABASE=first).document
    assert (there["stored"], there["spooled"], there["lost"]) == (1, 0, 0)


def test_a_damaged_line_of_any_length_rejects_no_good_event(tmp_path: Path):
    spool = tmp_path / "holdfast" / "spool"
    spool.mkdir(parents=True)
    (spool / "pending.jsonl").write_bytes(b'{"event": "' + b"x" * (3 << 20))

    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT

    assert contents() == [payload("claude", "Stop")["last_assistant_message"]]
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 1}


@pytest.mark.measures_processes
def test_an_error_of_draining_is_not_the_events_own(tmp_path: Path):
    """Nothing can be noted as rejected, and what waits would have to be: then the next event waits
    as well.
    """
    spool = tmp_path / "holdfast" / "spool"
    (spool / "rejected.jsonl").mkdir(parents=True)
    (spool / "pending.jsonl").write_text("damaged\n")

    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT

    (spool / "rejected.jsonl").rmdir()
    assert accounts() == {"stored": 1, "spooled": 0, "rejected": 1}


@pytest.mark.measures_processes
def test_a_stopped_writer_of_the_spool_costs_nothing(locked: apsw.Connection, tmp_path: Path):
    """It holds the lock for good; the event has a file of its own, and comes in with the others."""
    fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit"))
    spool = tmp_path / "holdfast" / "spool"
    for name in ("pending.jsonl", "draining.jsonl"):  # a drain that got nowhere has its own file
        if (spool / name).exists():
            (spool / name).rename(spool / "pending.jsonl")
    with files.Lock(spool / "pending.jsonl"):
        assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT
        assert len(list(spool.glob("pending-*.jsonl"))) == 1
        with App() as app:
            assert app.spool.count_spooled() == 2

    locked.execute("rollback")
    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}
    assert len(contents()) == 2


@pytest.mark.measures_processes
def test_a_repeated_prompt_of_an_ended_session_is_stored_once():
    first, second = (
        payload("claude", "UserPromptSubmit", prompt=text, prompt_id=text)
        for text in ("one", "two")
    )
    fire("claude", "UserPromptSubmit", first)
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        app.run(app.scope.sessions.end_session(session.id))
    fire("claude", "UserPromptSubmit", second)

    assert fire("claude", "UserPromptSubmit", first) == SILENT

    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}


def test_the_same_hook_of_two_developers_is_stored_for_each():
    for name in ("ana", "bo"):
        assert fire("claude", "Stop", payload("claude", "Stop"), HOLDFAST_DEVELOPER=name) == SILENT

    for name in ("ana", "bo"):
        status = run_process("status", "--json", HOLDFAST_DEVELOPER=name).document
        assert (status["stored"], status["rejected"], status["lost"]) == (1, 0, 0)


@pytest.mark.own_database
def test_warnings_and_library_logs_are_not_printed(postgres: Cluster, postgres_database: str):
    url = postgres.dsn(postgres_database)
    script = (
        "import logging; from holdfast.surfaces import hook; code = hook.main(['claude', 'Stop'])\n"
        "logging.getLogger('asyncpg.pool').warning('heard'); raise SystemExit(code)"
    )
    assert fire("claude", "Stop", payload("claude", "Stop"), HOLDFAST_DATABASE=url) == SILENT

    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(payload("claude", "Stop", last_assistant_message="more")),
        env={**os.environ, "HOLDFAST_DATABASE": url},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run_process("status", "--json", HOLDFAST_DATABASE=url).document["stored"] == 2


def test_a_full_disk_costs_the_event_and_never_the_agent(tmp_path: Path):
    """Not one byte can be written, not even a count; the store stays whole, and the next hook goes
    in. All that can be done is to say so.
    """
    fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit"))
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [*HOLDFAST, "hook", "claude", "Stop"],
        input=json.dumps(payload("claude", "Stop")).encode(),
        capture_output=True,
        env={**environment, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"holdfast: An event could not be kept anywhere. No space")
    fire("claude", "Stop", payload("claude", "Stop"))
    assert len(contents()) == 2
    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}


@pytest.mark.measures_processes
def test_a_damaged_store_makes_a_hook_spool_and_status_reports_it(tmp_path: Path):
    """R20 for hooks: the agent goes on, nothing is lost, and status reports it."""
    fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit"))
    assert run_process("status").code == 0  # a hook leaves the log as it is
    store = tmp_path / "holdfast" / "holdfast.db"
    whole = store.read_bytes()
    store.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))

    assert fire("claude", "Stop", payload("claude", "Stop")) == SILENT
    status = run_process("status", "--json")
    store.write_bytes(whole)

    assert (status.code, status.document["code"]) == (6, "store_damaged")
    assert accounts() == {"stored": 2, "spooled": 0, "rejected": 0}
