"""`/api/me`: who the caller is at this server, and the end of its own token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast import __version__
from holdfast.surfaces.http import team_models
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.errors import TokenOfMachineError
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.models import AnswerModel, Nothing
from holdfast.surfaces.http.principal import get_principal

NOTHING = Nothing()

router = APIRouter(prefix="/api/me", route_class=JsonRoute)


class Myself(AnswerModel):
    id: str
    handle: str
    name: str
    visibility: team_models.Visibility


class MyToken(AnswerModel):
    id: str
    agent: str
    scopes: list[str]
    expires_at: str | None


class Me(AnswerModel):
    workspace: str
    developer: Myself
    token: MyToken | None
    version: str


class EndedToken(AnswerModel):
    id: str
    agent: str
    revoked_at: str


@router.get("", responses={200: {"model": Me}})
async def get_me(app: Here, sent: HttpRequest) -> Response:
    """The developer, the token if it is not that of the data folder, and this server's version"""
    developer = await app.scope.team.get_me()
    token = get_principal(sent).token
    described: dict[str, Any] | None = None
    if token is not None:
        known = token.to_dict()
        described = {name: known[name] for name in ("id", "agent", "scopes", "expires_at")}
    return JSONResponse(
        {
            "workspace": app.settings.workspace,
            "developer": {**developer.person.to_dict(), "visibility": developer.visibility},
            "token": described,
            "version": __version__,
        }
    )


@router.delete("/token", responses={200: {"model": EndedToken}})
async def revoke_own_token(app: Here, sent: HttpRequest, body: Nothing = NOTHING) -> Response:
    """End the token of this call, and what it has granted"""
    token = get_principal(sent).token
    if token is None:
        raise TokenOfMachineError
    revoked = (await app.scope.identity.revoke_token(token.id)).to_dict()
    return JSONResponse({name: revoked[name] for name in ("id", "agent", "revoked_at")})
