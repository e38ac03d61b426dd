"""What a token must be allowed to do, by route: one table for every route of this door.

Reads need the scope of reads. A change is in the table, or its route cannot be made. What any token
may do needs no scope: to ask who it is, to end itself, and to let an agent in with no more rights
than it has.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from holdfast.errors import HoldfastError
from holdfast.identity.errors import InsufficientScopeError
from holdfast.identity.scopes import PUBLISH, READ, WRITE
from holdfast.surfaces.http.principal import get_principal, hide_from

ANY = None
CHANGES = {
    "POST /api/sessions": WRITE,
    "PATCH /api/sessions/{session_id}": WRITE,
    "POST /api/sessions/{session_id}/end": WRITE,
    "POST /api/sessions/{session_id}/resume": WRITE,
    "POST /api/sessions/{session_id}/events": WRITE,
    "PATCH /api/sessions/{session_id}/state": WRITE,
    "POST /api/memories": WRITE,
    "POST /api/contexts": PUBLISH,
    "DELETE /api/contexts/{context_id}": PUBLISH,
    "POST /api/claims": PUBLISH,
    "DELETE /api/claims/{claim_id}": PUBLISH,
    "POST /api/handoffs": PUBLISH,
    "POST /api/handoffs/{handoff_id}/accept": PUBLISH,
    "POST /api/handoffs/{handoff_id}/decline": PUBLISH,
    "POST /api/handoffs/{handoff_id}/complete": PUBLISH,
    "POST /api/handoffs/{handoff_id}/cancel": PUBLISH,
    "PUT /api/team/visibility": PUBLISH,
    "GET /metrics": ANY,
    "PUT /api/team/presence/{session_id}": PUBLISH,
    "DELETE /api/team/presence/{session_id}": PUBLISH,
    "GET /api/me": ANY,
    "DELETE /api/me/token": ANY,
    "POST /api/logins": ANY,  # without a token, as the login of a browser
    "POST /api/logins/token": ANY,
    "GET /login": ANY,
    "POST /login": ANY,
    "GET /login/device": ANY,
    "POST /login/device": ANY,
    "POST /logout": ANY,
    "PUT /console/applet/file": WRITE,
    "POST /console/workstreams/proof": WRITE,
    "POST /console/workstreams/sharing": WRITE,
    "POST /console/coordination/looked": READ,
}


class ScopedRoute(APIRoute):
    """A route that asks whether the caller's token may do this, before its verb."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needed = _find_scope(self)

        async def handle_allowed(request: Request) -> Response:
            if needed is not ANY:
                require_scope(request, needed)
            try:
                return await handle(request)
            except HoldfastError as error:
                raise hide_from(request, error) from None

        return handle_allowed


def _find_scope(route: APIRoute) -> str | None:
    assert route.methods is not None
    [method] = route.methods
    name = f"{method} {route.path_format}"
    if name in CHANGES or method != "GET":
        return CHANGES[name]
    return READ


def require_scope(connection: HTTPConnection, needed: str) -> None:
    """The guard adds to the answer what a program needs to ask for more."""
    if not get_principal(connection).may(needed):
        connection.state.missing_scope = needed
        raise InsufficientScopeError(needed)
