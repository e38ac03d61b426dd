"""What routes need: the app, the id in the path, the files to look for, the key of a request."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Depends, Path
from pydantic import AfterValidator
from starlette.requests import Request

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.confined import ConfinedRoot
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.surfaces.http.principal import get_principal


async def get_app(request: Request) -> App:
    """As whoever asks: it acts for the caller's developer."""
    return get_principal(request).app


def parse_session_id(session_id: str) -> str:
    """Its one spelling; what cannot be an id is not found, before any engine sees it."""
    known = ids.parse_id(session_id)
    if known is None:
        raise SessionNotFoundError(session_id)
    return known


class SeenRoots:
    """Which files of a session exist.

    A server of this machine looks everywhere, as the command line does: it answers its own
    developer alone. One that other machines reach looks into the folders that applets may show;
    elsewhere every file counts.
    """

    def __init__(self, roots: Sequence[str], *, looks_everywhere: bool):
        self._roots = [ConfinedRoot(root) for root in roots]
        self._looks_everywhere = looks_everywhere

    def exists(self, path: str) -> bool:
        if self._looks_everywhere:
            return os.path.exists(path)
        if not self._hold(path):
            return True
        real = os.path.realpath(path)  # a link inside may lead outside
        return not self._hold(real) or os.path.exists(real)

    def _hold(self, path: str) -> bool:
        return os.path.isabs(path) and any(root.holds(path) for root in self._roots)


async def get_seen_files(request: Request) -> Callable[[str], bool]:
    """A developer on another machine has no files here: every file counts."""
    if not get_principal(request).app.is_at_home:
        return assume_exists
    seen: SeenRoots = request.app.state.seen
    return seen.exists


def assume_exists(path: str) -> bool:
    return True


def find_key(request: Request) -> str | None:
    given = request.headers.getlist("Idempotency-Key")
    if len(given) > 1:
        raise InvalidValueError("Idempotency-Key", ", ".join(given), "is given more than once")
    return next(iter(given), None)


KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1, "maxLength": 200},
    "description": (
        "The same key again does nothing a second time and answers as the first time did"
    ),
}
Here = Annotated[App, Depends(get_app)]
SessionId = Annotated[str, Path(description="A session's id"), AfterValidator(parse_session_id)]
SeenFiles = Annotated[Callable[[str], bool], Depends(get_seen_files)]
