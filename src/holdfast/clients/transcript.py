"""What a client has written down itself, as events.

A transcript is the better half of a hook: it has what no hook was told, and it is still there when
our program was not. So at the end of each turn, and at the next start after a crash, everything new
in it is read. A reader is given the cursor that it returned last time and goes on from there; what
a cursor holds is the reader's own business, as long as it is a small JSON object.

Each record has a key that follows from ids in the transcript alone, so that reading it again, or
reading what a hook has reported before, names the same event. Where a client gives its hook and its
transcript no id in common, the key of the hook's event is None, and whoever stores both matches
them by their text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    Cursor = dict[str, Any]

    class TranscriptReader(Protocol):
        def find_sources(self, native_id: str, path: str) -> list[str]:
            """The transcript that a hook named, and those of the session's subagents."""

        def list_transcripts(
            self, folder: str, home: str, since: float
        ) -> Iterable[TranscriptFile]:
            """Those of a working tree that changed since then (seconds), newest first."""

        def read(self, path: str, cursor: Cursor, most_bytes: int) -> Batch:
            """What came after the cursor; an empty cursor stands before the first record."""


class TranscriptFile:
    """A transcript on the disk, and the session that it is about."""

    __slots__ = ("changed_at", "native_id", "path")

    def __init__(self, native_id: str, path: str, changed_at: float):
        self.native_id = native_id
        self.path = path
        self.changed_at = changed_at


class Record:
    """An event as a transcript has it."""

    __slots__ = ("content", "event_type", "key", "parts", "role")

    def __init__(
        self,
        key: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
    ):
        self.key = key
        self.event_type = event_type
        self.role = role
        self.content = content
        self.parts = parts


class Batch:
    """Records in their order, where to go on, and whether there is more to read now."""

    __slots__ = ("cursor", "damaged", "has_more", "records")

    def __init__(self, records: list[Record], cursor: Cursor, *, has_more: bool, damaged: int = 0):
        self.records = records
        self.cursor = cursor
        self.has_more = has_more
        self.damaged = damaged  # lines that could not be read
