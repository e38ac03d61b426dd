"""What happens in a client becomes an event of its session, or a change of it.

This is the path of a hook, so it loads no services. Hooks fire in every folder, so what is only
needed where one has something to store is loaded there.
"""

from __future__ import annotations

import os

from holdfast.clients.contract import (
    CALL,
    PROMPT,
    SESSION_ENDED,
    SESSION_RESUMED,
    may_hold_shared,
)
from holdfast.ground import ids
from holdfast.ground import light_json as json
from holdfast.ground.masking import Mask
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

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookEvent, HookMoment, HookOrigin
    from holdfast.ground.settings import Settings
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.database import Database

NEWS_BYTES = 1 << 18  # of a transcript that are looked through before a prompt
# In a record that was kept while no data folder was known: nobody was asked whether it is wanted.
UNASKED = "unasked"
FLAG, SETTINGS = "SHARED_CONTEXT_ENABLED", "settings.json"
SETTINGS_BYTES = 1 << 20
EXCHANGE_MARK = "exchange"  # a file in the data folder: developers here have used the exchange
CONVERSATION_KEY = '"conversation"'  # of a session's metadata, as JSON has it
_TEAM_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "team", "store.py")
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
        "worktree": locate_worktree(origin.cwd),
    }
    if origin.call_id is not None:
        processes.record_call(origin.call_id, row)
    process = process_tree.find_client_process()
    if process is None:
        return False
    before = processes.register(process, row)
    if before is None or before == row:
        return False
    there = {name: row[name] for name in ("native_id", "worktree")}
    return {**before, **there} == row


def is_wanted(settings: Settings, origin: HookOrigin) -> bool:
    """Whether hooks work where this one fired, and its session is not kept out of everything.

    Of a folder that is gone only the store knows whether they did.
    """
    if OffSessions(settings.home).has(origin.client, origin.native_id):
        return False
    return is_on_in(settings.home, origin.cwd)


def is_on_in(home: str, folder: str) -> bool:
    """Whether hooks work in a folder, as far as that is known without the store."""
    if not os.path.isdir(folder):
        return True
    return Enrolment(home).find(locate_worktree(folder)) is not None


def mark_unasked(record: dict[str, Any], folder: str) -> dict[str, Any]:
    """Of a folder that is gone it cannot be found out later to which repository it belonged."""
    if os.path.isdir(folder):
        return {**record, UNASKED: True}
    return {**record, UNASKED: True, "worktree": None}


def is_agreed(home: str, record: dict[str, Any]) -> bool:
    """Whether a record is stored now that a data folder is known; most were asked about before."""
    if not record.get(UNASKED):
        return True
    if OffSessions(home).has(record["client"], record["native_id"]):
        return False
    return Enrolment(home).find(record["worktree"]) is not None


def may_notice(home: str, moment: HookMoment) -> bool:
    """Whether to look for something to tell: at an edit, and at a prompt where notes are shared."""
    if moment.kind == CALL:
        return moment.payload.get("tool_name") in moment.client.EDIT_TOOLS
    return moment.kind == PROMPT and may_share(home)


def may_share(home: str) -> bool:
    """As far as a glance tells; the flag itself is read where notes are."""
    if os.environ.get(FLAG):
        return True
    return b'"shared_context"' in _read_own_settings(home)


def _read_own_settings(home: str) -> bytes:
    """Empty where there are none, or none that can be read: what is wrong is said by commands."""
    try:
        from holdfast.ground import files

        return files.find_bytes(os.path.join(home, SETTINGS), max_bytes=SETTINGS_BYTES) or b""
    except Exception:
        return b""


def may_exchange(settings: Settings) -> bool:
    """Whether the team exchange is on, as far as that is known without the store."""
    chosen = find_exchange_choice(settings)
    if chosen is not None:
        return chosen
    return os.path.exists(os.path.join(settings.home, EXCHANGE_MARK))


def find_exchange_choice(settings: Settings) -> bool | None:
    """What the person has chosen; None where they never did. What cannot be read is a no."""
    data = _read_own_settings(settings.home)
    if b'"team"' in data:
        try:
            chosen = json.loads(data).get("team")
        except Exception:
            return False
        if chosen is not None:
            return chosen is True
    return True if settings.is_named or has_server(settings) else None


def has_server(settings: Settings) -> bool:
    """Whether this machine may have joined a server, as far as a glance tells."""
    return bool(settings.server) or b'"server"' in _read_own_settings(settings.home)


async def look_for_exchange(app: App) -> bool:
    """The same at the start of a session, when the store is asked where the person chose nothing.

    The answer is kept in a mark, so that the hooks of this session need not ask.
    """
    if find_exchange_choice(app.settings) is not None:
        return may_exchange(app.settings)
    from holdfast.storage.queries import Room

    owner = app.settings.owner
    query = Room("team", _TEAM_FILE)["find_exchange"]
    [(is_used,)] = await app.database.read(query, owner.workspace_id, owner.developer_id)
    if bool(is_used) != may_exchange(app.settings):
        _mark_exchange(app.settings.home, is_used=bool(is_used))
    return bool(is_used)


def _mark_exchange(home: str, *, is_used: bool) -> None:
    path = os.path.join(home, EXCHANGE_MARK)
    if is_used:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    else:
        os.unlink(path)


async def is_known(app: App, origin: HookOrigin) -> bool:
    """Whether something of a session was stored, because hooks worked in its folder."""
    store = app.scope.session_store
    return await store.find_last_native(origin.client, origin.native_id) is not None


async def may_have_conversation(app: App, origin: HookOrigin) -> bool:
    """As far as a glance tells. Most sessions have none, and their hooks load nothing for it."""
    store = app.scope.session_store
    metadata = await store.find_last_metadata(origin.client, origin.native_id)
    return metadata is not None and CONVERSATION_KEY in metadata


async def has_news(app: App, client: Client, origin: HookOrigin, path: str) -> bool:
    """Whether a transcript may have something to keep that was not read, and so comes first.

    Clients write lines of their own between two turns: those are told by what they have not. A
    cursor without a position says nothing, so the reader has to look.
    """
    from holdfast.ground import files

    name = os.path.basename(path)
    store = app.scope.session_store
    cursor, _ = await store.find_capture(origin.client, origin.native_id, name)
    position = cursor.get("position", -1)
    size = os.stat(path).st_size
    if position == size:
        return False
    if not 0 <= position < size <= position + NEWS_BYTES:
        return True
    fd = files.open_regular(path, os.O_RDONLY)
    try:
        data = os.pread(fd, NEWS_BYTES, position)
    finally:
        os.close(fd)
    return any(sign in data for sign in client.NEWS)


def make_record(
    event: HookEvent, settings: Settings, unknown: Collection[str] = ()
) -> dict[str, Any]:
    """An event with everything that another process needs to store it later.

    Fields that depend on `unknown` settings stay empty; the process that stores it sets them.
    """
    worktree = locate_worktree(event.cwd)
    mask = Mask(settings.home)
    content, parts = leave_out_shared(event.event_type, event.content, event.parts)
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
            "content": mask.mask_text(content),
            "parts": mask.mask_value(parts),
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
        await _append_to_new(store, record, event)
        return
    try:
        await store.append_events(session_id, [event], None)
    except EventConflictError:
        if not await store.has_event(event.id):
            raise
        # Delivered twice, or in the transcript's words before: the first one counts.
    except SessionEndedError:  # between the look-up and the append
        await _append_to_new(store, record, event)


async def _store_unmatched(
    store: SessionStore, record: dict[str, Any], event: CheckedEvent
) -> None:
    """An event that the transcript has under an id of its own: it is known by its text there."""
    from holdfast.usecases import transcripts  # a prompt of most clients never gets here

    mark = record["event"]["mark"]
    native = record["client"], record["native_id"]

    async def store_once(inside: SessionStore) -> None:
        if await transcripts.note_text(inside, native, mark, event.id, transcripts.TOLD):
            return
        session_id = await inside.find_native_id(*native)
        if session_id is None:
            await _append_to_new(inside, record, event)
        else:
            await inside.append_events(session_id, [event], None)

    await store.in_transaction(store_once)


async def _append_to_new(store: SessionStore, record: dict[str, Any], event: CheckedEvent) -> None:
    """An answer alone is the end of a turn that its session did not wait for."""
    fields = describe_session(record)
    is_late = event.type == "model_message" and await has_ended(store, fields)
    session_id = await start_session(store, fields)
    try:
        await store.append_events(session_id, [event], None)
    except EventConflictError:
        if not await store.has_event(event.id):
            raise
    if is_late:
        await store.end_session(session_id)


async def has_ended(store: SessionStore, fields: dict[str, Any]) -> bool:
    """Whether one of this native id was there before; asked where none is open."""
    return await store.find_last_native(fields["client"], fields["native_id"]) is not None


async def _store_change(store: SessionStore, record: dict[str, Any]) -> None:
    """The end of a session, or that its client goes on with it; neither begins a new one."""
    client = rules.check_label("client", record["client"])
    native_id = rules.check_label("native_id", record["native_id"])
    if record["event"]["type"] == SESSION_ENDED:
        session_id = await store.find_native_id(client, native_id)
        if session_id is not None:
            await store.end_session(session_id)
        return
    from holdfast.sessions import changing  # it loads much, and few hooks report a change

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
    if not await has_ended(store, fields):
        return await store.start_session(**fields)
    from holdfast.sessions import changing  # only where a client goes on after an end

    session = await store.in_transaction(lambda inside: changing.start_native(inside, fields))
    return session.id


async def link_fork(store: SessionStore, client: str, native_id: str, forked_from: str) -> None:
    """A session that goes on from a copy of another one has what that one noted, too."""
    from holdfast.sessions import changing

    async def link(inside: SessionStore) -> None:
        session_id = await inside.find_native_id(client, native_id)
        if session_id is None:
            return
        origin = await inside.link_fork(session_id, forked_from)
        if origin is not None:
            await changing.continue_in(inside, session_id, origin)

    await store.in_transaction(link)


async def mark_rewound(
    store: SessionStore, session_id: str, event_ids: Sequence[str], is_rewound: bool
) -> None:
    """Requests that a person took back stay in the log, and nobody is reminded of them."""
    from holdfast.sessions import changing

    await store.in_transaction(
        lambda inside: changing.mark_rewound(inside, session_id, event_ids, is_rewound)
    )


# --- what is kept of an event ---------------------------------------------------------------------


def leave_out_shared(
    event_type: str, content: str, parts: dict[str, Any] | None
) -> tuple[str, dict[str, Any] | None]:
    """What is stored of an event, without what teammates share."""
    if event_type != "tool_result" or not may_hold_shared(content, parts or {}):
        return content, parts
    from holdfast.usecases import withholding  # few tools answer with words of others

    return withholding.withhold(content, parts or {})


def _make_mark(event: HookEvent) -> list[str] | None:
    if event.key is not None or event.event_type in (SESSION_RESUMED, SESSION_ENDED):
        return None
    from holdfast.usecases.transcripts import mark_event

    return mark_event(event.event_type, event.content, event.parts)


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
