"""How a browser gets in: by a link that works once, or by pasting a token.

The link holds a code and not the token, because addresses end up in histories. What the browser
keeps is a cookie that no script can read and no foreign page can use: what follows from the token
of this machine, or a token of its own that ends with the one that was pasted.
"""

from __future__ import annotations

import asyncio
import html
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.app import App
from holdfast.ground import canonical
from holdfast.ground.settings import is_sqlite
from holdfast.identity import rules
from holdfast.surfaces.http.errors import TooManyError
from holdfast.surfaces.http.forms import make_page, read_form
from holdfast.surfaces.http.principal import Principals, get_principal
from holdfast.surfaces.http.scopes import ScopedRoute

COOKIE = "holdfast_session"
CODE_BYTES = 16
CODE_SECONDS = 600.0
WRONG_TRIES, TRY_SECONDS = 10, 60.0
PAUSE_SECONDS = 1.0

CONTENT = """<p{state}>{problem}</p>
<p>{where}</p>
<form method="post" action="/login">
{more}<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Log in</button>
</form>
<p class="muted">{elsewhere}</p>"""
BY_FILE = """Paste the token. It is in the file <code>token</code> of the data folder, which
<code>holdfast status</code> shows as Data."""
OR_BY_LINK = """The link that <code>holdfast serve</code> prints when it starts works once, for ten
minutes. Another developer pastes the token that an administrator made for this server."""
BY_TOKEN = """Paste the token that your administrator gave you, or that of a laptop that has
joined."""
OR_BY_FILE = """A laptop that has joined keeps its token in the file <code>team-token</code> of its
data folder, which <code>holdfast status</code> shows as Data. Who runs this server pastes the one
in the file <code>token</code> of the server's data folder."""
USER_CODE = """<input type="hidden" name="user_code" value="{code}">
"""
NO_CODE = "You are not logged in."
LOGGED_OUT = "You are logged out."
WRONG_CODE = "This link was used already, or is older than ten minutes."
WRONG_TOKEN = "This is not the token."

router = APIRouter(include_in_schema=False, route_class=ScopedRoute)


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

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, what: str = "wrong tokens"):
        self._clock, self._what = clock, what
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
        """Count a wrong one; past ten in a minute it is an error of its own."""
        were_too_many = self.are_too_many
        self._wrong.append(self._clock())
        if were_too_many:
            raise TooManyError(
                f"{self._what} in a minute", WRONG_TRIES, "Wait a minute, then try again."
            )


@router.get("/login")
async def show_login(
    request: Request,
    code: Annotated[str | None, Query()] = None,
    logged_out: Annotated[str | None, Query()] = None,
) -> Response:
    codes: Codes = request.app.state.codes
    if code is not None and codes.redeem(code):
        return let_in(request, _get_principals(request).keys.cookie)
    if await is_logged_in(request):
        return RedirectResponse("/", status_code=303)
    is_team = is_for_team(_get_principals(request).app, request.app.state.site.is_open)
    if code is None:
        return login_page(NO_CODE if logged_out is None else LOGGED_OUT, is_team=is_team)
    return login_page(WRONG_CODE, is_team=is_team, status=403)


@router.post("/login")
async def take_token(request: Request) -> Response:
    """A form, because a person types into it before any script may run."""
    tries: Tries = request.app.state.tries
    form = await read_form(request)
    user_code = rules.parse_user_code(form.get("user_code"))
    await asyncio.sleep(tries.pause_seconds)
    principals = _get_principals(request)
    principal = await principals.find_by_token(form.get("token", ""))
    if principal is None:
        tries.refuse()
        is_team = is_for_team(principals.app, request.app.state.site.is_open)
        return login_page(WRONG_TOKEN, is_team=is_team, status=403, user_code=user_code)
    cookie = principals.keys.cookie
    if principal.token is not None:
        made = await principal.app.scope.identity.log_in_browser(principal.token)
        cookie = made.text
    return let_in(request, cookie, user_code=user_code)


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """The browser forgets its cookie, and a token of its own ends."""
    principal = get_principal(request)
    token = principal.token
    if token is not None and token.agent == rules.BROWSER:
        await principal.app.scope.identity.revoke_token(token.id)
    answer = RedirectResponse("/login?logged_out=1", status_code=303)
    answer.delete_cookie(_find_cookie_name(request), path="/")
    return answer


def let_in(request: Request, cookie: str, *, user_code: str | None = None) -> Response:
    """Back to the page of a code, where the person came from there."""
    place = f"/login/device?user_code={user_code}" if user_code else "/"
    answer = RedirectResponse(place, status_code=303)
    answer.set_cookie(
        _find_cookie_name(request),
        cookie,
        max_age=rules.BROWSER_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


async def is_logged_in(request: Request) -> bool:
    cookie = request.cookies.get(_find_cookie_name(request), "")
    return await _get_principals(request).find_by_cookie(cookie) is not None


def _get_principals(request: Request) -> Principals:
    principals: Principals = request.app.state.principals
    return principals


def _find_cookie_name(request: Request) -> str:
    return cookie_name(request.app.state.site.port, request.url.scheme)


def cookie_name(port: int, scheme: str = "http") -> str:
    """With the port, because a browser sends a cookie to every port of a machine.

    Otherwise two servers would replace each other's cookie. Under TLS the servers behind a proxy
    share one, and the prefix makes browsers refuse one that a neighbouring host has set.
    """
    if scheme == "https":
        return f"__Host-{COOKIE}"
    return f"{COOKIE}_{port}"


def is_for_team(app: App, is_open: bool) -> bool:
    """Whether people come from other machines, to which the data folder here means nothing."""
    return is_open or not is_sqlite(app.settings.database)


def login_page(
    problem: str = NO_CODE, *, is_team: bool, status: int = 200, user_code: str | None = None
) -> HTMLResponse:
    where, elsewhere = (BY_TOKEN, OR_BY_FILE) if is_team else (BY_FILE, OR_BY_LINK)
    content = CONTENT.format(
        state=' class="bad" role="alert"' if problem in (WRONG_CODE, WRONG_TOKEN) else "",
        problem=html.escape(problem),
        where=where,
        more=USER_CODE.format(code=user_code) if user_code else "",
        elsewhere=elsewhere,
    )
    return make_page("Log in", content, status)


def _hash_code(code: str) -> bytes:
    return canonical.sha256(code.encode(errors="surrogateescape"))
