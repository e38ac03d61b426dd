"""The hash chain over a session's events.

Each event's content is hashed on its own, and the chain runs over those hashes: so the content can
be erased later and the chain still verifies. A link covers everything that identifies the event:
session, number, id, time and content hash; all of fixed width, so that nothing can be shifted from
one field into the next.
"""

from __future__ import annotations

from holdfast.ground import canonical, ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any


def content_hash(event_type: str, role: str, content: str, parts_text: str | None) -> bytes:
    parts = [event_type.encode(), role.encode(), content.encode()]
    if parts_text is not None:
        parts.append(parts_text.encode())
    return canonical.sha256(*parts)


def first_hash(session_id: str) -> bytes:
    """Where a chain starts: tied to its session, so that no log can be moved to another."""
    return canonical.sha256(b"holdfast session", session_id.encode())


def chain_hash(
    head: bytes, session_id: str, sequence: int, event_id: str, created_us: int, content: bytes
) -> bytes:
    """The link that follows `head`; PostgreSQL's `context.link` computes the same bytes."""
    digest = canonical.new_sha256(head)
    digest.update(_uuid_bytes(session_id) + sequence.to_bytes(8) + _uuid_bytes(event_id))
    digest.update(created_us.to_bytes(8, signed=True) + content)
    return digest.digest()


def _uuid_bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


class ChainCheck:
    """Walks a session's events in order and notes what does not fit."""

    def __init__(self, session_id: str):
        self.session_id = session_id
        self.tombstones: dict[str, bytes] = {}
        self.head = first_hash(session_id)
        self.sequence = 0
        self.checked = 0
        self.erased = 0
        self.damage: list[str] = []

    def misses_tombstones(self, rows: Iterable[Any]) -> bool:
        """Whether a tombstone of an erased event is still to be read."""
        erased = (event_id for event_id, *_, erased_at in rows if erased_at is not None)
        return any(event_id not in self.tombstones for event_id in erased)

    def walk(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self._step(*row)
            self.checked += 1

    def finish(self, last_sequence: int, head_hash: bytes, newest: int) -> None:
        """The session's own row has to agree with the last event, and no event may follow it."""
        if self.sequence != last_sequence:
            self.damage.append(
                f"the session counts {last_sequence} events, its last one is number {self.sequence}"
            )
        elif self.head != head_hash:
            self.damage.append("the session's head hash is not that of its last event")
        if newest > last_sequence:
            self.damage.append(
                f"number {newest} was not appended: the session counts {last_sequence} events"
            )

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
        if session_id != self.session_id:
            self.damage.append(f"number {sequence} names another session in its own row")
        if sequence != self.sequence + 1:
            self.damage.append(f"number {self.sequence + 1} is missing before number {sequence}")
        if erased_at is not None:
            self.erased += 1
            is_empty = not content and parts_text is None
            if not is_empty or self.tombstones.get(event_id) != content_sum:
                self.damage.append(
                    f"number {sequence} is marked as erased, "
                    "but was not erased by `holdfast forget`"
                )
        elif content_hash(event_type, role, content, parts_text) != content_sum:
            self.damage.append(f"number {sequence} was edited: its content does not match its hash")
        if link != self._expected_link(sequence, event_id, created_at, content_sum):
            self.damage.append(f"number {sequence} does not follow the one before it")
        self.head, self.sequence = link, sequence

    def _expected_link(
        self, sequence: int, event_id: str, created_at: str | datetime, content_sum: bytes
    ) -> bytes | None:
        from holdfast.ground import clock  # only a check needs `datetime`; a hook loads this file

        if ids.parse_id(event_id) != event_id:
            return None
        try:
            if isinstance(created_at, str):
                created_at = clock.from_text(created_at)
            at = clock.microseconds(created_at)
            return chain_hash(self.head, self.session_id, sequence, event_id, at, content_sum)
        except (ValueError, OverflowError):  # an id or a time that no event of ours ever had
            return None
