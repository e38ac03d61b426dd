"""How long a connection may wait for a request.

Uvicorn bounds the bytes of a request's head but not its time, and it goes on reading a body that no
request reads any more: a caller that sends a byte now and then keeps its connection for ever. Here
the time runs whenever no request is being answered; while it is, `bodies` bounds the body.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0
TOO_SLOW = b"The request's head did not come in time."


class TimedProtocol(H11Protocol):
    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        is_answering = bool(self.cycle) and not self.cycle.response_complete
        if is_answering:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()  # a request that came meanwhile ends it at once
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE:
            self._answer_too_slow()
        self.transport.close()

    def _answer_too_slow(self) -> None:
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        for event in (
            h11.Response(status_code=408, headers=headers, reason=b"Request Timeout"),
            h11.Data(data=TOO_SLOW),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
