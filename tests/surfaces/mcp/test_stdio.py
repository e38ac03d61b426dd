"""The process `holdfast mcp`: its pipes, its end, and what it loads."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from tests.rig.commands import Call
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

PATIENCE_SECONDS = 60.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "codex-mcp-client", "version": "0.166.0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
UNKNOWN_TO_THE_FRONT = {"jsonrpc": "2.0", "method": "notifications/new"}
MESSAGE = {"event_type": "user_message", "role": "user", "content": "Hello"}


def tool_call(request_id: object, tool: str, **arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def lines(*frames: object) -> bytes:
    return b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)


def talk(
    folder: Path, sent: bytes, **env: str
) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[bytes]]:
    """Everything sent at once, then the end; every line that came back is one JSON-RPC message."""
    done = subprocess.run(
        doors.COMMAND,
        input=sent,
        capture_output=True,
        cwd=folder,
        env={**os.environ, **env},
        timeout=PATIENCE_SECONDS,
    )
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert done.stdout == b"" or done.stdout.endswith(b"\n")
    return answers, done


@pytest.fixture
def process(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has answered the handshake and waits."""
    started = subprocess.Popen(
        doors.COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
    )
    with started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(lines(INITIALIZE, INITIALIZED))
        started.stdin.flush()
        assert json.loads(started.stdout.readline())["id"] == 0
        yield started
        started.kill()


def ask(process: subprocess.Popen[bytes], frame: object) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines(frame))
    process.stdin.flush()
    return json.loads(process.stdout.readline())


# --- pipes ----------------------------------------------------------------------------------------


def test_requests_before_the_end_of_input_are_answered(project: Path):
    """A script that writes its requests and closes the pipe gets every answer, and every write is
    stored.
    """
    calls = [tool_call(n, "session", operation="append", **MESSAGE) for n in range(1, 21)]

    answers, done = talk(project, lines(INITIALIZE, INITIALIZED, *calls))

    assert sorted(answer["id"] for answer in answers) == list(range(21))
    assert all(answer["result"].get("isError") is not True for answer in answers)
    assert (done.returncode, done.stderr) == (0, b"")
    with App() as app:
        assert app.count().accepted == 20


def test_requests_with_the_same_id_are_all_answered_before_the_end(project: Path):
    """A client should not send them; what was accepted is not dropped for it."""
    calls = [tool_call(7, "get_relevant_context") for _ in range(20)]

    answers, _ = talk(project, lines(INITIALIZE, INITIALIZED, *calls))

    assert [answer["id"] for answer in answers] == [0, *[7] * 20]


def test_an_empty_input_ends_cleanly(project: Path):
    answers, done = talk(project, b"")

    assert (answers, done.returncode, done.stderr) == ([], 0, b"")


def test_a_last_line_without_its_newline_is_a_line(project: Path):
    answers, _ = talk(project, lines(INITIALIZE)[:-1])

    assert [answer["id"] for answer in answers] == [0]


BROKEN = [
    (b"{", -32700, None),
    (b"hello", -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'{"a":' * 100_000, -32700, None),
    (b"9" * 10_000, -32700, None),
    (b"[]", -32600, None),
    (b"5", -32600, None),
    (b"null", -32600, None),
    (b'"text"', -32600, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":"a","method":5}', -32600, "a"),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', -32600, 8),
    (b'{"id":9}', -32600, 9),
    (
        b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":'
        + b'{"a":' * 500
        + b"1"
        + b"}" * 500
        + b"}",
        -32600,
        10,
    ),
]


@pytest.mark.measures_processes
def test_broken_frames_are_answered_and_the_next_one_works(project: Path):
    """Not JSON, no message, too deep: an error with the id where there is one, and the server goes
    on.
    """
    pings = [{"jsonrpc": "2.0", "id": f"ping-{n}", "method": "ping"} for n in range(len(BROKEN))]
    sent = lines(INITIALIZE, INITIALIZED)
    for (frame, *_), ping in zip(BROKEN, pings, strict=True):
        sent += frame + b"\n\n   \n" + lines(ping)

    answers, done = talk(project, sent)

    errors = [(answer["error"]["code"], answer["id"]) for answer in answers if "error" in answer]
    assert errors == [(code, request_id) for _, code, request_id in BROKEN]
    assert {answer["id"] for answer in answers if "result" in answer} == {
        0,
        *(ping["id"] for ping in pings),
    }
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.measures_processes
@pytest.mark.parametrize("count", [4000, 5000])
def test_numbers_with_thousands_of_digits_are_refused(project: Path, count: int):
    """Up to 4,300 digits Python reads them, and the rules refuse; beyond that nothing does."""
    digits = b"9" * count
    changed = [
        tool_call(1, "session", operation="recent", max_turns="N"),
        tool_call(2, "session", operation="update_state", scratchpad={"n": "N"}),
        {"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": "N"}},
        {"jsonrpc": "2.0", "id": "N", "method": "ping"},
    ]

    answers, done = talk(
        project, lines(INITIALIZE, INITIALIZED) + lines(*changed).replace(b'"N"', digits)
    )

    refused = [answer for answer in answers if "error" in answer or answer["result"].get("isError")]
    assert len(refused) == {4000: 2, 5000: 4}[count]
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_line_without_end_is_refused_and_forgotten(process: subprocess.Popen[bytes]):
    """Only so much of it is held in memory."""
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(80):
        process.stdin.write(b"x" * (1 << 20))
    process.stdin.write(b"\n")
    process.stdin.flush()

    error = json.loads(process.stdout.readline())["error"]

    assert error == {"code": -32600, "message": "A line is longer than 33,554,432 bytes"}
    assert ask(process, {"jsonrpc": "2.0", "id": 1, "method": "ping"})["result"] == {}
    peak = int(Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0])
    assert peak < 300 << 10


def test_fuzzed_frames_never_end_the_server_or_print_anything_else(
    project: Path, scale: Callable[[int], int], tmp_path: Path
):
    """Good frames with bytes changed, cut, doubled and swapped: every byte on stdout is a JSON-RPC
    line.
    """
    rng = random.Random(20261115)
    good = [
        INITIALIZED,
        tool_call(1, "session", operation="append", **MESSAGE),
        tool_call("a", "get_relevant_context"),
        tool_call(2, "set_relevant_context", setName="files", items=["/a"], mode="merge"),
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "prompts/get",
            "params": {"name": "workspace-resume"},
        },
        {"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": "holdfast://x"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
    ]
    fuzzed = b"".join(
        _spoilt(rng, json.dumps(rng.choice(good)).encode()) for _ in range(scale(10_000))
    )
    last = {"jsonrpc": "2.0", "id": "last", "method": "ping"}

    answers, done = talk(project, lines(INITIALIZE) + fuzzed + b"\n" + lines(last))

    assert "last" in [answer["id"] for answer in answers]
    assert (done.returncode, done.stderr) == (0, b"")


def _spoilt(rng: random.Random, frame: bytes) -> bytes:
    spoilt = bytearray(frame)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(spoilt))
        match rng.randrange(4):
            case 0:
                spoilt[at] = rng.randrange(256)
            case 1:
                del spoilt[at : at + rng.randrange(1, 9)]
            case 2:
                spoilt[at:at] = rng.choice(
                    [b"\x00", b'"', b"{", b"]", b"\\u", b"\xf0\x9f", b"null", b"-1e999", b"\n"]
                )
            case 3:
                spoilt += spoilt[at:]
        spoilt = spoilt or bytearray(b" ")
    return bytes(spoilt) + b"\n"


def test_a_print_from_somewhere_does_not_reach_the_client(project: Path):
    """Stdout belongs to the protocol: whatever else is printed there goes to stderr."""
    program = (
        "import holdfast.surfaces.mcp.server as server, os\n"
        "old = server.prose\n"
        "server.prose = lambda name: (print('loose words'), os.system('echo from a "
        "child'), old(name))[2]\n"
        "from holdfast.surfaces.mcp import front\n"
        "front.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=lines(INITIALIZE, tool_call(1, "get_relevant_context")),
        capture_output=True,
        cwd=project,
        timeout=PATIENCE_SECONDS,
    )

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert b"from a child" in done.stderr


# --- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(process: subprocess.Popen[bytes], number: signal.Signals):
    """Also while it waits for input; what was acknowledged is stored."""
    assert process.stderr is not None
    answer = ask(process, tool_call(1, "session", operation="append", **MESSAGE))
    assert answer["result"]["isError"] is False

    process.send_signal(number)

    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stderr.read() == b""
    with App() as app:
        assert app.count().accepted == 1


@pytest.mark.measures_processes
def test_a_client_that_stops_reading_does_not_keep_it_alive(process: subprocess.Popen[bytes]):
    """Its end of both pipes is closed: there is no client left to serve."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(lines({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
    process.stdin.close()

    assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.measures_processes
def test_a_client_that_reads_nothing_can_still_end_it(process: subprocess.Popen[bytes]):
    """Answers wait in the pipe until it is full; a signal does not wait for them."""
    assert process.stdin is not None
    for number in range(40):
        process.stdin.write(lines({"jsonrpc": "2.0", "id": number, "method": "tools/list"}))
    process.stdin.flush()

    process.send_signal(signal.SIGTERM)

    assert process.wait(PATIENCE_SECONDS) == 0


def test_the_server_starts_in_a_removed_folder(tmp_path: Path):
    """A session is still found by its id or the client's name for it."""
    shell = f"mkdir gone && cd gone && rmdir ../gone && exec {' '.join(doors.COMMAND)}"
    done = subprocess.run(
        ["sh", "-c", shell],
        input=lines(INITIALIZE, INITIALIZED, tool_call(1, "get_relevant_context")),
        capture_output=True,
        cwd=tmp_path,
        timeout=PATIENCE_SECONDS,
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [0, 1]
    assert answers[1]["result"]["isError"] is False
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.measures_processes
def test_without_its_library_the_command_says_what_to_install(run: Call):
    """The door is an extra, and a user should not have to read a traceback to learn that."""
    program = (
        "import sys; sys.modules['mcp'] = None; from holdfast.surfaces.cli import main; "
        "sys.exit(main(['mcp']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=PATIENCE_SECONDS
    )

    assert (done.returncode, done.stdout) == (6, b"")
    assert b"pip install '.[mcp]'" in done.stderr
    assert run("mcp", "--help").code == 0


# --- the store ------------------------------------------------------------------------------------


@pytest.mark.measures_processes
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "store_unreachable"),
        ("sqlite:////proc/nowhere/test.db", "store_unreachable"),
        ("mysql://localhost/x", "invalid_value"),
    ],
)
async def test_a_broken_store_is_reported_by_tools_only(project: Path, url: str, code: str):
    """The handshake and the lists work without one."""
    async with doors.over_stdio(project, HOLDFAST_DATABASE=url) as client:
        assert len((await client.list_tools()).tools) == 6
        first = await call_refused(client, "get_relevant_context")
        second = await call_refused(client, "session", operation="append", **MESSAGE)
        assert len((await client.list_prompts()).prompts) == 2

    assert first["code"] == second["code"] == code
    assert "Traceback" not in first["message"]


async def test_a_store_that_comes_back_is_used_without_a_restart(project: Path, tmp_path: Path):
    """Each call tries again."""
    home = tmp_path / "not-yet" / "home"
    (tmp_path / "not-yet").write_text("in the way")
    async with doors.over_stdio(project, HOLDFAST_HOME=str(home)) as client:
        await call_refused(client, "get_relevant_context")
        (tmp_path / "not-yet").unlink()
        await call(client, "set_relevant_context", setName="ports", items=["1"])

    assert (home / "holdfast.db").exists()


async def test_an_event_that_a_hook_spooled_is_stored_before_an_agent_reads(
    project: Path, tmp_path: Path
):
    """Spooled events belong to every answer."""
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "n-1",
        "cwd": str(project),
        "prompt": "Spooled",
    }
    subprocess.run(
        [sys.executable, "-m", "holdfast", "hook", "claude", "UserPromptSubmit"],
        input=json.dumps(payload).encode(),
        env={**os.environ, "HOLDFAST_DATABASE": ""},
        timeout=PATIENCE_SECONDS,
        check=True,
    )

    async with doors.over_stdio(
        project, name="claude-code", CLAUDE_CODE_SESSION_ID="n-1"
    ) as client:
        recent = await data(client, "session", operation="recent")

    assert [event["content"] for event in recent["events"]] == ["Spooled"]


# --- what it loads --------------------------------------------------------------------------------

PRINT_MODULES = """
import atexit, os, sys
from holdfast.surfaces.mcp import front
leave = os._exit
def told(code):
    print(*sorted(sys.modules), file=sys.stderr)
    sys.stderr.flush()
    leave(code)
os._exit = told
front.main()
"""


def list_loaded(folder: Path, *frames: object) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES],
        input=lines(*frames),
        capture_output=True,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0
    return set(done.stderr.decode().split())


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "holdfast"}


def test_the_sdk_alone_loads_nothing_of_the_rooms(project: Path):
    """The first line that the front does not know needs it: of ours there is only what serves."""
    modules = list_loaded(project, INITIALIZE, INITIALIZED, UNKNOWN_TO_THE_FRONT)

    assert ours(modules) == {
        "holdfast",
        "holdfast.errors",
        "holdfast.ground",
        "holdfast.ground.canonical",
        "holdfast.ground.ids",
        "holdfast.ground.light_json",
        "holdfast.ground.process_tree",
        "holdfast.ground.settings",
        "holdfast.surfaces",
        "holdfast.surfaces.mcp",
        "holdfast.surfaces.mcp.exchange_look",
        "holdfast.surfaces.mcp.front",
        "holdfast.surfaces.mcp.prose",
        "holdfast.surfaces.mcp.server",
        "holdfast.surfaces.mcp.stdio",
    }


def test_the_list_of_tools_loads_rules_and_no_store(project: Path):
    """The known values come from the rooms' rules; services, engines and the command line stay
    away.
    """
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    modules = list_loaded(project, INITIALIZE, INITIALIZED, UNKNOWN_TO_THE_FRONT, listing)

    assert "mcp" in modules
    assert (
        not {"apsw", "asyncpg", "sqlite3", "fastapi", "jinja2", "holdfast.surfaces.cli"} & modules
    )
    assert not {name for name in ours(modules) if name.startswith("holdfast.storage")}
    assert (
        not {
            "holdfast.app",
            "holdfast.usecases.capture",
            "holdfast.sessions.service",
            "holdfast.sessions.store",
        }
        & modules
    )


def test_a_call_on_sqlite_does_not_load_the_other_engine(project: Path):
    modules = list_loaded(project, INITIALIZE, INITIALIZED, tool_call(1, "get_relevant_context"))

    assert "apsw" in modules
    assert "asyncpg" not in modules
