"""`GET /metrics`: what to watch, and nothing of what anybody wrote."""

import re

import httpx

from holdfast.surfaces.http.metrics import SECONDS, Metrics, describe, name_route
from tests.surfaces.http.server import Server

WORD = "xyzzyplugh"
LINE = re.compile(
    r"holdfast_\w+(\{[a-z]+=\"[A-Za-z0-9_./+-]+\"(,[a-z]+=\"[A-Za-z0-9_./+-]+\")*\})? [0-9.]+"
)


def read(api: httpx.Client) -> dict[str, float]:
    answer = api.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
    lines = [line for line in answer.text.splitlines() if not line.startswith("# ")]
    assert all(LINE.fullmatch(line) for line in lines), lines
    pairs = [line.rpartition(" ") for line in lines]
    return {name: float(value) for name, _, value in pairs}


def append(api: httpx.Client) -> str:
    session = api.post("/api/sessions", json={"chatmode": WORD, "user_id": WORD}).json()
    event = {"type": "user_message", "role": "user", "content": WORD}
    path = f"/api/sessions/{session['id']}/events"
    assert api.post(path, json=event).status_code == 201
    return str(session["id"])


def test_answers_are_counted_by_route_and_status(api: httpx.Client):
    before = read(api)

    session_id = append(api)
    assert api.get(f"/api/sessions/{session_id}").status_code == 200
    assert api.get("/api/sessions/none").status_code == 404
    assert api.get(f"/{WORD}").status_code == 404

    after = read(api)
    for name, count in {
        'holdfast_requests_total{route="/api/sessions",status="201"}': 2,
        'holdfast_requests_total{route="/api/sessions",status="200"}': 1,
        'holdfast_requests_total{route="/api/sessions",status="404"}': 1,
        'holdfast_requests_total{route="other",status="404"}': 1,
        'holdfast_request_seconds_count{route="/api/sessions"}': 4,
        'holdfast_request_seconds_bucket{route="/api/sessions",le="+Inf"}': 4,
        "holdfast_events_stored_total": 1,
    }.items():
        assert after[name] - before.get(name, 0) == count, name
    assert after["holdfast_events_last_minute"] >= 1
    assert after["holdfast_store_up"] == 1
    assert after['holdfast_events_elsewhere{place="lost"}'] == 0


def test_nothing_that_was_written_is_told(api: httpx.Client, server: Server):
    session_id = append(api)
    api.get(f"/api/contexts?developer={WORD}")
    api.get(f"/{WORD}/{WORD}", headers={"Host": "127.0.0.1"})

    text = api.get("/metrics").text

    for word in (WORD, session_id, server.token, "fault-tester", "local", str(server.home)):
        assert word not in text


def test_who_has_no_token_gets_none(server: Server):
    assert httpx.get(f"{server.url}/metrics", verify=False).status_code == 401


def test_an_open_stream_is_counted(api: httpx.Client):
    """A store that is busy for too long ends a stream, which is then opened again."""

    def is_counted() -> bool:
        with api.stream("GET", "/api/events") as stream:
            next(stream.iter_lines())
            return read(api)["holdfast_streams_open"] >= 1

    assert any(is_counted() for _ in range(5))


def test_a_store_that_does_not_answer_is_down():
    lines = list(describe(Metrics(), 0, {"up": 0}))

    assert "holdfast_store_up 0" in lines


def test_the_last_minute_is_sixty_seconds():
    moment = [0.0]
    metrics = Metrics(lambda: moment[0])
    metrics.count(scope_of("/api/sessions/{session_id}/events"), 201, 0.0)

    seen = []
    for moment[0] in (0.0, 60.0, 60.5):
        seen.append(metrics.count_appended())

    assert seen == [1, 1, 0]


def test_times_are_in_buckets_that_add_up():
    metrics = Metrics(lambda: 10.0)
    for seconds in (0.001, 0.004, 0.3, 60.0):
        metrics.count(scope_of("/api/state"), 200, 10.0 - seconds)

    counts = [int(line.split()[-1]) for line in metrics.describe_times() if "_bucket" in line]

    assert len(counts) == len(SECONDS) + 1
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (2, 4)


class _Route:
    def __init__(self, path: str):
        self.path_format = path


def scope_of(path: str) -> dict[str, object]:
    return {"path": path, "route": _Route(path)}


def test_a_route_is_named_by_its_first_parts():
    names = {
        "/": "/",
        "/api/sessions/{session_id}/state": "/api/sessions",
        "/sessions/{session_id}": "/sessions",
        "/login/device": "/login",
    }

    assert {path: name_route(scope_of(path)) for path in names} == names
    assert name_route({"path": "/static/a.css"}) == "/static"
    assert name_route({"path": "/mcp"}) == "/mcp"
    assert name_route({"path": f"/{WORD}"}) == "other"
