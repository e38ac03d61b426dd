"""`/api/me`: who the caller is at this server, and the end of its own token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast import __version__
from holdfast.app import App
from holdfast.ground import clock
from holdfast.identity.model import Token
from holdfast.identity.rules import is_laptop
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
    other_machines: int = Field(description="That have joined for this developer")
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
            "other_machines": await _count_other_machines(app, token),
            "version": __version__,
        }
    )


async def _count_other_machines(app: App, own: Token | None) -> int:
    tokens = await app.scope.identity.list_tokens()
    now = clock.now()
    others = [each for each in tokens if is_laptop(each.agent) and each.is_live(now)]
    return len([each for each in others if own is None or each.id != own.id])


@router.delete("/token", responses={200: {"model": EndedToken}})
async def revoke_own_token(app: Here, sent: HttpRequest, body: Nothing = NOTHING) -> Response:
    """End the token of this call, and what it has granted"""
    token = get_principal(sent).token
    if token is None:
        raise TokenOfMachineError
    revoked = (await app.scope.identity.revoke_token(token.id)).to_dict()
    return JSONResponse({name: revoked[name] for name in ("id", "agent", "revoked_at")})
