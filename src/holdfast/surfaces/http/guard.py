"""The wall before every path: who asks, under which name, and from which page.

A port on this machine is open to every page that a browser shows and to every program that runs
here. So a request must name us as we are called (no rebound DNS name), must not come from a foreign
page, and must bring the token or the cookie that follows from it. Pure ASGI, so that nothing
mounted below it, now or later, can be reached around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.ground.log import Log
from holdfast.surfaces.http import metadata, problems
from holdfast.surfaces.http.bodies import READS
from holdfast.surfaces.http.errors import ForeignRequestError, UnauthorizedError
from holdfast.surfaces.http.login import cookie_name, login_page
from holdfast.surfaces.http.token import Keys

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
STATIC = "/static/"
CSP = (
    b"default-src 'self'; script-src 'self'; style-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = [
    (b"content-security-policy", CSP),
    (b"x-content-type-options", b"nosniff"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # `no-referrer` would make our own form come from `Origin: null`
    (b"cross-origin-resource-policy", b"same-origin"),
]
OURS = {name for name, _ in HEADERS} | {b"cache-control"}


@dataclass(frozen=True)
class Site:
    """The names under which this server may be called."""

    host: str = "127.0.0.1"
    port: int = 4790

    @property
    def name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host.lower()

    @property
    def url(self) -> str:
        return f"http://{self.name}:{self.port}"

    @cached_property
    def hosts(self) -> frozenset[str]:
        names = {self.name, *LOOPBACK}
        return frozenset(
            {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())
        )


class Guard:
    def __init__(self, app: ASGIApp, *, site: Site, keys: Keys, log: Log):
        self.app, self.site, self.keys, self.log = app, site, keys, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(
                scope, receive, _Sender(send, is_static=scope["path"].startswith(STATIC))
            )
        else:  # no websockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: _Sender) -> None:
        try:
            self._admit(scope)
            await self.app(scope, receive, send)
        except UnauthorizedError as error:
            page = login_page(status=401) if is_person(scope) else problems.of_error(error)
            page.headers["WWW-Authenticate"] = metadata.make_challenge(self.site.url)
            await page(scope, receive, send)
        except HoldfastError as error:
            await problems.of_error(error)(scope, receive, send)
        except (
            Exception
        ) as error:  # its words may be somebody's text, so they are neither shown nor kept
            self.log("http_bug", type=type(error).__name__)
            if not send.started:
                await problems.of_bug()(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        self._check_host(scope)
        self._check_page(scope)
        if not is_public(scope["path"]):
            self._check_caller(scope)

    def _check_host(self, scope: Scope) -> None:
        given = _all(scope, b"host")
        if len(given) != 1 or given[0].lower() not in self.site.hosts:
            raise ForeignRequestError("Host", ", ".join(given), "is not this server")

    def _check_page(self, scope: Scope) -> None:
        """A request without these headers comes from a program; a browser always says where it
        comes from.
        """
        own = f"{scope['scheme']}://{_one(scope, b'host').lower()}"
        for origin in _all(scope, b"origin"):
            if origin.lower() != own:
                raise ForeignRequestError("Origin", origin, "is not this server")
        for site in _all(scope, b"sec-fetch-site"):
            if site not in ("none", "same-origin") and not (
                site == "same-site" and _is_navigation(scope)
            ):
                raise ForeignRequestError("Sec-Fetch-Site", site, "is a foreign page")

    def _check_caller(self, scope: Scope) -> None:
        scope.setdefault("state", {})["token"] = (
            self.keys.token
        )  # under which it was let in; a stream lasts as long
        if given := _all(scope, b"authorization"):
            scheme, _, token = given[0].partition(" ")
            if (
                len(given) > 1
                or scheme.lower() != "bearer"
                or not self.keys.is_token(token.strip())
            ):
                raise UnauthorizedError
        elif not any(
            map(
                self.keys.is_cookie,
                _cookies(scope, name := cookie_name(self.site.port, scope["scheme"])),
            )
        ):
            raise UnauthorizedError
        elif scope["method"] not in READS and not _is_own_page(scope):
            raise ForeignRequestError("Cookie", name, "counts only with our own Origin")


class _Sender:
    """Adds to every answer what browsers are to know of it."""

    def __init__(self, send: Send, *, is_static: bool):
        self._send, self._is_static = send, is_static
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in OURS]
            cache = b"no-cache" if self._is_static else b"no-store"
            message = {**message, "headers": [*kept, *HEADERS, (b"cache-control", cache)]}
        await self._send(message)


def is_public(path: str) -> bool:
    """What somebody sees who has no key yet: the way in, how it looks, and what a program is to
    bring.
    """
    return path in ("/login", *metadata.PATHS) or path.startswith(STATIC)


def is_person(scope: Scope) -> bool:
    """Whether a page says more than a document; programs ask below /api and /mcp, and never for
    HTML.
    """
    path: str = scope["path"]
    accepts_page = scope["method"] == "GET" and "text/html" in _one(scope, b"accept")
    return accepts_page and not path.startswith(("/api/", "/mcp"))


def _is_navigation(scope: Scope) -> bool:
    """A person follows a link from a page on another port of this machine; nothing of the answer
    reaches that page.
    """
    is_document = _all(scope, b"sec-fetch-mode") == ["navigate"] and _all(
        scope, b"sec-fetch-dest"
    ) == ["document"]
    return scope["method"] == "GET" and is_document


def _is_own_page(scope: Scope) -> bool:
    """Whether the browser vouches for it; a foreign Origin was refused before."""
    return bool(_all(scope, b"origin")) or _all(scope, b"sec-fetch-site") == ["same-origin"]


def _cookies(scope: Scope, name: str) -> list[str]:
    pairs = [
        pair.strip().partition("=") for line in _all(scope, b"cookie") for pair in line.split(";")
    ]
    return [value for key, _, value in pairs if key == name]


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _one(scope: Scope, name: bytes) -> str:
    return next(iter(_all(scope, name)), "")
