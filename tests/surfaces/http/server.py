"""A real `holdfast serve`: a process of its own, on a free port, with its own home."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from tests.conftest import PRIVATE_PREFIXES
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS

DEVELOPER = "fault-tester"
SERVE = (*HOLDFAST, "serve")


def environment(home: Path | str, database_url: str | None = None, **more: str) -> dict[str, str]:
    """Nothing of the person who runs the tests, and of this test only its workspace."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(PRIVATE_PREFIXES)
    }
    if "HOLDFAST_WORKSPACE" in os.environ:
        kept["HOLDFAST_WORKSPACE"] = os.environ["HOLDFAST_WORKSPACE"]
    ours = {"HOME": str(home), "HOLDFAST_HOME": str(home), "HOLDFAST_DEVELOPER": DEVELOPER}
    return {**kept, **ours, **({"HOLDFAST_DATABASE": database_url} if database_url else {}), **more}


class Server:
    """Started when its first line is read; the code that starts it stops it."""

    def __init__(
        self, home: Path | str, database_url: str | None = None, *arguments: str, **env: str
    ):
        self.home, self.database_url = Path(home), database_url
        self.process = subprocess.Popen(
            [*SERVE, "--json", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, database_url, **env),
        )
        self.started: dict[str, Any] = {}

    def wait_until_ready(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(PATIENCE_SECONDS)
            raise AssertionError(self.errors())
        self.started = json.loads(line)
        return self

    @property
    def url(self) -> str:
        url: str = self.started["url"]
        return url

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **headers: str) -> httpx.Client:
        # There is no TLS here, and reading certificates takes longer than a request.
        return httpx.Client(
            base_url=self.url,
            headers={**self.bearer, **headers},
            timeout=PATIENCE_SECONDS,
            verify=False,
        )

    def stop(self) -> int:
        """As a person does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def wait(self) -> int:
        """Until it ends by itself; its exit code."""
        code = self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        return code


@contextmanager
def run_server(
    home: Path | str, database_url: str | None = None, *arguments: str, **env: str
) -> Iterator[Server]:
    server = Server(home, database_url, *arguments, **env)
    try:
        yield server.wait_until_ready()
    finally:
        server.stop()


def create_session(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    """A new session."""
    answer = client.post("/api/sessions", json={"chatmode": "coder", **fields})
    assert answer.status_code == 201, answer.text
    session: dict[str, Any] = answer.json()
    return session


def append(
    client: httpx.Client, session_id: str, content: str = "hi", **headers: str
) -> httpx.Response:
    event = {"type": "user_message", "role": "user", "content": content}
    return client.post(f"/api/sessions/{session_id}/events", json=event, headers=headers)


def is_problem(answer: httpx.Response, status: int, code: str | None = None) -> bool:
    """A problem document with every member that the contract names."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    assert {"type", "title", "status", "detail", "code"} <= document.keys()
    assert code is None or document["code"] == code, document
    return True


def own_address() -> str:
    """An address of this machine that is not loopback; where there is none, one whose spelling does
    not tell.
    """
    addresses = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    found = {str(address[4][0]) for address in addresses}
    return min((address for address in found if not address.startswith("127.")), default="127.1")
