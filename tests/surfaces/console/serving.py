"""The console without the server around it, for the developer of this machine."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI

from holdfast.app import App
from holdfast.surfaces.console import Consoles, make_console
from holdfast.surfaces.http.principal import Principal


def serve_console(app: App, roots: Sequence[str], as_app: App | None = None) -> Any:
    """`as_app` acts for another developer."""
    api = FastAPI()
    api.state.consoles = Consoles(app, roots)
    api.include_router(make_console())

    async def admit(scope: Any, receive: Any, send: Any) -> None:
        scope.setdefault("state", {})["principal"] = Principal(as_app or app)
        await api(scope, receive, send)

    return admit
