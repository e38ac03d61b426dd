"""The hash chain over a session's events.

Each event's content is hashed on its own, and the chain runs over those hashes: so the content can be erased
later and the chain still verifies. A link covers everything that identifies the event: session, number, id,
time and content hash; all of fixed width, so that nothing can be shifted from one field into the next.
"""

from __future__ import annotations

import hashlib

from holdfast.ground import canonical, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any


def content_hash(event_type: str, role: str, content: str, parts_text: str | None) -> bytes:
    parts = [event_type.encode(), role.encode(), content.encode()]
    return canonical.sha256(*parts, *([parts_text.encode()] if parts_text is not None else []))


def first_hash(session_id: str) -> bytes:
    """Where a session's chain starts: tied to the session, so that a whole log cannot be moved to another."""
    return canonical.sha256(b"holdfast session", session_id.encode())


def chain_hash(head: bytes, session_id: str, sequence: int, event_id: str, created_at: str, content: bytes) -> bytes:
    """The link that follows `head`. PostgreSQL computes the same bytes in its append function."""
    digest = hashlib.sha256(head)
    digest.update(_uuid_bytes(session_id) + sequence.to_bytes(8) + _uuid_bytes(event_id))
    digest.update(clock.microseconds(clock.from_text(created_at)).to_bytes(8) + content)
    return digest.digest()


def _uuid_bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


class ChainCheck:
    """Walks a session's events in order and notes what does not fit."""

    def __init__(self, session_id: str, tombstones: Mapping[str, bytes]):
        self.session_id, self.tombstones = session_id, tombstones
        self.head, self.sequence = first_hash(session_id), 0
        self.erased = 0
        self.damage: list[str] = []

    def walk(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self._step(*row)

    def finish(self, last_sequence: int, head_hash: bytes) -> None:
        """The session's own row has to agree with the last event."""
        if self.sequence != last_sequence:
            self.damage.append(f"the session counts {last_sequence} events, its last one is number {self.sequence}")
        elif self.head != head_hash:
            self.damage.append("the session's head hash is not that of its last event")

    def _step(
        self,
        event_id: str,
        session_id: str,
        sequence: int,
        event_type: str,
        role: str,
        content: str,
        parts_text: str | None,
        created_at: str | datetime,
        content_sum: bytes,
        link: bytes,
        erased_at: str | datetime | None,
    ) -> None:
        at = created_at if isinstance(created_at, str) else clock.to_text(created_at)
        if sequence != self.sequence + 1:
            self.damage.append(f"number {self.sequence + 1} is missing before number {sequence}")
        if erased_at is not None:
            self.erased += 1
            if content or parts_text is not None or self.tombstones.get(event_id) != content_sum:
                self.damage.append(f"number {sequence} is marked as erased, but was not erased by `holdfast forget`")
        elif content_hash(event_type, role, content, parts_text) != content_sum:
            self.damage.append(f"number {sequence} was edited: its content does not match its hash")
        if link != chain_hash(self.head, self.session_id, sequence, event_id, at, content_sum):
            self.damage.append(f"number {sequence} does not follow the one before it")
        self.head, self.sequence = link, sequence
