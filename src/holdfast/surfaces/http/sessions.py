"""`/api/sessions`: parse, one verb, format.

A session's answer has its revision as `ETag`, and its scratchpad a tag of its own; a change that brings it back as
`If-Match` is refused when somebody was faster. Every write takes an `Idempotency-Key`; a repeated one answers with the
status of the first time and with the thing as it is now.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.sessions.model import Session, SessionEvent, SessionState
from holdfast.sessions.service import SessionService
from holdfast.surfaces.http import models
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.conditions import Condition, IfMatch, session_tag, state_tag
from holdfast.surfaces.http.here import Effect, Here, Key, SeenFiles, SessionId, do_once

META = {
    "name": "name",
    "last_observed_at": "lastObservedAt",
    "last_idle_at": "lastIdleAt",
    "current_intent": "currentIntent",
    "env_hint": "envHint",
}
TURNS = 30

router = APIRouter(prefix="/api/sessions", route_class=JsonRoute)


@router.get("", responses={200: {"model": models.SessionList}})
async def list_sessions(app: Here, page: Annotated[models.SessionsPage, Query()]) -> Response:
    """One's own sessions, newest first"""
    found = await app.sessions.list_sessions(page.limit + 1, page.below)
    shown = found[: page.limit]
    more = len(found) > len(shown)
    below = shown[-1].id if more else None
    return JSONResponse({"sessions": [as_dict(one) for one in shown], "more": more, "below": below})


@router.post("", status_code=201, responses={201: {"model": models.Session}})
async def create_session(app: Here, body: models.StartSession, key: Key = None) -> Response:
    """Start a session"""
    fields = {**body.model_dump(), "user_id": app.settings.developer if body.user_id is None else body.user_id}

    async def effect(sessions: SessionService) -> str:
        return (await sessions.create_session(**fields)).id

    subject = await do_once(app, "POST /api/sessions", key, fields, effect)
    session = await app.sessions.get_session(subject)
    return answer(session, status=201, location=True)


@router.get("/{session_id}", responses={200: {"model": models.SessionWithResume}})
async def get_session(app: Here, session_id: SessionId, exists: SeenFiles) -> Response:
    """A session, its context sets, and what whoever continues it is told"""
    session = await app.sessions.get_session(session_id)
    return answer(session, resume=await app.sessions.get_resume_text(session.id, exists))


@router.patch("/{session_id}", responses={200: {"model": models.ChangedSession}})
async def patch_session(
    app: Here, session_id: SessionId, body: models.PatchSession, key: Key = None, if_match: IfMatch = None
) -> Response:
    """Change its name, hints and context sets, all or none"""
    given = body.model_dump(by_alias=True, exclude_unset=True)
    notes: list[str] = []

    async def effect(sessions: SessionService) -> str:
        session, notes[:] = await sessions.patch_session(session_id, **_changes(body))
        return session.id

    request = {"body": given, "if_match": None}
    operation = f"PATCH /api/sessions/{{id}} {session_id}"
    subject = await _change(app, session_id, operation, key, request, if_match, effect)
    return answer(await app.sessions.get_session(subject), warnings=notes)


@router.post("/{session_id}/end", responses={200: {"model": models.Session}})
async def end_session(
    app: Here, session_id: SessionId, body: models.Nothing, key: Key = None, if_match: IfMatch = None
) -> Response:
    """End it; ending it again does nothing, and nothing of it is removed"""

    async def effect(sessions: SessionService) -> str:
        await sessions.end_session(session_id)
        return session_id

    operation = f"POST /api/sessions/{{id}}/end {session_id}"
    subject = await _change(app, session_id, operation, key, {}, if_match, effect)
    return answer(await app.sessions.get_session(subject))


@router.post(
    "/{session_id}/resume",
    responses={200: {"model": models.SessionWithResume}, 201: {"model": models.SessionWithResume}},
)
async def resume_session(
    app: Here,
    session_id: SessionId,
    body: models.Nothing,
    exists: SeenFiles,
    key: Key = None,
    if_match: IfMatch = None,
) -> Response:
    """Continue a session: an open one as it is (200), an ended one in a new session (201)"""

    async def effect(sessions: SessionService) -> str:
        return (await sessions.resume_session(session_id)).id

    operation = f"POST /api/sessions/{{id}}/resume {session_id}"
    subject = await _change(app, session_id, operation, key, {}, if_match, effect)
    session, text = await app.sessions.get_session(subject), await app.sessions.get_resume_text(subject, exists)
    is_new = session.id != session_id
    return answer(session, status=201 if is_new else 200, location=is_new, resume=text)


# --- events ------------------------------------------------------------------------------------------------


@router.get("/{session_id}/events", responses={200: {"model": models.EventList}})
async def list_events(app: Here, session_id: SessionId, page: Annotated[models.EventsPage, Query()]) -> Response:
    """A page of the log, or with `turns` or `tokens` its end, oldest first"""
    if page.turns is None and page.tokens is None:
        events, more = await _page(app, session_id, page.after or 0, page.limit or models.PAGE)
    elif page.after is None and page.limit is None:
        turns = TURNS if page.turns is None else page.turns
        events, more = await app.sessions.get_recent_events(session_id, turns, page.tokens), False
    else:
        raise InvalidValueError("query", "after, limit", "does not go together with turns or tokens")
    after = events[-1].sequence if events else page.after or 0
    return JSONResponse({"events": [event.to_dict() for event in events], "more": more, "after": after})


@router.post("/{session_id}/events", status_code=201, responses={201: {"model": models.Event}})
async def append_event(
    app: Here, session_id: SessionId, body: models.AppendEvent, key: Key = None, if_match: IfMatch = None
) -> Response:
    """Append an event; its number follows the last one"""
    fields = _without(body.model_dump(), "type")
    if key is None and if_match is None:
        event = await app.sessions.append_event(session_id, body.type, **fields)
        return JSONResponse(event.to_dict(), 201)

    async def effect(sessions: SessionService) -> str:
        return str((await sessions.append_event(session_id, body.type, **fields)).sequence)

    operation = f"POST /api/sessions/{{id}}/events {session_id}"
    subject = await _change(app, session_id, operation, key, body.model_dump(), if_match, effect)
    # Read anew: whoever came second at the same moment has seen an event that was undone.
    [event], _ = await _page(app, session_id, int(subject) - 1, 1)
    return JSONResponse(event.to_dict(), 201)


# --- the scratchpad ----------------------------------------------------------------------------------------


@router.get("/{session_id}/state", responses={200: {"model": models.SessionState}})
async def get_state(app: Here, session_id: SessionId) -> Response:
    """Its scratchpad"""
    return answer_state(await app.sessions.get_state(session_id))


@router.patch("/{session_id}/state", responses={200: {"model": models.SessionState}})
async def update_state(
    app: Here, session_id: SessionId, body: models.PatchState, key: Key = None, if_match: IfMatch = None
) -> Response:
    """Merge into its scratchpad; `If-Match` takes its own tag or the session's"""

    async def effect(sessions: SessionService) -> str:
        return (await sessions.update_state(session_id, body.scratchpad)).session_id

    operation = f"PATCH /api/sessions/{{id}}/state {session_id}"
    subject = await _change(app, session_id, operation, key, body.model_dump(), if_match, effect, of_state=True)
    return answer_state(await app.sessions.get_state(subject))


# --- within ------------------------------------------------------------------------------------------------


def as_dict(session: Session) -> dict[str, Any]:
    return {**session.to_dict(), "context": session.context}


def answer(session: Session, *, status: int = 200, location: bool = False, **more: Any) -> Response:
    headers = {"ETag": session_tag(session)} | ({"Location": f"/api/sessions/{session.id}"} if location else {})
    return JSONResponse({**as_dict(session), **more}, status, headers)


def answer_state(state: SessionState) -> Response:
    return JSONResponse(state.to_dict(), headers={"ETag": state_tag(state)})


async def _change(
    app: App,
    session_id: str,
    operation: str,
    key: str | None,
    request: dict[str, Any],
    if_match: Condition | None,
    effect: Effect,
    *,
    of_state: bool = False,
) -> str:
    """A write to a session that is there; a condition belongs to the request that a key stands for."""
    if if_match is None:
        return await do_once(app, operation, key, request, effect)
    check = if_match.check_state if of_state else if_match.check
    request = {**request, "if_match": if_match.given}
    return await do_once(app, operation, key, request, effect, lambda sessions: check(sessions, session_id))


async def _page(app: App, session_id: str, after: int, limit: int) -> tuple[list[SessionEvent], bool]:
    """The events beyond a number, and whether there are more; as many rows as were asked for, and one."""
    events = await app.sessions.list_events(session_id, after, limit + 1)
    return events[:limit], len(events) > limit


def _changes(body: models.PatchSession) -> dict[str, Any]:
    """What the caller has named; the rest stays."""
    given = body.model_fields_set
    return {
        "metadata": {META[field]: getattr(body, field) for field in META if field in given},
        "context": body.context if "context" in given else None,
        "set_context": _pair(body.set_context),
        "union_context": _pair(body.union_context),
    }


def _pair(change: models.ContextSet | None) -> tuple[str, list[str]] | None:
    return None if change is None else (change.set_name, change.items)


def _without(given: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != field}
