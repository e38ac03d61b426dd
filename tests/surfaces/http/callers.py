"""One server, and developers who call it with tokens: in process, on either engine."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.identity.model import NewToken
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.http.token import Keys
from holdfast.usecases import administration

URL = "http://127.0.0.1:4790"
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Origin": URL}


class Served:
    """A server of the developer `owner`; everybody else has a token."""

    def __init__(self, app: App, door: Any, stack: AsyncExitStack):
        self.app, self.door, self._stack = app, door, stack
        self.key = Keys(app.settings.home).token
        self.tokens: dict[str, NewToken] = {}

    async def add(self, handle: str, *scopes: str, visibility: str = "public") -> NewToken:
        """A developer with a token of these scopes, or of the usual ones."""
        if handle not in self.tokens:
            await self.app.scope.identity.add_workspace()
            await administration.add_developer(self.app, handle, visibility)
        self.tokens[handle] = await self.make_token(handle, *scopes)
        return self.tokens[handle]

    async def make_token(self, handle: str, *scopes: str) -> NewToken:
        return await administration.add_token(self.app, handle, "claude", scopes)

    async def open(self, token: str | None, **headers: str) -> httpx.AsyncClient:
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.door), base_url=URL, headers={**given, **headers}
        )
        return await self._stack.enter_async_context(client)

    async def as_(self, handle: str, *scopes: str) -> httpx.AsyncClient:
        made = await self.add(handle, *scopes)
        return await self.open(made.text)

    async def as_owner(self) -> httpx.AsyncClient:
        return await self.open(self.key)


@asynccontextmanager
async def serve_in_process(
    database_url: str, workspace: str, home: Path, folder: str | None = None
) -> AsyncIterator[Served]:
    environment = {
        "HOLDFAST_DATABASE": database_url,
        "HOLDFAST_WORKSPACE": workspace,
        "HOLDFAST_HOME": str(home),
        "HOLDFAST_DEVELOPER": "owner",
        "HOME": str(home.parent),
    }
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(App(load_settings(environment), folder=folder))
        door = make_http_app(app, roots=[folder] if folder else [])
        await stack.enter_async_context(door.app.router.lifespan_context(door.app))  # type: ignore[attr-defined]
        yield Served(app, door, stack)
