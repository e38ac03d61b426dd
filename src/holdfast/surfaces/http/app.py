"""The HTTP door put together: the guard, the API, and the two doors behind the same port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from holdfast import __version__
from holdfast.app import App
from holdfast.ground.log import Log
from holdfast.surfaces.http import (
    conversations,
    device,
    device_page,
    events,
    health,
    login,
    me,
    memories,
    metadata,
    metrics,
    presence,
    problems,
    schema,
    sessions,
    state,
    team,
    workstreams,
)
from holdfast.surfaces.http.guard import Guard, Site
from holdfast.surfaces.http.here import SeenRoots
from holdfast.surfaces.http.late_mcp import LateMcp
from holdfast.surfaces.http.principal import Principals
from holdfast.surfaces.http.token import Keys

ROOMS = (
    *(sessions, memories, workstreams, conversations, team, presence),
    *(events, health, state, me, login, device, device_page, metadata, metrics),
)


def make_http_app(
    app: App,
    *,
    site: Site | None = None,
    keys: Keys | None = None,
    codes: login.Codes | None = None,
    roots: Sequence[str] = (),
    stopping: asyncio.Event | None = None,
) -> ASGIApp:
    """What a server serves. `roots` are the folders that applets may show; `stopping` ends what
    would last.
    """
    site, keys = site or Site(), keys or Keys(app.settings.home)
    seen = SeenRoots(roots, looks_everywhere=not site.is_open)
    api = FastAPI(
        title="Holdfast", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    principals = Principals(app, keys)
    api.state.holdfast, api.state.keys, api.state.site, api.state.seen = app, keys, site, seen
    api.state.codes, api.state.tries = codes or login.Codes(), login.Tries()
    api.state.principals, api.state.polls = principals, device.Polls()
    api.state.user_code_tries = login.Tries(what="wrong codes")
    api.state.streams = events.Streams(principals, stopping or asyncio.Event())
    api.state.metrics = metrics.Metrics()
    problems.answer_errors(api)
    for room in ROOMS:
        _add_routes(api, room.router)
    _add_console(api, app, roots)
    api.router.lifespan_context = _beside(_add_mcp(api, app, seen))
    schema.describe(api)
    log = Log(app.settings.home)
    return Guard(api, site=site, principals=principals, log=log, metrics=api.state.metrics)


def _add_routes(api: FastAPI, router: APIRouter) -> None:
    """As they are. `include_router` makes the framework try them twice for each request, once to
    find the router and once to find the route.
    """
    api.router.routes += router.routes


def _beside(runs: AbstractAsyncContextManager[None]) -> Any:
    """A lifespan; the framework asks for a function of the application."""

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        async with runs:
            yield

    return lifespan


# --- the other doors ------------------------------------------------------------------------------


def _add_console(api: FastAPI, app: App, roots: Sequence[str]) -> None:
    if find_spec("jinja2") is None:
        return
    from holdfast.surfaces.console import STATIC, Consoles, make_console

    api.state.consoles = Consoles(app, roots)
    _add_routes(api, make_console())
    api.mount("/static", StaticFiles(directory=STATIC))


def _add_mcp(api: FastAPI, app: App, seen: SeenRoots) -> AbstractAsyncContextManager[None]:
    """Answers with what has to run beside it."""
    if find_spec("mcp") is None:
        return nullcontext()
    mcp = LateMcp(app, seen, api.state.streams)
    api.router.routes.append(Route("/mcp", endpoint=mcp, include_in_schema=False))
    return mcp.running()
