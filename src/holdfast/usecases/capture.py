"""What happens in a client becomes an event of its session, or a change of it.

This is the path of a hook, so it loads no dataclasses. Hooks fire in every folder, so what is only
needed where one has something to store is loaded there.
"""

from __future__ import annotations

import os

from holdfast.clients.contract import SESSION_ENDED, SESSION_RESUMED
from holdfast.errors import HoldfastError
from holdfast.ground import ids
from holdfast.ground.settings import Owner
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.mark import mark_store
from holdfast.storage.off_sessions import OffSessions
from holdfast.usecases.location import locate_branch, locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from holdfast.clients.contract import HookEvent, HookOrigin
    from holdfast.ground.settings import Settings
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.database import Database

OWNER_FIELDS = ("workspace_id", "developer_id", "user_id")
OWNER_SETTINGS = {"HOLDFAST_WORKSPACE", "HOLDFAST_DEVELOPER"}


def register_process(settings: Settings, origin: HookOrigin) -> bool:
    """Say which session the program is in that has started this hook.

    Returns whether it was in another one of the same client before.
    """
    from holdfast.ground import process_tree
    from holdfast.storage.processes import Processes

    processes = Processes(settings.home)
    row = {
        "workspace": settings.workspace,
        "developer": settings.developer,
        "client": origin.client,
        "native_id": origin.native_id,
    }
    if origin.call_id is not None:
        processes.record_call(origin.call_id, row)
    process = process_tree.find_client_process()
    if process is None:
        return False
    before = processes.register(process, row)
    if before is None or before == row:
        return False
    return {**before, "native_id": origin.native_id} == row


def is_wanted(settings: Settings, origin: HookOrigin) -> bool:
    """Whether hooks work where this one fired, and its session is not kept out of everything.

    A folder that is gone belongs to a session that was captured while it was there.
    """
    if OffSessions(settings.home).has(origin.client, origin.native_id):
        return False
    if not os.path.isdir(origin.cwd):
        return True
    return Enrolment(settings.home).find(locate_worktree(origin.cwd)) is not None


def make_record(
    event: HookEvent, settings: Settings, unknown: Collection[str] = ()
) -> dict[str, Any]:
    """An event with everything that another process needs to store it later.

    Fields that depend on `unknown` settings stay empty; the process that stores it sets them.
    """
    worktree = locate_worktree(event.cwd)
    content, parts = mask_secrets(event.content, event.parts, settings.home)
    store = None
    if "HOLDFAST_DATABASE" not in unknown:
        store = mark_store(settings.database, settings.home)
    record = {
        "store": store,
        **dict.fromkeys(OWNER_FIELDS),
        "client": event.client,
        "native_id": event.native_id,
        "worktree": worktree,
        "git_branch": locate_branch(worktree),
        "event": {
            "id": event.event_id,
            "type": event.event_type,
            "role": event.role,
            "content": content,
            "parts": parts,
            "mark": _make_mark(event),
        },
    }
    if OWNER_SETTINGS.intersection(unknown):
        return record
    return with_owner(record, settings)


def with_owner(record: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """A record without an owner gets the one that these settings name; any other stays as it is."""
    if any(record[field] is not None for field in OWNER_FIELDS):
        return record
    owner = settings.owner
    event = record["event"]
    return {
        **record,
        "workspace_id": owner.workspace_id,
        "developer_id": owner.developer_id,
        "user_id": settings.developer,
        "event": {**event, "id": _name_known(owner, event["id"])},
    }


def get_owner(record: dict[str, Any]) -> Owner:
    workspace_id = rules.check_label("workspace_id", record["workspace_id"])
    developer_id = rules.check_label("developer_id", record["developer_id"])
    return Owner(workspace_id, developer_id)


async def store_record(database: Database, owner: Owner, record: dict[str, Any]) -> None:
    """Append the event to the client's session, which is started by its first event."""
    from holdfast.sessions.store import SessionStore

    store = SessionStore(database, owner)
    given = record["event"]
    if given["type"] in (SESSION_RESUMED, SESSION_ENDED):
        await _store_change(store, record)
        return
    event = rules.check_event(
        given["type"], given["role"], given["content"], given["parts"], given["id"]
    )
    client = rules.check_label("client", record["client"])
    native_id = rules.check_label("native_id", record["native_id"])
    session_id = await store.find_native_id(client, native_id)
    if session_id is None and await store.has_event(event.id):
        return  # duplicate delivery: the session ended between the two
    if given.get("mark"):
        await _store_unmatched(store, record, event)
        return
    if session_id is None:
        session_id = await start_session(store, describe_session(record))
    try:
        await store.append_events(session_id, [event], None)
    except EventConflictError:
        if not await store.has_event(event.id):
            raise
        # Delivered twice, or in the transcript's words before: the first one counts.
    except SessionEndedError:  # between the look-up and the append
        session_id = await start_session(store, describe_session(record))
        await store.append_events(session_id, [event], None)


async def _store_unmatched(
    store: SessionStore, record: dict[str, Any], event: CheckedEvent
) -> None:
    """An event that the transcript has under an id of its own: it is known by its text there."""
    from holdfast.usecases import transcripts  # a prompt of most clients never gets here

    mark = record["event"]["mark"]
    native = record["client"], record["native_id"]

    async def store_once(inside: SessionStore) -> None:
        if await inside.has_event(event.id):
            return
        state, revision = await inside.find_capture(*native)
        told, is_known = transcripts.take_told(state, mark)
        if not await inside.save_capture(*native, told, revision):
            raise transcripts.make_raced_error(record["native_id"])
        if is_known:
            return
        session_id = await inside.find_native_id(*native)
        if session_id is None:
            session_id = await start_session(inside, describe_session(record))
        await inside.append_events(session_id, [event], None)

    await store.in_transaction(store_once)


async def _store_change(store: SessionStore, record: dict[str, Any]) -> None:
    """The end of a session, or that its client goes on with it; neither begins a new one."""
    client = rules.check_label("client", record["client"])
    native_id = rules.check_label("native_id", record["native_id"])
    if record["event"]["type"] == SESSION_ENDED:
        session_id = await store.find_native_id(client, native_id)
        if session_id is not None:
            await store.end_session(session_id)
        return
    from holdfast.sessions import changing  # it loads dataclasses, and few hooks report a change

    await store.in_transaction(lambda inside: changing.resume_native(inside, client, native_id))


def describe_session(record: dict[str, Any]) -> dict[str, Any]:
    """What a session that begins with this record is made of, checked."""
    client = rules.check_label("client", record["client"])
    worktree = record["worktree"]
    if worktree is not None:
        worktree = rules.check_worktree(worktree)
    branch = record.get("git_branch")  # missing in a record of an older version
    return {
        "chatmode": client,
        "user_id": rules.check_label("user_id", record["user_id"]),
        "client": client,
        "native_id": rules.check_label("native_id", record["native_id"]),
        "worktree": worktree,
        "git_branch": rules.check_optional_label("git_branch", branch),
    }


async def start_session(store: SessionStore, fields: dict[str, Any]) -> str:
    """One that continues the last of the same native id, where there is one."""
    if await store.find_last_native(fields["client"], fields["native_id"]) is None:
        return await store.start_session(**fields)
    from holdfast.sessions import changing  # only where a client goes on after an end

    session = await store.in_transaction(lambda inside: changing.start_native(inside, fields))
    return session.id


async def mark_rewound(store: SessionStore, session_id: str, event_ids: Sequence[str]) -> None:
    """Requests that a person took back stay in the log, and nobody is reminded of them."""
    from holdfast.sessions import changing

    await store.in_transaction(lambda inside: changing.add_rewound(inside, session_id, event_ids))


# --- what is kept of an event ---------------------------------------------------------------------


def mask_secrets(
    content: str, parts: dict[str, Any] | None, home: str
) -> tuple[str, dict[str, Any] | None]:
    """A log of an agent's work holds all that passed by, keys and passwords too."""
    from holdfast.ground.redaction import find_secrets, redact, redact_value

    copied_parts, found_in_parts = redact_value(parts)
    if not found_in_parts and not find_secrets(content):
        return content, copied_parts
    key = _find_mask_key(home)  # most events need none, and so neither its file nor its code
    masked_parts, _ = redact_value(parts, key=key)
    return redact(content, key=key).text, masked_parts


def _find_mask_key(home: str) -> bytes:
    """Of the data folder, so that the same secret is known again; a random one without it."""
    from holdfast.ground.fence import fence_key

    try:
        return fence_key(home)
    except (OSError, HoldfastError):
        return os.urandom(16)


def _make_mark(event: HookEvent) -> list[str] | None:
    if event.key is not None or event.event_type in (SESSION_RESUMED, SESSION_ENDED):
        return None
    from holdfast.usecases.transcripts import mark_text

    return mark_text(event.event_type, event.content)


def _name_known(owner: Owner, event_id: object) -> object:
    known = ids.parse_id(event_id)
    if known is None:
        return event_id
    return name_for_owner(owner.workspace_id, owner.developer_id, known)


def name_for_owner(workspace_id: str, developer_id: str, event_id: str) -> str:
    """A client may report one event to two people; a random id already belongs to one person."""
    version = event_id[14]
    is_random = version == "7"
    if is_random:
        return event_id
    return ids.named_id("event", workspace_id, developer_id, event_id)
