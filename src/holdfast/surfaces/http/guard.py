"""The wall before every path: who asks, under which name, and from which page.

A port on this machine is open to every page that a browser shows and to every program that runs
here. So a request must name us as we are called (no rebound DNS name), must not come from a foreign
page, and must bring a token, or the cookie of a browser that has shown one. Pure ASGI, so that
nothing mounted below it, now or later, can be reached around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.ground.frozen import dataclass
from holdfast.ground.log import Log
from holdfast.surfaces.http import metadata, problems
from holdfast.surfaces.http.addresses import is_loopback, is_wildcard
from holdfast.surfaces.http.bodies import READS
from holdfast.surfaces.http.device import LOGINS
from holdfast.surfaces.http.device_page import find_user_code
from holdfast.surfaces.http.errors import ForeignRequestError, UnauthorizedError
from holdfast.surfaces.http.login import cookie_name, is_for_team, login_page
from holdfast.surfaces.http.metrics import Metrics
from holdfast.surfaces.http.principal import Principal, Principals

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
STATIC = "/static/"
CSP = (
    b"default-src 'self'; script-src 'self'; style-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = [
    (b"content-security-policy", CSP),
    (b"x-content-type-options", b"nosniff"),
    # `no-referrer` would make our own form come from `Origin: null`
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
OURS = {name for name, _ in HEADERS} | {b"cache-control"}


@dataclass(frozen=True)
class Site:
    """The names under which this server may be called: its own, and those of a proxy in front.

    A proxy encrypts, so whoever calls one of its names is on https; what it says about a request
    in headers of its own is not needed, and not believed.
    """

    host: str = "127.0.0.1"
    port: int = 4790
    names: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach it."""
        return bool(self.names) or not is_loopback(self.host)

    @property
    def name(self) -> str:
        if ":" in self.host:
            return f"[{self.host}]"
        return self.host.lower()

    @property
    def url(self) -> str:
        return f"http://{self.name}:{self.port}"

    @cached_property
    def hosts(self) -> frozenset[str]:
        names = frozenset(LOOPBACK)
        if not is_wildcard(self.host):
            names |= {self.name}
        hosts = frozenset(f"{name}:{self.port}" for name in names)
        if self.port == 80:
            return hosts | names
        return hosts

    def find_url(self, scope: Scope) -> str:
        """Under the name that a request used, if that is one of a proxy's."""
        host = _find_header(scope, b"host").lower()
        if host in self.names:
            return f"https://{host}"
        return self.url


class Guard:
    def __init__(
        self,
        app: ASGIApp,
        *,
        site: Site,
        principals: Principals,
        log: Log,
        metrics: Metrics | None = None,
    ):
        self.app, self.site, self.principals, self.log = app, site, principals, log
        self.metrics = metrics or Metrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            is_static = scope["path"].startswith(STATIC)
            scope.setdefault("state", {})
            url = self.site.find_url(scope)
            if url.startswith("https"):
                scope["scheme"] = "https"
            sender = _Sender(send, scope["state"], url, is_static=is_static)
            began = self.metrics.clock()
            try:
                await self._handle(scope, receive, sender)
            finally:
                self.metrics.count(scope, sender.status, began)
        else:  # no websockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: _Sender) -> None:
        try:
            await self._admit(scope)
            await self.app(scope, receive, send)
        except UnauthorizedError as error:
            answer: Response = problems.describe_error(error)
            if is_person(scope):
                is_team = is_for_team(self.principals.app, self.site.is_open)
                code = find_user_code(scope)
                answer = login_page(is_team=is_team, status=401, user_code=code)
            answer.headers["WWW-Authenticate"] = metadata.make_challenge(self.site.find_url(scope))
            await answer(scope, receive, send)
        except HoldfastError as error:
            problem = problems.describe_error(error)
            await problem(scope, receive, send)
        except Exception as error:  # its message may hold private text: not shown, not logged
            self.log("http_bug", type=type(error).__name__)
            if not send.started:
                bug = problems.describe_bug()
                await bug(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        self._check_host(scope)
        self._check_page(scope)
        if not is_public(scope["path"]):
            scope["state"]["principal"] = await self._find_caller(scope)

    def _check_host(self, scope: Scope) -> None:
        given = _list_headers(scope, b"host")
        is_ours = len(given) == 1 and given[0].lower() in {*self.site.hosts, *self.site.names}
        if not is_ours:
            raise ForeignRequestError("Host", ", ".join(given), "is not this server")

    def _check_page(self, scope: Scope) -> None:
        """A request without these headers comes from a program: a browser always sends them."""
        host = _find_header(scope, b"host").lower()
        own = f"{scope['scheme']}://{host}"
        for origin in _list_headers(scope, b"origin"):
            if origin.lower() != own:
                raise ForeignRequestError("Origin", origin, "is not this server")
        for site in _list_headers(scope, b"sec-fetch-site"):
            is_own = site in ("none", "same-origin")
            is_followed_link = site == "same-site" and _is_navigation(scope)
            if not is_own and not is_followed_link:
                raise ForeignRequestError("Sec-Fetch-Site", site, "is a foreign page")

    async def _find_caller(self, scope: Scope) -> Principal:
        given = _list_headers(scope, b"authorization")
        if given:
            return await self._find_by_token(given)
        return await self._find_by_cookie(scope)

    async def _find_by_token(self, given: list[str]) -> Principal:
        scheme, _, token = given[0].partition(" ")
        if len(given) != 1 or scheme.lower() != "bearer":
            raise UnauthorizedError
        principal = await self.principals.find_by_token(token.strip())
        if principal is None:
            raise UnauthorizedError
        return principal

    async def _find_by_cookie(self, scope: Scope) -> Principal:
        name = cookie_name(self.site.port, scope["scheme"])
        principal = await self._find_first(_list_cookies(scope, name))
        if principal is None:
            raise UnauthorizedError
        if scope["method"] not in READS and not _is_own_page(scope):
            raise ForeignRequestError("Cookie", name, "counts only with our own Origin")
        return principal

    async def _find_first(self, cookies: Iterable[str]) -> Principal | None:
        for cookie in cookies:
            principal = await self.principals.find_by_cookie(cookie)
            if principal is not None:
                return principal
        return None


class _Sender:
    """Adds the security headers to every answer, and to some what would have been needed."""

    def __init__(self, send: Send, state: Mapping[str, Any], url: str, *, is_static: bool):
        self._send, self._state, self._url, self._is_static = send, state, url, is_static
        self.started = False
        self.status = 0  # none, where the caller left before there was one

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            headers = self._add_headers(message.get("headers", ()))
            message = {**message, "headers": headers}
        await self._send(message)

    def _add_headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        kept = [(name, value) for name, value in given if name.lower() not in OURS]
        cache = b"no-cache" if self._is_static else b"no-store"
        return [*kept, *HEADERS, *self._list_challenges(), (b"cache-control", cache)]

    def _list_challenges(self) -> list[tuple[bytes, bytes]]:
        missing = self._state.get("missing_scope")
        if missing is None:
            return []
        challenge = metadata.ask_for_scope(self._url, missing)
        return [(b"www-authenticate", challenge.encode())]


def is_public(path: str) -> bool:
    """What is shown without a token: the login, its style, and how a program authenticates."""
    return path in ("/login", *LOGINS, *metadata.PATHS) or path.startswith(STATIC)


def is_person(scope: Scope) -> bool:
    """Whether to answer with a page: programs use /api and /mcp, and do not accept HTML."""
    path: str = scope["path"]
    accepted = _find_header(scope, b"accept")
    accepts_page = scope["method"] == "GET" and "text/html" in accepted
    return accepts_page and not path.startswith(("/api/", "/mcp"))


def _is_navigation(scope: Scope) -> bool:
    """Whether a person followed a link from another port of this machine.

    Nothing of the answer reaches the page that had the link.
    """
    is_navigating = _list_headers(scope, b"sec-fetch-mode") == ["navigate"]
    is_document = _list_headers(scope, b"sec-fetch-dest") == ["document"]
    return scope["method"] == "GET" and is_navigating and is_document


def _is_own_page(scope: Scope) -> bool:
    """Whether the browser vouches for it; a foreign Origin was refused before."""
    has_origin = bool(_list_headers(scope, b"origin"))
    is_same_origin = _list_headers(scope, b"sec-fetch-site") == ["same-origin"]
    return has_origin or is_same_origin


def _list_cookies(scope: Scope, name: str) -> list[str]:
    cookies: list[str] = []
    for line in _list_headers(scope, b"cookie"):
        cookies += line.split(";")
    pairs = [cookie.strip().partition("=") for cookie in cookies]
    return [value for key, _, value in pairs if key == name]


def _list_headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _find_header(scope: Scope, name: bytes) -> str:
    return next(iter(_list_headers(scope, name)), "")
