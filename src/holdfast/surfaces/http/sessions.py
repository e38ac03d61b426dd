"""`/api/sessions`: parse, one verb, format.

A session's answer has its revision as `ETag`, and its scratchpad a tag of its own; a change that
brings it back as `If-Match` is refused when another caller was faster. Every write takes an
`Idempotency-Key`; a repeated one answers with the status of the first time and with the thing as it
is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.scope import Scope
from holdfast.sessions.model import PatchedSession, Session, SessionEvent, SessionState
from holdfast.surfaces.http import models
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.changes import PARAMETERS, parse_change
from holdfast.surfaces.http.conditions import session_tag, state_tag
from holdfast.surfaces.http.here import KEY, Here, SeenFiles, SessionId, find_key
from holdfast.usecases.continuation import hand_over, hand_to_new
from holdfast.usecases.newest_events import fit_events
from holdfast.usecases.session_status import find_statuses
from holdfast.write import Request, write

META = {
    "name": "name",
    "last_observed_at": "lastObservedAt",
    "last_idle_at": "lastIdleAt",
    "current_intent": "currentIntent",
    "env_hint": "envHint",
}
TURNS = 30
NOTHING = models.Nothing()

router = APIRouter(prefix="/api/sessions", route_class=JsonRoute)


@router.get("", responses={200: {"model": models.SessionList}})
async def list_sessions(app: Here, page: Annotated[models.SessionsPage, Query()]) -> Response:
    """One's own sessions, newest first"""
    found = await app.scope.sessions.list_sessions(page.limit + 1, page.below)
    shown = found[: page.limit]
    more = len(found) > len(shown)
    below = shown[-1].id if more else None
    listed = await describe_sessions(app, shown)
    return JSONResponse({"sessions": listed, "more": more, "below": below})


@router.post(
    "",
    status_code=201,
    responses={201: {"model": models.SessionWithResume}},
    openapi_extra={"parameters": [KEY]},
)
async def create_session(app: Here, sent: HttpRequest, body: models.StartSession) -> Response:
    """Start a session"""
    fields = body.model_dump()
    if body.user_id is None:
        fields["user_id"] = app.settings.developer
    key = find_key(sent)
    request = Request("session.start", fields, key=key, target="http", read_again=_get_session)
    done = await write(app.scope, request, lambda scope: scope.sessions.create_session(**fields))
    text = await hand_to_new(app, done.result, worktree=_find_place(app, done.result))
    return answer(done.result, status=201, location=True, resume=text)


@router.get("/{session_id}", responses={200: {"model": models.ShownSession}})
async def get_session(app: Here, session_id: SessionId, exists: SeenFiles) -> Response:
    """A session, its context sets, and the text for the session that continues it"""
    session = await app.scope.sessions.get_session(session_id)
    text = await app.scope.sessions.get_resume_text(session.id, exists)
    [shown] = await describe_sessions(app, [session])
    return JSONResponse({**shown, "resume": text}, headers={"ETag": session_tag(session)})


@router.patch(
    "/{session_id}",
    responses={200: {"model": models.ChangedSession}},
    openapi_extra=PARAMETERS,
)
async def patch_session(sent: HttpRequest, body: models.PatchSession) -> Response:
    """Change its name, hints and context sets, all or none"""
    change = parse_change(sent)
    given = body.model_dump(by_alias=True, exclude_unset=True)
    request = change.ask("session.patch", given, _get_patched)
    fields = _list_fields(body)
    done = await write(
        change.scope,
        request,
        lambda scope: scope.sessions.patch_session(change.session_id, **fields),
    )
    return answer(done.result.session, warnings=list(done.result.warnings))


@router.post(
    "/{session_id}/end",
    responses={200: {"model": models.Session}},
    openapi_extra=PARAMETERS,
)
async def end_session(sent: HttpRequest, body: models.Nothing = NOTHING) -> Response:
    """End it; ending it again does nothing, and nothing of it is removed"""
    change = parse_change(sent)

    async def verb(scope: Scope) -> Session:
        await scope.sessions.end_session(change.session_id)
        return await scope.sessions.get_session(change.session_id)

    request = change.ask("session.end", {}, _get_session)
    done = await write(change.scope, request, verb)
    return answer(done.result)


@router.post(
    "/{session_id}/resume",
    responses={200: {"model": models.SessionWithResume}, 201: {"model": models.SessionWithResume}},
    openapi_extra=PARAMETERS,
)
async def resume_session(
    app: Here, sent: HttpRequest, exists: SeenFiles, body: models.Nothing = NOTHING
) -> Response:
    """Continue a session: an open one as it is (200), an ended one in a new session (201)"""
    change = parse_change(sent)
    request = change.ask("session.resume", {}, _get_session)
    done = await write(
        change.scope, request, lambda scope: scope.sessions.resume_session(change.session_id)
    )
    session = done.result
    text = await hand_over(app, session, worktree=_find_place(app, session), exists=exists)
    if session.id == change.session_id:
        return answer(session, resume=text)
    return answer(session, status=201, location=True, resume=text)


# --- events ---------------------------------------------------------------------------------------


@router.get("/{session_id}/events", responses={200: {"model": models.EventList}})
async def list_events(
    app: Here, session_id: SessionId, page: Annotated[models.EventsPage, Query()]
) -> Response:
    """A page of the log, or with `turns` or `tokens` its end, oldest first"""
    after = page.after or 0
    more = False
    warnings: list[str] = []
    if page.turns is None and page.tokens is None:
        events, more = await _load_page(app, session_id, after, page.limit or models.PAGE)
        listed = [event.to_dict() for event in events]
    elif page.after is None and page.limit is None:
        turns = TURNS if page.turns is None else page.turns
        window = await app.scope.sessions.get_recent_events(session_id, turns, page.tokens)
        sent = window.cut_as_sent(page.tokens)
        fitting, notes = fit_events(sent, page.tokens)
        listed, warnings = [event.to_dict() for event in fitting], [*sent.warnings, *notes]
    else:
        raise InvalidValueError(
            "query", "after, limit", "does not go together with turns or tokens"
        )
    if listed:
        after = listed[-1]["sequence"]
    return JSONResponse({"events": listed, "more": more, "after": after, "warnings": warnings})


@router.post(
    "/{session_id}/events",
    status_code=201,
    responses={201: {"model": models.Event}},
    openapi_extra=PARAMETERS,
)
async def append_event(sent: HttpRequest, body: models.AppendEvent) -> Response:
    """Append an event; its number follows the last one"""
    change = parse_change(sent)
    request = change.ask("session.append", body.model_dump(), _get_event)
    done = await write(
        change.scope,
        request,
        lambda scope: scope.sessions.append_event(
            change.session_id,
            body.type,
            body.role,
            body.content,
            body.parts,
            event_id=body.event_id,
            expected_sequence=body.expected_sequence,
        ),
    )
    return JSONResponse(done.result.to_dict(), 201)


# --- the scratchpad -------------------------------------------------------------------------------


@router.get("/{session_id}/state", responses={200: {"model": models.SessionState}})
async def get_state(app: Here, session_id: SessionId) -> Response:
    """Its scratchpad"""
    state = await app.scope.sessions.get_state(session_id)
    return answer_state(state)


@router.patch(
    "/{session_id}/state",
    responses={200: {"model": models.SessionState}},
    openapi_extra=PARAMETERS,
)
async def update_state(sent: HttpRequest, body: models.PatchState) -> Response:
    """Merge into its scratchpad; `If-Match` takes its own tag or the session's"""
    change = parse_change(sent)
    request = change.ask_for_state("session.update_state", body.model_dump(), _get_state)
    done = await write(
        change.scope,
        request,
        lambda scope: scope.sessions.update_state(change.session_id, body.scratchpad),
    )
    return answer_state(done.result)


# --- within ---------------------------------------------------------------------------------------


def as_dict(session: Session) -> dict[str, Any]:
    return {**session.to_dict(), "context": session.context}


async def describe_sessions(app: App, sessions: Sequence[Session]) -> list[dict[str, Any]]:
    """With how each of them stands now."""
    statuses = await find_statuses(app.scope, app.settings.home, sessions)
    return [{**as_dict(session), **statuses[session.id].to_dict()} for session in sessions]


def answer(session: Session, *, status: int = 200, location: bool = False, **more: Any) -> Response:
    headers = {"ETag": session_tag(session)}
    if location:
        headers["Location"] = f"/api/sessions/{session.id}"
    return JSONResponse({**as_dict(session), **more}, status, headers)


def answer_state(state: SessionState) -> Response:
    return JSONResponse(state.to_dict(), headers={"ETag": state_tag(state)})


def _find_place(app: App, session: Session) -> str | None:
    """Of the server's files only the checkout that it was started for is looked at."""
    served = app.served_worktree
    return served if session.worktree in (None, served) else None


async def _get_session(scope: Scope, session_id: str) -> Session:
    return await scope.sessions.get_session(session_id)


async def _get_patched(scope: Scope, session_id: str) -> PatchedSession:
    return PatchedSession(await scope.sessions.get_session(session_id))


async def _get_event(scope: Scope, event_id: str) -> SessionEvent:
    return await scope.sessions.get_event(event_id)


async def _get_state(scope: Scope, session_id: str) -> SessionState:
    return await scope.sessions.get_state(session_id)


async def _load_page(
    app: App, session_id: str, after: int, limit: int
) -> tuple[list[SessionEvent], bool]:
    """The events beyond a number, and whether there are more, which one more row shows."""
    events = await app.scope.sessions.list_events(session_id, after, limit + 1)
    return events[:limit], len(events) > limit


def _list_fields(body: models.PatchSession) -> dict[str, Any]:
    """What the caller has named; the rest stays."""
    given = body.model_fields_set
    named = [field for field in META if field in given]
    return {
        "metadata": {META[field]: getattr(body, field) for field in named},
        "context": body.context if "context" in given else None,
        "set_context": _make_pair(body.set_context),
        "union_context": _make_pair(body.union_context),
    }


def _make_pair(change: models.ContextSet | None) -> tuple[str, list[str]] | None:
    if change is None:
        return None
    return (change.set_name, change.items)
