"""Where a person has switched Holdfast on: `folders.json` in the data folder.

Hooks are set up for a person, so they fire in every folder; they work only where `init` was run.
A folder is named by its path, because looking it up must not start git. Where nobody has run `init`
yet, somebody has wired a hook by hand, and that is a yes as well.

    {"folders": {"/home/dev/payouts": {"since": 1794902400.0}}}
"""

from __future__ import annotations

import json
import os
import time

from holdfast.ground import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "folders.json"
MAX_BYTES = 1 << 20


class Enrolment:
    """The folders of one data folder; read again each time, because a hook lives once."""

    def __init__(self, home: str):
        self.path = os.path.join(home, NAME)

    def find(self, worktree: str | None) -> dict[str, Any] | None:
        """What is known of a folder where hooks work; None where they do nothing."""
        folders = self.list_folders()
        if folders is None:
            return {"since": 0.0}
        if worktree is None:
            return None
        row: dict[str, Any] | None = folders.get(worktree)
        return row

    def list_folders(self) -> dict[str, Any] | None:
        """None where `init` was never run."""
        try:
            data = files.find_bytes(self.path, max_bytes=MAX_BYTES)
            folders = json.loads(data or b"{}").get("folders")
        except (OSError, ValueError, AttributeError, RecursionError):
            return None
        return folders if isinstance(folders, dict) else None

    def add(self, worktree: str) -> None:
        folders = self.list_folders() or {}
        folders.setdefault(worktree, {"since": time.time()})
        self._write(folders)

    def remove(self, worktree: str) -> None:
        folders = self.list_folders() or {}
        folders.pop(worktree, None)
        self._write(folders)

    def _write(self, folders: dict[str, Any]) -> None:
        text = json.dumps({"folders": folders}, indent=1, sort_keys=True)
        files.write_atomic(self.path, f"{text}\n".encode())
