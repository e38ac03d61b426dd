"""Where a person has switched Holdfast on: `folders.json` in the data folder.

Hooks are set up for a person, so they fire in every folder; they work only where `init` was run.
A folder is named by its path, because looking it up must not start git. Where nobody has run `init`
yet, somebody has wired a hook by hand, and that is a yes as well.

    {"folders": {"/home/dev/payouts": {"since": 1794902400.0}}}
"""

from __future__ import annotations

import os
import time

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import files
from holdfast.ground import light_json as json
from holdfast.ground.worktree import find_main_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAME = "folders.json"
MAX_BYTES = 1 << 20
UNREADABLE = (
    "cannot be read, so hooks do not know where they may work, and store nothing. Restore it, "
    "or run `holdfast init` in each repository again: a copy of it is kept beside it"
)


class Enrolment:
    """The folders of one data folder; read again each time, because a hook lives once."""

    def __init__(self, home: str):
        self.path = os.path.join(home, NAME)

    def find(self, worktree: str | None) -> dict[str, Any] | None:
        """What is known of a folder where hooks work; None where they do nothing.

        What is true of a repository is true of the working trees that are linked to it.
        """
        folders = self.list_folders()
        if folders is None:
            return {"since": 0.0}
        if worktree is None:
            return None
        row = folders.get(worktree) or folders.get(find_main_worktree(worktree))
        return row if isinstance(row, dict) else None

    def has_agreed(self, worktree: str) -> bool:
        """Whether `init` was run there; a hook that somebody has wired by hand agrees to less."""
        return self.list_folders() is not None and self.find(worktree) is not None

    def list_folders(self) -> dict[str, Any] | None:
        """None where `init` was never run; none at all where the file cannot be read."""
        try:
            return self._read()
        except HoldfastError:
            return {}

    def check(self) -> None:
        """Raise where the file cannot be read; to a hook it is then as if no folder were in it."""
        self._read()

    def _read(self) -> dict[str, Any] | None:
        try:
            data = files.find_bytes(self.path, max_bytes=MAX_BYTES)
            if data is None:
                return None
            folders = json.loads(data)["folders"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            raise InvalidValueError(NAME, self.path, UNREADABLE) from None
        if not isinstance(folders, dict):
            raise InvalidValueError(NAME, self.path, UNREADABLE)
        return folders

    def _keep_unreadable(self) -> None:
        """Which repositories are in it, a person may still read."""
        try:
            self._read()
        except HoldfastError:
            moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            os.replace(self.path, f"{self.path}.damaged-{moment}")

    def add(self, worktree: str) -> None:
        """A linked working tree stands for the repository that it is linked to."""
        name = find_main_worktree(worktree)
        self._change(lambda folders: folders.setdefault(name, {"since": time.time()}))

    def clear(self) -> None:
        """Nowhere any more. The file stays: without it, hooks would work everywhere."""
        self._change(lambda folders: folders.clear())

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        files.private_folder(os.path.dirname(self.path))
        with files.Lock(self.path):
            self._keep_unreadable()
            known = self.list_folders()
            folders = dict(known or {})
            change(folders)
            if folders != known:
                text = json.dumps({"folders": folders}, indent=1, sort_keys=True)
                files.write_atomic(self.path, f"{text}\n".encode())
