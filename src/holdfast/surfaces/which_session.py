"""Which session a call means, told once for every door that agents come through.

An agent rarely knows our ids. So a call means, in this order: the session it names; the one that its client calls by
a native id; the newest open one of its worktree and client; the newest open one of its worktree. A native id decides
alone: whoever has one never reads or writes a neighbour's session by accident. A write that finds none starts one, a
read finds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.clients import list_clients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService

LABEL_CHARS = 100
NO_CLIENT = "cli"


class Caller:
    """Who calls and from where, as far as a door can tell."""

    __slots__ = ("client", "native_id", "worktree")

    def __init__(self, client: str | None = None, native_id: str | None = None, worktree: str | None = None):
        self.client, self.native_id, self.worktree = client, native_id, worktree

    @property
    def branch(self) -> str | None:
        """Looked up when a session is started: a server lives longer than a branch is checked out."""
        from holdfast.lifecycle import branch_of

        return branch_of(self.worktree)

    def to_list(self) -> list[str | None]:
        return [self.client, self.native_id, self.worktree]


class Choice:
    """The session that is meant, if there is one, and a note where that was a choice."""

    __slots__ = ("session", "warnings")

    def __init__(self, session: Session | None = None, warnings: tuple[str, ...] = ()):
        self.session, self.warnings = session, warnings


# --- who calls ---------------------------------------------------------------------------------------------


def who_calls(
    introduced_as: object,
    *,
    environment: Mapping[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
    folder: str | None = None,
) -> Caller:
    """From what a client says of itself, its environment (on this machine) and what it adds to a request."""
    name = client_name(introduced_as)
    # One program may run inside another's shell and inherit its environment: only its own variables count.
    own = [client for client in list_clients() if name in (None, client.NAME)]
    named = [_variable(environment, client.PROJECT_VARIABLE) for client in own]
    folder = next(filter(None, named), folder)
    worktree = None if folder is None else _worktree_of(folder)
    said = [(client.NAME, as_label(_inside(meta, client.NATIVE_ID_META))) for client in list_clients()]
    said += [(client.NAME, as_label(_variable(environment, client.NATIVE_ID_VARIABLE))) for client in own]
    for client_said, native_id in said:
        if native_id:
            return Caller(client_said, native_id, worktree)
    return Caller(name, None, worktree)


def client_name(introduced_as: object) -> str | None:
    """Our name for an agent program; an unknown one keeps its own, as far as that is a label."""
    label = as_label(introduced_as)
    if label is None:
        return None
    for client in list_clients():
        if label.casefold().startswith(client.INTRODUCED_AS) or label.casefold() == client.NAME:
            return client.NAME
    return label


def as_label(text: object) -> str | None:
    """One short line of what somebody else chose, or None."""
    if not isinstance(text, str):
        return None
    words = "".join(character if character.isprintable() else " " for character in text[: 10 * LABEL_CHARS]).split()
    return " ".join(words)[:LABEL_CHARS].strip() or None


def _variable(environment: Mapping[str, str] | None, name: str | None) -> str | None:
    return (environment or {}).get(name) if name else None


def _inside(meta: Mapping[str, Any] | None, names: Sequence[str]) -> object:
    """What lies at the end of a path of names, however strange the things on the way."""
    found: object = meta if names else None
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _worktree_of(folder: str) -> str | None:
    from holdfast.lifecycle import worktree_of  # with it come the rooms, which a door loads when it has work

    return worktree_of(folder)


# --- which session -----------------------------------------------------------------------------------------


async def find_session(sessions: SessionService, session_id: object, caller: Caller) -> Choice:
    """The session that a call means; only one that is named and missing is an error."""
    if session_id is not None:
        return Choice(await sessions.find_session(session_id))  # type: ignore[arg-type]  # it checks what it is given
    if caller.client and caller.native_id:
        return Choice(await sessions.find_native_session(caller.client, caller.native_id))
    if caller.worktree is None:
        # As on a server: the client's open ones that belong to no worktree and no native id.
        return _newest(await sessions.find_unplaced_sessions(caller.client)) if caller.client else Choice()
    for client in dict.fromkeys((caller.client, None)):
        if found := await sessions.find_current_sessions(caller.worktree, client):
            return _newest(found)
    return Choice()


async def start_session(sessions: SessionService, caller: Caller, user_id: str) -> Session:
    """One for a write that found none; with a native id that is open already, that one."""
    return await sessions.create_session(
        caller.client or NO_CLIENT,
        user_id,
        client=caller.client or NO_CLIENT,
        native_id=caller.native_id,
        worktree=caller.worktree,
        git_branch=caller.branch,
    )


async def find_latest(sessions: SessionService, caller: Caller) -> Session | None:
    """Where somebody would go on: the newest session here that says something, open or ended.

    One with context sets or a hint comes before one that has only events, because a client's own session has events
    as soon as it asks.
    """
    return await sessions.find_telling_session(caller.worktree, client=caller.client, native_id=caller.native_id)


def _newest(found: list[Session]) -> Choice:
    if not found:
        return Choice()
    if len(found) == 1:
        return Choice(found[0])
    note = f"Several sessions are open here; the newest is meant: {found[0].id}. Name another with session_id."
    return Choice(found[0], (note,))
