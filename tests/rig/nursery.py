"""Real processes without the price of an interpreter each.

A race between threads of one process proves little, and sixty-four interpreters take longer to
start than the race they are started for. So one process imports what is needed, opens nothing, and
forks a child whenever it is asked. A child is a process like any other: it has its own locks and
descriptors, and it can be killed, stopped and thawed.

What a child runs is a function of a module that the nursery can import; its first argument is a
line to the test.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 240.0  # only guards against hanging
CHUNK = 1 << 16


class ChildFailed(AssertionError):
    """A child met what it did not expect; the message is its traceback."""


class Line:
    """JSON values over a socket, one a line; both ends use it."""

    def __init__(self, end: socket.socket):
        self._socket = end
        self._heard = b""

    def say(self, value: object) -> None:
        self._socket.sendall(json.dumps(value).encode() + b"\n")

    def hear(self, seconds: float = PATIENCE_SECONDS) -> Any:
        """The next value; None when the other end is gone; TimeoutError when nothing came."""
        deadline = time.monotonic() + seconds
        while not self.has_more:
            if not select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"nothing was said for {seconds:g} s")
            if not self._receive():
                return None
        line, _, self._heard = self._heard.partition(b"\n")
        return json.loads(line)

    def is_called(self) -> bool:
        """Whether the other end has said something, or is gone; does not wait."""
        return self.has_more or bool(select.select([self._socket], [], [], 0)[0])

    @property
    def has_more(self) -> bool:
        """Whether a value was received that was not read yet."""
        return b"\n" in self._heard

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bool:
        try:
            data = self._socket.recv(CHUNK)
        except ConnectionResetError:  # killed with something unread
            return False
        self._heard += data
        return bool(data)


class Child:
    def __init__(self, nursery: "Nursery", pid: int, line: Line):
        self._nursery, self.pid, self._line = nursery, pid, line

    def say(self, value: object) -> None:
        self._line.say(value)

    def hear(self, seconds: float = PATIENCE_SECONDS) -> Any:
        """What the child says next; None when it is gone; its traceback is raised here."""
        value = self._line.hear(seconds)
        if isinstance(value, dict) and "traceback" in value:
            raise ChildFailed(f"process {self.pid}:\n{value['traceback']}")
        return value

    def hear_all(self) -> list[Any]:
        """Everything until it is gone."""
        return list(iter(self.hear, None))

    def hear_for(self, seconds: float) -> list[Any]:
        """Everything that is sent in so many seconds, or until it is gone."""
        deadline, heard = time.monotonic() + seconds, []
        with contextlib.suppress(TimeoutError):
            while (value := self.hear(max(0.0, deadline - time.monotonic()))) is not None:
                heard.append(value)
        return heard

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Stopped when this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        self._nursery.ask({"stopped": self.pid})

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> int:
        """Its exit code, or minus the signal that ended it; nothing of it is left."""
        self._line.close()
        return self._nursery.wait(self)

    @property
    def has_more(self) -> bool:
        return self._line.has_more

    def fileno(self) -> int:
        return self._line.fileno()


class Nursery:
    def __init__(self, preload: Sequence[str] = ()) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name, str(theirs.fileno()), *preload],
                cwd=ROOT,
                env={
                    **without_measuring(),
                    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path])),
                },
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._socket, self._line = ours, Line(ours)
        self._children = set[Child]()

    def start(self, body: Callable[..., None], *args: object, waits: bool = False) -> Child:
        """A new process that runs `body(line, *args)` and ends; if it `waits`, once it is asked to
        go.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            request = {
                "module": body.__module__,
                "name": body.__qualname__,
                "args": args,
                "waits": waits,
            }
            socket.send_fds(self._socket, [json.dumps(request).encode() + b"\n"], [theirs.fileno()])
            child = Child(self, self._line.hear()["pid"], Line(ours))
            self._children.add(child)
            return child

    def start_all(
        self, body: Callable[..., None], arguments: Sequence[Sequence[object]]
    ) -> list[Child]:
        """One process for each list of arguments; all of them are ready, and none has begun, when
        this returns.
        """
        children = [self.start(body, *args, waits=True) for args in arguments]
        for child in children:
            assert child.hear() == "ready"
        return children

    def ask(self, request: dict[str, Any]) -> Any:
        self._line.say(request)
        return self._line.hear()

    def wait(self, child: Child) -> int:
        self._children.discard(child)
        return int(self.ask({"wait": child.pid})["code"])

    def end_children(self) -> None:
        """Kill those that were not waited for: a test that failed cannot do so itself."""
        for child in list(self._children):
            child.kill()
            child.wait()

    def close(self) -> None:
        self.end_children()
        self._line.close()
        self._process.wait()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def without_measuring() -> dict[str, str]:
    """The environment of a process whose coverage is not measured: a killed one
    could not save it.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def say_to_all(children: Sequence[Child], value: object = "go") -> None:
    for child in children:
        child.say(value)


def hear_from_all(children: Sequence[Child]) -> list[Any]:
    return [child.hear() for child in children]


def hear_as_it_comes(children: Sequence[Child]) -> Iterator[tuple[Child, Any]]:
    """What each sends, in about the order of sending, until all have ended."""
    talking = list(children)
    while talking:
        readable, _, _ = select.select(talking, [], [], PATIENCE_SECONDS)
        assert readable, "nobody said anything"
        for child in readable:
            value = child.hear()
            if value is None:
                talking.remove(child)
            else:
                yield child, value
            while child.has_more:
                yield child, child.hear()


# --- the nursery's own process --------------------------------------------------------------------


def serve(control: socket.socket) -> None:
    """Fork when asked; ends when the test does."""
    line = Line(control)
    while True:
        data, fds, _, _ = socket.recv_fds(control, CHUNK, 1)
        if not data:
            break
        while not data.endswith(b"\n"):
            data += control.recv(CHUNK)
        request = json.loads(data)
        if "wait" in request:
            line.say({"code": os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])})
        elif "stopped" in request:
            _, status = os.waitpid(request["stopped"], os.WUNTRACED)
            line.say({"stopped": os.WIFSTOPPED(status)})
        else:
            line.say({"pid": fork(control, fds[0], request)})


def fork(control: socket.socket, fd: int, request: dict[str, Any]) -> int:
    importlib.import_module(request["module"])
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    control.close()
    with socket.socket(fileno=fd) as end:
        os._exit(run(Line(end), request))


def run(line: Line, request: dict[str, Any]) -> int:
    try:
        if request["waits"]:
            line.say("ready")
            line.hear()
        getattr(sys.modules[request["module"]], request["name"])(line, *request["args"])
    except BaseException:
        with contextlib.suppress(OSError):
            line.say({"traceback": traceback.format_exc()})
        return 1
    return 0


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # a child's first collection would copy every page of what was imported
    serve(socket.socket(fileno=int(sys.argv[1])))
