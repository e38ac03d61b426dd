"""Request bodies: JSON, bounded in size, in depth and in the time they take.

Checked before the framework looks: it would read a body of any size, and its parser falls over a
deep one. Bytes are counted as they come, because a caller need not say how many there will be, or
may say it wrongly.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from holdfast.errors import InvalidValueError
from holdfast.ground.canonical import MAX_DEPTH
from holdfast.surfaces.http.errors import TooLargeError, TooSlowError, WrongMediaTypeError
from holdfast.surfaces.http.scopes import ScopedRoute

MAX_BYTES = 1 << 20
BODY_SECONDS = 30.0
READS = frozenset({"GET", "HEAD", "OPTIONS"})
CHARSETS = ("utf-8", "utf8")
SHOWN_CHARS = 200


class JsonRoute(ScopedRoute):
    """A route whose writes take JSON and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_checked(request: Request) -> Response:
            if request.method in READS:
                return await handle(request)
            text = await _read_json(request)
            value = parse(text) if text else None
            # As the framework keeps them: it neither reads nor parses them a second time.
            request._body, request._json = text, value
            return await handle(request)

        return handle_checked


async def _read_json(request: Request) -> bytes:
    """A request without a body need not say what it is: there is nothing to take for a form."""
    media_types = request.headers.getlist("content-type")
    if media_types:
        check_media_type(media_types)
        return await read_body(request) or b"{}"
    text = await read_body(request)
    if text:
        raise WrongMediaTypeError("")
    return text


def check_media_type(given: list[str]) -> None:
    """A form or a plain text is what a foreign page can send without asking; JSON is not."""
    if len(given) != 1 or not _is_json_type(given[0]):
        raise WrongMediaTypeError(", ".join(given))


def _is_json_type(media_type: str) -> bool:
    kind, *parameters = [part.strip().lower() for part in media_type.split(";")]
    if kind != "application/json":
        return False
    named = [part for part in parameters if part.startswith("charset=")]
    charsets = [part.removeprefix("charset=").strip('"') for part in named]
    return all(charset in CHARSETS for charset in charsets)


async def read_body(request: Request, max_bytes: int = MAX_BYTES) -> bytes:
    """All of it, or a refusal as soon as it is known to be too large or too slow."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(request, max_bytes)
    except TimeoutError:
        raise TooSlowError(BODY_SECONDS) from None
    except ClientDisconnect:  # no caller is left, but half a request must not write anything
        raise InvalidValueError("Body", "…", "ended before it was complete") from None


async def _read(request: Request, max_bytes: int) -> bytes:
    announced = int(request.headers.get("content-length", 0))
    if announced > max_bytes:
        raise TooLargeError(max_bytes)
    parts = []
    size = 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise TooLargeError(max_bytes)
    return b"".join(parts)


def parse(body: bytes) -> Any:
    """The value; every way to be wrong is the same clear refusal."""
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_no_number)
    except UnicodeDecodeError as wrong:
        raise InvalidValueError("Body", "…", f"is not UTF-8 at byte {wrong.start}") from None
    except RecursionError:
        raise InvalidValueError("Body", "…", f"is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as wrong:
        raise InvalidValueError("Body", text[:SHOWN_CHARS], f"is not JSON ({wrong})") from None
    except ValueError:  # Python's own limit on digits
        raise InvalidValueError(
            "Body", "…", "holds a number of too many digits; keep it as a text"
        ) from None
    brackets = text.count("[") + text.count("{")
    if brackets > MAX_DEPTH:  # fewer cannot be too deep
        _check_depth(value)
    return value


def _no_number(name: str) -> None:
    raise InvalidValueError("Body", name, "is not a number that JSON has")


def _check_depth(value: Any) -> None:
    """Level by level, so that the depth of the value is not the depth of the stack."""
    level = [value]
    depth = 0
    while containers := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidValueError("Body", "…", f"is nested deeper than {MAX_DEPTH} levels")
        level = []
        for container in containers:
            level += _list_items(container)


def _list_items(container: dict[str, Any] | list[Any]) -> list[Any]:
    if isinstance(container, dict):
        return list(container.values())
    return container
