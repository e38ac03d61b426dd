"""`GET /api/state`: what a console or a program wants to know first, in one answer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from holdfast.surfaces.http import models
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.sessions import describe_sessions

SESSIONS = 50

router = APIRouter()


@router.get("/api/state", responses={200: {"model": models.State}})
async def get_state(app: Here) -> Response:
    """Workspace, developer and the newest sessions; what has no room yet is empty"""
    workspace = app.settings.workspace
    sessions = await app.scope.sessions.list_sessions(SESSIONS)
    rooms_to_come = ("developers", "sessionContexts", "claims", "handoffs", "workEvents")
    return JSONResponse(
        {
            "workspace": workspace,
            "me": {"handle": app.settings.developer, "workspace": workspace},
            "sessions": await describe_sessions(app, sessions),
            **{room: [] for room in rooms_to_come},
        }
    )
