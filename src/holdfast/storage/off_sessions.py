"""The sessions that a person keeps out of everything: `off.json` in the data folder.

A file of its own, because every hook asks for it, also while the store is busy.

    {CLIENT: ["0af395d8-6c4b-4446-89a7-d52beac3d8cd"]}
"""

from __future__ import annotations

import os

from holdfast.errors import InvalidValueError
from holdfast.ground import files
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    Sessions = dict[str, list[str]]

NAME = "off.json"
MAX_BYTES = 4 << 20
UNREADABLE = (
    "cannot be read, so hooks do not know which sessions are off, and store nothing. "
    "Restore it, or remove it: then every session is on"
)


class OffSessions:
    """By the client's own ids, so that one is known before anything of it is stored."""

    def __init__(self, home: str):
        self.home = home
        self.path = os.path.join(home, NAME)

    def has(self, client: str, native_id: str) -> bool:
        return native_id in self._read().get(client, ())

    def list_newest(self) -> list[tuple[str, str]]:
        """Each client's from the one that was added last on."""
        found = self._read().items()
        return [(client, native_id) for client, added in found for native_id in reversed(added)]

    def add(self, client: str, native_id: str) -> None:
        self._change(client, native_id, is_off=True)

    def remove(self, client: str, native_id: str) -> None:
        self._change(client, native_id, is_off=False)

    def _change(self, client: str, native_id: str, *, is_off: bool) -> None:
        files.private_folder(self.home)
        with files.Lock(self.path):
            sessions = self._read()
            kept = [other for other in sessions.get(client, ()) if other != native_id]
            if is_off:
                kept.append(native_id)
            text = json.dumps({**sessions, client: kept}, indent=1, sort_keys=True)
            files.write_atomic(self.path, f"{text}\n".encode())

    def _read(self) -> Sessions:
        """A file that cannot be read is an error: nothing may be captured against a person's no."""
        data = files.find_bytes(self.path, max_bytes=MAX_BYTES)
        if data is None:
            return {}
        try:
            sessions: Sessions = json.loads(data)
            return {client: list(native_ids) for client, native_ids in sessions.items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise InvalidValueError(NAME, self.path, UNREADABLE) from None
