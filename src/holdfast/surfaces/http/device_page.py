"""The page on which a person decides about an agent that asks for a token.

It shows what the agent says of itself and the code that it shows, so that the person can tell the
own one from another's. What is decided here gives no more than the person has.
"""

from __future__ import annotations

import asyncio
import html
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from holdfast.app import App
from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import clock
from holdfast.ground.handles import fold_handle
from holdfast.ground.settings import owner_of
from holdfast.ground.text import term_safe
from holdfast.identity import rules
from holdfast.identity.errors import LoginNotFoundError
from holdfast.identity.model import Login
from holdfast.identity.scopes import ADMIN
from holdfast.surfaces.http.device import PAGE
from holdfast.surfaces.http.forms import make_page, read_form
from holdfast.surfaces.http.login import Tries
from holdfast.surfaces.http.principal import Principal, get_principal, hide_from
from holdfast.surfaces.http.scopes import ScopedRoute, require_scope
from holdfast.team.errors import DeveloperNotFoundError

DECISIONS = ("approve", "deny")
ASK = """<p>An agent asks to act for you. Enter the code that it shows.</p>
<p>{problem}</p>
<form method="get" action="/login/device">
<label for="user_code">Code</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" required>
<button type="submit">Continue</button>
</form>"""
DECIDE = """<p>An agent asks to act for <b>{handle}</b> in <b>{workspace}</b>. Approve it only if it
is yours, and if it shows this code:</p>
<p><code class="user-code">{code}</code></p>
<dl>
<div><dt>Agent</dt><dd>{agent}</dd></div>
<div><dt>Machine, as it says</dt><dd>{machine}</dd></div>
<div><dt>Asked</dt><dd>{asked_at}</dd></div>
</dl>
<form method="post" action="/login/device">
<input type="hidden" name="user_code" value="{code}">
{choice}<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form>"""
CHOICE = """<label for="developer">Developer</label>
<input id="developer" name="developer" value="{handle}" autocomplete="off" required>
"""
DECIDED = "<p>{sentence}</p>"

router = APIRouter(include_in_schema=False, route_class=ScopedRoute)


@router.get(PAGE)
async def show_login_page(
    sent: Request, user_code: Annotated[str, Query(max_length=rules.TYPED_CHARS)] = ""
) -> Response:
    """Where a code is entered, then who asks and for whom."""
    if not user_code:
        return make_page(ASK.format(problem=""))
    try:
        login = await _find_login(sent, user_code)
    except HoldfastError as error:
        return _ask_again(sent, error)
    return make_page(_describe_login(get_principal(sent), login, user_code))


@router.post(PAGE)
async def decide_login(sent: Request) -> Response:
    """Approve or deny, as the developer who is logged in; an administrator for another one too."""
    form = await read_form(sent)
    user_code, decision = form.get("user_code", ""), form.get("decision", "")
    try:
        if decision not in DECISIONS:
            raise InvalidValueError("decision", decision, "is unknown", known=DECISIONS)
        login = await _find_login(sent, user_code)
        app = await _choose_developer(sent, form.get("developer"))
        sentence = await _decide(sent, app, user_code, decision)
    except HoldfastError as error:
        return _ask_again(sent, error)
    agent, machine = html.escape(login.agent), html.escape(login.machine)
    return make_page(DECIDED.format(sentence=sentence.format(agent=agent, machine=machine)))


def _ask_again(sent: Request, error: HoldfastError) -> Response:
    problem = hide_from(sent, error).message
    return make_page(ASK.format(problem=html.escape(problem)), error.http_status)


async def _decide(sent: Request, app: App, user_code: str, decision: str) -> str:
    await app.scope.own_team.enter()
    identity = app.scope.identity
    if decision == "deny":
        await identity.deny_login(user_code)
        return "Denied. {agent} on {machine} gets no token."
    await identity.approve_login(user_code, get_principal(sent).token)
    return (
        "Approved. {agent} on {machine} gets its token when it asks next. You can close this page."
    )


async def _find_login(sent: Request, user_code: str) -> Login:
    """Guesses are slowed down and counted, as those of tokens."""
    tries: Tries = sent.app.state.user_code_tries
    await asyncio.sleep(tries.pause_seconds)
    try:
        return await get_principal(sent).app.scope.identity.get_login(user_code)
    except LoginNotFoundError:
        tries.refuse()
        raise


async def _choose_developer(sent: Request, handle: str | None) -> App:
    principal = get_principal(sent)
    own = principal.app.settings.developer
    if handle is None or fold_handle(handle, field="developer") == own:
        return principal.app
    require_scope(sent, ADMIN)
    folded = fold_handle(handle, field="developer")
    other = principal.app.acting_for(owner_of(principal.app.settings.workspace, folded))
    if await other.scope.own_team.store.find_me() is None:
        raise DeveloperNotFoundError(folded)
    return other


def _describe_login(principal: Principal, login: Login, user_code: str) -> str:
    settings = principal.app.settings
    handle = html.escape(settings.developer)
    choice = CHOICE.format(handle=handle) if principal.may(ADMIN) else ""
    code = rules.parse_user_code(user_code) or ""
    return DECIDE.format(
        handle=handle,
        workspace=html.escape(settings.workspace),
        code=rules.show_user_code(code),
        agent=html.escape(term_safe(login.agent)),
        machine=html.escape(term_safe(login.machine)),
        asked_at=clock.to_text(login.asked_at)[:16].replace("T", " ") + " UTC",
        choice=choice,
    )


def find_user_code(scope: Scope) -> str | None:
    """The code in the address of that page, for a person who has to log in first."""
    if scope["path"] != PAGE:
        return None
    given = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return rules.parse_user_code(given.get("user_code", [""])[0])
