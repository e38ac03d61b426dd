"""What is answered before the SDK is loaded: the same bytes as with it, and nothing else."""

import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from holdfast.app import App
from holdfast.surfaces.mcp import front, stdio
from tests.house.test_hook_imports import find_expensive
from tests.surfaces.mcp import doors

PATIENCE_SECONDS = 60.0
WIRES = Path(__file__).with_name("wire")
CLIENTS = ("claude", "codex", "gemini", "opencode")
# What tells whether the exchange is on, where no store has been made.
LOOK = {
    "holdfast.errors",
    "holdfast.ground",
    "holdfast.ground.canonical",
    "holdfast.ground.ids",
    "holdfast.ground.light_json",
    "holdfast.ground.settings",
}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
CLIENT = {"name": "some-agent", "version": "1"}
META = {
    front.VERSION_KEY: "2026-07-28",
    front.CLIENT_KEY: CLIENT,
    front.CAPABILITIES_KEY: {"roots": {"listChanged": True}, "elicitation": {"form": {}}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

Frame = dict[str, Any]


def request(request_id: object, method: str, **params: object) -> Frame:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def introduce(version: str = "2025-11-25", request_id: object = 0, **changed: object) -> Frame:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT, **changed}
    return request(request_id, "initialize", **params)


def envelop(request_id: object, method: str, **changed: object) -> Frame:
    return request(request_id, method, _meta={**META, **changed})


def lines(*frames: Frame) -> bytes:
    return b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)


def ask_sdk(sent: bytes) -> list[bytes]:
    received = io.BytesIO()
    anyio.run(stdio.serve, front.Handover(io.BytesIO(sent), received))
    return received.getvalue().splitlines(keepends=True)


class Asked:
    """The answers of the front, and after them those of the SDK if it was needed."""

    def __init__(self, sent: bytes, folder: Path):
        received = folder / "received"
        with received.open("wb") as wire_out:
            handover = front.answer_first_requests(io.BytesIO(sent), wire_out, front.load_answers())
            self.by_front = received.read_bytes().splitlines(keepends=True)
            if handover is not None:
                anyio.run(stdio.serve, handover)
        self.needed_sdk = handover is not None
        self.answers = received.read_bytes().splitlines(keepends=True)


# --- the same bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_every_answer_of_the_handshake_era_has_the_bytes_of_the_sdk(version: str, tmp_path: Path):
    asked = [request(number, method) for number, method in enumerate(("ping", *LISTS), 1)]
    without_params = [{"jsonrpc": "2.0", "id": f"l-{method}", "method": method} for method in LISTS]
    token = {"progressToken": "t"}
    with_token = [request(-n, method, _meta=token) for n, method in enumerate(LISTS, 1)]
    sent = lines(introduce(version), INITIALIZED, *asked, *without_params, *with_token)

    found = Asked(sent, tmp_path)

    assert not found.needed_sdk
    assert len(found.answers) == 14
    assert sorted(found.answers) == sorted(ask_sdk(sent))


def test_every_answer_of_the_stateless_era_has_the_bytes_of_the_sdk(tmp_path: Path):
    """Also how a handshake is refused there, in every version."""
    asked = [envelop(number, method) for number, method in enumerate(("server/discover", *LISTS))]
    nameless = envelop("n", "tools/list")
    del nameless["params"]["_meta"][front.CLIENT_KEY]
    with_token = envelop("t", "tools/list", progressToken=5)
    refused = [introduce(version, version) for version in HANDSHAKE_PROTOCOL_VERSIONS]
    sent = lines(*asked, nameless, with_token, *refused)

    found = Asked(sent, tmp_path)

    assert not found.needed_sdk
    assert len(found.answers) == 11
    assert sorted(found.answers) == sorted(ask_sdk(sent))


@pytest.mark.parametrize("how", ["named", "used", "switched on"])
def test_what_is_offered_with_the_exchange_has_the_bytes_of_the_sdk(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Found out before anything is loaded: from the environment, the settings or the store."""
    stateless = [envelop(number, method) for number, method in enumerate(LISTS)]
    handshake = [request(number, method) for number, method in enumerate(LISTS, 1)]
    both = lines(introduce(), INITIALIZED, *handshake), lines(*stateless)
    without = [Asked(sent, tmp_path).answers for sent in both]
    if how == "named":
        monkeypatch.setenv("HOLDFAST_DEVELOPER", "dev-a")
    elif how == "used":
        with App() as app:
            app.run(app.scope.team.enter())
    else:
        with App() as app:
            settings = Path(app.settings.home, "settings.json")
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text('{"team": true}')
            settings.chmod(0o600)

    found = [Asked(sent, tmp_path) for sent in both]

    for sent, asked, before in zip(both, found, without, strict=True):
        assert not asked.needed_sdk
        assert sorted(asked.answers) == sorted(ask_sdk(sent))
        assert b"covibe_session" in b"".join(asked.answers)
        assert b"covibe_session" not in b"".join(before)


@pytest.mark.parametrize("method", LISTS)
def test_any_list_can_open_the_stateless_era(method: str, tmp_path: Path):
    sent = lines(envelop(1, method), introduce())

    found = Asked(sent, tmp_path)

    assert not found.needed_sdk
    assert found.answers == ask_sdk(sent)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_recorded_wire_of_a_client_gets_the_same_bytes(client: str, tmp_path: Path):
    sent = (WIRES / f"{client}.jsonl").read_bytes()

    assert sorted(Asked(sent, tmp_path).answers) == sorted(ask_sdk(sent))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_only_looks_does_not_load_the_sdk(client: str, tmp_path: Path):
    """Claude listens for changes only where a server offers them, and this one does not."""
    recorded = (WIRES / f"{client}.jsonl").read_bytes().splitlines(keepends=True)
    looking = [line for line in recorded if b"tools/call" not in line and b"/listen" not in line]

    found = Asked(b"".join(looking), tmp_path)

    assert not found.needed_sdk
    assert b'"listChanged":true' not in b"".join(found.answers)


# --- what is left to the SDK ----------------------------------------------------------------------

ODD_CLIENT = {**CLIENT, "icons": []}
ODD = {
    "unknown method": lines(request(5, "tools/unknown")),
    "call": lines(request(5, "tools/call", name="nothing", arguments={})),
    "cursor": lines(request(5, "tools/list", cursor="c")),
    "bad cursor": lines(request(5, "tools/list", cursor=5)),
    "null params": b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}\n',
    "list of params": b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}\n',
    "bad token": lines(request(5, "tools/list", _meta={"progressToken": {}})),
    "true as token": lines(request(5, "tools/list", _meta={"progressToken": True})),
    "bad meta": lines(request(5, "tools/list", _meta=[])),
    "more meta": lines(request(5, "tools/list", _meta={"a/b": 1})),
    "envelope": lines(envelop(5, "tools/list")),
    "other era": lines(envelop(5, "server/discover")),
    "future era": lines(envelop(5, "tools/list", **{front.VERSION_KEY: "2027-01-01"})),
    "number as era": lines(envelop(5, "tools/list", **{front.VERSION_KEY: 5})),
    "no capabilities": lines(request(5, "tools/list", _meta={front.VERSION_KEY: "2026-07-28"})),
    "bad capabilities": lines(envelop(5, "tools/list", **{front.CAPABILITIES_KEY: {"roots": 5}})),
    "new capabilities": lines(envelop(5, "tools/list", **{front.CAPABILITIES_KEY: {"new": {}}})),
    "odd client": lines(envelop(5, "tools/list", **{front.CLIENT_KEY: ODD_CLIENT})),
    "bad client": lines(envelop(5, "tools/list", **{front.CLIENT_KEY: {"name": 5}})),
    "second handshake": lines(introduce("2025-06-18", 5)),
    "unknown version": lines(introduce("2023-01-01", 5)),
    "stateless version": lines(introduce("2026-07-28", 5)),
    "bad handshake": lines(introduce(request_id=5, capabilities=[])),
    "odd handshake": lines(introduce(request_id=5, clientInfo=ODD_CLIENT)),
    "handshake with more": lines(introduce(request_id=5, more=1)),
    "ping": lines(request(5, "ping")),
    "response": b'{"jsonrpc":"2.0","id":5,"result":{}}\n',
    "error": b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}\n',
    "notification": lines({"jsonrpc": "2.0", "method": "notifications/new"}),
    "initialized": lines(INITIALIZED),
    "initialized with more": lines({**INITIALIZED, "params": {"_meta": {"a": 1}}}),
    "roots": lines({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
    "cancelled": lines(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
    ),
    "batch": b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]\n',
    "more keys": b'{"jsonrpc":"2.0","id":5,"method":"ping","x":1}\n',
    "no version": b'{"id":5,"method":"ping"}\n',
    "old version": b'{"jsonrpc":"1.0","id":5,"method":"ping"}\n',
    "null id": b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
    "true as id": b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n',
    "fraction as id": b'{"jsonrpc":"2.0","id":5.0,"method":"ping"}\n',
    "long id": b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n',
    "escaped id": b'{"jsonrpc":"2.0","id":"\\u0041","method":"ping"}\n',
    "half a pair": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n',
    "letters as id": '{"jsonrpc":"2.0","id":"ü","method":"ping"}\n'.encode(),
    "delete as id": b'{"jsonrpc":"2.0","id":"\x7f","method":"ping"}\n',
    "zero byte": b'{"jsonrpc":"2.0","id":"\x00","method":"ping"}\n',
    "wide letters": '{"jsonrpc":"2.0","id":5,"method":"ping"}\n'.encode("utf-16-le"),
    "byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,"method":"ping"}\n',
    "id twice": b'{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}\n',
    "method twice": b'{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/list"}\n',
    "not a number": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":NaN}}\n',
    "deep": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":%s%s}}\n'
    % (b"[" * 300, b"]" * 300),
    "too deep": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":%s}}\n' % (b"[" * 100_000),
    "broken": b'{"jsonrpc":"2.0","id":5,\n',
    "not JSON": b"hello\n",
    "empty lines": b"\n  \n\r\n",
    "carriage return": b'{"jsonrpc":"2.0","id":5,"method":"ping"}\r\n',
    "long line": lines(request(5, "tools/list", x="x" * 100_000)),
    "no newline": b'{"jsonrpc":"2.0","id":5,"method":"ping"}',
    "half a line": b'{"jsonrpc":"2.0","id":5,"meth',
}
OPENINGS = {
    "": b"",
    "handshake": lines(introduce(), INITIALIZED),
    "handshake without its end": lines(introduce()),
    "stateless": lines(envelop("d", "server/discover")),
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_whatever_comes_is_answered_as_by_the_sdk(opening: str, tmp_path: Path):
    """As the first line, and after the first lines of both eras; and what comes after it, too."""
    for name, odd in ODD.items():
        sent = OPENINGS[opening] + odd
        if odd.endswith(b"\n"):
            sent += lines(request("after", "tools/list"), envelop("last", "prompts/list"))

        assert sorted(Asked(sent, tmp_path).answers) == sorted(ask_sdk(sent)), name


def test_all_that_is_unusual_is_left_to_the_sdk(tmp_path: Path):
    plain = {"ping", "roots", "cancelled", "carriage return", "delete as id"}

    odd = {name for name, odd in ODD.items() if name not in plain}
    left = {name for name in ODD if Asked(OPENINGS["handshake"] + ODD[name], tmp_path).needed_sdk}

    assert left == odd


FIELDS = st.sampled_from(
    [*front.FRAME_KEYS, *front.CLIENT_KEYS, *front.CAPABILITY_KEYS, *META, "_meta", "listChanged"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def changed_frames(draw: st.DrawFn) -> Frame:
    """A good request in which something was replaced, removed or added, at any depth."""
    request_id = draw(st.uuids(version=4).map(str))  # it is the client that keeps them apart
    good = [
        introduce(request_id=request_id),
        envelop(request_id, "tools/list"),
        request(request_id, "tools/list", _meta={}),
        INITIALIZED,
    ]
    frame: Frame = json.loads(json.dumps(draw(st.sampled_from(good))))
    places = list(list_objects(frame))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from(places))
        key = draw(st.sampled_from(list(place)) if place else FIELDS)
        if draw(st.booleans()):
            place.pop(key, None)
        else:
            place[draw(st.just(key) | FIELDS)] = draw(VALUES)
    return frame


def list_objects(frame: Frame) -> Iterator[Frame]:
    yield frame
    for value in frame.values():
        if isinstance(value, dict):
            yield from list_objects(value)


@given(st.lists(changed_frames(), min_size=1, max_size=3))
def test_generated_frames_are_answered_as_by_the_sdk(
    tmp_path_factory: pytest.TempPathFactory, frames: list[Frame]
):
    sent = lines(*frames)

    found = Asked(sent, tmp_path_factory.getbasetemp())

    assert sorted(found.answers) == sorted(ask_sdk(sent))


def test_fuzzed_bytes_are_answered_as_by_the_sdk(scale: Callable[[int], int], tmp_path: Path):
    """What one parser reads and another refuses would be seen here."""
    rng = random.Random(20261117)
    openings = [b"", lines(introduce()), lines(envelop("o", "tools/list"))]
    good = [introduce(request_id=1), envelop("a", "tools/list"), request(2, "ping"), INITIALIZED]
    for _ in range(scale(2_000)):
        frames = [spoil(rng, lines(frame)) for frame in rng.sample(good, k=2)]
        sent = rng.choice(openings) + b"".join(frames)

        assert sorted(Asked(sent, tmp_path).answers) == sorted(ask_sdk(sent)), sent


def spoil(rng: random.Random, line: bytes) -> bytes:
    spoilt = bytearray(line)
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(spoilt))
        pieces = [
            b"\\",
            b'"',
            b"{",
            b"\x00",
            b"\xff",
            b"\t",
            b"\r",
            b"0",
            b"-",
            b".",
            b" ",
            b"\x7f",
        ]
        spoilt[at : at + rng.randrange(2)] = rng.choice(pieces)
    return bytes(spoilt)


def test_answers_of_another_release_of_the_sdk_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    recorded = Path(front.ANSWERS).read_bytes()
    older = tmp_path / "answers.txt"
    older.write_bytes(recorded.replace(b"sdk\t2.", b"sdk\t1.", 1))
    assert front.load_answers() != {}

    monkeypatch.setattr(front, "ANSWERS", str(older))

    assert front.load_answers() == {}
    found = Asked(lines(introduce()), tmp_path)
    assert found.by_front == []
    assert found.answers == ask_sdk(lines(introduce()))


# --- the process ----------------------------------------------------------------------------------


@pytest.fixture
def process(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has answered a handshake and a list, and waits; the SDK is not loaded."""
    started = subprocess.Popen(
        doors.COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
        env=without_coverage(),
    )
    with started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(lines(introduce(), INITIALIZED, request(1, "tools/list")))
        started.stdin.flush()
        ids = [json.loads(started.stdout.readline())["id"] for _ in range(2)]
        assert ids == [0, 1]
        yield started
        started.kill()


def without_coverage() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def talk(project: Path, sent: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        doors.COMMAND, input=sent, capture_output=True, cwd=project, timeout=PATIENCE_SECONDS
    )


@pytest.mark.measures_processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_waiting_server_cleanly(
    process: subprocess.Popen[bytes], number: signal.Signals
):
    assert process.stderr is not None

    process.send_signal(number)

    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stderr.read() == b""


@pytest.mark.measures_processes
def test_the_end_of_the_input_after_a_list_ends_it(process: subprocess.Popen[bytes]):
    assert process.stdin is not None
    process.stdin.close()

    assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.measures_processes
def test_the_first_calls_at_once_are_all_answered(project: Path):
    """Everything in one write: the SDK gets the lines that the front has read and not used."""
    event = {"operation": "append", "event_type": "user_message", "role": "user", "content": "x"}
    calls = [
        request(number, "tools/call", name="session", arguments=event) for number in range(1, 9)
    ]

    done = talk(project, lines(introduce(), INITIALIZED, *calls, request(9, "tools/list")))

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["id"] == 0
    assert sorted(answer["id"] for answer in answers) == list(range(10))
    assert (done.returncode, done.stderr) == (0, b"")
    with App() as app:
        assert app.count().accepted == 8


@pytest.mark.measures_processes
def test_a_first_call_of_a_megabyte_arrives_whole(project: Path):
    """Its line is begun by the front and finished by the SDK."""
    content = "x" * 1_000_000
    event = {"operation": "append", "event_type": "user_message", "role": "user"}
    call = request(1, "tools/call", name="session", arguments={**event, "content": content})

    done = talk(project, lines(introduce(), call))

    assert json.loads(done.stdout.splitlines()[1])["result"]["isError"] is False
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        [stored] = app.run(app.scope.sessions.get_recent_events(session.id))
    assert stored.content == content


@pytest.mark.measures_processes
def test_a_client_that_reads_only_after_it_has_written_gets_every_answer(project: Path):
    """Neither side waits for the other, however much is in the pipes, and the order is kept as far
    as the front has answered.
    """
    count = 400
    padding = {"progressToken": "x" * 400}
    asked = [request(number, "tools/list", _meta=padding) for number in range(1, count + 1)]
    started = subprocess.Popen(
        doors.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project
    )
    with started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(lines(introduce(), *asked))
        started.stdin.close()
        answers = started.stdout.read().splitlines(keepends=True)

    assert len(answers) == count + 1
    numbers = [json.loads(answer)["id"] for answer in answers]
    assert sorted(numbers) == list(range(count + 1))
    assert numbers[:4] == [0, 1, 2, 3]
    tails = {answer.partition(b",")[2].partition(b",")[2] for answer in answers[1:]}
    assert len(tails) == 1


@pytest.mark.measures_processes
def test_the_handshake_is_known_to_the_first_call(project: Path):
    """The name of the client came with the handshake, which the SDK has not read itself."""
    hello = introduce(clientInfo={"name": "codex-mcp-client", "version": "1"})
    call = request(1, "tools/call", name="session", arguments={"operation": "start"})
    call["params"]["arguments"]["chatmode"] = "architect"

    done = talk(project, lines(hello, INITIALIZED, request("l", "tools/list"), call))

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, "l", 1]
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
    assert session.client == "codex"


# --- what it costs --------------------------------------------------------------------------------


def list_modules(project: Path, *arguments: str, sent: bytes) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        input=sent,
        capture_output=True,
        cwd=project,
        env=without_coverage(),
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}


def test_the_handshake_and_the_lists_load_next_to_nothing(project: Path):
    """An agent waits for them, and most servers are asked for nothing else."""
    bare = list_modules(project, "-c", "", sent=b"")
    asked = [request(number, method) for number, method in enumerate(("ping", *LISTS), 1)]

    modules = list_modules(
        project, "-m", "holdfast", "mcp", sent=lines(introduce(), INITIALIZED, *asked)
    )

    loaded = modules - bare
    third_party = {"mcp", "mcp_types", "pydantic", "pydantic_core", "anyio", "apsw", "click"}
    assert third_party.isdisjoint(loaded)
    spoken = {name for name in loaded if name.partition(".")[0] == "json"}
    assert find_expensive(loaded - spoken) == []
    assert {name for name in loaded if name.partition(".")[0] == "holdfast"} == {
        "holdfast",
        "holdfast.surfaces",
        "holdfast.surfaces.mcp",
        "holdfast.surfaces.mcp.exchange_look",
        "holdfast.surfaces.mcp.front",
        *LOOK,
    }


@pytest.mark.measures_processes
def test_a_waiting_server_is_little_more_than_python(process: subprocess.Popen[bytes]):
    """Clients keep one for every session, and some for every subagent."""
    bare = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=without_coverage(),
    )
    with bare:
        assert bare.stdin is not None
        assert bare.stdout is not None
        bare.stdout.readline()
        limit = 2.5 * read_resident_bytes(bare.pid)
        bare.stdin.write(b"\n")

    assert read_resident_bytes(process.pid) < limit


def read_resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) << 10
