"""Which session a call means, decided once for every door that agents come through.

An agent rarely knows our ids. So a call means, in this order: the session it names; the one that
its metadata names; the one that the latest hook of its program was about; the one that a variable
of its program names; the one that its own server opened. A native id decides alone: a caller that
has one never reads or writes a neighbour's session by accident. A write that finds none starts one.
A read that finds none is answered with the newest session of the worktree, and says whose it is.

A person at the command line means the newest session of the worktree, whoever opened it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.clients import list_clients
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.sessions.errors import SessionNotNamedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from holdfast.clients.contract import Client
    from holdfast.ground.settings import Settings
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.storage.processes import Processes
    from holdfast.write import Done, Request

R = TypeVar("R")

LABEL_CHARS = 100
NO_CLIENT = "cli"
MOST_INTRODUCTIONS = 100


class OwnSessions:
    """What one server process, or one connection of a server, has opened itself."""

    def __init__(self, process: str | None = None, opened: list[str] | None = None):
        self.process = process  # the server's own, where one client has it for itself
        self.current: str | None = None  # what calls without an id mean
        self.opened: list[str] = [] if opened is None else opened

    def bind(self, session: Session, settings: Settings, *, is_opened: bool) -> None:
        """Later calls mean this session; one that was opened here ends with the server."""
        self.current = session.id
        if is_opened and session.id not in self.opened:
            self.opened.append(session.id)
        if self.process is not None:
            row = {**_describe_owner(settings), "session_id": session.id}
            _open_processes(settings).register(self.process, row)


@dataclass(frozen=True)
class Caller:
    """Who calls and from where, as far as a door can tell."""

    client: str | None = None
    native_id: str | None = None
    worktree: str | None = None
    own: OwnSessions | None = field(default=None, compare=False)
    is_of_server: bool = False  # the native id is known to the server alone, and to no hook
    is_person: bool = False

    @property
    def branch(self) -> str | None:
        """Looked up when a session is started: a server outlives the branch of its start."""
        from holdfast.usecases.location import locate_branch

        return locate_branch(self.worktree)

    def to_list(self) -> list[str | None]:
        return [self.client, self.native_id, self.worktree]


@dataclass(frozen=True)
class SessionChoice:
    """The session that is meant, if there is one, and what the caller should know about it."""

    session: Session | None = None
    is_newest_of_several: bool = False
    is_open_only: bool = True  # whether ended ones were looked at
    is_borrowed: bool = False  # it is not the caller's, who has none
    is_anothers: bool = False  # it was named, and another client or process is live in it
    before: Session | None = None  # the caller's own has just begun, and this is the one before it

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session else None

    def describe(self, how_to_name_another: str) -> tuple[str, ...]:
        """A note for the caller, where there was a choice."""
        if self.session is None or not self.is_newest_of_several:
            return ()
        there = "are open here" if self.is_open_only else "of this working tree are known"
        chosen = f"the newest is used: {self.session.id}"
        return (f"Several sessions {there}; {chosen}. {how_to_name_another}.",)


# --- who calls ------------------------------------------------------------------------------------


class Introduction:
    """What follows from a client's name for as long as a server lives."""

    def __init__(self, name: str | None, client: Client | None, worktree: str | None):
        self.name = name
        self.client = client
        self.worktree = worktree


class Callers:
    """Recognises who calls a server: by its name, a call's metadata, and the processes above."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        ancestors: Sequence[str] = (),
    ):
        """Environment, folder and ancestors of a server that one client has for itself."""
        self.environment = environment
        self.folder = folder
        self.ancestors = ancestors
        self._known: dict[object, Introduction] = {}

    def identify(
        self,
        introduced_as: object,
        *,
        settings: Settings | None = None,
        meta: Mapping[str, Any] | None = None,
        own: OwnSessions | None = None,
    ) -> Caller:
        known = self._known.get(introduced_as)
        if known is None:
            known = self._learn(introduced_as)
        native_id = self._find_native_id(known, settings, meta)
        is_of_server = native_id is None
        if native_id is None and known.client is not None:
            variable = _get_variable(self.environment, known.client.NATIVE_ID_VARIABLE)
            native_id = as_label(variable)
        return Caller(known.name, native_id, known.worktree, own, is_of_server=is_of_server)

    def _learn(self, introduced_as: object) -> Introduction:
        name = find_client_name(introduced_as)
        client = next((each for each in list_clients() if name == each.NAME), None)
        folder = self.folder
        if client is not None:
            # One program may run inside another's shell and inherit its environment: only its own
            # variables count.
            folder = _get_variable(self.environment, client.PROJECT_VARIABLE) or folder
        worktree = None
        if folder is not None:
            worktree = _find_worktree(folder)
        known = Introduction(name, client, worktree)
        if len(self._known) >= MOST_INTRODUCTIONS:
            self._known.clear()
        self._known[introduced_as] = known
        return known

    def _find_native_id(
        self, known: Introduction, settings: Settings | None, meta: Mapping[str, Any] | None
    ) -> str | None:
        """What the call says itself, then what the hooks of its program have said."""
        client = known.client
        if client is None:
            return None
        for path in client.NATIVE_ID_META:
            native_id = as_label(_get_nested(meta, path))
            if native_id:
                return native_id
        if settings is None:
            return None
        processes = _open_processes(settings)
        row = _find_announced_call(processes, client, meta) or self._find_registered(processes)
        if row is None or not _is_of(row, client, settings):
            return None
        return as_label(row.get("native_id"))

    def _find_registered(self, processes: Processes) -> Mapping[str, Any] | None:
        """Of the nearest ancestor only: behind it is a program in whose shell this one runs."""
        for ancestor in self.ancestors:
            row = processes.find(ancestor)
            if row is not None:
                return row
        return None


def _find_announced_call(
    processes: Processes, client: Client, meta: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    if meta is None or client.CALL_ID_META is None:
        return None
    call_id = meta.get(client.CALL_ID_META)
    if not isinstance(call_id, str):
        return None
    return processes.find_call(call_id)


def _is_of(row: Mapping[str, Any], client: Client, settings: Settings) -> bool:
    """Whether it was said by the same program for the same owner."""
    expected = {**_describe_owner(settings), "client": client.NAME}
    return all(row.get(key) == value for key, value in expected.items())


def _open_processes(settings: Settings) -> Processes:
    # Imported here: a list of tools needs nothing that is stored.
    from holdfast.storage.processes import Processes

    return Processes(settings.home)


def _describe_owner(settings: Settings) -> dict[str, str]:
    return {"workspace": settings.workspace, "developer": settings.developer}


def find_client_name(introduced_as: object) -> str | None:
    """Our name for an agent program; an unknown one keeps its own, as far as that is a label."""
    label = as_label(introduced_as)
    if label is None:
        return None
    folded = label.casefold()
    for client in list_clients():
        if folded.startswith(client.INTRODUCED_AS) or folded == client.NAME:
            return client.NAME
    return label


def as_label(text: object) -> str | None:
    """One short line of a text from outside, or None."""
    if not isinstance(text, str):
        return None
    start = text[: 10 * LABEL_CHARS]
    printable = "".join(map(_blank_unprintable, start))
    line = " ".join(printable.split())
    return line[:LABEL_CHARS].strip() or None


def _blank_unprintable(character: str) -> str:
    if character.isprintable():
        return character
    return " "


def _get_variable(environment: Mapping[str, str] | None, name: str | None) -> str | None:
    if not environment or not name:
        return None
    return environment.get(name)


def _get_nested(meta: Mapping[str, Any] | None, names: Sequence[str]) -> object:
    """The value at the end of a path of names; None where the path does not exist."""
    if not names:
        return None
    found: object = meta
    for name in names:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def _find_worktree(folder: str) -> str | None:
    # Imported here: it loads rooms, which a door does only when it has work.
    from holdfast.usecases.location import locate_worktree

    return locate_worktree(folder)


# --- which session --------------------------------------------------------------------------------


async def find_session(scope: Scope, session_id: object, caller: Caller) -> SessionChoice:
    """The session that a call means; only one that is named and missing is an error."""
    sessions = scope.sessions
    if session_id is not None:
        return SessionChoice(await sessions.find_session(session_id))  # type: ignore[arg-type]  # it checks its input
    if caller.is_person and caller.worktree:
        return _choose_newest(await sessions.find_current_sessions(caller.worktree))
    if caller.client and caller.native_id:
        native = await sessions.find_native_session(caller.client, caller.native_id)
        return SessionChoice(native)
    return SessionChoice(await _find_own(scope, caller.own))


async def find_session_to_read(scope: Scope, session_id: object, caller: Caller) -> SessionChoice:
    """The same; without one, the newest of the worktree, whoever's it is."""
    choice = SessionChoice()
    if not caller.is_person or session_id is not None:
        choice = await find_session(scope, session_id, caller)
    own = choice.session
    if own is not None and session_id is None and not caller.is_person:
        return replace(choice, before=await find_session_before(scope, own, caller))
    if own is not None or caller.worktree is None:
        return choice
    newest = _choose_newest(await scope.sessions.find_newest_sessions(caller.worktree))
    if caller.is_person:
        return replace(newest, is_open_only=False)
    return SessionChoice(newest.session, is_borrowed=newest.session is not None)


async def find_session_before(scope: Scope, own: Session, caller: Caller) -> Session | None:
    """For a caller whose own session has just begun: the one that it continues, else the last here.

    A session that began later goes on beside this one, and is not what was before it.
    """
    if not _has_just_begun(own, caller):
        return None
    if own.resumed_from is not None:
        return await scope.sessions.get_session(own.resumed_from)
    if caller.worktree is None:
        return None
    return await scope.sessions.find_last_session(caller.worktree, own.id, until=own.started_at)


def _has_just_begun(own: Session, caller: Caller) -> bool:
    """A hook has kept the request that began it, which the caller knows anyway."""
    most = 0 if caller.is_of_server else 1
    return own.last_sequence <= most


async def _find_own(scope: Scope, own: OwnSessions | None) -> Session | None:
    if own is None or own.current is None:
        return None
    session = await scope.sessions.get_session(own.current)
    if session.ended_at is not None:
        return None
    return session


async def start_session(scope: Scope, caller: Caller, user_id: str) -> Session:
    """One for a write that found none; with a native id that is already open, that session."""
    if caller.own is None and caller.native_id is None and not caller.is_person:
        raise SessionNotNamedError
    client = caller.client or NO_CLIENT
    return await scope.sessions.create_session(
        client,
        user_id,
        client=client,
        native_id=caller.native_id,
        worktree=caller.worktree,
        git_branch=caller.branch,
    )


async def write_in_session(
    scope: Scope,
    request: Request[R],
    verb: Callable[[Scope, Session], Awaitable[R]],
    *,
    session_id: object,
    caller: Caller,
    settings: Settings,
    starting: AbstractAsyncContextManager[Any] | None = None,
) -> tuple[Done[R], SessionChoice]:
    """Run a verb on the session that is meant; a missing one is started in its transaction.

    `starting` is a lock that is held meanwhile, so that two calls of a process do not start two.
    """
    from holdfast.write import write  # it loads the store, and a list of tools needs none

    choice = await find_session(scope, session_id, caller)
    chosen = choice.session
    if chosen is not None and session_id is not None:
        require_on(settings, chosen.client, chosen.native_id)
        is_anothers = await is_live_elsewhere(scope, chosen, caller, settings)
        choice = replace(choice, is_anothers=is_anothers)
    if chosen is not None:
        done = await write(scope, request, lambda inside: verb(inside, chosen))
        if done.is_first:
            return done, choice
        return done, SessionChoice()  # a repeated request is about the session of the first
    started: Session | None = None

    async def start_and_run(inside: Scope) -> R:
        # Looked for once more, because another call may have started one since.
        nonlocal started
        found = await find_session(inside, session_id, caller)
        started = None
        if found.session is not None:
            return await verb(inside, found.session)
        started = await start_session(inside, caller, settings.developer)
        return await verb(inside, started)

    async with starting or nullcontext():
        done = await write(scope, replace(request, is_whole=True), start_and_run)
        if started is not None:
            keep_opened(started, caller, settings)
        return done, choice


def require_on(settings: Settings, client: str | None, native_id: str | None) -> None:
    """A person has said no: nothing is stored of this session, whoever asks for it."""
    from holdfast.storage.off_sessions import OffSessions
    from holdfast.usecases.errors import SessionOffError

    if client is None or native_id is None:
        return
    if OffSessions(settings.home).has(client, native_id):
        raise SessionOffError(native_id)


async def is_own(scope: Scope, session: Session, caller: Caller, settings: Settings) -> bool:
    """Whether a caller that continues an open session writes into it, and not into another's."""
    from holdfast.usecases.session_status import find_busy, find_status

    if _is_known_as_own(session, caller):
        return True
    if caller.native_id is not None:
        return False
    if session.client in (None, NO_CLIENT):  # a person's, or that of a program without a name
        return not find_busy(settings.home).has(session)
    if session.client != caller.client:
        return False
    if caller.own is None:  # it names the session in every call
        return True
    status = await find_status(scope, settings.home, session)
    return status.word != "live"


async def is_live_elsewhere(
    scope: Scope, session: Session, caller: Caller, settings: Settings
) -> bool:
    """Whether another client, or another running process of the same, is live in a session."""
    from holdfast.usecases.session_status import find_busy, find_status

    if session.ended_at is not None or caller.is_person or _is_known_as_own(session, caller):
        return False
    if session.client in (None, NO_CLIENT, caller.client):
        return find_busy(settings.home).has(session)
    status = await find_status(scope, settings.home, session)
    return status.word == "live"


def _is_known_as_own(session: Session, caller: Caller) -> bool:
    own = caller.own
    if own is not None and session.id in (own.current, *own.opened):
        return True
    if caller.native_id is None:
        return False
    return (session.client, session.native_id) == (caller.client, caller.native_id)


def keep_opened(session: Session, caller: Caller, settings: Settings) -> None:
    """A session that a server has opened for itself is its own; one of a hook is the client's."""
    if caller.own is not None and caller.is_of_server:
        caller.own.bind(session, settings, is_opened=True)


async def find_latest(scope: Scope, caller: Caller) -> Session | None:
    """Where work would be continued: the session here that was written last, open or ended.

    Not the caller's own, which has events as soon as it asks. While that has just begun, it is what
    was before it; later a person may have worked elsewhere meanwhile.
    """
    own = (await find_session(scope, None, caller)).session
    if own is None:
        return await scope.sessions.find_last_session(caller.worktree)
    until = own.started_at if _has_just_begun(own, caller) else None
    return await scope.sessions.find_last_session(caller.worktree, own.id, until=until)


async def announce_resume(scope: Scope, left: Session, caller: Caller) -> None:
    """Listeners hear that work goes on: in the caller's session, if it has one."""
    own = (await find_session(scope, None, caller)).session or left
    await scope.sessions.continue_in(own.id, left.id)


def _choose_newest(found: Sequence[Session]) -> SessionChoice:
    if not found:
        return SessionChoice()
    return SessionChoice(found[0], is_newest_of_several=len(found) > 1)
