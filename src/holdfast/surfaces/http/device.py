"""How an agent on another machine gets a token: a person compares a code and says yes.

The exchange has the form of RFC 8628. The agent begins a login and shows a short code; a developer
who is logged in opens `/login/device`, sees which agent on which machine asks, and approves or
denies it; the agent asks until it gets its token, which is made at that moment and never stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.settings import owner_of
from holdfast.identity import rules
from holdfast.identity.errors import SlowDownError
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.models import AnswerModel, RequestModel

PAGE = "/login/device"
LOGINS = ("/api/logins", "/api/logins/token")
MOST_POLLS = 1_000

router = APIRouter(route_class=JsonRoute)


class BeginLogin(RequestModel):
    agent: str = Field(description="The program that asks, such as claude")
    machine: str = Field(description="The name of its machine, which the person will see")


class RedeemLogin(RequestModel):
    device_code: str


class BegunLogin(AnswerModel):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    interval: int = Field(description="Seconds between two tries")
    expires_in: int = Field(description="Seconds")


class GrantedToken(AnswerModel):
    token: str = Field(description="It is shown once, and stored nowhere")
    developer: dict[str, Any]
    workspace: str
    scopes: list[str]


class Polls:
    """When each waiting agent asked last: one that asks too often is slowed down."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._last: BoundedMap[str, float] = BoundedMap(MOST_POLLS)

    def check(self, device_code: str) -> None:
        last, now = self._last.find(device_code), self._now()
        self._last.drop(device_code)
        self._last.keep(device_code, now)
        if last is not None and now - last < rules.POLL_SECONDS:
            raise SlowDownError(rules.POLL_SECONDS)


@router.post(
    "/api/logins",
    status_code=201,
    responses={201: {"model": BegunLogin}},
    openapi_extra={"security": []},
)
async def begin_login(sent: Request, body: BeginLogin) -> Response:
    """Ask for a token: show the code to a person, then ask for the token until there is one"""
    begun = await _get_server(sent).scope.identity.begin_login(body.agent, body.machine)
    place = f"{str(sent.base_url).rstrip('/')}{PAGE}"
    code = rules.show_user_code(begun.user_code)
    return JSONResponse(
        {
            "device_code": begun.device_code,
            "user_code": code,
            "verification_uri": place,
            "verification_uri_complete": f"{place}?user_code={code}",
            "interval": rules.POLL_SECONDS,
            "expires_in": rules.LOGIN_SECONDS,
        },
        201,
    )


@router.post(
    "/api/logins/token",
    responses={200: {"model": GrantedToken}},
    openapi_extra={"security": []},
)
async def redeem_login(sent: Request, body: RedeemLogin) -> Response:
    """The token of a login that was approved, once; until then `authorization_pending`"""
    app = _get_server(sent)
    polls: Polls = sent.app.state.polls
    if rules.is_device_code(body.device_code):
        polls.check(body.device_code)
    made = await app.scope.identity.redeem_login(body.device_code)
    owner = owner_of(app.settings.workspace, made.token.handle)
    developer = await app.acting_for(owner).scope.team.get_me()
    return JSONResponse(
        {
            "token": made.text,
            "developer": developer.person.to_dict(),
            "workspace": app.settings.workspace,
            "scopes": list(made.token.scopes),
        }
    )


def _get_server(sent: Request) -> App:
    """Nobody asks yet: what decides is the code."""
    app: App = sent.app.state.holdfast
    return app
