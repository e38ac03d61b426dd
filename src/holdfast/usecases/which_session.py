"""Which session a call means, decided once for every door that agents come through.

An agent rarely knows our ids. So a call means, in this order: the session it names; the one that
its client calls by a native id; the newest open one of its worktree and client; the newest open one
of its worktree. A native id decides alone: a caller that has one never reads or writes a
neighbour's session by accident. A write that finds none starts one, a read finds nothing.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.clients import list_clients

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.write import Done, Request

R = TypeVar("R")

LABEL_CHARS = 100
NO_CLIENT = "cli"


@dataclass(frozen=True)
class Caller:
    """Who calls and from where, as far as a door can tell."""

    client: str | None = None
    native_id: str | None = None
    worktree: str | None = None

    @property
    def branch(self) -> str | None:
        """Looked up when a session is started: a server outlives the branch of its start."""
        from holdfast.usecases.location import locate_branch

        return locate_branch(self.worktree)

    def to_list(self) -> list[str | None]:
        return [self.client, self.native_id, self.worktree]


@dataclass(frozen=True)
class SessionChoice:
    """The session that is meant, if there is one, and whether it is the newest of several."""

    session: Session | None = None
    is_newest_of_several: bool = False

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session else None

    def describe(self, how_to_name_another: str) -> tuple[str, ...]:
        """A note for the caller, where there was a choice."""
        if self.session is None or not self.is_newest_of_several:
            return ()
        chosen = f"the newest is used: {self.session.id}"
        return (f"Several sessions are open here; {chosen}. {how_to_name_another}.",)


# --- who calls ------------------------------------------------------------------------------------


def identify_caller(
    introduced_as: object,
    *,
    environment: Mapping[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
    folder: str | None = None,
) -> Caller:
    """From a client's introduction, its environment (on this machine) and a call's metadata."""
    name = find_client_name(introduced_as)
    # One program may run inside another's shell and inherit its environment: only its own variables
    # count.
    own = [client for client in list_clients() if name in (None, client.NAME)]
    named = [_get_variable(environment, client.PROJECT_VARIABLE) for client in own]
    folder = next(filter(None, named), folder)
    worktree = None
    if folder is not None:
        worktree = _find_worktree(folder)
    for client in list_clients():
        value = _get_nested(meta, client.NATIVE_ID_META)
        native_id = as_label(value)
        if native_id:
            return Caller(client.NAME, native_id, worktree)
    for client in own:
        variable = _get_variable(environment, client.NATIVE_ID_VARIABLE)
        native_id = as_label(variable)
        if native_id:
            return Caller(client.NAME, native_id, worktree)
    return Caller(name, None, worktree)


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
    if caller.client and caller.native_id:
        native = await sessions.find_native_session(caller.client, caller.native_id)
        return SessionChoice(native)
    if caller.worktree is None:
        return await _find_without_worktree(scope, caller)
    # First those of the client, then those of any.
    for client in dict.fromkeys((caller.client, None)):
        found = await sessions.find_current_sessions(caller.worktree, client)
        if found:
            return _choose_newest(found)
    return SessionChoice()


async def _find_without_worktree(scope: Scope, caller: Caller) -> SessionChoice:
    """As on a server: the client's open sessions that belong to no worktree and no native id."""
    if caller.client is None:
        return SessionChoice()
    found = await scope.sessions.find_unplaced_sessions(caller.client)
    return _choose_newest(found)


async def start_session(scope: Scope, caller: Caller, user_id: str) -> Session:
    """One for a write that found none; with a native id that is already open, that session."""
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
    user_id: str,
    starting: AbstractAsyncContextManager[Any] | None = None,
) -> tuple[Done[R], SessionChoice]:
    """Run a verb on the session that is meant; a missing one is started in its transaction.

    `starting` is a lock that is held meanwhile, so that two calls of a process do not start two.
    """
    from holdfast.write import write  # it loads the store, and a list of tools needs none

    choice = await find_session(scope, session_id, caller)
    chosen = choice.session
    if chosen is not None:
        done = await write(scope, request, lambda inside: verb(inside, chosen))
        if done.is_first:
            return done, choice
        return done, SessionChoice()  # a repeated request is about the session of the first

    async def start_and_run(inside: Scope) -> R:
        # Looked for once more, because another call may have started one since.
        found = await find_session(inside, session_id, caller)
        session = found.session
        if session is None:
            session = await start_session(inside, caller, user_id)
        return await verb(inside, session)

    async with starting or nullcontext():
        done = await write(scope, replace(request, is_whole=True), start_and_run)
        return done, choice


async def find_latest(scope: Scope, caller: Caller) -> Session | None:
    """Where work would be continued: the session here that was written last, open or ended.

    Not the client's own, which has events as soon as it asks.
    """
    own = None
    if caller.client and caller.native_id:
        own = await scope.sessions.find_native_session(caller.client, caller.native_id)
    excluded = own.id if own else None
    return await scope.sessions.find_last_session(caller.worktree, excluded)


def _choose_newest(found: Sequence[Session]) -> SessionChoice:
    if not found:
        return SessionChoice()
    return SessionChoice(found[0], is_newest_of_several=len(found) > 1)
