"""What happens in a client becomes what rooms keep. Knows no client by name.

This is the hook's path, so it works on rows and loads no dataclasses.
"""

from __future__ import annotations

from holdfast.errors import InvalidValueError, SessionEndedError
from holdfast.ground.settings import Owner
from holdfast.ground.worktree import find_worktree
from holdfast.sessions import rules
from holdfast.sessions.store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.contract import HookEvent
    from holdfast.ground.settings import Settings
    from holdfast.storage.database import Database, Row


def as_record(event: HookEvent, settings: Settings) -> dict[str, Any]:
    """An event as it waits in the spool: everything that is needed to store it later, by anybody."""
    return {
        "workspace_id": settings.owner.workspace_id,
        "developer_id": settings.owner.developer_id,
        "user_id": settings.developer,
        "client": event.client,
        "native_id": event.native_id,
        "worktree": _worktree(event.cwd),
        "event": {
            "id": event.event_id,
            "type": event.event_type,
            "role": event.role,
            "content": event.content,
            "parts": event.parts,
        },
    }


async def store_record(database: Database, owner: Owner, record: dict[str, Any]) -> None:
    """Append the event to the client's session, which is started when this is the first we hear of it."""
    store = SessionStore(database, owner)
    event = record["event"]
    checked = rules.check_event(event["type"], event["role"], event["content"], event["parts"], event["id"])
    client, native_id = (
        rules.check_label("client", record["client"]),
        rules.check_label("native_id", record["native_id"]),
    )
    session = await store.find_native(client, native_id)
    if session is None and await store.find_event(checked[0]):
        return  # told twice, and the session has ended in between
    session = session or await _start_session(store, client, native_id, record)
    try:
        await store.append_events(session[0], [checked], None)
    except SessionEndedError:  # between our look and the append
        session = await _start_session(store, client, native_id, record)
        await store.append_events(session[0], [checked], None)


def owner_of_record(record: dict[str, Any]) -> Owner:
    """Whose it is, whoever stores it."""
    return Owner(*(rules.check_label(field, record[field]) for field in ("workspace_id", "developer_id")))


async def _start_session(store: SessionStore, client: str, native_id: str, record: dict[str, Any]) -> Row:
    return await store.create_session(
        chatmode=client,
        user_id=rules.check_label("user_id", record["user_id"]),
        client=client,
        native_id=native_id,
        worktree=rules.check_optional_label("worktree", record["worktree"]),
    )


def _worktree(folder: str) -> str | None:
    """None where a folder has a name that cannot be kept: the session is found by its native id all the same."""
    try:
        return rules.check_label("worktree", find_worktree(folder))
    except (InvalidValueError, ValueError):
        return None
