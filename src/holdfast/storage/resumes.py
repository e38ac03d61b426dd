"""What `holdfast resume` has promised a client that it opens: `resumes.json` in the data folder.

A hook of the client takes the promise with the first text that it hands over, once. Some clients
take the id of their new session, and then only that session gets it; of the others it is the next
new one in that folder. A promise that nobody took soon is none any more.

    [{"client": NAME, "worktree": "/home/…", "native_id": null, "subject": "01a1…", "at": 1.7e9}]
"""

from __future__ import annotations

import os
import time

from holdfast.ground import files
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

NAME = "resumes.json"
MAX_BYTES = 1 << 20
LASTS_SECONDS = 600.0  # a person may have to trust a folder first
MOST = 50


@dataclass(frozen=True)
class Promise:
    """`subject`: the id of the conversation or session that the client goes on with.

    `native_id`: of the session that alone may take it; None where any new one may.
    `is_own`: the client goes on with that session itself, and has what was said in its window.
    `session`, `head`: in which it was active last, and what was checked out then; both may change
    before the client asks for the text.
    """

    client: str
    worktree: str
    subject: str
    native_id: str | None = None
    is_own: bool = False
    session: str | None = None
    head: str | None = None
    at: float = 0.0

    @property
    def place(self) -> tuple[str, str, str | None]:
        return self.client, self.worktree, self.native_id

    def is_for(self, client: str, worktree: str | None, native_id: str, *, is_new: bool) -> bool:
        if self.client != client:
            return False
        if self.native_id is not None:
            return self.native_id == native_id
        return is_new and self.worktree == worktree


class Promises:
    def __init__(self, home: str):
        self.home = home
        self.path = os.path.join(home, NAME)

    def add(self, promise: Promise) -> None:
        """In the place of an older one for the same client and folder.

        Two that name their sessions stand beside each other: two terminals were opened.
        """

        def change(known: list[Promise]) -> tuple[None, list[Promise]]:
            kept = [each for each in known if each.place != promise.place]
            made = Promise(**{**promise.__dict__, "at": time.time()})
            return None, [*kept, made][-MOST:]

        files.private_folder(self.home)
        self._change(change)

    def take(
        self, client: str, worktree: str | None, native_id: str, *, is_new: bool
    ) -> Promise | None:
        """The one for this session; nobody else gets it."""

        def change(known: list[Promise]) -> tuple[Promise | None, list[Promise]]:
            for promise in known:
                if promise.is_for(client, worktree, native_id, is_new=is_new):
                    return promise, [each for each in known if each is not promise]
            return None, known

        return self._change(change)

    def _change(self, change: Callable[[list[Promise]], tuple[T, list[Promise]]]) -> T:
        with files.Lock(self.path):
            known = self._read()
            answer, kept = change(known)
            if kept != known:
                text = json.dumps([promise.__dict__ for promise in kept])
                files.write_atomic(self.path, f"{text}\n".encode())
        return answer

    def _read(self) -> list[Promise]:
        """One that cannot be read promises nothing: its client starts as it always does."""
        data = files.find_bytes(self.path, max_bytes=MAX_BYTES)
        try:
            promises = [Promise(**each) for each in json.loads(data or b"[]")]
            now = time.time()
            return [each for each in promises if 0 <= now - each.at < LASTS_SECONDS]
        except (ValueError, TypeError, RecursionError):
            return []
