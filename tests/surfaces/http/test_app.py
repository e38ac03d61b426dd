"""The door put together, in this process: what is there without the libraries of
the other doors.
"""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.types import Scope

from holdfast.app import App
from holdfast.errors import StoreBusyError
from holdfast.storage.outbox import Outbox
from holdfast.surfaces.http import app as door
from holdfast.surfaces.http import health, sessions
from holdfast.surfaces.http.token import Keys
from holdfast.usecases.events import Events
from tests.surfaces.http.server import is_problem


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with App() as opened:
        yield opened


def client_of(app: App) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=door.make_http_app(app))
    bearer = {"Authorization": f"Bearer {Keys(app.settings.home).token}"}
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:4790", headers=bearer)


async def test_without_their_libraries_the_other_doors_are_not_found(app, monkeypatch):
    monkeypatch.setattr(door, "find_spec", lambda name: None)

    async with client_of(app) as client:
        for path in ("/", "/mcp", "/static/console.css"):
            assert is_problem(await client.get(path), 404, "not_found")
        assert (await client.get("/api/health")).status_code == 200


async def test_a_request_is_compared_with_each_route_at_most_once(app, monkeypatch):
    compared: list[str] = []
    matches = APIRoute.matches

    def count(route: APIRoute, scope: Scope) -> object:
        compared.append(route.name)
        return matches(route, scope)

    async with client_of(app) as client:
        session = (await client.post("/api/sessions", json={"chatmode": "coder"})).json()
        monkeypatch.setattr(APIRoute, "matches", count)
        event = {"type": "user_message", "role": "user", "content": "hi"}
        answer = await client.post(f"/api/sessions/{session['id']}/events", json=event)

    assert answer.status_code == 201
    assert compared[-1] == "append_event"
    assert len(compared) == len(set(compared))


def test_a_change_of_a_session_has_no_dependencies_for_the_framework_to_solve():
    """It takes longer for each than the guard takes for the whole request."""
    routes = {route.name: route.dependant for route in sessions.router.routes}

    for name in ("append_event", "update_state", "patch_session", "end_session"):
        assert routes[name].dependencies == []


async def test_a_store_that_breaks_in_a_new_way_is_unhealthy_and_says_only_how(app, monkeypatch):
    """Damage has many faces; each of them is an answer, and none of its words is."""

    async def broken(*_: object) -> None:
        raise ValueError("what somebody wrote")

    monkeypatch.setattr(health, "check_health", broken)
    async with client_of(app) as client:
        answer = await client.get("/api/health")

    assert is_problem(answer, 503, "unavailable")
    assert "ValueError" in answer.text
    assert "somebody" not in answer.text


async def test_a_bug_in_a_route_is_a_problem_document_without_its_words(app, monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("what somebody wrote")

    monkeypatch.setattr(App, "served_work", broken)
    async with client_of(app) as client:
        answer = await client.get("/api/workstreams")

    assert is_problem(answer, 500, "bug")
    assert "somebody" not in answer.text


async def test_a_store_that_is_down_ends_a_stream_and_not_the_server(app, monkeypatch):
    async def down(*_: object) -> None:
        raise StoreBusyError("the store")

    async with client_of(app) as client:
        cursor = await Events(app.scope).end()
        reads = iter([Outbox.read])  # the first look is at the cursor; the next is the stream's own

        async def read(self: Outbox, *args: object) -> object:
            first = next(reads, down)
            return await first(self, *args)

        monkeypatch.setattr(Outbox, "read", read)
        answer = await client.get("/api/events", params={"after": cursor})

    assert answer.status_code == 200
    assert answer.text == f"retry: 1000\nid: {cursor}\n\n"
