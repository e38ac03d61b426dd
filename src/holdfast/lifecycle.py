"""What happens in a client becomes what rooms keep. Knows no client by name.

This is the hook's path, so it works on rows and loads no dataclasses.
"""

from __future__ import annotations

import os

from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.settings import Owner, sqlite_path
from holdfast.ground.worktree import find_branch, find_worktree
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, SessionEndedError
from holdfast.sessions.store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from holdfast.clients.contract import HookEvent
    from holdfast.ground.settings import Settings
    from holdfast.storage.database import Database, Row

OWNER_FIELDS = ("workspace_id", "developer_id", "user_id")
STORE_PARAMETERS = ("host", "port", "dbname", "database")


def as_record(event: HookEvent, settings: Settings, unknown: Collection[str] = ()) -> dict[str, Any]:
    """An event as it waits in the spool: everything that is needed to store it later, by anybody.

    Settings that are `unknown` because they are wrong stay open, and whoever stores it fills them in.
    """
    worktree = worktree_of(event.cwd)
    record = {
        "store": None if "HOLDFAST_DATABASE" in unknown else store_mark(settings.database, settings.home),
        **dict.fromkeys(OWNER_FIELDS),
        "client": event.client,
        "native_id": event.native_id,
        "worktree": worktree,
        "git_branch": branch_of(worktree),
        "event": {
            "id": event.event_id,
            "type": event.event_type,
            "role": event.role,
            "content": event.content,
            "parts": event.parts,
        },
    }
    return record if {"HOLDFAST_WORKSPACE", "HOLDFAST_DEVELOPER"}.intersection(unknown) else owned(record, settings)


def owned(record: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """A record whose owner was not known belongs to whom these settings name; any other is as it was."""
    if any(record[field] is not None for field in OWNER_FIELDS):
        return record
    owner = settings.owner
    values = (owner.workspace_id, owner.developer_id, settings.developer)
    event = {**record["event"], "id": _id_for(owner, record["event"]["id"])}
    return {**record, **dict(zip(OWNER_FIELDS, values, strict=True)), "event": event}


def store_mark(url: str, home: str) -> str:
    """Tells stores apart without naming them: a short hash of where a store is.

    Inside the data folder that is told from the folder, because what waits in it moves together with the store.
    """
    if path := sqlite_path(url):
        folder = os.path.join(os.path.realpath(home), "")
        place = ["home", path.removeprefix(folder)] if path.startswith(folder) else [path]
    else:
        place = _server_and_database(url)
    return ids.named_id("store", *place)[:8]


def _server_and_database(url: str) -> list[str]:
    """Of a PostgreSQL URL, and no login: another role or password does not make it another store."""
    from urllib.parse import parse_qsl, urlsplit  # a hook on SQLite never gets here

    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    database = parts.path.strip("/")
    if not database and not {"dbname", "database"}.intersection(dict(options)):
        database = dict(options).get("user") or parts.username or ""  # then it is called like the role
    named = [f"{key}={value}" for key, value in sorted(options) if key in STORE_PARAMETERS]
    return [parts.netloc.rpartition("@")[2], database, *named]


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
    except EventConflictError:
        known = await store.find_event(checked[0])
        if known is None or (known[10] is None and known[8] != checked[5]):
            raise
        # Told twice, and the first time stands in a session that has ended since (or was forgotten there).
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
        worktree=None if record["worktree"] is None else rules.check_worktree(record["worktree"]),
        git_branch=rules.check_optional_label("git_branch", record.get("git_branch")),  # an older one has none
    )


def worktree_of(folder: str) -> str | None:
    """None where a folder has a name that cannot be kept: the session is found by its native id all the same."""
    try:
        return rules.check_worktree(find_worktree(folder))
    except (InvalidValueError, ValueError):
        return None


def branch_of(worktree: str | None) -> str | None:
    """The branch that is checked out there now, as far as it can be told from files and kept."""
    try:
        return rules.check_optional_label("git_branch", worktree and find_branch(worktree))
    except InvalidValueError:
        return None


def _id_for(owner: Owner, event_id: object) -> object:
    """Two people may be told the same by one client; an id that was made by chance is one person's already."""
    if (known := ids.parse_id(event_id)) is None or known[14] == "7":
        return event_id
    return ids.named_id("event", owner.workspace_id, owner.developer_id, known)
