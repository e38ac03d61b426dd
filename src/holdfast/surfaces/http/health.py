"""`GET /api/health`: 200 only if a write and a read really work, an event could be stored, and the
accounts of the newest sessions miss none.

A health check that looks at the process instead of the store stays green while events are lost.
What it costs follows neither the number of sessions nor their length.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.errors import HoldfastError, StoreBusyError
from holdfast.ground.frozen import asdict
from holdfast.ground.log import Log
from holdfast.ground.settings import hide_password
from holdfast.sessions.rehearsal import rehearse_append
from holdfast.storage.accounting import Accounting
from holdfast.storage.health import check_health
from holdfast.surfaces.http import models, problems
from holdfast.surfaces.http.errors import EventsDroppedError, EventsLostError
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.principal import hide_from
from holdfast.surfaces.http.scopes import ScopedRoute

HEALTH_SECONDS = 3.0

router = APIRouter(route_class=ScopedRoute)

_given_up: set[asyncio.Task[Accounting]] = set()  # the loop itself would not keep them


@router.get("/api/health", responses={200: {"model": models.Health}})
async def get_health(request: Request, app: Here) -> Response:
    """Whether the store works: it is written and read for each answer, and counted"""
    try:
        accounts = await examine(app)
    except HoldfastError as error:
        shown = hide_from(request, error)
        return problems.describe_error(shown, status=503, **describe_waiting(app))
    except (
        Exception
    ) as error:  # damage has many faces, and each of them is an answer to this question
        Log(app.settings.home)("unhealthy", type=type(error).__name__)
        return problems.make_problem(
            503, "unavailable", f"The store does not work: {type(error).__name__}."
        )
    if accounts.lost:
        return problems.describe_error(EventsLostError(accounts.lost), **accounts.to_dict())
    if accounts.dropped:
        dropped = EventsDroppedError(accounts.dropped, accounts.last_dropped_at)
        return problems.describe_error(dropped, **accounts.to_dict())
    return JSONResponse({"status": "ok", **accounts.to_dict()})


def describe_waiting(app: App) -> dict[str, Any]:
    """What is known without the store, whatever the disk does."""
    try:
        return asdict(app.spool.count_waiting())
    except HoldfastError:
        return {}


async def examine(app: App) -> Accounting:
    """In bounded time: a store that another writer holds is not healthy."""
    task = asyncio.create_task(_use_store(app))
    done, _ = await asyncio.wait([task], timeout=HEALTH_SECONDS)
    if not done:
        _give_up(task)
        where = hide_password(app.settings.database)
        problem = (
            f"did not answer within {HEALTH_SECONDS:g} seconds: it is locked, overloaded or stopped"
        )
        raise StoreBusyError(where, problem)
    return task.result()


async def _use_store(app: App) -> Accounting:
    await check_health(app.database, app.settings.owner)
    await rehearse_append(app.scope.session_store)
    return await app.take_stock()


def _give_up(task: asyncio.Task[Accounting]) -> None:
    """Not waited for: a server that is frozen does not even answer that."""
    _given_up.add(task)
    task.add_done_callback(_forget)
    task.cancel()


def _forget(task: asyncio.Task[Accounting]) -> None:
    _given_up.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, or it would be logged
