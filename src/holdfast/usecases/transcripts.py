"""What a client has written down itself becomes events of its session, each once.

A hook says what it was told, and its client may tell it little, late, or nothing at all while our
program is missing or the disk is full. The transcript has it all. So it is read at the end of each
turn from where the last reading stopped, and at the next start for whatever was cut off.

The same message comes by both ways. Most have an id in common and so the same event id. The others
are matched by their type and text, tools by what they were given: the first that a hook has told in
these words is the first that the transcript has in them, and so on. What either way has told stays
noted, so that it is known when it comes again: a hook may be set up twice, and a transcript that
was cut is read anew.
"""

from __future__ import annotations

import os
import time

from holdfast.clients.contract import (
    CONTENT_BYTES,
    LEFT_OUT,
    RESTORED,
    REWOUND,
    cut_to_fit,
    make_storable,
    name_event,
)
from holdfast.clients.transcript import (
    CALL_ID,
    CUT_OFF,
    FAILED,
    INTERRUPTED,
    TURN,
    UNKNOWN,
    Record,
)
from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.ground import canonical
from holdfast.ground import light_json as json
from holdfast.ground.masking import Mask
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.usecases import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.clients.contract import Client
    from holdfast.clients.transcript import TranscriptReader
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.sessions.store import SessionStore

    State = dict[str, Any]
    # The name of a transcript, empty for the session itself; and the revision that was read.
    Saved = tuple[str, State, int]
    Mark = list[str]
    # What a record is known by where its hook has another id, else None.
    Marked = tuple[CheckedEvent, Mark | None]

BATCH_BYTES = 4 << 20
TRIES = 5
OVERTAKEN = "was overtaken by another one"
MOST_ALIASES = 100
# 2026-11-16T09:04:00
TIME_CHARS, TIME_DIGITS, TIME_MARKS = 19, 14, "--T::"
MOST_RUNNING = 50
CALL = "tool_call"
COMMIT_CHARS = 7

# In the state of a session: what its window was handed, and whether a compaction has emptied it.
HANDED, LOST = "handed", "lost"
RUNNING = "running"  # there, too: the calls that were stored before they had a result
HEAD = "head"  # there, too: what was checked out at the end of the last turn
# And when it was switched on again: what an unknown transcript has from before that stays out.
ON_SINCE = "on_since"
# In the state of a text: the events that a hook, and that the transcript has told in these words.
TOLD, READ = "told", "read"
# The row with the ids of requests that a hook has told, by those that the transcript has for them.
ALIASES = "requests/"


class CapturedSession:
    """Whose transcripts are read, and what a session that they begin is made of."""

    __slots__ = ("client", "fields", "home", "last_at", "last_new", "native_id", "reader")

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
        self.last_at = ""  # when the last thing happened of what was new
        self.last_new = ""  # the type of the last event that no hook had reported

    def is_in(self, process: Mapping[str, Any]) -> bool:
        """Whether a running program is in it."""
        native = process.get("client"), process.get("native_id")
        return native == (self.client.NAME, self.native_id)


async def capture_all(
    store: SessionStore, session: CapturedSession, path: str, until: float
) -> str:
    """Everything new in its transcripts, as far as the time allows (`time.monotonic`).

    Returns the one of the session itself; the others are those of its subagents.
    """
    sources = session.reader.find_sources(session.native_id, path)
    for source in sources:
        await capture_source(store, session, source, until)
    return sources[0]


async def capture_source(
    store: SessionStore, session: CapturedSession, source: str, until: float
) -> None:
    races = 0
    has_more = True
    while has_more and time.monotonic() < until:
        try:
            has_more = await _capture_batch(store, session, source)
        except StoreBusyError as busy:
            if busy.problem != OVERTAKEN:
                raise
            races += 1
            has_more = races < TRIES


async def skip_all(store: SessionStore, session: CapturedSession, path: str | None) -> None:
    """What its transcripts have until now is never stored; nor is it, where they turn up later."""
    from holdfast.ground import clock  # not at every end of a turn

    sources = session.reader.find_sources(session.native_id, path) if path else []
    for source in sources:
        has_more = True
        while has_more:
            has_more = await _skip_batch(store, session, source)
    native = session.client.NAME, session.native_id
    is_saved = False
    while not is_saved:
        state, revision = await store.find_capture(*native)
        new = {**state, ON_SINCE: clock.to_text(clock.now())}
        is_saved = await store.save_capture(*native, new, revision)


async def _skip_batch(store: SessionStore, session: CapturedSession, source: str) -> bool:
    native = session.client.NAME, session.native_id
    name = os.path.basename(source)
    cursor, revision = await store.find_capture(*native, name)
    batch = session.reader.read(source, cursor, BATCH_BYTES)
    if batch.cursor == cursor:
        return False
    for record in batch.records:
        # So that what a hook has told waits for no record that is skipped.
        event, mark = _mark_record(session, store.owner, record)
        if mark is not None:
            await note_text(store, native, mark, event.id, READ)
    is_saved = await store.save_capture(*native, batch.cursor, revision, name)
    return batch.has_more or not is_saved


async def _capture_batch(store: SessionStore, session: CapturedSession, source: str) -> bool:
    """Read outside of the transaction; whoever is first to store what was read has stored it."""
    name = os.path.basename(source)
    cursor, revision = await store.find_capture(session.client.NAME, session.native_id, name)
    batch = session.reader.read(source, cursor, BATCH_BYTES)
    if batch.cursor == cursor and not batch.records:
        return False
    state, state_revision = await store.find_capture(session.client.NAME, session.native_id)
    since = None if cursor else state.get(ON_SINCE)
    _date_left_out(batch.records, source)
    records = _leave_out_before(batch.records, since)
    moments = [find_moment(record.at) or "" for record in records]
    session.last_at = max([session.last_at, *moments])
    changed = dict(state)
    join_calls(changed, records)
    if not session.client.TELLS_OF_COMPACTION and any(map(_is_compaction, records)):
        changed[HANDED] = None
        changed[LOST] = True
    saved = [(name, batch.cursor, revision)]
    if changed != state:
        saved.append(("", changed, state_revision))
    marked = [_mark_record(session, store.owner, record) for record in records]

    async def store_new(inside: SessionStore, *, is_again: bool = False) -> None:
        events = await _list_unknown(inside, session, marked)
        _note_last(session, records, marked, events)
        await _count_left_out(inside, session, events)
        if is_again:
            events = await _leave_out_stored(inside, events)
        await _store_batch(inside, session, events, saved)

    try:
        await store.in_transaction(store_new)
    except (EventConflictError, SessionEndedError):
        # A hook has stored one of them in other words, or the session has ended meanwhile.
        await store.in_transaction(lambda inside: store_new(inside, is_again=True))
    if batch.forked_from:
        await capture.link_fork(store, session.client.NAME, session.native_id, batch.forked_from)
    return batch.has_more


def _date_left_out(records: Sequence[Record], source: str) -> None:
    """What could not be read has no time: that of what stands before it, or of its file. It must
    not count as the last thing that happened because it is noted now.
    """
    at = None
    for record in records:
        if record.at is None and record.parts and LEFT_OUT in record.parts:
            record.at = at or _find_change(source)
        at = record.at or at


def _find_change(source: str) -> str | None:
    try:
        changed_at = time.gmtime(os.stat(source).st_mtime)
    except (OSError, OverflowError, ValueError):
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", changed_at)


async def capture_end(
    store: SessionStore, session: CapturedSession, path: str, *, is_known: bool, is_running: bool
) -> None:
    """What the end of its transcript shows: what was running, or that a turn was not answered.

    `is_known`: it was stored before this reading. Of a session in which a program is at work, only
    what is final counts.
    """
    native = session.client.NAME, session.native_id
    if await store.find_native_id(*native) is None:
        return
    state, revision = await store.find_capture(*native)
    found = session.reader.read_end(path)
    has_spoken = session.last_new == "model_message"
    if is_known and not has_spoken:  # a hook has reported the end of the turn
        found = [record for record in found if _get_turn(record) != CUT_OFF]
    # Hooks work there, and none has reported what was said as an answer.
    is_cut_off = has_spoken and HANDED in state
    ends = [record for record in found if _resolve(record, is_cut_off)]
    records = [record for record in ends if _is_final(record) or not is_running]
    events = [_make_event(session, store.owner, record) for record in records]
    new = [event for event in events if not await store.has_event(event.id)]
    if not new:
        return
    calls = [(record.parts or {})[CALL_ID] for record in records if record.event_type == CALL]
    running = list(dict.fromkeys([*state.get(RUNNING, ()), *calls]))
    saved = [("", {**state, RUNNING: running[-MOST_RUNNING:]}, revision)] if calls else []
    await store.in_transaction(lambda tx: _store_batch(tx, session, new, saved))
    session.last_at = max([session.last_at, *(find_moment(record.at) or "" for record in records)])


async def note_head(
    store: SessionStore, session: CapturedSession, head: Mapping[str, str] | None
) -> None:
    """That HEAD has moved since the last turn: to a commit of this one, or to another branch.

    Where it was at first is known from the start of the session, and is no event.
    """
    native = session.client.NAME, session.native_id
    state, revision = await store.find_capture(*native)
    before = state.get(HEAD)
    if head is None or head == before or await store.find_native_id(*native) is None:
        return
    events = []
    if before is not None:
        parts = {HEAD: {**head, "before": before}}
        content = f"HEAD is at {head['id'][:COMMIT_CHARS]} on {head['branch'] or 'no branch'}"
        record = Record(f"{HEAD}:{revision}", "system_event", "system", content, parts)
        events.append(_make_event(session, store.owner, record))
    saved = [("", {**state, HEAD: dict(head)}, revision)]
    try:
        await store.in_transaction(lambda tx: _store_batch(tx, session, events, saved))
    except StoreBusyError as busy:
        if busy.problem != OVERTAKEN:  # else the next end of a turn has it
            raise


def _get_turn(record: Record) -> object:
    return (record.parts or {}).get(TURN)


def _resolve(record: Record, is_cut_off: bool) -> bool:
    """Whether anything is known of it. Changes it."""
    if _get_turn(record) != UNKNOWN:
        return True
    record.parts = {TURN: CUT_OFF}
    return is_cut_off


def _is_of_main(record: Record) -> bool:
    return "agent_id" not in (record.parts or {})


def _note_last(
    session: CapturedSession,
    records: Sequence[Record],
    marked: Sequence[Marked],
    unknown: Sequence[CheckedEvent],
) -> None:
    """What kind of thing the last new one was. Changes the session."""
    new = {event.id for event in unknown}
    for record, (event, _) in zip(records, marked, strict=True):
        is_news = event.id in new or record.event_type == "user_message"
        if is_news and _is_of_main(record):
            session.last_new = record.event_type


def _is_final(record: Record) -> bool:
    return _get_turn(record) in (INTERRUPTED, FAILED)


def join_calls(state: State, records: Sequence[Record]) -> None:
    """The result of a call that was stored while it ran names that. Changes both."""
    running = list(state.get(RUNNING, ()))
    for record in records:
        kind, _, call_id = record.key.partition(":")
        if kind == "tool" and call_id in running:
            running.remove(call_id)
            record.parts = {**(record.parts or {}), CALL_ID: call_id}
    if running != state.get(RUNNING, []):
        state[RUNNING] = running


async def _store_batch(
    store: SessionStore,
    session: CapturedSession,
    events: Sequence[CheckedEvent],
    saved: Sequence[Saved],
) -> None:
    native = session.client.NAME, session.native_id
    session_id = await store.find_native_id(*native)
    if session_id is None:
        events = await _leave_out_stored(store, events)
    is_late = False
    if events and session_id is None:
        has_request = any(event.type == "user_message" for event in events)
        is_late = not has_request and await capture.has_ended(store, session.fields)
        session_id = await capture.start_session(store, session.fields)
    for start in range(0, len(events), rules.EVENTS_PER_CALL):
        part = events[start : start + rules.EVENTS_PER_CALL]
        await store.append_events(session_id, part, None)
    for event in events:
        for event_ids, is_rewound in _list_changed(event):
            stored = await _list_stored(store, native, event_ids)
            await capture.mark_rewound(store, str(session_id), stored, is_rewound)
    if is_late:  # the rest of a turn that the end of its session did not wait for
        await store.end_session(session_id)
    for name, state, revision in saved:
        if not await store.save_capture(*native, state, revision, name):
            raise make_raced_error(session.native_id)


async def _list_stored(
    store: SessionStore, native: tuple[str, str], event_ids: Sequence[str]
) -> list[str]:
    """The ids under which requests were stored."""
    aliases, _ = await store.find_capture(*native, ALIASES)
    return [aliases.get(event_id, event_id) for event_id in event_ids]


async def _leave_out_stored(
    store: SessionStore, events: Sequence[CheckedEvent]
) -> list[CheckedEvent]:
    return [event for event in events if not await store.has_event(event.id)]


async def _count_left_out(
    store: SessionStore, session: CapturedSession, events: Sequence[CheckedEvent]
) -> None:
    """What could not be read, each place once, for a person who asks what is missing."""
    places = [event for event in events if _is_left_out(event)]
    new = await _leave_out_stored(store, places)
    if not new:
        return
    state, revision = await store.find_capture(session.client.NAME, "", LEFT_OUT)
    counted = {"places": state.get("places", 0) + len(new)}
    if not await store.save_capture(session.client.NAME, "", counted, revision, LEFT_OUT):
        raise make_raced_error(session.native_id)


async def count_left_out(store: SessionStore, client: str) -> int:
    """How many places of a client's transcripts could not be read."""
    state, _ = await store.find_capture(client, "", LEFT_OUT)
    return int(state.get("places", 0))


def make_raced_error(native_id: str) -> StoreBusyError:
    """Another process captures the same session; what it has stored is looked at again."""
    return StoreBusyError(f"The capture of session '{native_id}'", OVERTAKEN)


# --- which records are new ------------------------------------------------------------------------


def _leave_out_before(records: Sequence[Record], since: str | None) -> Sequence[Record]:
    """Of a transcript that is read from its beginning, in a session that was off for a time."""
    if since is None:
        return records
    return [record for record in records if (find_moment(record.at) or "") >= since]


async def _list_unknown(
    store: SessionStore, session: CapturedSession, marked: Sequence[Marked]
) -> list[CheckedEvent]:
    native = session.client.NAME, session.native_id
    unknown = []
    for event, mark in marked:
        # Most prompts were stored by their hook under the same id, with a little less in them.
        is_known = event.type == "user_message" and await store.has_event(event.id)
        if mark is not None and not is_known:
            told_as = await note_text(store, native, mark, event.id, READ)
            is_known = told_as is not None
            if told_as not in (None, event.id) and event.type == "user_message":
                await _keep_alias(store, native, event.id, str(told_as))
        if not is_known:
            unknown.append(event)
    return unknown


async def _keep_alias(
    store: SessionStore, native: tuple[str, str], event_id: str, told_as: str
) -> None:
    """The transcript takes a request back by its own id, and a hook has stored it under another."""
    aliases, revision = await store.find_capture(*native, ALIASES)
    kept = dict([*aliases.items(), (event_id, told_as)][-MOST_ALIASES:])
    if not await store.save_capture(*native, kept, revision, ALIASES):
        raise make_raced_error(native[1])


async def note_text(
    store: SessionStore, native: tuple[str, str], mark: Mark, event_id: str, way: str
) -> str | None:
    """Note that one way has told an event; its id where it is known, by this way or the other."""
    source = "/".join(mark)  # as no file is called
    state, revision = await store.find_capture(*native, source)
    known: list[str] = state.get(way, [])
    if event_id in known:
        return event_id
    noted = {**state, way: [*known, event_id]}
    if not await store.save_capture(*native, noted, revision, source):
        raise make_raced_error(native[1])
    by_other_way: list[str] = state.get(TOLD if way == READ else READ, [])
    return by_other_way[len(known)] if len(known) < len(by_other_way) else None


def _mark_record(session: CapturedSession, owner: tuple[str, str], record: Record) -> Marked:
    """Without a mark where no hook tells it, or names it as the transcript does."""
    is_named = record.event_type == "tool_result" and session.client.NAMES_TOOLS
    is_told_to_agent = bool(record.parts and record.parts.get("agent_id"))
    is_note = record.event_type == "system_event" and not is_told_to_agent
    mark = None
    if not is_named and not is_note:
        mark = mark_event(record.event_type, record.content, record.parts)
    return _make_event(session, owner, record), mark


def mark_event(event_type: str, content: str, parts: dict[str, Any] | None) -> list[str]:
    """What an event is known by where it has no id: a tool by what it was given, a message by its
    text. White space does not count: a client joins the parts of a message in more than one way.

    A tool that was stopped has answered in one way to the hook, and in another to the model.
    """
    text = " ".join(content.split())
    if parts and "tool" in parts:
        text = json.dumps([parts["tool"], parts.get("input")], sort_keys=True)
    digest = canonical.sha256(text.encode("utf-8", "replace"))
    return [event_type, digest[:12].hex()]


def _is_compaction(record: Record) -> bool:
    return bool(record.parts and record.parts.get("compaction"))


def _is_left_out(event: CheckedEvent) -> bool:
    return event.type == "system_event" and f'"{LEFT_OUT}":' in (event.parts_text or "")


def _list_changed(event: CheckedEvent) -> list[tuple[list[str], bool]]:
    """The ids of requests, and whether they are taken back by an event or are not after all."""
    text = event.parts_text or ""
    if event.type != "system_event" or not (REWOUND in text or RESTORED in text):
        return []
    parts = json.loads(text)
    changes = [(parts.get(REWOUND), True), (parts.get(RESTORED), False)]
    return [(event_ids, is_rewound) for event_ids, is_rewound in changes if event_ids]


def _make_event(session: CapturedSession, owner: tuple[str, str], record: Record) -> CheckedEvent:
    owned_id = _name_record(session, owner, record.key)
    mask = Mask(session.home)
    content, parts = capture.leave_out_shared(record.event_type, record.content, record.parts)
    content, parts = mask.mask_text(content), mask.mask_value(parts)
    for name in (REWOUND, RESTORED):
        if parts and parts.get(name):
            parts[name] = [_name_record(session, owner, key) for key in parts[name]]
    happened_at = find_moment(record.at)
    if happened_at:
        parts = {**(parts or {}), rules.HAPPENED_AT: happened_at}
    text = cut_to_fit(make_storable(content), CONTENT_BYTES)
    try:
        return rules.check_event(record.event_type, record.role, text, parts, owned_id)
    except InvalidValueError as wrong:
        # A record that cannot be kept as it is must not keep those behind it from being read.
        left_out = {LEFT_OUT: wrong.field}
        return rules.check_event("system_event", "system", text, left_out, owned_id)


def find_moment(text: str | None) -> str | None:
    """A client's time in UTC as the store writes times; None where it is none.

    By hand: `datetime` would cost every end of a turn a millisecond.
    """
    if text is None or not text.endswith("Z") or not text.isascii():
        return None
    whole, _, fraction = text[:-1].partition(".")
    digits = "".join(filter(str.isdecimal, whole))
    is_time = len(whole) == TIME_CHARS and whole[4::3] == TIME_MARKS and len(digits) == TIME_DIGITS
    if not is_time or not (fraction.isdecimal() or not fraction):
        return None
    return f"{whole}.{fraction[:6]:0<6}Z"


def _name_record(session: CapturedSession, owner: tuple[str, str], key: str) -> str:
    event_id = name_event(session.client.NAME, session.native_id, key)
    return capture.name_for_owner(*owner, event_id)
