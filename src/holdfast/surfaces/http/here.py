"""What every route needs: the app, the id in the path, and requests that may come twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Header, Path
from starlette.requests import Request

from holdfast.app import App
from holdfast.errors import SessionNotFoundError
from holdfast.ground import ids
from holdfast.sessions.service import SessionService

if TYPE_CHECKING:
    from holdfast.storage.database import Database


async def the_app(request: Request) -> App:
    app: App = request.app.state.holdfast
    return app


async def the_session_id(session_id: Annotated[str, Path(description="A session's id")]) -> str:
    """Its one spelling; what cannot be an id is not found, before any engine sees it."""
    if (known := ids.parse_id(session_id)) is None:
        raise SessionNotFoundError(session_id)
    return known


Here = Annotated[App, Depends(the_app)]
SessionId = Annotated[str, Depends(the_session_id)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key again does nothing a second time and answers as the first time did",
        json_schema_extra={"minLength": 1, "maxLength": 200},
    ),
]


async def do_once(
    app: App,
    operation: str,
    key: str | None,
    request: Mapping[str, Any],
    effect: Callable[[SessionService], Awaitable[str]],
) -> str:
    """What the request is about; with a key its effect is had once, in the transaction that keeps the key."""
    if key is None:
        return await effect(app.sessions)

    async def within(database: Database) -> str:
        return await effect(SessionService(database, owner=app.settings.owner))

    subject, _ = await app.idempotency.do_once(operation, key, request, within)
    return subject
