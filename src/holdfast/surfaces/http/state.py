"""`GET /api/state`: what a console or a program wants to know first, in one answer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast.surfaces.http import team_models
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.models import AnswerModel, ListedSession
from holdfast.surfaces.http.sessions import describe_sessions
from holdfast.surfaces.http.team import (
    CountedRoute,
    counted_as,
    describe,
    describe_all,
    leave_counting,
)
from holdfast.usecases.exchange import TEAM
from holdfast.usecases.exchange import get_state as get_team_state

SESSIONS = 50

router = APIRouter(route_class=CountedRoute)


class Me(team_models.Developer):
    workspace: str


class State(AnswerModel):
    workspace: str
    me: Me
    developers: list[team_models.Developer]
    sessions: list[ListedSession]
    sessionContexts: list[team_models.PublishedContext]  # noqa: N815  # the seed's name
    claims: list[team_models.Reservation]
    handoffs: list[team_models.Handoff]
    workEvents: list[team_models.WorkEvent]  # noqa: N815


@router.get("/api/state", responses={200: {"model": State}})
@counted_as(f"{TEAM}.state")
async def get_state(app: Here, sent: HttpRequest) -> Response:
    """One's own newest sessions, and what the team shows: people, contexts, claims, handoffs"""
    leave_counting(sent)
    team = await get_team_state(app.scope)
    workspace = app.settings.workspace
    sessions = await app.scope.sessions.list_sessions(SESSIONS)
    return JSONResponse(
        {
            "workspace": workspace,
            "me": {**describe(team.me), "workspace": workspace},
            "developers": describe_all(team.developers),
            "sessions": await describe_sessions(app, sessions),
            "sessionContexts": describe_all(team.published_contexts),
            "claims": describe_all(team.claims),
            "handoffs": describe_all(team.handoffs),
            "workEvents": describe_all(team.work_events),
        }
    )
