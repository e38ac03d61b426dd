"""One server per store that is a file.

Two would answer with different ports and print different links for the same sessions, and a person
would stop the wrong one. The lease is a lock on a file beside the store, so that it counts from
every data folder; the kernel releases it when its holder dies, however it dies. The content of the
file only says which process holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import Any

from holdfast.ground import files
from holdfast.surfaces.http.errors import ServerRunningError

FILE_BYTES = 1000
LOOKS, LOOK_SECONDS = 40, 0.05  # a holder that just started has not written its port yet


class Lease:
    """`with Lease(store) as lease: … lease.tell(port, url)`."""

    def __init__(self, store: str):
        self.store = store
        self.path = f"{store}.lease"
        self._fd = -1

    def __enter__(self) -> Lease:
        files.private_folder(os.path.dirname(self.store))
        try:
            self._fd = files.open_regular(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise files.translate(error, self.path) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise self._make_error() from None
        self._write({"pid": os.getpid()})
        return self

    def __exit__(self, *exception: object) -> None:
        # The file stays: removing it would let two hold a lease of the same name.
        os.ftruncate(self._fd, 0)
        os.close(self._fd)

    def tell(self, port: int, url: str) -> None:
        """For a second server that is started."""
        self._write({"pid": os.getpid(), "port": port, "url": url})

    def _write(self, holder: dict[str, int | str]) -> None:
        line = json.dumps(holder) + "\n"
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, line.encode(), 0)

    def _make_error(self) -> ServerRunningError:
        holder: dict[str, Any] = {}
        for _ in range(LOOKS):
            holder = _read(self.path) or holder
            if "port" in holder:
                break
            time.sleep(LOOK_SECONDS)
        return ServerRunningError(
            self.store, holder.get("pid"), holder.get("port"), holder.get("url")
        )


def _read(path: str) -> dict[str, int | str] | None:
    """None while it is empty, half written, or not what we would write."""
    try:
        data = files.find_bytes(path, max_bytes=FILE_BYTES) or b""
        holder = json.loads(data)
    except ValueError:
        return None
    if not isinstance(holder, dict):
        return None
    kinds = {"pid": int, "port": int, "url": str}
    known = [name for name, kind in kinds.items() if isinstance(holder.get(name), kind)]
    return {name: holder[name] for name in known}
