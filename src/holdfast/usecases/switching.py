"""Keeping a client's session out of everything, and taking it in again.

From then on no hook stores anything of it, no later reading of its transcript brings it back, and
nobody is handed it. What was stored before stays until it is forgotten. What was said while it was
off stays out for good.

A person who types `off` in a client's own shell means that client's session. At a terminal it is
the only one that runs there. Where it could be several, or one that runs no more, none is guessed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.clients import find_client, list_clients
from holdfast.errors import HoldfastError
from holdfast.ground import process_tree
from holdfast.ground.frozen import dataclass
from holdfast.sessions.model import make_session
from holdfast.storage.off_sessions import OffSessions
from holdfast.storage.processes import Processes
from holdfast.usecases import catching_up, transcripts
from holdfast.usecases.capture import may_exchange
from holdfast.usecases.errors import (
    NOTHING_STORED,
    ClientSessionNotNamedError,
    NoClientSessionError,
    SwitchableSession,
)
from holdfast.usecases.session_status import find_statuses
from holdfast.usecases.session_titles import find_title
from holdfast.usecases.which_session import as_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.app import App
    from holdfast.sessions.model import Session

    Native = tuple[str, str]  # a client, and its own id of a session


@dataclass(frozen=True)
class SwitchedSession:
    """A client's session, and what is stored of it, if anything is."""

    client: str
    native_id: str
    session: Session | None


async def set_off(
    app: App, worktree: str, *, is_off: bool, named: Native | None = None
) -> SwitchedSession:
    """Switch the session that is named, else the one that is meant."""
    if is_off:
        return await _switch_off(app, named or await _choose_to_switch_off(app, worktree))
    native = named or await _choose_to_switch_on(app, worktree)
    if not OffSessions(app.settings.home).has(*native):
        raise NoClientSessionError(worktree, is_off=True)
    return await _switch_on(app, native, worktree)


def find_native(app: App, native_id: str) -> Native | None:
    """A session by its client's own id, while it runs or is off: nothing of it may be stored."""
    known = [*_list_running(app), *OffSessions(app.settings.home).list_newest()]
    return next((native for native in known if native[1] == native_id), None)


async def _switch_off(app: App, native: Native) -> SwitchedSession:
    OffSessions(app.settings.home).add(*native)
    await app.scope.session_store.hide_session(*native)
    switched = await _describe(app, native)
    if switched.session is not None and may_exchange(app.settings):
        with suppress(HoldfastError):  # at a server that does not answer it fades in minutes
            await app.scope.team.end_presence(switched.session.id)
    return switched


async def _switch_on(app: App, native: Native, worktree: str) -> SwitchedSession:
    switched = await _describe(app, native)
    session = switched.session
    if session is not None and session.worktree is not None:
        worktree = session.worktree
    await _skip_transcripts(app, native, worktree)
    await app.drain()  # while it is off: what waits without a data folder was said meanwhile
    await app.scope.session_store.show_session(*native)
    OffSessions(app.settings.home).remove(*native)
    return switched


async def _skip_transcripts(app: App, native: Native, worktree: str) -> None:
    name, native_id = native
    client = find_client(name)
    if client is None:
        return
    captured = catching_up.make_captured(app, client, native_id, worktree)
    path = catching_up.find_transcript(app.settings.home, client, native_id, worktree)
    await transcripts.skip_all(app.scope.session_store, captured, path)


async def _describe(app: App, native: Native) -> SwitchedSession:
    row = await app.scope.session_store.find_last_native(*native)
    session = make_session(row) if row else None
    return SwitchedSession(*native, session)


# --- which one is meant ---------------------------------------------------------------------------


async def _choose_to_switch_off(app: App, worktree: str) -> Native:
    live = await _list_live(app, worktree)
    own = _find_own(app, os.environ, live)
    if own is not None and not await _has_ended(app, own):
        return own
    off = OffSessions(app.settings.home)
    still_on = [native for native in live if not off.has(*native)]
    candidates = still_on or live
    if len(candidates) == 1:
        return candidates[0]
    known = candidates or await _list_open(app, worktree)
    raise await _make_error(app, worktree, known, is_off=False)


async def _choose_to_switch_on(app: App, worktree: str) -> Native:
    live = await _list_live(app, worktree)
    own = _find_own(app, os.environ, live)
    if own is not None:
        return own
    candidates = await _list_off(app, worktree)
    running = [native for native in candidates if native in live]
    if len(candidates) == 1 or len(running) == 1:
        return (running or candidates)[0]
    raise await _make_error(app, worktree, candidates, is_off=True)


async def _make_error(
    app: App, worktree: str, known: Sequence[Native], *, is_off: bool
) -> NoClientSessionError | ClientSessionNotNamedError:
    if not known:
        return NoClientSessionError(worktree, is_off=is_off)
    named = [await _name_session(app, native) for native in known]
    return ClientSessionNotNamedError(worktree, named, is_off=is_off)


async def _name_session(app: App, native: Native) -> SwitchableSession:
    """As `session list` shows it."""
    client, native_id = native
    session = (await _describe(app, native)).session
    if session is None:
        return SwitchableSession(native_id, client, NOTHING_STORED)
    title = await find_title(app.scope.sessions, session)
    return SwitchableSession(session.id, client, title)


def _find_own(app: App, environment: Mapping[str, str], live: Sequence[Native]) -> Native | None:
    """The session of the client in whose shell this runs.

    A client may have several sessions in one process, of which a variable names the right one. But
    a variable is inherited: by another client in that shell, and by a terminal that outlives it.
    """
    registered = _find_registered(app)
    for client in list_clients():
        native_id = as_label(environment.get(client.NATIVE_ID_VARIABLE or ""))
        if native_id is None:
            continue
        named = client.NAME, native_id
        if registered is not None and registered[0] == client.NAME:
            return named
        if registered is None and (named in live or not live):
            return named
    return registered


def _find_registered(app: App) -> Native | None:
    """What the hooks of the nearest client above this process have said."""
    processes = Processes(app.settings.home)
    for ancestor in process_tree.list_ancestors():
        row = processes.find(ancestor)
        if row is not None and row.get("native_id"):
            return _get_native(row)
    return None


async def _list_live(app: App, worktree: str) -> list[Native]:
    """Those that run here; where processes are not known, those in which something happened.

    The end of a process in another namespace is not seen here, but its session may have told it.
    """
    registered = _list_running(app, worktree)
    running = [native for native in registered if not await _has_ended(app, native)]
    if process_tree.find_own_process() is not None:
        return running
    sessions = await _list_open_sessions(app, worktree)
    statuses = await find_statuses(app.scope, app.settings.home, sessions)
    happening = [session for session in sessions if statuses[session.id].word == "live"]
    return _join(running, _list_natives(happening))


async def _has_ended(app: App, native: Native) -> bool:
    session = (await _describe(app, native)).session
    return session is not None and session.ended_at is not None


async def list_sessions_off(app: App, worktree: str) -> list[SwitchableSession]:
    """Those of this worktree that are kept out now, the newest first."""
    found = await _list_off(app, worktree)
    open_ones = [native for native in found if not await _has_ended(app, native)]
    return [await _name_session(app, native) for native in open_ones]


def list_off_ids(home: str, sessions: Sequence[Session]) -> list[str]:
    """Which of some sessions are kept out of everything; none where that cannot be read."""
    try:
        off = OffSessions(home).list_newest()
    except HoldfastError:
        return []
    return [session.id for session in sessions if (session.client, session.native_id) in off]


async def _list_open(app: App, worktree: str) -> list[Native]:
    return _list_natives(await _list_open_sessions(app, worktree))


async def _list_open_sessions(app: App, worktree: str) -> list[Session]:
    sessions = await app.scope.sessions.list_active_sessions(worktree)
    return [session for session in sessions if session.ended_at is None and session.native_id]


async def _list_off(app: App, worktree: str) -> list[Native]:
    """Those that ran here, or do now."""
    running = _list_running(app, worktree)
    found = []
    for native in OffSessions(app.settings.home).list_newest():
        session = (await _describe(app, native)).session
        is_here = session.worktree == worktree if session else native in running
        if is_here:
            found.append(native)
    return found


def _list_running(app: App, worktree: str | None = None) -> list[Native]:
    """The sessions of the clients that run: one that has just begun has nothing stored."""
    rows = [row for row in Processes(app.settings.home).list_running() if row.get("native_id")]
    here = [row for row in rows if worktree in (None, row.get("worktree"))]
    return _join([_get_native(row) for row in here])


def _get_native(row: Mapping[str, object]) -> Native:
    return str(row.get("client")), str(row.get("native_id"))


def _list_natives(sessions: Sequence[Session]) -> list[Native]:
    return [(str(session.client), str(session.native_id)) for session in sessions]


def _join(*natives: Sequence[Native]) -> list[Native]:
    return list(dict.fromkeys(native for some in natives for native in some))
