"""How a browser gets in: by a link that works once, or by pasting the token.

The link holds a code and not the token, because addresses end up in histories. What the browser
keeps is a cookie that no script can read and no foreign page can use.
"""

from __future__ import annotations

import asyncio
import html
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.ground import canonical
from holdfast.surfaces.http.bodies import read_body
from holdfast.surfaces.http.errors import TooManyError, WrongMediaTypeError
from holdfast.surfaces.http.token import Keys

COOKIE = "holdfast_session"
COOKIE_SECONDS = 90 * 24 * 3600
CODE_BYTES = 16
CODE_SECONDS = 600.0
FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 4096
WRONG_TRIES, TRY_SECONDS = 10, 60.0
PAUSE_SECONDS = 1.0

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast: log in</title>
<link rel="stylesheet" href="/static/console.css">
</head>
<body class="login">
<main>
<h1>Holdfast</h1>
<p>{problem}</p>
<p>Paste the token. It is in the file <code>token</code> of the data folder, which
<code>holdfast status</code> shows as Data. The link that <code>holdfast serve</code> prints when
it starts works once, for ten minutes.</p>
<form method="post" action="/login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required>
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
"""
NO_CODE = "You are not logged in."
WRONG_CODE = "This link was used already, or is older than ten minutes."
WRONG_TOKEN = "This is not the token."

router = APIRouter(include_in_schema=False)


class Codes:
    """One-time codes, kept as hashes and in memory only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._until = dict[bytes, float]()

    def issue(self) -> str:
        code = secrets.token_urlsafe(CODE_BYTES)
        self._until[_hash_code(code)] = self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str) -> bool:
        """Once, and in time."""
        until = self._until.pop(_hash_code(code), None)
        if until is None:
            return False
        return self._clock() < until


class Tries:
    """Guessing 256 bits is hopeless; a caller that tries is slowed down all the same.

    Nothing is locked: any process on the machine can send wrong tokens, and the right one has to
    work meanwhile.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._wrong = deque[float](maxlen=WRONG_TRIES)

    @property
    def are_too_many(self) -> bool:
        oldest = self._clock() - TRY_SECONDS
        return len(self._wrong) == WRONG_TRIES and self._wrong[0] >= oldest

    @property
    def pause_seconds(self) -> float:
        """How long the next token waits until it is looked at."""
        if self.are_too_many:
            return PAUSE_SECONDS
        return 0.0

    def refuse(self) -> None:
        """Count a wrong token; past ten in a minute it is an error of its own."""
        were_too_many = self.are_too_many
        self._wrong.append(self._clock())
        if were_too_many:
            raise TooManyError(
                "wrong tokens in a minute", WRONG_TRIES, "Wait a minute, then try again."
            )


@router.get("/login")
async def show_login(request: Request, code: Annotated[str | None, Query()] = None) -> Response:
    codes: Codes = request.app.state.codes
    if code is not None and codes.redeem(code):
        return let_in(request)
    if is_logged_in(request):
        return RedirectResponse("/", status_code=303)
    if code is None:
        return login_page()
    return login_page(WRONG_CODE, status=403)


@router.post("/login")
async def take_token(request: Request) -> Response:
    """The one place that takes a form, because a person types into it before any script may run."""
    tries: Tries = request.app.state.tries
    keys: Keys = request.app.state.keys
    given = await _read_token(request)
    await asyncio.sleep(tries.pause_seconds)
    if keys.is_token(given):
        return let_in(request)
    tries.refuse()
    return login_page(WRONG_TOKEN, status=403)


def let_in(request: Request) -> Response:
    keys: Keys = request.app.state.keys
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        cookie_name(request.app.state.port, request.url.scheme),
        keys.cookie,
        max_age=COOKIE_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


def is_logged_in(request: Request) -> bool:
    keys: Keys = request.app.state.keys
    name = cookie_name(request.app.state.port, request.url.scheme)
    return keys.is_cookie(request.cookies.get(name, ""))


def cookie_name(port: int, scheme: str = "http") -> str:
    """With the port, because a browser sends a cookie to every port of a machine.

    Otherwise two servers would replace each other's cookie. Under TLS, the prefix makes browsers
    refuse a cookie that a neighbouring host has set.
    """
    prefix = "__Host-" if scheme == "https" else ""
    return f"{prefix}{COOKIE}_{port}"


def login_page(problem: str = NO_CODE, *, status: int = 200) -> HTMLResponse:
    page = PAGE.format(problem=html.escape(problem))
    return HTMLResponse(page, status)


async def _read_token(request: Request) -> str:
    given = request.headers.get("content-type", "")
    media_type, _, _ = given.partition(";")
    if media_type.strip().lower() != FORM:
        raise WrongMediaTypeError(given)
    body = await read_body(request, FORM_BYTES)
    form = parse_qs(body.decode("latin-1"))
    token = form.get("token", [""])[0]
    return token.strip()


def _hash_code(code: str) -> bytes:
    return canonical.sha256(code.encode(errors="surrogateescape"))
