"""One server process, from the first check to the last answer.

The order matters. A store that may not be served is refused before a port is taken; the lease comes
before the port, so that a second server reports the first one and not its port; the link is printed
when it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn

from holdfast.app import App
from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground.frozen import dataclass
from holdfast.ground.settings import Settings, sqlite_path
from holdfast.storage.errors import UnsafeRoleError
from holdfast.surfaces.http.addresses import is_loopback, is_wildcard
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.http.errors import NetworkRefusedError, PortTakenError
from holdfast.surfaces.http.guard import Site
from holdfast.surfaces.http.lease import Lease
from holdfast.surfaces.http.login import Codes
from holdfast.surfaces.http.memories import refuse_adopted_memories
from holdfast.surfaces.http.protocol import TimedProtocol
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
    names: tuple[str, ...] = ()  # of a proxy in front


@dataclass(frozen=True)
class ServerAddress:
    """What a person has to know to open the console."""

    url: str
    login_url: str
    pid: int
    token_file: str
    is_open: bool  # to other machines, without a proxy

    def to_dict(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "login_url": self.login_url,
            "pid": self.pid,
            "token_file": self.token_file,
        }


async def serve(
    settings: Settings, place: Place, announce: Callable[[ServerAddress], None]
) -> None:
    """Until a signal comes; `announce` is called once, when requests are answered."""
    check_place(place, settings)
    with _lease(settings) as lease, listening(place) as listener:
        site = Site(place.host, listener.getsockname()[1], place.names)
        if lease is not None:
            lease.tell(site.port, site.url)
        folder = next(iter(place.roots), None)
        async with App(settings, folder=folder, serves_itself=True) as app:
            await refuse_unsafe_role(app)
            if site.is_open:
                await refuse_adopted_memories(app)
            # Where the store is down, spooled events go on waiting; the health route counts them.
            with contextlib.suppress(HoldfastError):
                await app.drain()
            await _run(app, site, place, listener, announce)


async def _run(
    app: App,
    site: Site,
    place: Place,
    listener: socket.socket,
    announce: Callable[[ServerAddress], None],
) -> None:
    keys = Keys(app.settings.home)
    codes = Codes()
    stopping = asyncio.Event()
    _ = keys.token  # made now, so that the file exists when its name is printed
    started = ServerAddress(
        url=site.url,
        login_url=f"{site.url}/login?code={codes.issue()}",
        pid=os.getpid(),
        token_file=keys.path,
        is_open=not is_loopback(place.host),
    )
    http = make_http_app(
        app, site=site, keys=keys, codes=codes, roots=place.roots, stopping=stopping
    )
    server = Server(http, stopping, lambda: announce(started))
    await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    """Uvicorn without its log, whose addresses could name sessions, and with an end that comes."""

    def __init__(self, app: Any, stopping: asyncio.Event, when_started: Callable[[], None]):
        super().__init__(
            uvicorn.Config(
                app,
                http=TimedProtocol,  # h11 bounds a request's head; the faster parsers take any
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
        """Streams end, answers are finished; a second signal does not wait for them."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._stopping.set()


# --- checks and places ----------------------------------------------------------------------------


def check_place(place: Place, settings: Settings) -> None:
    if not 0 <= place.port <= LARGEST_PORT:
        raise InvalidValueError("--port", place.port, f"is not between 0 and {LARGEST_PORT}")
    if is_wildcard(place.host) and not place.names:
        problem = (
            "means every address, and requests have to name one; give the one that people will "
            "use, or the names of a proxy in HOLDFAST_SERVER_NAMES"
        )
        raise InvalidValueError("--host", place.host, problem)
    if sqlite_path(settings.database) and (place.names or not is_loopback(place.host)):
        raise NetworkRefusedError(", ".join(place.names) or place.host)


def _lease(settings: Settings) -> Any:
    """PostgreSQL takes any number of servers; a store in a file takes one."""
    store = sqlite_path(settings.database)
    if store is None:
        return contextlib.nullcontext()
    return Lease(store)


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
            raise _make_port_error(error, place) from error
        listener.listen(BACKLOG)
        yield listener


def _make_port_error(error: OSError, place: Place) -> HoldfastError:
    if error.errno == errno.EADDRINUSE:
        return PortTakenError(place.host, place.port)
    if error.errno == errno.EACCES:
        return InvalidValueError(
            "--port", place.port, "needs rights that you do not have; choose one above 1023"
        )
    reason = error.strerror or str(error)
    return InvalidValueError("--host", place.host, f"cannot be used: {reason.lower()}")


async def refuse_unsafe_role(app: App) -> None:
    """Behind a door that others can reach, row-level security is the wall."""
    if app.database.engine != "postgres":
        return
    role = await app.database.role()  # type: ignore[attr-defined]  # only this engine has roles
    if role.weakness:
        raise UnsafeRoleError(role.name, role.weakness)
