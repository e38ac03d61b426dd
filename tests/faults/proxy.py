"""A network that loses the answer: a TCP proxy in front of PostgreSQL.

It passes everything on, until an answer to an executed statement is complete. Then the server has
committed, and by chance the client never hears of it: the connection is cut instead. Or it is a
server that fails at a given step, and is gone.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

EXECUTE, READY = ord("E"), ord("Z")
SYNC, SIMPLE = ord("S"), ord("Q")  # a step ends with one of these


class LossyProxy:
    def __init__(self, url: str, chance: random.Random):
        self.url, self._chance = url, chance
        self.loss = 0.0
        self.lost = 0
        self._server: asyncio.Server | None = None
        self._tasks = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The URL through the proxy."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        parts = urlsplit(self.url)
        try:
            netloc = f"{parts.netloc.rpartition(':')[0]}:{port}"
            yield parts._replace(netloc=netloc, query="sslmode=disable").geturl()
        finally:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.is_gone:
            try:
                await self.end()
            finally:
                writer.transport.abort()
            return
        parts = urlsplit(self.url)
        server_reader, server_writer = await asyncio.open_connection(parts.hostname, parts.port)
        connection = _Connection(self)
        ways = [
            asyncio.create_task(connection.to_server(reader, server_writer)),
            asyncio.create_task(connection.to_client(server_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for each in (writer, server_writer):
                each.transport.abort()

    is_gone = False

    async def end(self) -> None:
        """What comes before a connection is cut."""

    def fails_before_step(self) -> bool:
        return False

    def fails_after_step(self, executed: bool) -> bool:
        if not executed:
            return False
        if self._chance.random() >= self.loss:
            return False
        self.lost += 1
        return True


class FailingServer(LossyProxy):
    """Gone at step `fails_at`: before the server hears of it, or when it has done it."""

    def __init__(self, url: str, *, before: bool):
        super().__init__(url, random.Random(0))
        self.fails_at = 0
        self._before, self._steps = before, 0

    def fails_before_step(self) -> bool:
        return self._before and self._fails()

    def fails_after_step(self, executed: bool) -> bool:
        return not self._before and self._fails()

    def _fails(self) -> bool:
        """Steps are counted from when it is known where it fails."""
        self._steps += self.fails_at > 0
        self.is_gone = self.is_gone or (self.fails_at > 0 and self._steps == self.fails_at)
        return self.is_gone


class SilentServer(FailingServer):
    """Cut off instead: connections stay open, new ones are taken, and nothing is answered."""

    async def end(self) -> None:
        await asyncio.Event().wait()


class _Connection:
    """Reads along: a message is a type, a length that counts itself, and a body."""

    def __init__(self, proxy: LossyProxy):
        self._proxy = proxy
        self._executing = False

    async def to_server(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(head := await reader.readexactly(4))
        writer.write(head + await reader.readexactly(size - 4))
        while True:
            kind, message = await read_message(reader)
            if kind == EXECUTE:
                self._executing = True
            if kind in (SYNC, SIMPLE) and self._proxy.fails_before_step():
                await self._proxy.end()
                return
            writer.write(message)
            await writer.drain()

    async def to_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held = b""
        while True:
            kind, message = await read_message(reader)
            held += message
            if kind == READY:
                executed, self._executing = self._executing, False
                if self._proxy.fails_after_step(executed):
                    await self._proxy.end()
                    return
            if kind == READY or not self._executing:
                writer.write(held)
                held = b""
                await writer.drain()


async def read_message(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readexactly(5)
    return head[0], head + await reader.readexactly(int.from_bytes(head[1:]) - 4)
