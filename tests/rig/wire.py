"""A thin client of HTTP/1.1: one connection that stays open, one request after the other.

Where fifty agents share a processor with the server that they ask, a library would cost more than
what is asked.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Wire:
    def __init__(self, url: str, token: str, context: ssl.SSLContext | None = None):
        self._parts, self._context = urlsplit(url), context
        self._usual = {"Host": self._parts.netloc, "Authorization": f"Bearer {token}"}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """On a new connection where the other side has closed the last one, as it does in the end
        with one that nobody uses.
        """
        await self._send(method, path, body, headers)
        answer = await self._read_answer()
        if answer.headers.get("connection") == "close":
            await self.close()
        return answer

    async def listen(self, path: str) -> AsyncIterator[dict[str, str]]:
        """The events of a stream until it ends, each with the fields that it has."""
        await self._send("GET", path, None, {})
        status, headers = await self._read_head()
        if status != 200:
            raise ConnectionError(f"the stream was answered with {status}")
        event = dict[str, str]()
        async for line in self._read_lines(headers):
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif event:
                yield event
                event = {}

    async def close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.transport.abort()  # without waiting for the other side to say goodbye
            with suppress(OSError):
                await writer.wait_closed()

    async def _send(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        given = {**self._usual, **headers}
        if body is not None:
            given |= {"Content-Type": "application/json"}
        if body is not None or method != "GET":
            given |= {"Content-Length": str(len(data))}
        named = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *named, "", ""])
        writer = await self._open()
        writer.write(head.encode() + data)
        await writer.drain()

    async def _open(self) -> asyncio.StreamWriter:
        if self._reader is not None and self._reader.at_eof():
            await self.close()
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                self._parts.hostname, self._parts.port, ssl=self._context
            )
        return self._writer

    async def _read_answer(self) -> Answer:
        status, headers = await self._read_head()
        if "content-length" in headers:
            return Answer(status, headers, await self._take(int(headers["content-length"])))
        parts = [part async for part in self._read_chunks()]
        return Answer(status, headers, b"".join(parts))

    async def _read_head(self) -> tuple[int, dict[str, str]]:
        assert self._reader is not None
        head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = [line.partition(":") for line in lines]
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _read_lines(self, headers: Mapping[str, str]) -> AsyncIterator[str]:
        assert headers.get("transfer-encoding") == "chunked"
        rest = b""
        async for part in self._read_chunks():
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.decode()

    async def _read_chunks(self) -> AsyncIterator[bytes]:
        assert self._reader is not None
        while size := int(await self._reader.readline(), 16):
            yield await self._take(size)
            await self._take(2)
        await self._take(2)

    async def _take(self, size: int) -> bytes:
        assert self._reader is not None
        return await self._reader.readexactly(size)


def parse(answer: Answer) -> Any:
    return json.loads(answer.body)
