"""TS18 and bad input: clear problem documents, nothing changed, never a 5xx."""

import asyncio
import json
import os
import socket

import pytest

from holdfast.errors import InvalidValueError
from holdfast.surfaces.http import bodies
from holdfast.surfaces.http.errors import TooLargeError, TooSlowError
from tests.rig.commands import PATIENCE_SECONDS
from tests.surfaces.http.server import append, create_session, is_problem

MIB = 1 << 20


@pytest.fixture
def path(api):
    return f"/api/sessions/{create_session(api)['id']}"


def nest(depth):
    return b'{"scratchpad":' + b'{"a":' * (depth - 2) + b"{}" + b"}" * (depth - 1)


def send(api, method, path, content, content_type="application/json"):
    return api.request(method, path, content=content, headers={"content-type": content_type})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"1",
        b'{"scratchpad": NaN}',
        b'{"scratchpad": {"a": NaN}}',
        b'{"scratchpad": {"a": -Infinity}}',
        b'{"scratchpad": {"a": 1e999}}',
        b'{"scratchpad": {"a": ' + b"9" * 5000 + b"}}",
        b'{"scratchpad": {"a": "\xff"}}',
        b'{"scratchpad": {"a": "\\ud800"}}',
        b'{"scratchpad": {"\\udc00": 1}}',
        b'{"scratchpad": {"a": "\\u0000"}}',
        b'{"scratchpad": []}',
        b'{"scratchpad": null}',
        b'{"\\ud800": 1, "scratchpad": {}}',
        b'{"scratchpad": {}, "other": 1}',
        b'\xef\xbb\xbf{"scratchpad": {}}',
        b'{"scratchpad": {}} {}',
    ],
)
def test_a_body_that_is_not_what_it_should_be_is_refused(api, path, content):
    assert is_problem(send(api, "PATCH", f"{path}/state", content), 400)
    assert api.get(f"{path}/state").json()["scratchpad"] == {}


def test_duplicate_keys_are_taken_as_the_last_one(api, path):
    answer = send(api, "PATCH", f"{path}/state", b'{"scratchpad": {"a": 1, "a": 2}}')

    assert answer.json()["scratchpad"] == {"a": 2}


@pytest.mark.parametrize("depth", [65, 66, 5_000, 100_000])
def test_a_body_that_is_too_deep_is_refused(api, path, depth):
    assert is_problem(send(api, "PATCH", f"{path}/state", nest(depth)), 400, "invalid_value")
    brackets = b'{"scratchpad": {"a": ' + b"[" * depth + b"]" * depth + b"}}"
    assert is_problem(send(api, "PATCH", f"{path}/state", brackets), 400, "invalid_value")


def test_sixty_four_levels_are_taken(api, path):
    assert send(api, "PATCH", f"{path}/state", nest(64)).status_code == 200


def test_brackets_in_a_text_are_not_levels(api, path):
    assert append(api, path.rpartition("/")[2], "[{" * 1000).status_code == 201


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [MIB + 1, 3 * MIB])
def test_a_body_of_more_than_a_mebibyte_is_refused(api, path, size, chunked):
    body = b'{"scratchpad": {"a": "' + b"x" * (size - 25) + b'"}}'
    assert len(body) == size
    parts = (body[start : start + 65_536] for start in range(0, size, 65_536)) if chunked else body

    assert is_problem(send(api, "PATCH", f"{path}/state", parts), 413, "too_large")
    assert api.get(f"{path}/state").json()["scratchpad"] == {}


def test_a_body_of_a_mebibyte_is_taken(api, path):
    event = {"type": "user_message", "role": "user", "content": ""}
    event["content"] = "x" * (MIB - len(json.dumps(event)))

    answer = send(api, "POST", f"{path}/events", json.dumps(event).encode())

    assert answer.status_code == 201, answer.text


def test_many_keys_and_many_items_are_bounded(api, path):
    keys = {f"k{number}": 1 for number in range(60_000)}
    event = {"type": "tool_result", "role": "tool", "content": "", "parts": keys}
    items = [str(number) for number in range(10_000)]

    assert api.post(f"{path}/events", json=event).status_code == 201
    assert (
        api.patch(
            f"{path}/state", json={"scratchpad": dict(list(keys.items())[:1_000])}
        ).status_code
        == 200
    )
    assert is_problem(
        api.patch(path, json={"setContext": {"setName": "files", "items": items}}), 400
    )
    assert is_problem(
        api.patch(path, json={"context": {f"s{n}": ["x"] for n in range(51)}}), 422, "context_full"
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/problem+json",
        "application/json; charset=latin-1",
        "application/json, text/plain",
    ],
)
@pytest.mark.parametrize("route", ["", "/state", "/events", "/end", "/resume"])
def test_writes_take_json_and_nothing_else(api, path, route, content_type):
    method = "PATCH" if route in ("", "/state") else "POST"

    assert is_problem(send(api, method, path + route, b"{}", content_type), 415, "wrong_media_type")


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'],
)
def test_json_may_name_its_charset(api, path, content_type):
    assert send(api, "POST", f"{path}/end", b"{}", content_type).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=-1",
        "limit=1001",
        "limit=x",
        "limit=1.5",
        "limit=",
        "limit=99999999999999999999",
        "limt=5",
        "token=secret",
        "below=x",
        "below=%00",
        "below=01a1e1b2-64c1-7b7e-add6-7b26c579c0fa",
    ],
)
def test_a_query_that_makes_no_sense_is_refused(api, query):
    answer = api.get(f"/api/sessions?{query}")

    assert is_problem(answer, 404 if query.startswith("below=") else 400)


@pytest.mark.parametrize(
    "query", ["after=-1", "after=2147483648", "limit=0", "turns=-1", "tokens=-5", "turns=x", "x=1"]
)
def test_a_page_of_events_that_makes_no_sense_is_refused(api, path, query):
    assert is_problem(api.get(f"{path}/events?{query}"), 400)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "nothing", "role": "user", "content": "x"},
        {"type": "user_message", "role": "nobody", "content": "x"},
        {"type": "user_message", "role": "user", "content": 5},
        {"type": "user_message", "role": "user", "content": None},
        {"type": "user_message", "role": "user", "content": "\x00"},
        {"type": "user_message", "role": "user", "content": "x", "parts": []},
        {"type": "user_message", "role": "user", "content": "x", "event_id": "1"},
        {"type": "user_message", "role": "user", "content": "x", "expected_sequence": -1},
        {"type": "user_message", "role": "user", "content": "x", "expected_sequence": "0"},
        {"type": "user_message", "role": "user", "content": "x", "expected_sequence": True},
        {"type": "user_message", "role": "user", "content": "x", "expected_sequence": 1 << 70},
        {"type": "user_message", "role": "user", "content": "x", "sequence": 7},
    ],
)
def test_an_invalid_event_is_refused_and_not_stored(api, path, event):
    assert is_problem(api.post(f"{path}/events", json=event), 400)
    assert api.get(path).json()["last_sequence"] == 0


@pytest.mark.parametrize(
    "patch",
    [
        {"context": None},
        {"context": []},
        {"context": {"files": "a"}},
        {"context": {"files": [1]}},
        {"context": {"": ["x"]}},
        {"setContext": {"setName": "files"}},
        {"setContext": {"items": ["x"]}},
        {"setContext": {"setName": "files", "items": ["x"], "mode": "merge"}},
        {"setContext": ["files", "x"]},
        {"unionContext": {"setName": "a\nb", "items": ["x"]}},
        {"unionContext": {"setName": "x" * 401, "items": []}},
        {"lastIdleAt": "yesterday"},
        {"name": ""},
        {"name": 5},
        {"metadata": {}},
    ],
)
def test_a_patch_that_makes_no_sense_changes_nothing(api, path, patch):
    before = api.get(path).json()

    assert is_problem(api.patch(path, json=patch), 400)
    assert api.get(path).json() == before


def test_a_long_problem_stays_short(api):
    """What the caller sent comes back as a few escaped words, never whole."""
    answer = api.post(
        "/api/sessions", json={f"field\u202e{number}" * 50: 1 for number in range(100)}
    )

    assert is_problem(answer, 400)
    assert len(answer.content) < 2_000
    assert "\u202e" not in answer.text


def test_large_and_deep_bodies_leave_no_memory_behind(api, server, path, scale):
    """TS18: by the kernel's own count, where there is one."""
    if not os.path.exists(f"/proc/{server.pid}/status"):
        pytest.skip("no /proc here")
    bodies_sent = [
        b"[" * MIB,
        nest(64),
        b'{"scratchpad": {"a": "' + b"x" * (MIB - 100) + b'"}}',
        b"x" * (3 * MIB),
    ]
    send(api, "PATCH", f"{path}/state", bodies_sent[2])
    before = resident_bytes(server.pid)

    for number in range(scale(400)):
        assert send(api, "PATCH", f"{path}/state", bodies_sent[number % 4]).status_code in (
            200,
            400,
            413,
        )

    assert resident_bytes(server.pid) - before < 100 * MIB


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


# --- slow, cut and half requests ------------------------------------------------------------------


def half_a_request(server, path, *, declared=1000):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)
    head = (
        f"PATCH {path}/state HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {declared}\r\n\r\n"
    )
    connection.sendall(head.encode() + b'{"scratchpad": {"a": 1}')
    return connection


def test_slow_and_dropped_bodies_block_no_other_request_and_write_nothing(api, server, path, scale):
    half = [half_a_request(server, path) for _ in range(scale(200))]

    assert api.get("/api/health").status_code == 200
    for connection in half:
        connection.close()

    assert api.get(f"{path}/state").json()["scratchpad"] == {}
    assert api.get("/api/health").status_code == 200


def test_a_head_without_end_is_cut_off(server):
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=PATIENCE_SECONDS
    ) as connection:
        connection.sendall(b"GET /api/state HTTP/1.1\r\nX-Long: " + b"x" * 70_000)

        assert connection.recv(100).startswith(b"HTTP/1.1 400")


class Dripping:
    """A request whose body comes in parts, or never."""

    headers: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, *parts):
        self.parts = parts

    async def stream(self):
        for part in self.parts:
            if part is None:
                await asyncio.Event().wait()
            yield part


async def test_a_body_that_does_not_come_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.01)

    with pytest.raises(TooSlowError):
        await bodies.read_body(Dripping(b"x", None))


async def test_a_body_is_limited_while_its_bytes_arrive():
    assert await bodies.read_body(Dripping(b"x", b"y"), 2) == b"xy"
    with pytest.raises(TooLargeError):
        await bodies.read_body(Dripping(b"x", b"yz", None), 2)


def test_a_deep_value_with_few_brackets_a_level_is_measured():
    wide = b"[" + b"[]," * 100 + b"[]]"

    assert len(bodies.parse(wide)) == 101
    with pytest.raises(InvalidValueError, match="nested deeper than 64"):
        bodies.parse(b"[" * 65 + b"]" * 65)
