"""Conversations and the sessions that they are made of.

A conversation is a folder; what is said in it is in the log of its session. The log gets every turn
as it ends, so that a crash loses nothing; the folder gets what is new when it is saved, paused or
completed, so that git is not changed by every message. A session names its conversation, and one
that continues it belongs to the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext

from holdfast.clients import find_client
from holdfast.clients.opening import get_opening
from holdfast.clients.setup import find_setup
from holdfast.conversations.commanding import find_begun
from holdfast.conversations.errors import ConversationNotFoundError, NoConversationError
from holdfast.conversations.model import ACTIVE, COMPLETED, PAUSED, AgentConfig, Message
from holdfast.conversations.service import ConversationService
from holdfast.conversations.store import FOLDER, ConversationFiles, ConversationPlace
from holdfast.ground import canonical, clock, files
from holdfast.ground.folder import open_folder
from holdfast.ground.frozen import replace
from holdfast.ground.git_commit import commit_paths
from holdfast.ground.git_repository import find_repository, list_earlier_names
from holdfast.ground.masking import Mask
from holdfast.ground.off_loop import off_loop
from holdfast.ground.user_settings import load_user_settings
from holdfast.sessions import requests
from holdfast.sessions.changing import CONVERSATION
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.usecases import offering, setting_up
from holdfast.usecases.catching_up import list_transcripts
from holdfast.usecases.location import locate_head
from holdfast.usecases.observing import observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin
    from holdfast.clients.setup import SetupPlace
    from holdfast.conversations.model import Conversation, Saved
    from holdfast.ground.git_repository import Repository
    from holdfast.sessions.model import Session, SessionEvent

KIND = "conversation"  # of what is recorded about removals
SWITCH, MESSAGES_SWITCH = "conversations", "conversation_messages"
NAME_CHARS = 16
MOST_TOOLS, MOST_FILES = 50, 200
LAST_REQUESTS = 50  # among which a command is looked for that began a conversation
COMMAND_BYTES = 1 << 20


def open_conversations(app: App, worktree: str) -> ConversationService:
    """Those of a repository: in it where the person said yes, and in the data folder."""
    home = app.settings.home
    repository = find_repository(worktree)
    if repository is None:
        alone = _make_private(home, os.path.realpath(worktree))
        return ConversationService(ConversationFiles([alone]), Mask(home))
    name, chosen = repository.repo, load_user_settings(home)
    private = _make_private(home, name)
    earlier = _list_earlier(home, repository, private)
    shared = ConversationPlace(repository.root, FOLDER, is_shared=True)
    is_in_repository = bool(chosen.find_switch(name, SWITCH))
    places = (shared, private) if is_in_repository else (private, shared)
    tracks = bool(chosen.find_switch(name, MESSAGES_SWITCH))
    files = ConversationFiles([*places, *earlier], tracks_messages=tracks)
    return ConversationService(files, Mask(home))


def _make_private(home: str, name: str) -> ConversationPlace:
    key = canonical.sha256(name.encode("utf-8", "surrogateescape")).hex()[:NAME_CHARS]
    return ConversationPlace(home, f"{FOLDER}/{key}", is_shared=False)


def _list_earlier(
    home: str, repository: Repository, private: ConversationPlace
) -> list[ConversationPlace]:
    """Those that began before the repository had a remote or a commit, and so another name.

    Git is asked only where there is anything but what belongs to the name that it has now.
    """
    with open_folder(home, FOLDER) or nullcontext() as kept:
        keys = {f"{FOLDER}/{key}" for key in kept.list_names()} if kept else set()
    if not keys - {private.folder}:
        return []
    found = [_make_private(home, name) for name in list_earlier_names(repository)]
    return [place for place in found if place.folder in keys]


def open_everywhere(app: App, worktrees: Iterable[str]) -> ConversationService:
    """Every one in the data folder, and those in the repositories of some working trees."""
    home = app.settings.home
    with open_folder(home, FOLDER) or nullcontext() as private:
        keys = private.list_names() if private else []
    places = [ConversationPlace(home, f"{FOLDER}/{key}", is_shared=False) for key in keys]
    repositories = [find_repository(worktree) for worktree in worktrees]
    roots = {repository.root for repository in repositories if repository}
    places += [ConversationPlace(root, FOLDER, is_shared=True) for root in sorted(roots)]
    return ConversationService(ConversationFiles(places), Mask(home))


# --- beginning and finding ------------------------------------------------------------------------


async def begin_conversation(
    app: App, worktree: str, type_: str, title: str, session: Session | None
) -> Conversation:
    """A new one, in the session that goes on now, if one does."""
    service = open_conversations(app, worktree)
    facts = {}
    if session is not None:
        config = await describe_agent(app, session, f"/workspace.{type_}", worktree)
        facts = {"session_id": session.id, "client": session.client, "agent_config": config}
    made = await service.create_conversation(type_, title, **facts)
    if session is not None:
        await app.scope.sessions.link_conversation(session.id, made.id)
    return made


async def begin_as_asked(app: App, worktree: str, session: Session, request: str) -> None:
    """The conversation of a command that a person has typed in a client; once."""
    begun = find_begun(request)
    if begun is None:
        return
    service = open_conversations(app, worktree)
    known = await find_conversation(app, service, session)
    if known is None or (known.type, known.title) != (begun.type, begun.title):
        await begin_conversation(app, worktree, begun.type, begun.title, session)


async def begin_in_client(app: App, origin: HookOrigin, request: str) -> None:
    session = await app.scope.sessions.find_native_session(origin.client, origin.native_id)
    if session is not None and session.worktree is not None:
        await begin_as_asked(app, session.worktree, session, request)


async def find_conversation(
    app: App, service: ConversationService, session: Session
) -> Conversation | None:
    """The one that a session belongs to, or one that it continues."""
    thread = await app.scope.sessions.list_thread(session.id)
    for each in reversed(thread):
        linked = each.metadata.get(CONVERSATION)
        if isinstance(linked, str):
            try:
                return await service.get_conversation(linked)
            except ConversationNotFoundError:  # its folder was removed, renamed or archived
                continue
    return None


async def choose_current(
    app: App, service: ConversationService, session: Session | None, wanted: str | None
) -> tuple[Conversation, Session | None]:
    """The conversation that is named, else that of the session; and the session that it is in."""
    if wanted is not None:
        named = await service.get_conversation(wanted)
        of = await find_session_of(app, named)
        if of is None and session is not None:  # the folder names one of another machine
            own = await find_conversation(app, service, session)
            of = session if own is not None and own.id == named.id else None
        return named, of
    found = await find_conversation(app, service, session) if session else None
    if found is None and session is not None and session.worktree is not None:
        asked = await app.scope.sessions.list_requests(session.id, LAST_REQUESTS)
        last = next((each.content for each in asked if find_begun(each.content)), "")
        await begin_as_asked(app, session.worktree, session, last)
        found = await find_conversation(app, service, session)
    if found is None:
        raise NoConversationError
    return found, session


async def find_session_of(app: App, conversation: Conversation) -> Session | None:
    """The newest one of its thread; None where this machine has none of it."""
    if conversation.session_id is None:
        return None
    try:
        thread = await app.scope.sessions.list_thread(conversation.session_id)
    except SessionNotFoundError:
        return None
    return thread[-1]


async def record_change(app: App, conversation_id: str, change: str) -> None:
    """What a person asked to be removed or moved is recorded before it is done."""
    await app.scope.journal.add(KIND, [conversation_id], {"change": change})


# --- saving ---------------------------------------------------------------------------------------


async def save_conversation(
    app: App,
    worktree: str,
    session: Session | None,
    wanted: str | None = None,
    *,
    summary: str | None = None,
    status: str = ACTIVE,
) -> Saved:
    """Write what was said in a conversation into its folder."""
    service = open_conversations(app, worktree)
    conversation, of = await choose_current(app, service, session, wanted)
    if of is None:
        return await service.save_conversation(conversation.id, (), summary=summary, status=status)
    head = locate_head(worktree)
    began_at = clock.now()  # what is said from now on may not be in the folder
    saved = await service.save_conversation(
        conversation.id,
        await gather_messages(app, of, conversation.id),
        summary=summary,
        status=status,
        agent_config=await describe_agent(app, of, conversation.agent_config.command, worktree),
        files=tuple(await list_edited(app, of, worktree)),
        session_id=of.id,
        client=of.client,
        git_head=head["id"] if head else None,
    )
    await offering.note_saved(app, of.id, conversation.id, began_at)
    return saved


async def pause_as_asked(
    app: App, origin: HookOrigin, asked_at: datetime, *, is_end: bool = False
) -> None:
    """After the person's command to stop: an agent may forget the call, or answer after it.

    `is_end`: of the session, whose turn may have been interrupted.
    """
    session = await app.scope.sessions.find_native_session(origin.client, origin.native_id)
    if session is None or session.worktree is None:
        return
    service = open_conversations(app, session.worktree)
    known = await find_conversation(app, service, session)
    if known is None or (is_end and offering.was_saved_after(session, known, asked_at)):
        return
    status = COMPLETED if known.status == COMPLETED else PAUSED
    await save_conversation(app, session.worktree, session, known.id, status=status)


def commit_conversation(worktree: str, saved: Saved) -> str | None:
    """One commit of the document and its session, where they are in the repository."""
    title = saved.conversation.title
    return commit_paths(worktree, saved.paths, f"Save conversation: {title}")


async def gather_messages(
    app: App, session: Session, conversation_id: str | None = None
) -> list[Message]:
    """What the person and the agent said to each other, in every session of the thread.

    And in those beside it that belong to the conversation: two clients may go on with one at once.
    """
    sessions = await app.scope.sessions.list_thread(session.id)
    if conversation_id is not None:
        known = {each.id for each in sessions}
        related = await app.scope.sessions.list_related_sessions(session.id)
        linked = [each for each in related if each.metadata.get(CONVERSATION) == conversation_id]
        sessions += [each for each in linked if each.id not in known]
    messages = []
    for each in sessions:
        rewound = each.metadata.get(requests.REWOUND) or ()
        events = [event async for event in app.scope.sessions.read_events(each.id)]
        taken_back = requests.list_taken_back(events, rewound)
        said = [event for event in events if event.id not in taken_back]
        messages += [_make_message(event, each.client) for event in said if _is_message(event)]
    return messages


async def mark_others(app: App, messages: Sequence[Message]) -> list[Message]:
    """Messages of a folder in the repository: those that this machine has no log of are of others.

    A line can name any event: the words are those of the log, and what was erased there stays so.
    """
    known = await app.scope.sessions.find_events(message.id for message in messages)
    marked = []
    for message in messages:
        event = known.get(message.id)
        if event is None:
            marked.append(replace(message, is_own=False))
        elif _is_message(event):
            marked.append(_make_message(event, message.client))
    return marked


def _is_message(event: SessionEvent) -> bool:
    """Without what was erased, what a subagent was told or said, and our own prompts."""
    if event.erased_at is not None or requests.name_speaker(event.type, event.role, event.parts):
        return False
    if event.type == "model_message":
        return bool(event.content)
    return event.type == requests.USER_MESSAGE and requests.is_request(event.content, event.parts)


def _make_message(event: SessionEvent, client: str | None) -> Message:
    role = "user" if event.type == requests.USER_MESSAGE else "assistant"
    return Message(event.id, role, event.content, event.happened_at, client)


async def list_edited(app: App, session: Session, worktree: str) -> list[str]:
    """The files of the working tree that were edited in the sessions of the thread."""
    from holdfast.bundles.seen import name_inside  # not at a prompt

    thread = await app.scope.sessions.list_thread(session.id)
    digests = await observe(app.scope.sessions, thread, worktree)
    edited = [file.path for digest in digests for file in digest.files]
    names = await off_loop(lambda: {name_inside(path, worktree) for path in edited})
    return sorted(names - {""})[:MOST_FILES]


async def describe_agent(app: App, session: Session, command: str, worktree: str) -> AgentConfig:
    """The tools are those that the transcript shows in use, the model the one it names last."""
    used: dict[str, None] = {}
    async for event in app.scope.sessions.read_events(session.id):
        tool = (event.parts or {}).get("tool") if event.type == "tool_result" else None
        if isinstance(tool, str) and len(used) < MOST_TOOLS:
            used[tool] = None
    client = find_client(session.client) if session.client else None
    if client is None:
        return AgentConfig(command, tools=tuple(sorted(used)))
    place = setting_up.make_place(app.settings, worktree, (), os.environ)
    model = await off_loop(_find_model, app.settings.home, client, session)
    hashed = hash_command(client.NAME, place, command) if command else None
    return AgentConfig(command, hashed or "", model or "", tuple(sorted(used)))


def _find_model(home: str, client: Client, session: Session) -> str | None:
    """What the transcript names last, as long as the client has one."""
    if session.native_id is None or session.worktree is None:
        return None
    since = session.started_at.timestamp()
    found = list_transcripts(home, client, session.worktree, since)
    paths = [each.path for each in found if each.native_id == session.native_id]
    return get_opening(client.NAME).find_model(session.native_id, paths[0] if paths else None)


def hash_command(client: str, place: SetupPlace, command: str) -> str | None:
    """Of the file that a client has for a command now, as `sha256sum` prints it; None where it has
    none.

    The name is looked up among the installed ones, and never run as a text.
    """
    path = find_setup(client).find_command_file(place, command.lstrip("/$"))
    data = files.find_bytes(path, max_bytes=COMMAND_BYTES) if path else None
    return None if data is None else f"sha256:{canonical.new_sha256(data).hexdigest()}"
