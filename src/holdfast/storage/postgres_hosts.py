"""Which server to ask, where a URL names several that take over from one another.

They are tried one by one, each for its part of the time: one that is cut off does not answer at
all, and the next one may be the primary. The driver would give the whole time to the first.
"""

from __future__ import annotations

from typing import Any

import asyncpg

from holdfast.storage.postgres_errors import LOST

TARGET = "target_session_attrs"
NO_ANSWER = (*LOST, OSError)  # no route, no answer in time, and servers that take no writes


class Hosts:
    def __init__(self, url: str):
        self._urls = split_hosts(url)

    @property
    def are_several(self) -> bool:
        return len(self._urls) > 1

    async def connect(self, _: str, *, timeout: float, **options: Any) -> Any:  # noqa: ASYNC109
        """As `asyncpg.connect`, for a pool: the one that answered last is tried first."""
        seconds = timeout / len(self._urls)
        refusal: Exception | None = None
        no_answer: Exception | None = None
        for url in tuple(self._urls):
            try:
                connection = await asyncpg.connect(url, timeout=seconds, **options)
            except NO_ANSWER as error:
                no_answer = error
                self._move(url, len(self._urls))
            except asyncpg.PostgresError as error:
                refusal = error  # a standby may know the database or the role later
                self._move(url, len(self._urls))
            else:
                self._move(url, 0)
                return connection
        problem = no_answer or refusal  # the first of them may pass
        assert problem is not None
        raise problem

    def _move(self, url: str, place: int) -> None:
        self._urls.remove(url)
        self._urls.insert(place, url)


def split_hosts(url: str) -> list[str]:
    """One URL for each host; of several only one that takes writes is wanted, unless it says so."""
    scheme, separator, rest = url.partition("://")
    netloc, slash, path = rest.partition("/")
    login, at, hosts = netloc.rpartition("@")
    if "," not in hosts:
        return [url]
    if TARGET not in path:
        path += "&" if "?" in path else "?"
        path += f"{TARGET}=read-write"
    names = hosts.split(",")
    return [f"{scheme}{separator}{login}{at}{name}{slash or '/'}{path}" for name in names]
