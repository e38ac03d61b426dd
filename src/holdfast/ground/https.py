"""One request and its answer, within a time that really ends.

A time-out of a socket begins anew with every byte, and looking up a host has none. So a request
runs in a thread of its own, which is left behind when its time is over: it holds nothing but its
connection. No redirect is followed and no proxy is asked; a certificate is checked as the system
says.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from holdfast.ground.origin import Origin

MOST_BYTES = 16 << 20
PIECE_BYTES = 1 << 16


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class NoAnswerError(Exception):
    """`was_sent`: the server may have done what it was asked for. `was_cut`: it, or something
    before it, ended the connection.
    """

    def __init__(self, cause: str, *, was_sent: bool, was_cut: bool = False):
        self.cause, self.was_sent, self.was_cut = cause, was_sent, was_cut
        super().__init__(cause)


def ask(
    origin: Origin,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    seconds: float,
) -> Answer:
    return _Exchange(origin, seconds).run(method, path, headers, body)


class _Exchange:
    def __init__(self, origin: Origin, seconds: float):
        self.seconds = max(seconds, 0.001)
        self.deadline = time.monotonic() + self.seconds
        self.connection = _connect(origin, self.seconds)
        self.was_sent = False
        self.answer: Answer | None = None
        self.error: NoAnswerError | None = None

    def run(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        given = (method, path, headers, body)
        thread = threading.Thread(target=self._run, args=given, daemon=True)
        thread.start()
        is_late = True
        try:
            thread.join(self.seconds)
            is_late = thread.is_alive()
        finally:
            if is_late:
                self._cut()
        if self.answer is not None:
            return self.answer
        if self.error is not None and not is_late:  # else it is we who cut the connection
            raise self.error
        cause = f"it did not answer within {self.seconds:.1f} s"
        raise NoAnswerError(cause, was_sent=self.was_sent)

    def _cut(self) -> None:
        sock = self.connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _run(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> None:
        try:
            self.connection.connect()
            self.was_sent = True
            self.connection.request(method, path, body, dict(headers))
            with self.connection.getresponse() as response:
                self.answer = self._read(response)
        except NoAnswerError as error:
            self.error = error
        except TimeoutError:
            self.error = None
        except ssl.SSLCertVerificationError as error:
            cause = f"its certificate does not count ({error.verify_message})"
            self.error = NoAnswerError(cause, was_sent=False)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = self._describe(error)
        finally:
            self.connection.close()

    def _describe(self, error: Exception) -> NoAnswerError:
        if not self.was_sent:
            cause = _name_cause(error)
            return NoAnswerError(cause, was_sent=False)
        is_cut = isinstance(error, OSError | http.client.IncompleteRead)
        is_cut = is_cut or isinstance(error, http.client.RemoteDisconnected)
        cause = "the connection was cut" if is_cut else "its answer is not HTTP"
        return NoAnswerError(cause, was_sent=True, was_cut=is_cut)

    def _read(self, response: http.client.HTTPResponse) -> Answer:
        parts: list[bytes] = []
        left = MOST_BYTES + 1
        while left and (part := response.read(min(left, PIECE_BYTES))):
            parts.append(part)
            left -= len(part)
            if time.monotonic() > self.deadline:
                raise TimeoutError
        if not left:
            cause = f"its answer is longer than {MOST_BYTES:,} bytes"
            raise NoAnswerError(cause, was_sent=True)
        if response.length:
            raise NoAnswerError("the connection was cut", was_sent=True, was_cut=True)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, b"".join(parts))


def _connect(origin: Origin, seconds: float) -> http.client.HTTPConnection:
    if not origin.is_encrypted:
        return http.client.HTTPConnection(origin.host, origin.port, timeout=seconds)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(origin.host, origin.port, timeout=seconds, context=context)


def _name_cause(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "its name is unknown here"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "no connection"
