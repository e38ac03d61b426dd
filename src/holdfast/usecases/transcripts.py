"""What a client has written down itself becomes events of its session, each once.

A hook says what it was told, and its client may tell it little, late, or nothing at all while our
program is missing or the disk is full. The transcript has it all. So it is read at the end of each
turn from where the last reading stopped, and at the next start for whatever was cut off.

The same message comes by both ways. Most have an id in common and so the same event id. The others
are matched by their type and text: what one way has told waits for the other way.
"""

from __future__ import annotations

import json
import os
import time

from holdfast.clients.contract import CONTENT_BYTES, cut_to_fit, make_storable, name_event
from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.ground import canonical
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.usecases import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.contract import Client
    from holdfast.clients.transcript import Record, TranscriptReader
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.sessions.store import SessionStore

    State = dict[str, Any]
    # The name of a transcript, empty for the session itself; and the revision that was read.
    Saved = tuple[str, State, int]

BATCH_BYTES = 4 << 20
TRIES = 5
MOST_WAITING = 50
MESSAGES = ("user_message", "model_message")

REWOUND = "rewound"  # in the parts of an event
# In the state of a session: what only a hook, and what only the transcript has told so far.
TOLD, READ, HANDED = "told", "read", "handed"


class CapturedSession:
    """Whose transcripts are read, and what a session that they begin is made of."""

    __slots__ = ("client", "fields", "home", "native_id", "reader")

    def __init__(
        self,
        client: Client,
        reader: TranscriptReader,
        native_id: str,
        fields: dict[str, Any],
        home: str,
    ):
        self.client = client
        self.reader = reader
        self.native_id = native_id
        self.fields = fields
        self.home = home


async def capture_all(
    store: SessionStore, session: CapturedSession, path: str, until: float
) -> None:
    """Everything new in its transcripts, as far as the time allows (`time.monotonic`)."""
    for source in session.reader.find_sources(session.native_id, path):
        await capture_source(store, session, source, until)


async def capture_source(
    store: SessionStore, session: CapturedSession, source: str, until: float
) -> None:
    races = 0
    has_more = True
    while has_more and time.monotonic() < until:
        try:
            has_more = await _capture_batch(store, session, source)
        except StoreBusyError:
            races += 1
            has_more = races < TRIES


async def _capture_batch(store: SessionStore, session: CapturedSession, source: str) -> bool:
    """Read outside of the transaction; whoever is first to store what was read has stored it."""
    native = session.client.NAME, session.native_id
    name = os.path.basename(source)
    cursor, read_revision = await store.find_capture(*native, name)
    state, revision = await store.find_capture(*native)
    batch = session.reader.read(source, cursor, BATCH_BYTES)
    if batch.cursor == cursor and not batch.records:
        return False
    new = dict(state)
    records = leave_out_known(new, batch.records)
    if not session.client.TELLS_OF_COMPACTION and any(map(_is_compaction, records)):
        new[HANDED] = None
    events = [_make_event(session, store.owner, record) for record in records]
    saved = [(name, batch.cursor, read_revision)]
    if new != state:
        saved.append(("", new, revision))
    try:
        await store.in_transaction(lambda tx: _store_batch(tx, session, events, saved))
    except (EventConflictError, SessionEndedError):
        # A hook has stored one of them in other words, or the session has ended meanwhile.
        await store.in_transaction(lambda tx: _store_rest(tx, session, events, saved))
    return batch.has_more


async def _store_rest(
    store: SessionStore,
    session: CapturedSession,
    events: Sequence[CheckedEvent],
    saved: Sequence[Saved],
) -> None:
    unknown = [event for event in events if not await store.has_event(event.id)]
    await _store_batch(store, session, unknown, saved)


async def _store_batch(
    store: SessionStore,
    session: CapturedSession,
    events: Sequence[CheckedEvent],
    saved: Sequence[Saved],
) -> None:
    native = session.client.NAME, session.native_id
    session_id = await store.find_native_id(*native)
    if session_id is None:
        events = [event for event in events if not await store.has_event(event.id)]
    if events and session_id is None:
        session_id = await capture.start_session(store, session.fields)
    for start in range(0, len(events), rules.EVENTS_PER_CALL):
        part = events[start : start + rules.EVENTS_PER_CALL]
        await store.append_events(session_id, part, None)
    rewound = [event_id for event in events for event_id in _list_rewound(event)]
    if rewound:
        await capture.mark_rewound(store, str(session_id), rewound)
    for name, state, revision in saved:
        if not await store.save_capture(*native, state, revision, name):
            raise make_raced_error(session.native_id)


def make_raced_error(native_id: str) -> StoreBusyError:
    """Another process captures the same session; what it has stored is looked at again."""
    return StoreBusyError(f"The capture of session '{native_id}'", "was overtaken by another one")


# --- which records are new ------------------------------------------------------------------------


def leave_out_known(state: State, records: Sequence[Record]) -> list[Record]:
    """Without those that a hook has told, which then wait no longer. Changes the state."""
    told = list(state.get(TOLD, ()))
    read = list(state.get(READ, ()))
    new = []
    for record in records:
        mark = mark_text(record.event_type, record.content)
        if mark in told:
            told.remove(mark)
            continue
        new.append(record)
        if record.event_type in MESSAGES:
            read.append(mark)
    state[TOLD] = told
    state[READ] = read[-MOST_WAITING:]
    return new


def take_told(state: State, mark: list[str]) -> tuple[State, bool]:
    """The state after a hook has told something, and whether the transcript had it already."""
    read = list(state.get(READ, ()))
    if mark in read:
        read.remove(mark)
        return {**state, READ: read}, True
    told = [*state.get(TOLD, ()), mark]
    return {**state, TOLD: told[-MOST_WAITING:]}, False


def mark_text(event_type: str, content: str) -> list[str]:
    """What a message is known by where it has no id; white space around it does not count."""
    digest = canonical.sha256(content.strip().encode("utf-8", "replace"))
    return [event_type, digest[:12].hex()]


def _is_compaction(record: Record) -> bool:
    return bool(record.parts and record.parts.get("compaction"))


def _list_rewound(event: CheckedEvent) -> list[str]:
    """The ids of the requests that an event takes back."""
    if event.type != "system_event" or REWOUND not in (event.parts_text or ""):
        return []
    found: list[str] = json.loads(event.parts_text or "{}").get(REWOUND, [])
    return found


def _make_event(session: CapturedSession, owner: tuple[str, str], record: Record) -> CheckedEvent:
    owned_id = _name_record(session, owner, record.key)
    content, parts = capture.mask_secrets(record.content, record.parts, session.home)
    if parts and parts.get(REWOUND):
        parts[REWOUND] = [_name_record(session, owner, key) for key in parts[REWOUND]]
    text = cut_to_fit(make_storable(content), CONTENT_BYTES)
    try:
        return rules.check_event(record.event_type, record.role, text, parts, owned_id)
    except InvalidValueError as wrong:
        # A record that cannot be kept as it is must not keep those behind it from being read.
        left_out = {"left_out": wrong.field}
        return rules.check_event("system_event", "system", text, left_out, owned_id)


def _name_record(session: CapturedSession, owner: tuple[str, str], key: str) -> str:
    event_id = name_event(session.client.NAME, session.native_id, key)
    return capture.name_for_owner(*owner, event_id)
