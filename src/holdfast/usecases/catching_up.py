"""When transcripts are read: at the end of a turn, and at a start for what was cut off before.

This is the path of a hook, so it loads no services.
"""

from __future__ import annotations

import os
import time

from holdfast.clients import find_client, get_reader
from holdfast.clients.contract import make_storable
from holdfast.clients.recorded import list_environments
from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.hook_marks import HookMarks
from holdfast.storage.off_sessions import OffSessions
from holdfast.storage.processes import Processes
from holdfast.usecases import capture, transcripts
from holdfast.usecases.location import (
    check_branch,
    locate_branch,
    locate_head,
    locate_worktree,
)
from holdfast.usecases.transcripts import CapturedSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin
    from holdfast.clients.transcript import TranscriptFile
    from holdfast.sessions.store import SessionStore

    Found = list[tuple[CapturedSession, TranscriptFile]]

LOOK_BACK_SECONDS = 30 * 24 * 3600.0
BY_HAND_SECONDS = 24 * 3600.0  # where somebody has wired hooks, and did not say since when
MOST_SESSIONS = 50  # of a client that are read at one start; the next ones read the others
CATCH_UP_SECONDS = 2.0
READER_SECONDS = 60.0  # where no agent waits
BUSY_SECONDS = 1.0  # and for a store that another process holds
LOOK_SHARE = 0.25  # of either, for finding out which they are
NEWEST_SECONDS = 0.5  # and so much of it for the newest transcript
SETTLED_SECONDS = 2.0
READ_UP_TO = "read_up_to"  # in the state of a session: when its transcript had changed last


async def catch_up(
    app: App, client: Client, origin: HookOrigin, *, is_resumed: bool = False
) -> None:
    """At the start of a session of a client, whose transcripts are read first.

    `is_resumed`: the client goes on with this session, so its transcript is read, however old.
    """
    resumed = origin.native_id if is_resumed else None
    worktree = locate_worktree(origin.cwd)
    await _catch_up_in(app, app.scope.session_store, worktree, CATCH_UP_SECONDS, client, resumed)


async def catch_up_for_reader(app: App, worktree: str) -> bool:
    """For a person who wants to read: whether the log has all that the transcripts have now.

    There is time to read them all, but a store that another process holds is not waited for.
    """
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.brief import BriefDatabase

    store = SessionStore(BriefDatabase(app.database, BUSY_SECONDS), app.settings.owner)
    return await _catch_up_in(app, store, worktree, READER_SECONDS)


async def _catch_up_in(
    app: App,
    store: SessionStore,
    worktree: str | None,
    seconds: float,
    client: Client | None = None,
    resumed: str | None = None,
) -> bool:
    """Store what the transcripts of this folder's sessions have and the log has not.

    A client that was killed said nothing at its end, and a hook may have found no program. Whoever
    goes on may do so in another client, so those of all that were set up are read. Returns whether
    everything was.
    """
    since = _find_since(app.settings.home, worktree)
    if since is None or worktree is None:
        return True
    until = time.monotonic() + seconds  # opening the store may have taken long
    is_whole = True
    for other in _list_clients(app.settings.home, client):
        found = list_transcripts(app.settings.home, other, worktree, since)
        if other is client and resumed:
            found = [*_list_own(app.settings.home, other, resumed, worktree), *found]
        look_until = time.monotonic() + seconds * LOOK_SHARE
        sessions = await _list_sessions(app, other, worktree, found, resumed, look_until)
        is_whole &= await _catch_up_with(app, store, sessions, until)
    return is_whole


def list_transcripts(
    home: str, client: Client, worktree: str, since: float
) -> list[TranscriptFile]:
    """Newest first, and each session once: from where the client is for this process, and from
    where `init` found it, because another client may be started without its variables.
    """
    reader = get_reader(client)
    person_folder = os.path.expanduser("~")
    found: list[TranscriptFile] = []
    for environment in (os.environ, *list_environments(home, client.NAME)):
        found += reader.list_transcripts(worktree, person_folder, since, environment)
    found.sort(key=lambda each: each.changed_at)
    newest = {each.native_id: each for each in found}
    return sorted(newest.values(), key=lambda each: each.changed_at, reverse=True)


def _list_own(home: str, client: Client, native_id: str, worktree: str) -> list[TranscriptFile]:
    found = list_transcripts(home, client, worktree, since=0.0)
    return [each for each in found if each.native_id == native_id]


def _find_since(home: str, worktree: str | None) -> float | None:
    """From when on transcripts of a working tree are read; None where hooks do nothing."""
    enrolled = Enrolment(home).find(worktree)
    if enrolled is None:
        return None
    since = float(enrolled["since"])
    look_back = LOOK_BACK_SECONDS if since else BY_HAND_SECONDS
    return max(since, time.time() - look_back)


async def _list_sessions(
    app: App,
    client: Client,
    folder: str,
    found: Iterable[TranscriptFile],
    resumed: str | None,
    until: float,
) -> Found:
    """The newest that are to be read. Each belongs where it began: below a folder there may be
    repositories in which hooks do nothing, and other working trees.
    """
    reader = get_reader(client)
    off = OffSessions(app.settings.home)
    sessions: Found = []
    for each in await _list_unread(app.scope.session_store, client, found):
        if len(sessions) == MOST_SESSIONS or time.monotonic() > until:
            break
        if not reader.identify(each, folder) or off.has(client.NAME, each.native_id):
            continue
        worktree = await _find_worktree(app, client, each, is_resumed=each.native_id == resumed)
        if worktree is None:
            continue
        try:
            captured = make_captured(app, client, each.native_id, worktree, each.git_branch)
        except InvalidValueError:  # an id that no store keeps
            continue
        sessions.append((captured, each))
    return sessions


async def _list_unread(
    store: SessionStore, client: Client, found: Iterable[TranscriptFile]
) -> list[TranscriptFile]:
    """One that was read to its end is not opened again until it changes."""
    names = {make_storable(each.native_id): each for each in found}
    states = await store.list_captures(client.NAME, list(names))
    return [
        each
        for native_id, each in names.items()
        if states.get(native_id, {}).get(READ_UP_TO) != each.changed_at
    ]


async def _find_worktree(
    app: App, client: Client, found: TranscriptFile, *, is_resumed: bool
) -> str | None:
    """Where a transcript is of, if hooks work there and, unless it is resumed now, did so when it
    changed last.

    Of a folder that is gone only the store knows whether they did.
    """
    home = app.settings.home
    if _is_gone(home, str(found.cwd)):
        return await _find_stored_worktree(app, client, found.native_id)
    worktree = locate_worktree(str(found.cwd))
    since = _find_since(home, worktree)
    if since is None or (found.changed_at < since and not is_resumed):
        return None
    return worktree


def _is_gone(home: str, folder: str) -> bool:
    """And hooks do not work everywhere."""
    return not os.path.isdir(folder) and Enrolment(home).list_folders() is not None


async def _find_stored_worktree(app: App, client: Client, native_id: str) -> str | None:
    from holdfast.sessions.model import make_session  # few folders are gone

    row = await app.scope.session_store.find_last_native(client.NAME, native_id)
    return make_session(row).worktree if row else None


def _list_clients(home: str, own: Client | None) -> list[Client]:
    """Those that were set up, the one that asks first."""
    others = [client for name in HookMarks(home).list_clients() if (client := find_client(name))]
    first = [own] if own else []
    return [*first, *(client for client in others if client is not own)]


async def _catch_up_with(app: App, store: SessionStore, sessions: Found, until: float) -> bool:
    """Oldest first, as it happened; but the newest is what the next session goes on with."""
    running = Processes(app.settings.home).list_running()
    sessions.sort(key=lambda pair: pair[1].changed_at)
    is_whole = True
    for session, transcript in sessions:
        limit = until if transcript is sessions[-1][1] else until - NEWEST_SECONDS
        if time.monotonic() > limit:
            is_whole = False
            continue
        is_running = any(map(session.is_in, running))
        try:
            is_whole &= await _catch_up_session(
                store, session, transcript, limit, is_running=is_running
            )
        except StoreBusyError as busy:
            is_whole = False
            if busy.problem != transcripts.OVERTAKEN:  # by one that captures the same session
                break
    return is_whole


async def _catch_up_session(
    store: SessionStore,
    session: CapturedSession,
    found: TranscriptFile,
    until: float,
    *,
    is_running: bool,
) -> bool:
    """Whether all of it was read."""
    native = session.client.NAME, session.native_id
    is_known = await store.find_native_id(*native) is not None
    main = await transcripts.capture_all(store, session, found.path, until)
    is_whole = time.monotonic() < until
    if is_whole:
        await transcripts.capture_end(
            store, session, main, is_known=is_known, is_running=is_running
        )
    await _put_back(store, session)
    # What is written in the same moment leaves the time of the file as it is.
    is_settled = time.time() - found.changed_at > SETTLED_SECONDS
    if is_whole and is_settled and not is_running:
        state, revision = await store.find_capture(*native)
        await store.save_capture(*native, {**state, READ_UP_TO: found.changed_at}, revision)
    return is_whole


async def _put_back(store: SessionStore, session: CapturedSession) -> None:
    """What was read now is not what happened last: another session may have gone on since."""
    from holdfast.ground import clock  # not at every end of a turn

    try:
        moment = min(clock.from_text(session.last_at), clock.now())
    except ValueError:  # nothing was read, or no such day exists
        return
    session_id = await store.find_last_native_id(session.client.NAME, session.native_id)
    if session_id is not None:
        await store.mark_active(session_id, clock.to_text(moment))


async def capture_turn(
    app: App, client: Client, origin: HookOrigin, path: str, *, is_end: bool = False
) -> None:
    """Store what is new in the transcript that a hook names; `is_end`: of its session."""
    worktree = locate_worktree(origin.cwd)
    session = make_captured(app, client, origin.native_id, worktree)
    store = app.scope.session_store  # opened before the time counts
    until = time.monotonic() + CATCH_UP_SECONDS
    main = await transcripts.capture_all(store, session, path, until)
    await transcripts.note_head(store, session, locate_head(worktree))
    if is_end:
        await transcripts.capture_end(store, session, main, is_known=True, is_running=False)


def find_transcript(home: str, client: Client, native_id: str, worktree: str) -> str | None:
    """The transcript of a session, as far as its client still has it."""
    reader = get_reader(client)
    own = _list_own(home, client, native_id, worktree)
    return next((each.path for each in own if reader.identify(each, worktree)), None)


def make_captured(
    app: App,
    client: Client,
    native_id: str,
    worktree: str | None,
    git_branch: str | None = None,
) -> CapturedSession:
    """`git_branch`: as its transcript has it; else the one that is checked out now."""
    settings = app.settings
    record = {
        "client": client.NAME,
        "native_id": native_id,
        "user_id": settings.developer,
        "worktree": worktree,
        "git_branch": check_branch(git_branch) or locate_branch(worktree),
    }
    return CapturedSession(
        client,
        get_reader(client),
        native_id,
        capture.describe_session(record),
        settings.home,
    )
