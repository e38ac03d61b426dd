"""What the writers do while nodes fail: each acknowledges after the await has returned."""

import asyncio
import ctypes
import os
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import holdfast
from holdfast.errors import Unavailable
from holdfast.ground.ids import new_id
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.sessions.service import SessionService
from holdfast.usecases import exchange
from tests.rig.nursery import Line

WORKSPACE = "local"
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
PAUSE_SECONDS = 0.2  # before a request that failed is sent again


def write_until_told(
    line: Line, url: str, handle: str, session_id: str, seed: int, network: str | None
) -> None:
    """Says of each request what it was, when it was answered, how long it took, and each error."""
    if network is not None:
        enter_network(network)
    asyncio.run(_write(line, url, handle, session_id, random.Random(seed)))


async def _write(line: Line, url: str, handle: str, session_id: str, chance: random.Random) -> None:
    owner = owner_of(WORKSPACE, handle)
    async with holdfast.open_database(url) as database:
        scope = Scope(database, owner)
        writer = Writer(scope, SessionService(database, owner=owner), session_id)
        line.say("open")
        while not line.is_called():
            kind, request = chance.choices(writer.requests, weights=(6, 2, 1))[0]
            begin, name = time.monotonic(), new_id()
            errors = await _repeat(request, name)
            now = time.monotonic()
            line.say({"kind": kind, "name": name, "at": now, "took": now - begin, "errors": errors})


async def _repeat(request: Callable[[str], Awaitable[object]], name: str) -> list[str]:
    """As a careful caller does: the same request until it is answered. The errors until then."""
    errors = list[str]()
    while True:
        try:
            await request(name)
            return errors
        except Unavailable as error:
            errors.append(error.code)
            await asyncio.sleep(PAUSE_SECONDS)


class Writer:
    def __init__(self, scope: Scope, sessions: SessionService, session_id: str):
        self._scope, self._sessions, self._session_id = scope, sessions, session_id
        self.requests: tuple[tuple[str, Callable[[str], Awaitable[Any]]], ...] = (
            ("event", self._append),
            ("context", self._publish),
            ("claim", self._claim),
        )

    async def _append(self, name: str) -> None:
        await self._sessions.append_event(
            self._session_id, "user_message", "user", name, event_id=name
        )

    async def _publish(self, name: str) -> None:
        fields = {"title": name, "summary": "Under load.", "repo": "r", "branch": "b"}
        await exchange.publish_context(self._scope, fields, name)

    async def _claim(self, name: str) -> None:
        """And release, so that there are not too many."""
        fields = {"paths": [f"src/{name}.py"], "reason": name, "repo": "r"}
        done = await exchange.claim(self._scope, fields, name)
        await exchange.release(self._scope, done.result.id, f"release {name}")


def enter_network(file: str) -> None:
    """Into the network of a node, so that this process is cut off with it."""
    descriptor = os.open(file, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)
