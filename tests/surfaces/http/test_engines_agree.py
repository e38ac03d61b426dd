"""TS19 over HTTP: whatever is asked, both engines answer alike, and neither breaks."""

import asyncio
import json
import os
import re
import uuid
from collections.abc import Callable
from typing import Any

import httpx
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.http.token import Keys

ROUTES = [
    ("GET", "/api/sessions?limit=1000"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/ID"),
    ("PATCH", "/api/sessions/ID"),
    ("POST", "/api/sessions/ID/end"),
    ("POST", "/api/sessions/ID/resume"),
    ("GET", "/api/sessions/ID/events"),
    ("GET", "/api/sessions/ID/events?turns=1"),
    ("POST", "/api/sessions/ID/events"),
    ("GET", "/api/sessions/ID/state"),
    ("PATCH", "/api/sessions/ID/state"),
]
EVENT = {"type": "user_message", "role": "user", "content": "hi"}
GOOD = st.sampled_from(
    [
        *(
            {},
            EVENT,
            {**EVENT, "expected_sequence": 0},
            {**EVENT, "parts": {"a": [1.5, None]}},
            {"chatmode": "coder"},
        ),
        *(
            {"scratchpad": {"a": {"b": 1}}},
            {"scratchpad": {"a": None}},
            {"name": "x"},
            {"envHint": None},
        ),
        *({"context": {"files": ["/r/a"]}}, {"setContext": {"setName": "fles", "items": []}}),
        {"unionContext": {"setName": "ports", "items": ["1", "2"]}},
    ]
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)
NAMES = st.sampled_from(
    ["chatmode", "name", "scratchpad", "content", "type", "role", "parts", "context", "event_id"]
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "If-Match": st.sampled_from(["*", '"1"', '"2", "3"', 'W/"1"', '"x"', "1", ""]),
        "Idempotency-Key": st.sampled_from(["one", "two", ""]),
    },
)
ASKED = st.tuples(st.sampled_from(ROUTES), GOOD | st.dictionaries(NAMES, JSON, max_size=3), HEADERS)
# What is drawn may hit no route with a body that it takes; this does.
ACCEPTED_AND_REFUSED: list[Any] = [
    (("GET", "/api/sessions/ID"), {}, {}),
    (("POST", "/api/sessions/ID/events"), EVENT, {}),
    (("POST", "/api/sessions/ID/events"), {}, {}),
]
# What differs by nature: ids, times, and hashes over both.
OWN = re.compile(
    r"[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z"
)


def test_any_requests_get_the_same_answers_on_both_engines(
    sqlite_url: str, postgres_url: str, scale: Callable[[int], int]
) -> None:
    """Sequences of requests on one session: the same statuses, tags and documents,
    and never a 5xx.
    """
    statuses: set[int] = set()

    @given(st.lists(ASKED, min_size=1, max_size=10))
    @example(ACCEPTED_AND_REFUSED)
    @settings(max_examples=scale(1000), suppress_health_check=[HealthCheck.too_slow], database=None)
    def holds(asked: list[tuple[tuple[str, str], Any, dict[str, str]]]) -> None:
        nonce = str(uuid.uuid4())
        on_sqlite, on_postgres = (runner.run(answers(client, asked, nonce)) for client in clients)
        assert on_sqlite == on_postgres
        statuses.update(status for status, _, _ in on_sqlite)

    apps = [
        App(load_settings({**os.environ, "HOLDFAST_DATABASE": url}))
        for url in (sqlite_url, postgres_url)
    ]
    with asyncio.Runner() as runner:
        for app in apps:
            runner.run(app.__aenter__())
        clients = [client_of(app) for app in apps]
        holds()
        for client, app in zip(clients, apps, strict=True):
            runner.run(client.aclose())
            runner.run(app.__aexit__())

    assert max(statuses) < 500
    assert {200, 201, 400} <= statuses


def client_of(app: App) -> httpx.AsyncClient:
    bearer = {"Authorization": f"Bearer {Keys(app.settings.home).token}"}
    transport = httpx.ASGITransport(app=make_http_app(app))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:4790", headers=bearer)


async def answers(
    client: httpx.AsyncClient, asked: list[Any], nonce: str
) -> list[tuple[int, str, str]]:
    session_id = (await client.post("/api/sessions", json={"chatmode": "coder"})).json()["id"]
    made = {session_id}
    found = []
    for (method, path), body, headers in asked:
        keyed = dict(headers)
        if key := headers.get("Idempotency-Key"):
            keyed["Idempotency-Key"] = f"{key} {nonce}"
        given_body = {} if method == "GET" else {"json": body}
        answer = await client.request(
            method, path.replace("ID", session_id), headers=keyed, **given_body
        )
        if answer.status_code == 201 and "sessions" in path:
            made.add(answer.json()["id"])
        found.append((answer.status_code, answer.headers.get("etag", ""), read_text(answer, made)))
    return found


def read_text(answer: httpx.Response, made: set[str]) -> str:
    """Of a list only the sessions of this example, in any order.

    Else a difference of an earlier example would show here as well, where nobody looks for it; and
    a clock may be set back between two.
    """
    document = answer.json()
    if "sessions" in document:
        own = [session for session in document["sessions"] if session["id"] in made]
        return "\n".join(sorted(OWN.sub("…", json.dumps(session)) for session in own))
    return OWN.sub("…", answer.text)
