"""One server process, from the first check to the last answer.

The order matters. Whoever may not serve this store is told before a port is taken; the lease comes
before the port, so that a second server is told about the first and not about its port; the link is
printed when it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn

from holdfast.app import App
from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground.settings import Settings, sqlite_path
from holdfast.storage.errors import UnsafeRoleError
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.http.errors import NetworkRefusedError, PortTakenError
from holdfast.surfaces.http.guard import Site
from holdfast.surfaces.http.lease import Lease
from holdfast.surfaces.http.login import Codes
from holdfast.surfaces.http.memories import refuse_adopted_memories
from holdfast.surfaces.http.token import Keys

HOST, PORT = "127.0.0.1", 4790
LARGEST_PORT = 65_535
STOP_SECONDS = 3  # for what is being answered; then it is cancelled
BACKLOG = 512
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Place:
    """Where to serve, and which folders applets may show."""

    host: str = HOST
    port: int = PORT
    roots: Sequence[str] = ()


@dataclass(frozen=True)
class Started:
    """What somebody has to know who wants to come in."""

    url: str
    login_url: str
    pid: int
    token_file: str
    is_open: bool  # to other machines

    def to_dict(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "login_url": self.login_url,
            "pid": self.pid,
            "token_file": self.token_file,
        }


async def serve(settings: Settings, place: Place, announce: Callable[[Started], None]) -> None:
    """Until a signal comes; `announce` is called once, when requests are answered."""
    check_place(place, settings)
    with _lease(settings) as lease, listening(place) as listener:
        port = listener.getsockname()[1]
        if lease is not None:
            lease.tell(port, Site(place.host, port).url)
        async with App(settings, folder=next(iter(place.roots), None)) as app:
            await refuse_unsafe_role(app)
            await refuse_adopted_memories(app)
            with contextlib.suppress(HoldfastError):  # what waits goes on waiting, and health tells
                await app.drain()
            await _run(app, Site(place.host, port), place, listener, announce)


async def _run(
    app: App, site: Site, place: Place, listener: socket.socket, announce: Callable[[Started], None]
) -> None:
    keys, codes, stopping = Keys(app.settings.home), Codes(), asyncio.Event()
    login_url = f"{site.url}/login?code={codes.issue()}"
    _ = keys.token  # made now, so that the file is there when its name is printed
    started = Started(site.url, login_url, os.getpid(), keys.path, not is_loopback(place.host))
    http = make_http_app(
        app, site=site, keys=keys, codes=codes, roots=place.roots, stopping=stopping
    )
    await Server(http, stopping, lambda: announce(started)).serve(sockets=[listener])


class Server(uvicorn.Server):
    """Uvicorn without its log, whose addresses could name sessions, and with an end that comes."""

    def __init__(self, app: Any, stopping: asyncio.Event, when_started: Callable[[], None]):
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",  # bounds a request's head; the faster parsers take any
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=100,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._stopping, self._when_started = stopping, when_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._when_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal is the normal end: unlike in uvicorn, it is not raised again afterwards."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Streams end, answers are finished; whoever asks a second time does not want to wait for
        them.
        """
        self.force_exit = self.should_exit
        self.should_exit = True
        self._stopping.set()


# --- checks and places ----------------------------------------------------------------------------


def check_place(place: Place, settings: Settings) -> None:
    if not 0 <= place.port <= LARGEST_PORT:
        raise InvalidValueError("--port", place.port, f"is not between 0 and {LARGEST_PORT}")
    if is_wildcard(place.host):
        problem = (
            "means every address, and requests have to name one; give the one that people will use"
        )
        raise InvalidValueError("--host", place.host, problem)
    if sqlite_path(settings.database) and not is_loopback(place.host):
        raise NetworkRefusedError(place.host)


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_wildcard(host: str) -> bool:
    address = _address(host)
    return not host.strip() if address is None else address.is_unspecified


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _lease(settings: Settings) -> Any:
    """PostgreSQL takes any number of servers; a file in somebody's home takes one."""
    store = sqlite_path(settings.database)
    return Lease(store) if store else contextlib.nullcontext()


@contextlib.contextmanager
def listening(place: Place) -> Iterator[socket.socket]:
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        raise InvalidValueError("--host", place.host, "is not known on this machine") from None
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise _no_port(error, place) from error
        listener.listen(BACKLOG)
        yield listener


def _no_port(error: OSError, place: Place) -> HoldfastError:
    if error.errno == errno.EADDRINUSE:
        return PortTakenError(place.host, place.port)
    if error.errno == errno.EACCES:
        return InvalidValueError(
            "--port", place.port, "needs rights that you do not have; choose one above 1023"
        )
    return InvalidValueError(
        "--host", place.host, f"cannot be used: {(error.strerror or str(error)).lower()}"
    )


async def refuse_unsafe_role(app: App) -> None:
    """Behind a door that others can reach, row-level security is the wall."""
    if app.database.engine != "postgres":
        return
    role = await app.database.role()  # type: ignore[attr-defined]  # only this engine has roles
    if role.weakness:
        raise UnsafeRoleError(role.name, role.weakness)
