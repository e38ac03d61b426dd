"""What every route needs: the app, the id in the path, the files it may look for, requests that may come twice."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Header, Path
from starlette.requests import Request

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.confined import ConfinedRoot
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.service import SessionService
from holdfast.storage.in_transaction import InTransaction

if TYPE_CHECKING:
    from holdfast.storage.database import Database, Transaction


async def the_app(request: Request) -> App:
    app: App = request.app.state.holdfast
    return app


async def the_session_id(session_id: Annotated[str, Path(description="A session's id")]) -> str:
    """Its one spelling; what cannot be an id is not found, before any engine sees it."""
    if (known := ids.parse_id(session_id)) is None:
        raise SessionNotFoundError(session_id)
    return known


class SeenRoots:
    """Which files are gone, told of the folders that applets may show; whatever is elsewhere counts as there."""

    def __init__(self, roots: Sequence[str]):
        self._roots = [ConfinedRoot(root) for root in roots]

    def exists(self, path: str) -> bool:
        real = os.path.realpath(path) if self._hold(path) else path  # a link inside may lead outside
        return not self._hold(real) or os.path.exists(real)

    def _hold(self, path: str) -> bool:
        return os.path.isabs(path) and any(root.holds(path) for root in self._roots)


async def the_seen_files(request: Request) -> Callable[[str], bool]:
    seen: SeenRoots = request.app.state.seen
    return seen.exists


async def the_key(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="The same key again does nothing a second time and answers as the first time did",
            json_schema_extra={"minLength": 1, "maxLength": 200},
        ),
    ] = None,
) -> str | None:
    if len(given := request.headers.getlist("Idempotency-Key")) > 1:
        raise InvalidValueError("Idempotency-Key", ", ".join(given), "is given more than once")
    return key


Here = Annotated[App, Depends(the_app)]
SessionId = Annotated[str, Depends(the_session_id)]
SeenFiles = Annotated[Callable[[str], bool], Depends(the_seen_files)]
Key = Annotated[str | None, Depends(the_key)]
Effect = Callable[[SessionService], Awaitable[str]]


async def do_once(
    app: App,
    operation: str,
    key: str | None,
    request: Mapping[str, Any],
    effect: Effect,
    check: Callable[[SessionService], Awaitable[None]] | None = None,
) -> str:
    """What the request is about; with a key its effect is had once, in the transaction that keeps the key.

    What `check` finds out is still so when the effect is had.
    """
    if key is None and check is None:
        return await effect(app.sessions)

    async def within(database: Database) -> str:
        sessions = SessionService(database, owner=app.settings.owner)
        if check is not None:
            await check(sessions)
        return await effect(sessions)

    if key is None:
        return await _in_transaction(app, within)
    subject, _ = await app.idempotency.do_once(operation, key, request, within)
    return subject


async def _in_transaction(app: App, within: Callable[[Database], Awaitable[str]]) -> str:
    async def work(tx: Transaction) -> str:
        return await within(InTransaction(app.database.engine, tx))

    return await app.database.transaction(work)
