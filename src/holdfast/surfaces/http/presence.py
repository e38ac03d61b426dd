"""What the hooks of a laptop tell this server of its sessions, and ask it for them.

Code calls these at every turn, and no model does, so they are not counted as calls of the exchange.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast.surfaces.http import team_models as models
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.here import Here, SessionId
from holdfast.surfaces.http.models import Nothing
from holdfast.surfaces.http.team import describe, describe_all
from holdfast.team.publishing_rules import check_repo

NOTHING = Nothing()

router = APIRouter(prefix="/api/team", route_class=JsonRoute)
SHOWN: dict[int | str, dict[str, Any]] = {200: {"model": models.Presence}}


@router.put("/presence/{session_id}", responses=SHOWN)
async def show_presence(app: Here, session_id: SessionId, body: models.ShowPresence) -> Response:
    """A session of the caller is live, with these paths not committed; it need not be stored"""
    await app.scope.team.show_presence(
        session_id, body.paths, client=body.client, repo=body.repo, branch=body.branch
    )
    return JSONResponse({"session_id": session_id})


@router.delete("/presence/{session_id}", responses=SHOWN)
async def end_presence(app: Here, session_id: SessionId, body: Nothing = NOTHING) -> Response:
    """It is not live any more, and what was claimed in it is released; again it does nothing"""
    await app.scope.team.end_presence(session_id)
    return JSONResponse({"session_id": session_id})


@router.get("/near", responses={200: {"model": models.Near}})
async def look_near(
    app: Here, sent: HttpRequest, asked: Annotated[models.NearQuery, Query()]
) -> Response:
    """What is the caller's and what is offered; with `repo` also what others do there"""
    team = app.scope.team
    me = await team.get_me()
    near = await team.look_near(check_repo(asked.repo))
    return JSONResponse(
        {
            "workspace": app.settings.workspace,
            "me": describe(me),
            "own_contexts": describe_all(near.own_contexts),
            "own_claims": describe_all(near.own_claims),
            "handoffs": describe_all(near.handoffs),
            "contexts": describe_all(near.contexts),
            "claims": describe_all(near.claims),
            "elsewhere": near.elsewhere,
            "has_more": near.has_more,
        }
    )
