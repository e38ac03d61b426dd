"""Live events: every one once and in order, from a cursor on, until the client leaves or may no
longer listen.
"""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

import holdfast
from holdfast.ground.settings import Owner
from holdfast.storage.outbox import Outbox
from holdfast.storage.tail import Tail
from holdfast.surfaces.http import events
from tests.rig.commands import PATIENCE_SECONDS
from tests.surfaces.http.server import create_session, is_problem, run_server


@contextmanager
def listening(api: httpx.Client, **options):
    """The blocks of a stream, each as a dict of its fields; the first one carries
    the cursor only.
    """
    with api.stream("GET", "/api/events", **options) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        yield blocks_of(answer.iter_lines())


def blocks_of(lines):
    block = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            block[name] = value
        else:
            yield block
            block = {}


def set_files(api, session_id, *files):
    answer = api.patch(
        f"/api/sessions/{session_id}", json={"setContext": {"setName": "files", "items": files}}
    )
    assert answer.status_code == 200


def test_a_change_is_streamed_with_the_data_of_the_seed(api):
    session = create_session(api)
    with listening(api) as stream:
        assert next(stream).keys() == {"retry", "id"}
        set_files(api, session["id"], "/a")
        set_files(api, session["id"], "/a", "/b")
        heard = [next(stream), next(stream)]

    assert [block["event"] for block in heard] == ["caco.context", "caco.context"]
    first, second = [json.loads(block["data"]) for block in heard]
    assert (
        first
        | {"session_id": session["id"], "reason": "changed", "files": ["/a"], "addedFile": "/a"}
        == first
    )
    assert second["addedFile"] == "/b"


def test_resuming_renaming_starting_and_ending_are_streamed(api):
    with listening(api) as stream:
        next(stream)
        session = create_session(api)
        api.patch(f"/api/sessions/{session['id']}", json={"name": "x"})
        api.post(f"/api/sessions/{session['id']}/resume", json={})
        api.post(f"/api/sessions/{session['id']}/end", json={})
        heard = [next(stream) for _ in range(4)]

    assert [block["event"] for block in heard] == [
        "session.started",
        "session.renamed",
        "caco.context",
        "session.ended",
    ]
    assert json.loads(heard[2]["data"])["reason"] == "resume"


def test_reconnecting_with_the_first_cursor_misses_no_event(api):
    """Even when the stream was cut before anything had happened."""
    session = create_session(api)
    with listening(api) as stream:
        cursor = next(stream)["id"]

    set_files(api, session["id"], "/missed")

    for options in ({"headers": {"Last-Event-ID": cursor}}, {"params": {"after": cursor}}):
        with listening(api, **options) as stream:
            assert next(stream)["id"] == cursor
            assert json.loads(next(stream)["data"])["files"] == ["/missed"]


def test_reconnecting_to_the_same_address_repeats_no_event(api):
    """A browser keeps `?after=` and adds the last id it saw; an empty one says nothing."""
    session = create_session(api)
    with listening(api) as stream:
        start = next(stream)["id"]
    set_files(api, session["id"], "/one")
    with listening(api, params={"after": start}) as stream:
        next(stream)
        later = next(stream)["id"]

    with listening(api, params={"after": start}, headers={"Last-Event-ID": later}) as stream:
        assert next(stream)["id"] == later
    with listening(api, params={"after": start}, headers={"Last-Event-ID": ""}) as stream:
        assert next(stream)["id"] == start


@pytest.mark.parametrize(
    "cursor", ["", "x", "bzEuLTE", "bzIuMQ", "bzEuOTk5OTk5", "é", "b" * 5000, "\x01"]
)
def test_a_cursor_that_was_never_handed_out_is_refused(api, cursor):
    assert is_problem(api.get("/api/events", params={"after": cursor}), 400, "invalid_value")


@pytest.mark.parametrize("cursor", ["nonsense", "bzEuOTk5OTk5"])
def test_an_invalid_last_event_id_header_is_refused(api, cursor):
    assert is_problem(
        api.get("/api/events", headers={"Last-Event-ID": cursor}), 400, "invalid_value"
    )


async def read_stream(stream: AsyncIterator[bytes], count: int) -> list[bytes]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return [await anext(stream) for _ in range(count)]


async def test_a_quiet_stream_beats(database, workspace):
    tail = Tail(Outbox(database, Owner(workspace, "ada")))
    stream = events.make_blocks(tail, await tail.source.end(), heartbeat_seconds=0.01)

    first, *beats = await read_stream(stream, 3)
    await stream.aclose()

    assert first.startswith(b"retry: 1000\nid: ")
    assert beats == [b": still here\n\n"] * 2


async def test_a_line_break_in_the_data_does_not_end_it(database, workspace):
    ada = holdfast.SessionService(database, owner=Owner(workspace, "ada"))
    session = await ada.create_session("m", "u1")
    outbox = Outbox(database, ada.owner)
    cursor = await outbox.end()
    await ada.update_metadata(session.id, {"name": "x\u0085"[:1] + 'é"\\n'})

    [event] = await outbox.read(cursor)
    block = events.format_block(event)

    assert block.count(b"\n") == 4
    assert block.endswith(b"\n\n")
    assert json.loads(block.split(b"data: ")[1])["name"] == 'xé"\\n'


def raw_stream(server) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)
    head = (
        f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    )
    connection.sendall(head.encode())
    return connection


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(4096).split(b" ")[1])


def test_streams_are_limited_and_closed_streams_make_room(server, api):
    """TS18: hundreds of them; too many are refused, and the server continues to answer."""
    with ExitStack() as opened:
        streams = [opened.enter_context(raw_stream(server)) for _ in range(events.MOST_STREAMS + 5)]
        statuses = Counter(map(status_of, streams))

        assert statuses.keys() == {200, 429}
        assert (
            statuses[200] <= events.MOST_STREAMS
        )  # a reader of the test before may just be leaving
        assert api.get("/api/health").status_code == 200
    found = []
    while 200 not in found:  # as soon as the server has noticed
        with raw_stream(server) as connection:
            found.append(status_of(connection))


def test_a_server_that_stops_ends_its_streams(tmp_path):
    """Also for a reader that has stopped reading."""
    with run_server(tmp_path) as server:
        streams = [raw_stream(server) for _ in range(5)]
        assert [status_of(connection) for connection in streams] == [200] * 5

        assert server.stop() == 0

        for connection in streams:
            while connection.recv(4096):
                pass
            connection.close()


def test_the_streams_of_a_revoked_token_end(tmp_path):
    """TS16: removing the file is how a token is revoked; a listener with it gets nothing more."""
    with run_server(tmp_path) as server, server.client() as api:
        session = create_session(api)
        with listening(api) as stream:
            next(stream)
            (tmp_path / "token").unlink()

            assert list(stream) == []

        assert is_problem(api.get("/api/events"), 401, "unauthorized")
        with server.client() as again:
            assert again.get(f"/api/sessions/{session['id']}").status_code == 200
