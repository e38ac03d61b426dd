"""What happens in a client becomes an event of its session, or a change of it.

This is the path of a hook, so it loads no dataclasses.
"""

from __future__ import annotations

from holdfast.clients.contract import SESSION_ENDED, SESSION_RESUMED
from holdfast.ground import ids, process_tree
from holdfast.ground.settings import Owner
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.sessions.store import SessionStore
from holdfast.storage.mark import mark_store
from holdfast.storage.processes import Processes
from holdfast.usecases.location import locate_branch, locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from holdfast.clients.contract import HookEvent, HookOrigin
    from holdfast.ground.settings import Settings
    from holdfast.storage.database import Database

OWNER_FIELDS = ("workspace_id", "developer_id", "user_id")
OWNER_SETTINGS = {"HOLDFAST_WORKSPACE", "HOLDFAST_DEVELOPER"}


def register_process(settings: Settings, origin: HookOrigin) -> bool:
    """Say which session the program is in that has started this hook.

    Returns whether it was in another one of the same client before.
    """
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


def make_record(
    event: HookEvent, settings: Settings, unknown: Collection[str] = ()
) -> dict[str, Any]:
    """An event with everything that another process needs to store it later.

    Fields that depend on `unknown` settings stay empty; the process that stores it sets them.
    """
    worktree = locate_worktree(event.cwd)
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
            "content": event.content,
            "parts": event.parts,
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
        "event": {**event, "id": _make_event_id(owner, event["id"])},
    }


def get_owner(record: dict[str, Any]) -> Owner:
    workspace_id = rules.check_label("workspace_id", record["workspace_id"])
    developer_id = rules.check_label("developer_id", record["developer_id"])
    return Owner(workspace_id, developer_id)


async def store_record(database: Database, owner: Owner, record: dict[str, Any]) -> None:
    """Append the event to the client's session, which is started by its first event."""
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
    if session_id is None:
        session_id = await _start_session(store, client, native_id, record)
    try:
        await store.append_events(session_id, [event], None)
    except EventConflictError:
        if not await store.has_event(event.id, event.content_hash):
            raise
        # Duplicate delivery: the first one is in a session that has ended since.
    except SessionEndedError:  # between the look-up and the append
        session_id = await _start_session(store, client, native_id, record)
        await store.append_events(session_id, [event], None)


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


async def _start_session(
    store: SessionStore, client: str, native_id: str, record: dict[str, Any]
) -> str:
    worktree = record["worktree"]
    if worktree is not None:
        worktree = rules.check_worktree(worktree)
    branch = record.get("git_branch")  # missing in a record of an older version
    fields = {
        "chatmode": client,
        "user_id": rules.check_label("user_id", record["user_id"]),
        "client": client,
        "native_id": native_id,
        "worktree": worktree,
        "git_branch": rules.check_optional_label("git_branch", branch),
    }
    if await store.find_last_native(client, native_id) is None:
        return await store.start_session(**fields)
    from holdfast.sessions import changing  # only where a client goes on after an end

    session = await store.in_transaction(lambda inside: changing.start_native(inside, fields))
    return session.id


def _make_event_id(owner: Owner, event_id: object) -> object:
    """A client may report one event to two people; a random id already belongs to one person."""
    known = ids.parse_id(event_id)
    if known is None:
        return event_id
    version = known[14]
    is_random = version == "7"
    if is_random:
        return event_id
    return ids.named_id("event", owner.workspace_id, owner.developer_id, known)
