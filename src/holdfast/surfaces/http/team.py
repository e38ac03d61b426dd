"""The team exchange over HTTP: `/api/contexts`, `/api/claims`, `/api/handoffs`, visibility.

Every call is counted, also one that is refused while its request is parsed. What developers wrote
goes out as data for programs: cleaned of what a reader cannot see, and with nothing added.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.errors import HoldfastError, Invalid, InvalidValueError
from holdfast.ground.fence import clean
from holdfast.ground.off_loop import off_loop
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.surfaces.http import team_models as models
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.here import KEY, Here, find_key
from holdfast.surfaces.http.models import Nothing
from holdfast.surfaces.http.principal import get_principal
from holdfast.team import publishing_rules
from holdfast.team.fields import check_list_place
from holdfast.team.model import ListPlace, PublishedContext, Reservation
from holdfast.team.service import LISTED
from holdfast.usecases import exchange
from holdfast.usecases.exchange import COORDINATION, SESSION, TEAM
from holdfast.usecases.exchange_place import name_as_here
from holdfast.usecases.overlaps import describe_overlaps, list_overlaps
from holdfast.write import Done, count_call

NOTHING = Nothing()
REPEATED = "Idempotency-Repeated"
NOT_SHOWN = "The session is not stored or shown at this server, so this is stored without one."
NO_SESSION = models.Accept(session_id=None)
PROSE = ("title", "summary", "next_actions", "blockers", "reason", "note", "name")

F = TypeVar("F", bound=Callable[..., Any])


class CountedRoute(JsonRoute):
    """Counts a call that was refused before the exchange was asked, which counts the others."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        usage = USAGES[self.endpoint.__name__]

        async def handle_counted(request: HttpRequest) -> Response:
            try:
                return await handle(request)
            except (HoldfastError, RequestValidationError) as error:
                if not getattr(request.state, "is_counted", False):
                    code = error.code if isinstance(error, HoldfastError) else Invalid.code
                    await count_call(get_principal(request).app.scope, usage, code)
                raise

        return handle_counted


USAGES: dict[str, str] = {}


def counted_as(usage: str) -> Callable[[F], F]:
    def keep(endpoint: F) -> F:
        USAGES[endpoint.__name__] = usage
        return endpoint

    return keep


def leave_counting(sent: HttpRequest) -> None:
    """The exchange is asked now, and counts the call itself."""
    sent.state.is_counted = True


def take_key(sent: HttpRequest) -> str | None:
    key = find_key(sent)
    leave_counting(sent)
    return key


async def find_session(app: App, given: object) -> tuple[str | None, list[str]]:
    """One that there is, because what is stored for a session ends with it; and a warning.

    A session on another machine is stored there. It counts here while it is shown; else what is
    stored has none.
    """
    session_id = publishing_rules.check_session_id(given)
    if session_id is None:
        return None, []
    try:
        await app.scope.sessions.get_session(session_id)
    except SessionNotFoundError:
        if app.is_at_home:
            raise
        if not await app.scope.own_team.has_presence(session_id):
            return None, [NOT_SHOWN]
    return session_id, []


def make_answer(done: Done[Any], status: int = 200, **more: Any) -> JSONResponse:
    """The thing as it is now, and whether its request was the first with its key."""
    headers = {} if done.is_first else {REPEATED: "true"}
    return JSONResponse({**describe(done.result), **more}, status, headers)


router = APIRouter(prefix="/api", route_class=CountedRoute)
KEYED: dict[str, Any] = {"parameters": [KEY]}


# --- published contexts ---------------------------------------------------------------------------


@router.get("/contexts", responses={200: {"model": models.ContextList}})
@counted_as(f"{SESSION}.get_context")
async def list_contexts(
    app: Here, sent: HttpRequest, asked: Annotated[models.ContextsQuery, Query()]
) -> Response:
    """The newest 200 active ones of everyone who can be seen, or of one; with history one's own"""
    below = None
    contexts: Sequence[PublishedContext]
    if asked.history:
        if asked.developer is not None:
            raise InvalidValueError("developer", asked.developer, "does not go with history")
        leave_counting(sent)
        contexts = await exchange.list_own_contexts(app.scope, asked.below)
        if len(contexts) == LISTED:
            below = contexts[-1].id
    else:
        place = find_place(asked.below)
        leave_counting(sent)
        contexts = await exchange.get_contexts(app.scope, asked.developer, place)
        below = find_end(contexts)
    return JSONResponse({"contexts": describe_all(contexts), "below": below})


@router.post(
    "/contexts",
    status_code=201,
    responses={201: {"model": models.MadeContext}},
    openapi_extra=KEYED,
)
@counted_as(f"{SESSION}.publish_context")
async def publish_context(app: Here, sent: HttpRequest, body: models.PublishContext) -> Response:
    """Publish what one works on, instead of what was active for the same repo and branch"""
    fields = body.model_dump(exclude_unset=True)
    basis = publishing_rules.check_basis(fields.pop("basis", None))
    session_id, warnings = await find_session(app, body.session_id)
    key = take_key(sent)
    named = await off_loop(name_as_here, app.served_worktree, fields)
    seen = {**named, "session_id": session_id}
    done = await exchange.publish_context(app.scope, fields, key, basis, seen=seen)
    return make_answer(done, 201, warnings=warnings)


@router.delete(
    "/contexts/{context_id}",
    responses={200: {"model": models.PublishedContext}},
    openapi_extra=KEYED,
)
@counted_as(f"{SESSION}.revoke_context")
async def revoke_context(app: Here, sent: HttpRequest, context_id: str) -> Response:
    """Withdraw one's own at once; again it does nothing"""
    done = await exchange.revoke_context(app.scope, context_id, take_key(sent))
    return make_answer(done)


# --- claims ---------------------------------------------------------------------------------------


@router.get("/claims", responses={200: {"model": models.ClaimList}})
@counted_as(f"{TEAM}.state")
async def list_claims(
    app: Here, sent: HttpRequest, asked: Annotated[models.ClaimsQuery, Query()]
) -> Response:
    """The newest 200 active ones, and what live sessions have not committed"""
    place = find_place(asked.below)
    leave_counting(sent)
    claims = await exchange.list_claims(app.scope, place)
    return JSONResponse({"claims": describe_all(claims), "below": find_end(claims)})


@router.post(
    "/claims",
    status_code=201,
    responses={201: {"model": models.MadeReservation}},
    openapi_extra=KEYED,
)
@counted_as(f"{COORDINATION}.claim")
async def claim(app: Here, sent: HttpRequest, body: models.Claim) -> Response:
    """Tell others what one works on; nobody is kept out, and who is there already is named"""
    fields = body.model_dump(exclude_unset=True)
    session_id, notes = await find_session(app, body.session_id)
    key = take_key(sent)
    named = await off_loop(name_as_here, app.served_worktree, fields)
    seen = {**named, "session_id": session_id}
    done = await exchange.claim(app.scope, fields, key, seen)
    near = await app.scope.team.list_claims_near(done.result.repo)
    found = await off_loop(list_overlaps, done.result, near)
    warnings = describe_overlaps(found)
    if len(found) > len(warnings):
        warnings.append(f"{len(found) - len(warnings):,} more overlap: GET /api/claims")
    return make_answer(done, 201, warnings=[*warnings, *notes])


@router.delete(
    "/claims/{claim_id}",
    responses={200: {"model": models.Reservation}},
    openapi_extra=KEYED,
)
@counted_as(f"{COORDINATION}.release")
async def release(app: Here, sent: HttpRequest, claim_id: str) -> Response:
    """Release one's own; again it does nothing"""
    done = await exchange.release(app.scope, claim_id, take_key(sent))
    return make_answer(done)


# --- handoffs -------------------------------------------------------------------------------------


@router.get("/handoffs", responses={200: {"model": models.HandoffList}})
@counted_as(f"{TEAM}.state")
async def list_handoffs(
    app: Here, sent: HttpRequest, asked: Annotated[models.NoQuery, Query()]
) -> Response:
    """The open ones that concern the caller"""
    leave_counting(sent)
    state = await exchange.get_state(app.scope)
    return JSONResponse({"handoffs": describe_all(state.handoffs)})


@router.post(
    "/handoffs",
    status_code=201,
    responses={201: {"model": models.Handoff}},
    openapi_extra=KEYED,
)
@counted_as(f"{COORDINATION}.handoff")
async def hand_off(app: Here, sent: HttpRequest, body: models.Offer) -> Response:
    """Offer a claim of one's own to a developer, or to the whole team"""
    fields = body.model_dump(exclude_unset=True)
    done = await exchange.handoff(app.scope, fields, take_key(sent))
    return make_answer(done, 201)


ANSWERED: dict[str, Any] = {
    "responses": {200: {"model": models.Handoff}},
    "openapi_extra": KEYED,
}


@router.post("/handoffs/{handoff_id}/accept", **ANSWERED)
@counted_as(f"{COORDINATION}.accept")
async def accept(
    app: Here, sent: HttpRequest, handoff_id: str, body: models.Accept = NO_SESSION
) -> Response:
    """Take over what was offered: the claim is the caller's from then on"""
    session_id, _ = await find_session(app, body.session_id)
    key = take_key(sent)
    done = await exchange.answer_handoff(app.scope, "accept", handoff_id, key, session_id)
    return make_answer(done)


@router.post("/handoffs/{handoff_id}/decline", **ANSWERED)
@counted_as(f"{COORDINATION}.decline")
async def decline(
    app: Here, sent: HttpRequest, handoff_id: str, body: Nothing = NOTHING
) -> Response:
    """Not take over what was offered to the caller"""
    done = await exchange.answer_handoff(app.scope, "decline", handoff_id, take_key(sent))
    return make_answer(done)


@router.post("/handoffs/{handoff_id}/complete", **ANSWERED)
@counted_as(f"{COORDINATION}.complete")
async def complete(
    app: Here, sent: HttpRequest, handoff_id: str, body: Nothing = NOTHING
) -> Response:
    """What was accepted is done"""
    done = await exchange.answer_handoff(app.scope, "complete", handoff_id, take_key(sent))
    return make_answer(done)


@router.post("/handoffs/{handoff_id}/cancel", **ANSWERED)
@counted_as(f"{COORDINATION}.cancel")
async def cancel(
    app: Here, sent: HttpRequest, handoff_id: str, body: Nothing = NOTHING
) -> Response:
    """Withdraw an offer of one's own"""
    done = await exchange.answer_handoff(app.scope, "cancel", handoff_id, take_key(sent))
    return make_answer(done)


# --- visibility -----------------------------------------------------------------------------------


@router.put("/team/visibility", responses={200: {"model": models.Developer}}, openapi_extra=KEYED)
@counted_as(f"{TEAM}.visibility")
async def set_visibility(app: Here, sent: HttpRequest, body: models.SetVisibility) -> Response:
    """Whether others can see the caller, from now on"""
    developer = await exchange.set_visibility(app.scope, body.visibility, take_key(sent))
    return JSONResponse(describe(developer))


# --- answers --------------------------------------------------------------------------------------


class HasDict(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def find_place(below: str | None) -> ListPlace | None:
    return None if below is None else check_list_place("below", below)


def find_end(page: Sequence[PublishedContext] | Sequence[Reservation]) -> str | None:
    """Where the next page begins; none where a page is not full."""
    return str(ListPlace.of(page[-1])) if len(page) == LISTED else None


def describe(thing: HasDict) -> dict[str, Any]:
    return _clean(thing.to_dict())


def describe_all(things: Sequence[HasDict]) -> list[dict[str, Any]]:
    return [describe(thing) for thing in things]


def _clean(values: dict[str, Any]) -> dict[str, Any]:
    """Prose without invisible characters and markers; names and paths stay what they are."""
    return {name: _clean_value(name, value) for name, value in values.items()}


def _clean_value(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _clean(value)
    if name not in PROSE or value is None:
        return value
    if isinstance(value, list):
        return [clean(text) for text in value]
    return clean(value)
