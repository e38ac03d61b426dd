"""`GET /metrics`: what to watch, in Prometheus' text format.

Counted by this process since it started; several servers are asked one by one. Routes are named by
their first parts and never by what fills them in, so that no name of a person or a repository, no
id and no content is here.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from holdfast import __version__
from holdfast.app import App
from holdfast.surfaces.http.health import describe_waiting, examine
from holdfast.surfaces.http.scopes import ScopedRoute

PATH = "/metrics"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
MINUTE = 60.0
MOUNTED = ("/static", "/mcp")
NO_ROUTE = "other"
EVENTS_ROUTE = "/api/sessions/{session_id}/events"

router = APIRouter(include_in_schema=False, route_class=ScopedRoute)


class Metrics:
    """What the guard saw; its clock is an argument for tests."""

    def __init__(self, clock: Any = time.monotonic):
        self.clock = clock
        self.answers = Counter[tuple[str, int]]()
        self._seconds = dict[str, list[int]]()
        self._sums = defaultdict[str, float](float)
        self._appended = deque[float]()
        self.appended = 0

    def count(self, scope: Scope, status: int, began: float) -> None:
        """One answer. A stream counts when it ends, and not among the times."""
        now = self.clock()
        name = name_route(scope)
        self.answers[name, status] += 1
        if name != "/api/events":
            buckets = self._seconds.setdefault(name, [0] * (len(SECONDS) + 1))
            buckets[bisect_left(SECONDS, now - began)] += 1
            self._sums[name] += now - began
        if status == 201 and find_path(scope) == EVENTS_ROUTE:
            self._appended.append(now)
            self.appended += 1

    def count_appended(self) -> int:
        """How many events were appended over HTTP in the last minute."""
        oldest = self.clock() - MINUTE
        while self._appended and self._appended[0] < oldest:
            self._appended.popleft()
        return len(self._appended)

    def describe_times(self) -> Iterable[str]:
        for name, buckets in sorted(self._seconds.items()):
            total = 0
            for limit, count in zip((*SECONDS, "+Inf"), buckets, strict=True):
                total += count
                labels = format_labels({"route": name, "le": str(limit)})
                yield f"holdfast_request_seconds_bucket{labels} {total}"
            labels = format_labels({"route": name})
            yield f"holdfast_request_seconds_sum{labels} {self._sums[name]:.6f}"
            yield f"holdfast_request_seconds_count{labels} {total}"


def name_route(scope: Scope) -> str:
    """`/api/sessions` for all routes about sessions; what is no route has one name."""
    for mounted in MOUNTED:
        if scope["path"] == mounted or scope["path"].startswith(f"{mounted}/"):
            return mounted
    path = find_path(scope)
    if path is None:
        return NO_ROUTE
    parts = [part for part in path.split("/") if part]
    depth = 2 if parts[:1] == ["api"] else 1
    return "/" + "/".join(part for part in parts[:depth] if "{" not in part)


def find_path(scope: Scope) -> str | None:
    """Of the route that answered, as it is written in the code."""
    path: str | None = getattr(scope.get("route"), "path_format", None)
    return path


@router.get(PATH)
async def show_metrics(request: Request) -> Response:
    """What this process has answered, and whether its store works"""
    state = request.app.state
    lines = describe(state.metrics, state.streams.open, await _look_at_store(state.holdfast))
    return Response("\n".join([*lines, ""]), media_type=MEDIA_TYPE)


async def _look_at_store(app: App) -> dict[str, int]:
    """Of the whole machine: the spool belongs to no caller. Damage has many faces."""
    try:
        accounts = await examine(app)
    except Exception:
        return {"up": 0, **describe_waiting(app)}
    return {"up": 1, **accounts.to_dict()}


def describe(metrics: Metrics, streams: int, store: Mapping[str, int]) -> Iterable[str]:
    yield from describe_metric("holdfast_info", "gauge", "The version of this server")
    yield f"holdfast_info{format_labels({'version': __version__})} 1"
    yield from describe_metric("holdfast_store_up", "gauge", "Whether the store takes a write")
    yield f"holdfast_store_up {store['up']}"
    text = "Events that wait on this machine, were refused, lost, or could be kept nowhere"
    yield from describe_metric("holdfast_events_elsewhere", "gauge", text)
    for place in ("spooled", "rejected", "lost", "dropped"):
        if place in store:
            yield f"holdfast_events_elsewhere{format_labels({'place': place})} {store[place]}"
    text = "Events that were appended over HTTP and are stored"
    yield from describe_metric("holdfast_events_stored_total", "counter", text)
    yield f"holdfast_events_stored_total {metrics.appended}"
    text = "Events appended over HTTP in the last minute"
    yield from describe_metric("holdfast_events_last_minute", "gauge", text)
    yield f"holdfast_events_last_minute {metrics.count_appended()}"
    yield from describe_metric("holdfast_streams_open", "gauge", "Streams of events that are open")
    yield f"holdfast_streams_open {streams}"
    yield from describe_metric("holdfast_requests_total", "counter", "Answers by route and status")
    for (name, status), count in sorted(metrics.answers.items()):
        labels = format_labels({"route": name, "status": str(status)})
        yield f"holdfast_requests_total{labels} {count}"
    text = "Time to the whole answer, by route"
    yield from describe_metric("holdfast_request_seconds", "histogram", text)
    yield from metrics.describe_times()


def describe_metric(name: str, kind: str, text: str) -> Iterable[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def format_labels(labels: Mapping[str, str]) -> str:
    """Of names in the code and of numbers, so nothing in them has to be escaped."""
    pairs = [f'{name}="{value}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"
