"""A sandbox: processes in it reach each other over loopback and nothing else.

It is a network and a process namespace with the scripted model inside. The test that opens it
writes orders to its stdin, one line of JSON each; when that pipe closes, for whatever reason, the
sandbox ends, and everything in it with it.

    python -m tools.clients.sandbox FOLDER
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.clients.install import MissingError
from tools.clients.model import Model

ROOT = Path(__file__).parents[2]
NAMESPACES = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")
READ_FLAGS, WRITE_FLAGS, IS_UP = 0x8913, 0x8914, 0x1  # of a network device, see netdevice(7)


class Sandbox:
    """A test's end of the pipes."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process = subprocess.Popen(
            [*find_unshare(), sys.executable, "-m", "tools.clients.sandbox", str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = self._read()["port"]

    def start(self, argv: Sequence[str], env: dict[str, str], cwd: Path, output: Path) -> int:
        """The process's id in the sandbox."""
        order = {"argv": list(argv), "env": env, "cwd": str(cwd), "output": str(output)}
        return int(self._ask(start=order)["pid"])

    def wait(self, pid: int, seconds: float) -> int | None:
        """How it ended, or None when it took too long and was killed."""
        code: int | None = self._ask(wait=pid, seconds=seconds)["code"]
        return code

    def kill(self, pid: int) -> None:
        """The process and what it started in its own group."""
        self._ask(kill=pid)

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _ask(self, **order: Any) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def find_unshare() -> list[str]:
    """As root without a user namespace where that is allowed, else with one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise MissingError("unshare is missing; Debian has it in util-linux")
    said = ""
    for rights in ((), ("--map-root-user",)):
        command = [unshare, *NAMESPACES, *rights]
        done = subprocess.run([*command, "true"], capture_output=True, text=True)
        if done.returncode == 0:
            return command
        said = done.stderr.strip()
    raise MissingError(f"no namespace with loopback only can be made here: {said}")


# --- inside ---------------------------------------------------------------------------------------


class Processes:
    def __init__(self) -> None:
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, argv: list[str], env: dict[str, str], cwd: str, output: str) -> dict[str, Any]:
        with open(output, "wb") as file:
            process = subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[process.pid] = process
        return {"pid": process.pid}

    def wait(self, pid: int, seconds: float) -> dict[str, Any]:
        try:
            return {"code": self.running[pid].wait(seconds)}
        except subprocess.TimeoutExpired:
            self.kill(pid)
            return {"code": None}

    def kill(self, pid: int) -> dict[str, Any]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self.running[pid].wait()
        return {}


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = fcntl.ioctl(device, READ_FLAGS, struct.pack("16sh14x", b"lo", 0))
        _, flags = struct.unpack("16sh14x", request)
        fcntl.ioctl(device, WRITE_FLAGS, struct.pack("16sh14x", b"lo", flags | IS_UP))


def handle(processes: Processes, order: dict[str, Any]) -> dict[str, Any]:
    if "start" in order:
        return processes.start(**order["start"])
    if "wait" in order:
        return processes.wait(order["wait"], order["seconds"])
    return processes.kill(order["kill"])


def serve(folder: Path) -> None:
    bring_up_loopback()
    processes = Processes()
    print(json.dumps({"port": Model(folder).port}), flush=True)
    for line in sys.stdin:
        print(json.dumps(handle(processes, json.loads(line))), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
