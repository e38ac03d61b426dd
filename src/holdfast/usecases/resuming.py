"""Going on with a conversation or a session, in the client that it was in or in another one.

What can be resumed is found by words, compared with how things are now, and made into one text: the
block of the conversation, and the document about its session. `holdfast resume` shows it and opens
a client; the hook of that client hands it over, because it asks for what was promised to it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from holdfast.clients import find_client
from holdfast.clients.opening import get_opening
from holdfast.conversations import comparing, finding
from holdfast.conversations.comparing import FileChanges
from holdfast.conversations.errors import AmbiguousConversationError
from holdfast.conversations.model import AgentConfig
from holdfast.conversations.resuming import ROOM, Subject, make_block
from holdfast.conversations.rules import leave_out_known, merge_messages
from holdfast.errors import HoldfastError, NotFound
from holdfast.ground import clock, git
from holdfast.ground.fence import fence_key
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.git_history import count_commits, list_changed_paths, numstat
from holdfast.ground.git_past import PastCommits
from holdfast.ground.git_state import list_uncommitted
from holdfast.ground.off_loop import off_loop
from holdfast.sessions.changing import CONVERSATION
from holdfast.usecases import continuation, conversing, setting_up
from holdfast.usecases.errors import NothingToResumeError
from holdfast.usecases.location import locate_branch
from holdfast.usecases.session_titles import find_title
from holdfast.usecases.transcripts import HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin
    from holdfast.clients.setup import SetupPlace
    from holdfast.conversations.comparing import Change
    from holdfast.conversations.model import Conversation, Message
    from holdfast.ground.git_repository import Repository
    from holdfast.sessions.model import Session
    from holdfast.storage.resumes import Promise

MOST_CONVERSATIONS, MOST_SESSIONS = 2_000, 200
REQUESTS, REQUEST_CHARS = 20, 2_000  # of a thread of sessions, to find it by
NEAREST = 5
MOST_COMMITTED = 1_000  # of the files that came with commits
LEAST_ROOM = 500  # of a block


@dataclass(frozen=True)
class Resumable:
    """A conversation, or a session that belongs to none."""

    subject: Subject
    status: str
    conversation: Conversation | None = None
    session: Session | None = None  # in which it was active last, where this machine has it
    head: str | None = None  # what was checked out then, where the caller knows it

    @property
    def id(self) -> str:
        return self.subject.id

    @property
    def title(self) -> str:
        return self.subject.title

    @property
    def notes(self) -> list[str]:
        """Why its folder may only be read, or what git could not merge in it."""
        found = self.conversation
        return [each for each in (found.problem, found.conflict) if each] if found else []

    @property
    def client(self) -> str | None:
        """The name of the client in which it was active last."""
        if self.session is not None and self.session.client is not None:
            return self.session.client
        return self.conversation.client if self.conversation else None


@dataclass(frozen=True)
class Found:
    """What words have found, the best first; of `left_out` what was said was not looked at."""

    resumables: list[Resumable]
    left_out: int


@dataclass(frozen=True)
class Resume:
    """What whoever goes on is told."""

    of: Resumable
    changes: Sequence[Change]
    text: str


# --- finding --------------------------------------------------------------------------------------


async def list_resumables(app: App, worktree: str) -> list[Resumable]:
    """Those of this repository, the newest first. Of a thread of sessions, its last one."""
    service = conversing.open_conversations(app, worktree)
    conversations = await service.list_conversations(limit=MOST_CONVERSATIONS)
    known = {conversation.id for conversation in conversations}
    sessions = await app.scope.sessions.list_active_sessions(worktree, MOST_SESSIONS)
    # One that a client has begun and that nobody has said anything in continues nothing yet.
    continued = {session.resumed_from for session in sessions if session.last_sequence}
    moments = await app.scope.sessions.find_last_moments(sessions)
    linked = _list_linked(sessions, moments)
    found = []
    for each in conversations:
        session = await conversing.find_session_of(app, each) or linked.get(each.id)
        found.append(await _describe_conversation(app, each, session))
    for session in sessions:
        is_listed = session.metadata.get(CONVERSATION) in known
        if session.id in continued or is_listed or not session.last_sequence:
            continue
        found.append(await _describe_session(app, session, moments[session.id]))
    return sorted(found, key=lambda each: each.subject.last_active, reverse=True)


async def describe_conversation(app: App, worktree: str, conversation: Conversation) -> Resumable:
    """With the session in which it was active last, where this machine has it."""
    session = await conversing.find_session_of(app, conversation)
    if session is None:
        sessions = await app.scope.sessions.list_active_sessions(worktree, MOST_SESSIONS)
        moments = await app.scope.sessions.find_last_moments(sessions)
        session = _list_linked(sessions, moments).get(conversation.id)
    return await _describe_conversation(app, conversation, session)


def _list_linked(
    sessions: Sequence[Session], moments: Mapping[str, datetime]
) -> dict[object, Session]:
    """By the conversation, the last session here that goes on with it: its folder may name one of
    another machine.
    """
    oldest_first = sorted(sessions, key=lambda session: moments[session.id])
    return {session.metadata.get(CONVERSATION): session for session in oldest_first}


async def _describe_conversation(
    app: App, conversation: Conversation, session: Session | None
) -> Resumable:
    client = (session.client if session else None) or conversation.client
    last_active = conversation.last_active
    if session is not None:
        moments = await app.scope.sessions.find_last_moments([session])
        last_active = max(last_active, moments[session.id])
    subject = Subject(
        conversation.id,
        conversation.type,
        conversation.title,
        last_active,
        _name_client(client),
        conversation.context_summary,
    )
    return Resumable(subject, conversation.status, conversation, session)


async def _describe_session(app: App, session: Session, last_active: datetime) -> Resumable:
    title = await find_title(app.scope.sessions, session)
    subject = Subject(
        session.id,
        "session",
        title,
        last_active,
        _name_client(session.client),
        is_conversation=False,
    )
    status = "open" if session.ended_at is None else "ended"
    return Resumable(subject, status, session=session)


def _name_client(name: str | None) -> str | None:
    client = find_client(name) if name else None
    return client.TITLE if client else name


async def search(app: App, worktree: str, words: str) -> list[Resumable]:
    """By title, type, summary and what was said, the best first; an id alone finds the one."""
    return (await look_for(app, worktree, words)).resumables


async def look_for(app: App, worktree: str, words: str) -> Found:
    known = await list_resumables(app, worktree)
    named = [each for each in known if words in _list_names(each)]
    if named:
        return Found(named, 0)
    entries, left_out = await _make_entries(app, worktree, known, words)
    ranked = await off_loop(finding.rank, words, entries)
    by_id = {each.id: each for each in known}
    return Found([by_id[each.id] for each in ranked], left_out)


async def choose(app: App, worktree: str, words: str) -> Resumable:
    """The one that is meant; never a guess."""
    known = await list_resumables(app, worktree)
    named = [each for each in known if words in _list_names(each)]
    if len(named) == 1:
        return named[0]
    entries, _ = await _make_entries(app, worktree, named or known, words)
    ranked = await off_loop(finding.rank, words, entries)
    by_id = {each.id: each for each in known}
    chosen = finding.choose(ranked)
    if chosen is not None:
        return by_id[chosen]
    if named or ranked:  # a folder that was copied names the session of the other one
        nearest = [by_id[each.id] for each in ranked[:NEAREST]] or named[:NEAREST]
        raise AmbiguousConversationError(words, [f"{each.id} ({each.title})" for each in nearest])
    raise NothingToResumeError(words)


def _list_names(resumable: Resumable) -> set[str]:
    names = {resumable.id, resumable.id.rpartition("/")[2], resumable.title}
    if resumable.session is not None:
        names |= {resumable.session.id, resumable.session.native_id or ""}
    return names - {""}


async def _make_entries(
    app: App, worktree: str, resumables: Sequence[Resumable], words: str
) -> tuple[list[finding.Entry], int]:
    """And of how many conversations nothing that was said has been looked at."""
    service = conversing.open_conversations(app, worktree)
    said, left_out = await service.find_said(words)
    return [await _make_entry(app, each, said.get(each.id)) for each in resumables], left_out


async def _make_entry(app: App, resumable: Resumable, said: Sequence[str] | None) -> finding.Entry:
    """`said`: the words that were found in the history of a conversation. What was asked since it
    was saved is in the log.
    """
    subject = resumable.subject
    about = f"{subject.type} {subject.client} {subject.summary}"
    texts = list(said or ())
    if resumable.session is not None:
        texts += await _list_asked(app, resumable.session)
    return finding.Entry(subject.id, subject.title, about, "\n".join(texts))


async def _list_asked(app: App, session: Session) -> list[str]:
    """The newest requests of its thread."""
    sessions = app.scope.sessions
    thread = await sessions.list_thread(session.id) if session.resumed_from else [session]
    asked: list[str] = []
    for each in reversed(thread):
        if len(asked) < REQUESTS:
            wanted = REQUESTS - len(asked)
            found = await sessions.list_requests(each.id, wanted, REQUEST_CHARS)
            asked += [request.content for request in found]
    return asked


# --- what is told ---------------------------------------------------------------------------------


async def prepare(
    app: App,
    worktree: str,
    resumable: Resumable,
    client: Client | None,
    *,
    model: str | None = None,
    place: SetupPlace | None = None,
    is_own: bool = False,
    is_preview: bool = False,
) -> Resume:
    """For one client, or for whoever reads it.

    `model`: the one that the client says it uses now. `is_own`: it has the messages in its window.
    `is_preview`: it is looked at and handed to no agent, so nothing is recorded.
    """
    place = place or setting_up.make_place(app.settings, worktree, (), os.environ)
    messages = await gather_messages(app, worktree, resumable)
    changes = await _compare(app, worktree, resumable, client, place, model)
    limit = client.TEXT_CHARS if client else None
    measure = _count_bytes if client and client.COUNTS_BYTES else len
    history, key = _describe_history(app, worktree, resumable), find_key(app, messages)

    def write(room: int) -> str:
        return make_block(
            resumable.subject,
            messages,
            changes,
            clock.now(),
            history=history,
            key=key,
            room=room,
            has_messages=not is_own,
        )

    block = _fit(write, measure, min(ROOM, limit or ROOM), limit)
    document = ""
    if resumable.session is not None and not is_own:
        document = await continuation.make_document(
            app, worktree, continues=resumable.session.id, kept=[block], is_preview=is_preview
        )
    whole = f"{block}\n\n{document}" if document else block
    has_room = limit is None or measure(whole) <= limit
    return Resume(resumable, changes, whole if has_room else block)


def find_key(app: App, messages: Sequence[Message]) -> bytes:
    """Of the markers around what others said; one's own words need none, so none is made."""
    is_needed = any(not message.is_own for message in messages)
    return fence_key(app.settings.home) if is_needed else b""


def _fit(
    write: Callable[[int], str], measure: Callable[[str], int], room: int, limit: int | None
) -> str:
    """With less room for characters where each of them counts as several."""
    text = write(room)
    while limit is not None and measure(text) > limit and room > LEAST_ROOM:
        room = max(room * limit // (measure(text) + 1), LEAST_ROOM)
        text = write(room)
    return text


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


async def gather_messages(app: App, worktree: str, resumable: Resumable) -> list[Message]:
    """From the log where this machine has it, and from the folder what only the folder has."""
    said: list[Message] = []
    if resumable.session is not None:
        about = resumable.conversation.id if resumable.conversation else None
        said = await conversing.gather_messages(app, resumable.session, about)
    if resumable.conversation is not None:
        service = conversing.open_conversations(app, worktree)
        history = await service.get_history(resumable.id)
        saved = leave_out_known((message.id for message in said), history.messages)
        if resumable.conversation.is_shared:
            saved = await conversing.mark_others(app, saved)
        said = merge_messages(saved, said)
    return said


def _describe_history(app: App, worktree: str, resumable: Resumable) -> str:
    if resumable.conversation is not None:
        service = conversing.open_conversations(app, worktree)
        folder = service.files.find_folder(resumable.id)
        document = os.path.join(folder, resumable.conversation.document)
        return (
            f"`conversation` with operation `resume` and conversation_id {resumable.id}, "
            f"or `holdfast conversation show {resumable.id}`; its document is {document}"
        )
    return (
        f"`session` with operation `recent` and session_id {resumable.id}, "
        f"or `holdfast session events {resumable.id}`"
    )


# --- what has changed -----------------------------------------------------------------------------


async def _compare(
    app: App,
    worktree: str,
    resumable: Resumable,
    client: Client | None,
    place: SetupPlace,
    model: str | None,
) -> list[Change]:
    changes: list[Change] = []
    if client is not None:
        changes += await compare_client(app, resumable, client, place, model)
    touched = await _list_files(app, worktree, resumable)
    head, last_active = await find_head(app, resumable), resumable.subject.last_active
    with suppress(HoldfastError):  # a git that does not answer costs these lines only
        changes += await off_loop(_compare_tree, worktree, head, touched, last_active)
    return changes


async def compare_client(
    app: App,
    resumable: Resumable,
    client: Client,
    place: SetupPlace,
    model: str | None = None,
) -> list[Change]:
    """What one client has otherwise than the one that it was in: command, model and tools."""
    config = await _find_config(app, place.worktree, resumable)
    return _compare_client(resumable, config, client, place, model)


async def compare_edited(app: App, worktree: str, resumable: Resumable) -> FileChanges:
    """How many files were edited in it, and which of them differ now, as far as git answers."""
    touched = await _list_files(app, worktree, resumable)
    head, last_active = await find_head(app, resumable), resumable.subject.last_active
    with suppress(HoldfastError):
        return await off_loop(_compare_edited, worktree, head, touched, last_active)
    return FileChanges(len(touched))


async def find_head(app: App, resumable: Resumable) -> str | None:
    """What was checked out when it was left: by the hooks, else by the last save."""
    if resumable.head is not None:
        return resumable.head
    session = resumable.session
    if session is not None and session.client and session.native_id:
        state, _ = await app.scope.session_store.find_capture(session.client, session.native_id)
        noted = state.get(HEAD) or {}
        if noted.get("id"):
            return str(noted["id"])
    return resumable.conversation.git_head if resumable.conversation else None


async def _find_config(app: App, worktree: str, resumable: Resumable) -> AgentConfig:
    """The model and the tools of the session that it was in last, where this machine has it: the
    folder has those of the last save, which may have been in another client.
    """
    saved = resumable.conversation.agent_config if resumable.conversation else AgentConfig()
    session = resumable.session
    if session is None or session.client is None:
        return saved
    seen = await conversing.describe_agent(app, session, "", worktree)
    was_saved_there = resumable.conversation and resumable.conversation.client == session.client
    model = seen.model or (saved.model if was_saved_there else "")
    return replace(saved, model=model, tools=seen.tools)


def _compare_client(
    resumable: Resumable,
    config: AgentConfig,
    client: Client,
    place: SetupPlace,
    model: str | None,
) -> list[Change]:
    opening = get_opening(client.NAME)
    changes: list[Change] = []
    if config.command:
        saved_in = resumable.conversation.client if resumable.conversation else None
        then = find_client(saved_in or "") or client  # a file may name any client
        here = conversing.hash_command(client.NAME, place, config.command)
        now = here and conversing.hash_command(then.NAME, place, config.command)
        changes += comparing.compare_command(
            comparing.CommandState(config.command, config.system_prompt_hash, now, client.TITLE)
        )
    now_model = model or opening.find_configured_model(place)
    if resumable.client == client.NAME or now_model:
        changes += comparing.compare_model(config.model, now_model)
    return changes + comparing.compare_tools(
        _list_missing_tools(resumable, config, client, place), client.TITLE
    )


def _list_missing_tools(
    resumable: Resumable, config: AgentConfig, client: Client, place: SetupPlace
) -> list[str]:
    """The servers whose tools were called and that this client has not. What a client brings itself
    has other names in another one, and does the same.
    """
    if resumable.client is None or find_client(resumable.client) is None:
        return []
    then = get_opening(resumable.client)
    used = {server for tool in config.tools if (server := then.find_server(tool))}
    return sorted(used - set(get_opening(client.NAME).list_servers(place)))


async def _list_files(app: App, worktree: str, resumable: Resumable) -> list[str]:
    """That were edited in it, as far as this machine saw it, and as the folder says."""
    listed = resumable.conversation.files if resumable.conversation else ()
    if resumable.session is None:
        return list(listed[: conversing.MOST_FILES])
    edited = await conversing.list_edited(app, resumable.session, worktree)
    return list(dict.fromkeys([*listed, *edited]))[: conversing.MOST_FILES]


def _compare_tree(
    worktree: str, head: str | None, touched: Sequence[str], last_active: datetime
) -> list[Change]:
    repository = git.find_repository(worktree)
    if repository is None:
        return []
    then = head or PastCommits(repository).find_at(last_active.timestamp())
    changes: list[Change] = []
    if then is not None:
        commits = count_commits(repository, then)
        uncommitted = list_uncommitted(repository, "HEAD")
        committed = list_changed_paths(repository, then, MOST_COMMITTED) if commits else ()
        gone = [path for path in committed if not _exists(repository, path)]
        changes += comparing.compare_tree(
            comparing.TreeChanges(then, commits, uncommitted, committed, gone)
        )
    later, missing = _find_later(repository, touched, last_active)
    changed = _leave_out_same(repository, then, later)
    return changes + comparing.compare_files(FileChanges(len(touched), changed, missing))


def _exists(repository: Repository, path: str) -> bool:
    return os.path.lexists(os.path.join(repository.root, path))


def _compare_edited(
    worktree: str, head: str | None, touched: Sequence[str], last_active: datetime
) -> FileChanges:
    """Git is asked only where a file is newer."""
    repository = git.find_repository(worktree) if touched else None
    if repository is None:
        return FileChanges(len(touched))
    later, gone = _find_later(repository, touched, last_active)
    then = head
    if later and head is None:
        then = PastCommits(repository).find_at(last_active.timestamp())
    return FileChanges(len(touched), _leave_out_same(repository, then, later), gone)


def _find_later(
    repository: Repository, touched: Sequence[str], last_active: datetime
) -> tuple[list[str], list[str]]:
    """Those that were written since, by their times, and those that are gone."""
    later, gone = [], []
    for path in touched:
        try:
            found = os.lstat(os.path.join(repository.root, path))
        except OSError:
            gone.append(path)
            continue
        if found.st_mtime > last_active.timestamp() + 1:
            later.append(path)
    return later, gone


def _leave_out_same(repository: Repository, then: str | None, later: list[str]) -> list[str]:
    """By their contents: a file may be newer and the same, such as after a checkout."""
    if then is None or not later:
        return later
    differing = numstat(repository, then, later)
    return [path for path in later if path in differing]


# --- keeping a promise ----------------------------------------------------------------------------


async def keep_promise(
    app: App,
    worktree: str,
    promise: Promise,
    client: Client,
    origin: HookOrigin,
    model: str | None,
) -> str | None:
    """The text for a client that was opened to go on; its session continues what is resumed.

    None where that is gone meanwhile.
    """
    try:
        found = await _find_promised(app, worktree, promise)
    except NotFound:
        return None
    resume = await prepare(app, worktree, found, client, model=model, is_own=promise.is_own)
    if not promise.is_own:
        await _begin_successor(app, worktree, found, origin)
    return resume.text


async def _find_promised(app: App, worktree: str, promise: Promise) -> Resumable:
    """As it was left: a client that goes on with its own session has begun the next one already."""
    sessions = app.scope.sessions
    session = await sessions.get_session(promise.session) if promise.session else None
    if session is not None and promise.subject == session.id:
        moments = await sessions.find_last_moments([session])
        found = await _describe_session(app, session, moments[session.id])
    else:
        service = conversing.open_conversations(app, worktree)
        conversation = await service.get_conversation(promise.subject)
        found = await _describe_conversation(app, conversation, session)
    return replace(found, head=promise.head)


async def _begin_successor(
    app: App, worktree: str, resumable: Resumable, origin: HookOrigin
) -> None:
    """In the thread of the old session where this machine has it."""
    sessions = app.scope.sessions
    begun = await sessions.find_native_session(origin.client, origin.native_id)
    if begun is None and resumable.session is not None:
        begun = await sessions.resume_session(
            resumable.session.id, client=origin.client, native_id=origin.native_id, apart=True
        )
    elif begun is None:
        begun = await sessions.create_session(
            origin.client,
            app.settings.developer,
            client=origin.client,
            native_id=origin.native_id,
            worktree=worktree,
            git_branch=locate_branch(worktree),
        )
    if resumable.conversation is not None:
        await sessions.link_conversation(begun.id, resumable.conversation.id)
