"""What changes a session's own row, each in one transaction: its metadata and its context sets.

The row is locked first, and written together with the message that listeners receive. Where nothing
changes, neither is written.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from holdfast.ground import canonical, clock
from holdfast.ground.frozen import replace
from holdfast.ground.light_typing import NamedTuple
from holdfast.sessions import context_sets, erasing, rules
from holdfast.sessions.errors import RevisionConflictError
from holdfast.sessions.model import Session, SetChange, make_session
from holdfast.sessions.requests import REWOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.sessions.store import SessionStore

CONTEXT = "caco.context"
RENAMED = "session.renamed"
CONVERSATION = "conversation"  # in a session's metadata: the id of the one that it belongs to
SAVING = "conversation_saving"  # there, too: when it was saved, offered and declined
MOST_REWOUND = 200
MOST_SESSIONS = 20
EMPTY = "{}"


class OutboxMessage(NamedTuple):
    """What listeners receive about a change, in its transaction."""

    topic: str
    data: Mapping[str, Any]


# --- metadata -------------------------------------------------------------------------------------


async def update_metadata(
    store: SessionStore,
    session_id: str,
    changes: Mapping[str, str | None],
    expected_revision: int | None,
) -> Session:
    session = await _lock_session(store, session_id)
    if expected_revision is not None and session.revision != expected_revision:
        raise RevisionConflictError(session.id, expected_revision, session.revision)
    metadata = {**session.metadata, **changes}
    kept = {key: value for key, value in metadata.items() if value is not None}
    message = None
    if "name" in changes:
        message = _make_name_message(session.id, changes["name"])
    return await _save_metadata(store, session, kept, message)


async def note_saving(
    store: SessionStore, session_id: str, before: object, after: Mapping[str, str]
) -> bool:
    """Whether it was still as before: of two that offer the same, one does."""
    session = await _lock_session(store, session_id)
    if session.metadata.get(SAVING) != before:
        return False
    metadata = {**session.metadata, SAVING: dict(after)}
    await _save_metadata(store, session, metadata, None)
    return True


async def replace_metadata(
    store: SessionStore, session_id: str, metadata: dict[str, Any]
) -> Session:
    session = await _lock_session(store, session_id)
    return await _save_metadata(store, session, metadata, None)


async def mark_rewound(
    store: SessionStore, session_id: str, event_ids: Sequence[str], is_rewound: bool
) -> None:
    """That requests were taken back, or that they were not after all.

    In each session that the same one of the client went through: one may have the request. In the
    order of their ids, as others lock them.
    """
    rows = await store.list_thread(session_id, all_branches=False)
    thread = [make_session(row) for row in rows]
    own = [session.native_id for session in thread if session.id == session_id]
    same = [session.id for session in thread if session.native_id in own]
    for each in sorted(same)[-MOST_SESSIONS:]:
        await _mark_rewound(store, each, event_ids, is_rewound)


async def _mark_rewound(
    store: SessionStore, session_id: str, event_ids: Sequence[str], is_rewound: bool
) -> None:
    session = await _lock_session(store, session_id)
    known = session.metadata.get(REWOUND, [])
    rewound = [event_id for event_id in known if event_id not in event_ids]
    if is_rewound:
        rewound += event_ids
    metadata = {**session.metadata, REWOUND: rewound[-MOST_REWOUND:]}
    await _save_metadata(store, session, metadata, None)


async def resume_session(
    store: SessionStore, session_id: str, client: str | None, native_id: str | None, apart: bool
) -> Session:
    session = await _lock_session(store, session_id)
    if session.ended_at is not None or apart:
        handed_on = _hand_to(session, client)
        session = await _start_successor(store, handed_on, native_id=native_id)
    return await _announce_resume(store, session)


def _hand_to(session: Session, client: str | None) -> Session:
    """As the client's who continues it. A name stays with a session that goes on beside it."""
    metadata = dict(session.metadata)
    if session.ended_at is None:
        metadata.pop("name", None)
    if client is None:
        return replace(session, metadata=metadata)
    chatmode = client if session.chatmode == session.client else session.chatmode
    return replace(session, client=client, chatmode=chatmode, metadata=metadata)


async def start_native(
    store: SessionStore, fields: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> Session:
    """The open session of a native id; else a new one, which continues the last of that id."""
    native = fields["client"], fields["native_id"]
    given = dict(metadata or {})
    last = await _find_last_native(store, *native)
    if last is None:
        row = await store.create_session(**fields, metadata=format_metadata(given))
        return make_session(row)
    if last.ended_at is None:
        return last
    row = await store.create_session(
        **fields,
        resumed_from=last.id,
        metadata=format_metadata({**last.metadata, **given}),
        scratchpad=await store.get_scratchpad_text(last.id),
    )
    return await _announce_resume(store, make_session(row))


async def resume_native(store: SessionStore, client: str, native_id: str) -> None:
    """A client goes on with a session of its own; one that was never seen is not begun here."""
    last = await _find_last_native(store, client, native_id)
    if last is None:
        return
    if last.ended_at is not None:
        last = await _start_successor(store, last, native_id=native_id)
    await _announce_resume(store, last)


async def _find_last_native(store: SessionStore, client: str, native_id: str) -> Session | None:
    """Locked: what is forgotten meanwhile must not live on, and of two only one continues it."""
    found = await store.find_last_native(client, native_id)
    if found is None:
        return None
    last = await _lock_session(store, make_session(found).id)
    successor = await store.find_native(client, native_id)
    if successor is not None:
        return make_session(successor)
    return last


async def _announce_resume(store: SessionStore, session: Session) -> Session:
    now = clock.to_text(clock.now())
    metadata = {**session.metadata, "lastObservedAt": now}
    data = context_sets.make_context_event("resume", session, session.context)
    message = OutboxMessage(CONTEXT, data)
    await store.mark_active(session.id)
    return await _save_metadata(store, session, metadata, message)


async def continue_in(store: SessionStore, session_id: str, left_id: str) -> Session:
    """A session that is open already gets what another left, where it has nothing of its own.

    Both are locked: what is forgotten meanwhile must not live on. In the order of their ids, so
    that two that continue each other do not wait for each other.
    """
    locked = {each: await _lock_session(store, each) for each in sorted({session_id, left_id})}
    session, left = locked[session_id], locked[left_id]
    noted = await store.get_scratchpad_text(left.id)
    if noted != EMPTY and await store.get_scratchpad_text(session.id) == EMPTY:
        await store.update_state(session.id, noted, EMPTY)
    if not session.context:
        metadata = {**session.metadata, "context": left.context}
        session = replace(session, metadata=metadata)
    return await _announce_resume(store, session)


async def clear_session(store: SessionStore, session: Session) -> None:
    await _rewrite_session(store, session, {}, {})


async def erase_text(store: SessionStore, session_id: str, text: str) -> None:
    """Every item, value and name that holds a text."""
    session = await _lock_session(store, session_id)
    scratchpad = canonical.parse_json("scratchpad", await store.get_scratchpad_text(session.id))
    metadata = erasing.remove_from_object({**session.metadata, "context": {}}, text)
    metadata["context"] = erasing.remove_from_sets(session.context, text)
    kept = erasing.remove_from_object(scratchpad, text)
    await _rewrite_session(store, session, metadata, kept)


async def _rewrite_session(
    store: SessionStore, session: Session, metadata: dict[str, Any], scratchpad: dict[str, Any]
) -> None:
    """Replace its own texts and empty what listeners received; then send them how it is now."""
    text = format_metadata(metadata)
    # As large as it was, which may be more than one update may bring.
    kept = canonical.canonical_object("scratchpad", scratchpad, max_bytes=sys.maxsize)
    await store.rewrite_session(session.id, text, kept)
    name = metadata.get("name")
    rewritten = replace(session, metadata=metadata, name=name)
    context = context_sets.make_context_event("changed", rewritten, rewritten.context)
    for message in (OutboxMessage(CONTEXT, context), _make_name_message(session.id, name)):
        data = _format_event_data(message.data)
        await store.save_metadata(session.id, text, message.topic, data)


async def _start_successor(
    store: SessionStore, old: Session, native_id: str | None = None
) -> Session:
    """Under the old session's lock: what is forgotten meanwhile must not live on in the new one."""
    scratchpad = await store.get_scratchpad_text(old.id)
    row = await store.create_session(
        chatmode=old.chatmode,
        user_id=old.user_id,
        workflow=old.workflow,
        skill=old.skill,
        git_branch=old.git_branch,
        client=old.client,
        native_id=native_id,
        repo=old.repo,
        worktree=old.worktree,
        resumed_from=old.id,
        metadata=format_metadata(old.metadata),
        scratchpad=scratchpad,
    )
    return make_session(row)


# --- context sets ---------------------------------------------------------------------------------


async def change_set(
    store: SessionStore, session_id: str, set_name: str, items: Sequence[str], mode: str
) -> SetChange:
    session = await _lock_session(store, session_id)
    change = context_sets.change_set(session.context, set_name, items, mode)
    await _save_context(store, session, change.context, change)
    return replace(change, session_id=session.id)


async def replace_context(
    store: SessionStore, session_id: str, context: dict[str, list[str]]
) -> Session:
    session = await _lock_session(store, session_id)
    before = session.context.get("files", [])
    after = context.get("files", [])
    change = context_sets.change_set({"files": before}, "files", after)
    return await _save_context(store, session, context, change)


async def _save_context(
    store: SessionStore, session: Session, context: dict[str, list[str]], change: SetChange
) -> Session:
    data = context_sets.make_context_event("changed", session, context, change)
    message = OutboxMessage(CONTEXT, data)
    metadata = {**session.metadata, "context": context}
    return await _save_metadata(store, session, metadata, message)


# --- the row --------------------------------------------------------------------------------------


async def _lock_session(store: SessionStore, session_id: str) -> Session:
    row = await store.lock_session(session_id)
    return make_session(row)


async def _save_metadata(
    store: SessionStore,
    session: Session,
    metadata: dict[str, Any],
    message: OutboxMessage | None,
) -> Session:
    """Write a locked session's metadata with the message; where nothing changes, neither."""
    if _with_context(metadata) == _with_context(session.metadata):
        return session
    text = format_metadata(metadata)
    topic = data = None
    if message is not None:
        topic = message.topic
        data = _format_event_data(message.data)
    revision = await store.save_metadata(session.id, text, topic, data)
    name = metadata.get("name")
    return replace(session, metadata=metadata, name=name, revision=revision)


def format_metadata(metadata: Mapping[str, Any]) -> str:
    return canonical.canonical_object("metadata", dict(metadata), max_bytes=rules.METADATA_BYTES)


def _format_event_data(data: Mapping[str, Any]) -> str:
    """An event may be twice as large as the metadata: it names the files of a context once more."""
    max_bytes = 2 * rules.METADATA_BYTES
    return canonical.canonical_object("event data", dict(data), max_bytes=max_bytes)


def _make_name_message(session_id: str, name: str | None) -> OutboxMessage:
    return OutboxMessage(RENAMED, {"session_id": session_id, "name": name})


def _with_context(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """No context and an empty one are the same."""
    return {"context": {}, **metadata}
