"""The calls of the team exchange, once for every door: each is counted, and takes a key.

Where this machine has joined a server, the exchange is there: nothing of it is read from the store
here or written to it.

A person who works alone never sees the exchange: no tools, no block at the start of a session, no
presence. It is on where the person switched it on, chose a handle, or has used it; `team leave`
switches it off again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground.frozen import dataclass
from holdfast.ground.user_settings import load_user_settings
from holdfast.team.model import (
    Basis,
    Developer,
    Handoff,
    ListPlace,
    PublishedContext,
    Reservation,
    TeamState,
)
from holdfast.team.service import TeamService
from holdfast.write import Done, Request, read, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.ground.settings import Settings
    from holdfast.scope import Scope
    from holdfast.team.joined import Known
    from holdfast.team.seam import Team
    from holdfast.team.waiting import Waiting

R = TypeVar("R")

SESSION, TEAM, COORDINATION = "covibe_session", "covibe_team", "covibe_coordination"


async def is_exchange_on(app: App) -> bool:
    if not app.is_at_home:  # a developer with a token of this server, which is what it is for
        return True
    chosen = load_user_settings(app.settings.home).team
    if chosen is not None:
        return chosen
    if app.settings.is_named or app.has_server:
        return True
    return await app.scope.own_team.is_used()


# --- published contexts ---------------------------------------------------------------------------


async def publish_context(
    scope: Scope,
    fields: dict[str, Any],
    key: str | None = None,
    basis: Basis | None = None,
    seen: dict[str, Any] | None = None,
) -> Done[PublishedContext]:
    """The basis and what was `seen` instead of a field (session, repo, branch) come from code, so
    they do not make a repeated request another one.
    """
    known = {**fields, **(seen or {})}
    return await _change(
        scope,
        f"{SESSION}.publish_context",
        fields,
        key,
        lambda team: team.publish_context(**known, basis=basis),
        TeamService.get_own_context,
    )


async def get_contexts(
    scope: Scope, developer: object = None, below: ListPlace | None = None
) -> Sequence[PublishedContext]:
    usage = f"{SESSION}.get_context"
    return await read(scope, usage, lambda inside: inside.team.get_contexts(developer, below))


async def list_own_contexts(scope: Scope, below: object = None) -> Sequence[PublishedContext]:
    """Also those that have ended, newest first; `below` is the last one of the page before."""
    usage = f"{SESSION}.get_context"
    return await read(scope, usage, lambda inside: inside.team.list_own_contexts(below))


async def revoke_context(
    scope: Scope, context_id: object, key: str | None = None
) -> Done[PublishedContext]:
    return await _change(
        scope,
        f"{SESSION}.revoke_context",
        {"context_id": context_id},
        key,
        lambda team: team.revoke_context(context_id),
        TeamService.get_own_context,
    )


async def get_state(scope: Scope, **below: ListPlace) -> TeamState:
    return await read(scope, f"{TEAM}.state", lambda inside: inside.team.get_state(**below))


async def list_claims(scope: Scope, below: ListPlace | None = None) -> Sequence[Reservation]:
    return await read(scope, f"{TEAM}.state", lambda inside: inside.team.list_claims(below))


async def get_state_again(scope: Scope) -> TeamState:
    """For a view that keeps itself up to date: it was counted when it was opened."""
    return await scope.team.get_state()


async def set_visibility(scope: Scope, visibility: object, key: str | None = None) -> Developer:
    """Sent a second time with its key, it does not undo what was chosen in between."""
    done = await _change(
        scope,
        f"{TEAM}.visibility",
        {"visibility": visibility},
        key,
        lambda team: team.set_visibility(visibility),
        lambda team, _: team.get_me(),
    )
    return done.result


# --- reservations and handoffs --------------------------------------------------------------------


async def claim(
    scope: Scope,
    fields: dict[str, Any],
    key: str | None = None,
    seen: dict[str, Any] | None = None,
) -> Done[Reservation]:
    known = {**fields, **(seen or {})}
    return await _change(
        scope,
        f"{COORDINATION}.claim",
        fields,
        key,
        lambda team: team.claim(**known),
        TeamService.get_own_claim,
    )


async def list_claims_near(scope: Scope, repo: str | None) -> Sequence[Reservation]:
    """To be compared with what was claimed just now; where they are not known, none."""
    try:
        return await scope.team.list_claims_near(repo)
    except Unavailable:
        if scope.has_team_elsewhere:
            return ()
        raise


async def release(scope: Scope, claim_id: object, key: str | None = None) -> Done[Reservation]:
    return await _change(
        scope,
        f"{COORDINATION}.release",
        {"claim_id": claim_id},
        key,
        lambda team: team.release(claim_id),
        TeamService.get_own_claim,
    )


async def handoff(scope: Scope, fields: dict[str, Any], key: str | None = None) -> Done[Handoff]:
    """Offer a claim: `claim_id`, and perhaps `to` and `note`."""
    return await _change(
        scope,
        f"{COORDINATION}.handoff",
        fields,
        key,
        lambda team: team.handoff(**fields),
        TeamService.get_handoff,
    )


async def answer_handoff(
    scope: Scope,
    operation: str,
    handoff_id: object,
    key: str | None = None,
    session_id: object = None,
) -> Done[Handoff]:
    """`accept`, `decline`, `complete` or `cancel`; who accepts in a session reserves for it."""
    verbs: dict[str, Callable[[Team], Awaitable[Handoff]]] = {
        "accept": lambda team: team.accept(handoff_id, session_id=session_id),
        "decline": lambda team: team.decline(handoff_id),
        "complete": lambda team: team.complete(handoff_id),
        "cancel": lambda team: team.cancel(handoff_id),
    }
    return await _change(
        scope,
        f"{COORDINATION}.{operation}",
        {"handoff_id": handoff_id},
        key,
        verbs[operation],
        TeamService.get_handoff,
    )


@dataclass(frozen=True)
class OwnPart:
    """What a developer has in the exchange now, and was offered."""

    me: Developer
    contexts: int
    claims: int
    handoffs: int


async def count_own_part(scope: Scope) -> OwnPart:
    """Only what is active is read, so it costs the same after a year; this counts as no call."""
    team = scope.team
    me = await team.get_me()
    near = await team.look_near()
    offered = [each for each in near.handoffs if team.is_offered_to(each, me)]
    reserved = [each for each in near.own_claims if not each.is_soft]
    return OwnPart(me, len(near.own_contexts), len(reserved), len(offered))


# --- a server -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ServerState:
    """The server that this machine has joined: what waits for it, and what it did not take."""

    server: str | None
    problem: str | None
    waiting: Sequence[Waiting]
    refused: Sequence[Waiting]
    known: Known | None = None
    remotes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "problem": self.problem,
            "workspace": self.known.workspace if self.known else None,
            "developer": self.known.me.handle if self.known else None,
            "remotes": list(self.remotes),
            "waiting": [entry.to_dict() for entry in self.waiting],
            "refused": [entry.to_dict() for entry in self.refused],
        }


def look_at_server(app: App) -> ServerState | None:
    """None where none was joined. It is asked, unless nobody knows what to say to it."""
    if not app.has_server:
        return None
    from holdfast.team.waiting import Outbox

    server, problem, known = None, None, None
    remotes: Sequence[str] = ()
    try:
        team = app.find_remote_team()
        if team is None:
            return None
        server, remotes = team.server, team.joined.remotes
        known = team.ask_known()
    except HoldfastError as error:
        problem = error.message
    outbox = Outbox(app.settings.home)
    waiting, refused = outbox.list_all(), outbox.list_refused()
    return ServerState(server, problem, waiting, refused, known, remotes)


def send_waiting(settings: Settings) -> None:
    """What waits for the server, where it can be reached now and nobody else is sending."""
    from holdfast.team.waiting import Outbox

    with suppress(HoldfastError, OSError):
        if Outbox(settings.home).is_empty():
            return
        from holdfast.team.joined import find_joined
        from holdfast.team.remote import RemoteTeam

        joined = find_joined(settings)
        if joined is not None:
            RemoteTeam(joined).send_waiting(patience_seconds=0.0)


async def _change(
    scope: Scope,
    operation: str,
    arguments: dict[str, Any],
    key: str | None,
    verb: Callable[[Team], Awaitable[R]],
    read_again: Callable[[TeamService, str], Awaitable[R]],
) -> Done[R]:
    request: Request[R] = Request(
        operation,
        arguments,
        key=key,
        read_again=lambda inside, subject: read_again(inside.own_team, subject),
        usage=operation,
    )
    return await write(scope, request, lambda inside: verb(inside.team))
