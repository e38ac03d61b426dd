"""What stands between a laptop and a server, and does what such things do: a real TCP proxy that
delays, cuts, buffers, repeats, or answers by itself. It keeps every byte that a laptop has sent.
"""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 60.0
PIECE = 1 << 16

# What happens to one request: it gets the request and returns the bytes of the answer; None cuts
# the connection.
Behaviour = Callable[["Upstream", bytes], bytes | None]


class Upstream:
    def __init__(self, port: int, stopping: threading.Event):
        self.port, self.stopping = port, stopping

    def ask(self, request: bytes) -> bytes:
        """The whole answer of the server, which closes after it."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS) as server:
            server.sendall(_address_to(request, self.port))
            parts = []
            while part := server.recv(PIECE):
                parts.append(part)
        return b"".join(parts)

    def pause(self, seconds: float) -> None:
        self.stopping.wait(seconds)


def pass_on(upstream: Upstream, request: bytes) -> bytes | None:
    return upstream.ask(request)


def cut_before(upstream: Upstream, request: bytes) -> bytes | None:
    return None


def cut_after(upstream: Upstream, request: bytes) -> bytes | None:
    upstream.ask(request)
    return None


def cut_inside(upstream: Upstream, request: bytes) -> bytes | None:
    answer = upstream.ask(request)
    return answer[: len(answer) - 20]


def repeat(upstream: Upstream, request: bytes) -> bytes | None:
    upstream.ask(request)
    return upstream.ask(request)


def delay(seconds: float) -> Behaviour:
    def run(upstream: Upstream, request: bytes) -> bytes | None:
        upstream.pause(seconds)
        return upstream.ask(request)

    return run


def answer_with(
    body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str
) -> Behaviour:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    return lambda upstream, request: head + body


def answer_raw(data: bytes) -> Behaviour:
    return lambda upstream, request: data


def change_body(change: Callable[[bytes], bytes]) -> Behaviour:
    """The answer of the server with another body."""

    def run(upstream: Upstream, request: bytes) -> bytes | None:
        head, _, body = upstream.ask(request).partition(b"\r\n\r\n")
        changed = change(body)
        lines = [
            line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")
        ]
        lines.append(b"content-length: %d" % len(changed))
        return b"\r\n".join(lines) + b"\r\n\r\n" + changed

    return run


class Proxy:
    """`behave` is what happens to every request; `then` is asked once for each of the next ones."""

    def __init__(self, port: int):
        self.behave: Behaviour = pass_on
        self.then: list[Behaviour] = []
        self.requests: list[bytes] = []
        self._stopping = threading.Event()
        self._upstream = Upstream(port, self._stopping)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._start(self._accept)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sent(self) -> bytes:
        """Everything that came from laptops."""
        return b"".join(self.requests)

    def list_lines(self) -> list[str]:
        """`PUT /api/team/visibility` and so on, in order."""
        lines = [request.split(b"\r\n", 1)[0].decode() for request in self.requests]
        return [line.rpartition(" ")[0].partition("?")[0] for line in lines]

    def close(self) -> None:
        self._stopping.set()
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _start(self, work: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        self._listener.settimeout(0.1)
        while not self._stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(PATIENCE_SECONDS)
            try:
                request = _read_request(client)
                if not request:
                    return
                with self._lock:
                    self.requests.append(request)
                    behave = self.then.pop(0) if self.then else self.behave
                answer = behave(self._upstream, request)
                if answer is not None:
                    client.sendall(answer)
            except OSError:
                return


def _read_request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(PIECE)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        part = client.recv(PIECE)
        if not part:
            break
        data, body = data + part, body + part
    return data


def _address_to(request: bytes, port: int) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"host:")]
    lines[1:1] = [b"Host: 127.0.0.1:%d" % port, b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
