"""The page on which a person decides about an agent that asks for a token.

It shows what the agent says of itself and the code that it shows, so that the person can tell the
own one from another's. What is decided here gives no more than the person has.
"""

from __future__ import annotations

import asyncio
import html
from datetime import datetime
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
from holdfast.identity.scopes import ADMIN, PUBLISH, READ, USUAL_SCOPES, WRITE, limit_scopes
from holdfast.surfaces.http.device import PAGE
from holdfast.surfaces.http.forms import make_page, read_form
from holdfast.surfaces.http.login import Tries
from holdfast.surfaces.http.principal import Principal, get_principal
from holdfast.surfaces.http.scopes import ScopedRoute, require_scope
from holdfast.team.errors import DeveloperNotFoundError

DECISIONS = ("approve", "deny")
ASK_TITLE = "Let a laptop act for you"
ASK = """{problem}<p>Enter the code that it shows.</p>
<form method="get" action="/login/device">
<label for="user_code">Code</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters"
spellcheck="false" class="code-input" required autofocus>
<button type="submit">Continue</button>
</form>"""
PROBLEM = """<p class="bad" role="alert">{problem}</p>
"""
DECIDE = """<p>Approve it only if you began this yourself, and the laptop shows the same code:</p>
<p class="user-code"><code>{code}</code></p>
<dl class="asked">
<div><dt>Workspace</dt><dd>{workspace}</dd></div>
<div><dt>Agent program, as it says</dt><dd>{agent}</dd></div>
<div><dt>Machine, as it says</dt><dd>{machine}</dd></div>
<div><dt>Asked at</dt><dd>{asked_at}</dd></div>
<div><dt>What it may do</dt><dd><ul>{rights}</ul></dd></div>
</dl>
<form method="post" action="/login/device">
<input type="hidden" name="user_code" value="{code}">
{choice}<p class="choices">
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
<button type="submit" name="decision" value="approve">Approve</button>
</p>
</form>"""
# The first button is the one that Enter in a field would press; that must not decide.
CHOICE = """<button type="submit" disabled hidden></button>
<label for="developer">Developer</label>
<input id="developer" name="developer" value="{handle}" autocomplete="off" required>
"""
RIGHTS = {
    READ: "read what the team publishes, and the sessions and memories of {who} on this server",
    PUBLISH: "publish, reserve files, hand over and show live sessions as {who}",
    WRITE: "write sessions and memories of {who} on this server",
}
DECIDED = """<p>{sentence}</p>
<p><a class="button quiet" href="/">Open the console</a></p>"""
TITLE = "A laptop wants to act as {who}"
A_DEVELOPER, THAT_DEVELOPER = "a developer of this workspace", "that developer"

router = APIRouter(include_in_schema=False, route_class=ScopedRoute)


@router.get(PAGE)
async def show_login_page(
    sent: Request, user_code: Annotated[str, Query(max_length=rules.TYPED_CHARS)] = ""
) -> Response:
    """Where a code is entered, then who asks and for whom."""
    if not user_code:
        return _ask_for_code()
    try:
        login = await _find_login(sent, user_code)
    except HoldfastError as error:
        return _ask_for_code(error)
    return _show_login(get_principal(sent), login, user_code)


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
        title, sentence = await _decide(sent, app, user_code, decision)
    except HoldfastError as error:
        return _ask_for_code(error)
    agent, machine = html.escape(login.agent), html.escape(login.machine)
    told = sentence.format(agent=agent, machine=machine)
    return make_page(title, DECIDED.format(sentence=told))


def _ask_for_code(error: HoldfastError | None = None) -> Response:
    if error is None:
        return make_page(ASK_TITLE, ASK.format(problem=""))
    problem = PROBLEM.format(problem=html.escape(error.message))
    return make_page(ASK_TITLE, ASK.format(problem=problem), error.http_status)


async def _decide(sent: Request, app: App, user_code: str, decision: str) -> tuple[str, str]:
    """A title and a sentence of what follows."""
    await app.scope.own_team.enter()
    identity = app.scope.identity
    if decision == "deny":
        await identity.deny_login(user_code)
        return "Denied", "{agent} on {machine} gets no token. You can close this page."
    await identity.approve_login(user_code, get_principal(sent).token)
    then = "{agent} on {machine} gets its token when it asks next. You can close this page."
    return "Approved", then


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


def _show_login(principal: Principal, login: Login, user_code: str) -> Response:
    settings = principal.app.settings
    handle = html.escape(settings.developer)
    may_choose = principal.may(ADMIN)
    who = THAT_DEVELOPER if may_choose else handle
    granted = limit_scopes(USUAL_SCOPES, principal.scopes)
    rights = (f"<li>{RIGHTS[scope].format(who=who)}</li>" for scope in granted)
    content = DECIDE.format(
        workspace=html.escape(settings.workspace),
        code=rules.show_user_code(rules.parse_user_code(user_code) or ""),
        agent=html.escape(term_safe(login.agent)),
        machine=html.escape(term_safe(login.machine)),
        asked_at=_describe_moment(login.asked_at),
        rights="".join(rights),
        choice=CHOICE.format(handle=handle) if may_choose else "",
    )
    title = TITLE.format(who=A_DEVELOPER if may_choose else settings.developer)
    return make_page(title, content)


def _describe_moment(at: datetime) -> str:
    """Without a script the zone of the reader is not known, so with how long ago it was."""
    minutes = int((clock.now() - at).total_seconds() // 60)
    ago = f"{minutes} min ago" if minutes > 0 else "just now"
    return f"{clock.to_text(at)[:16].replace('T', ' ')} UTC, {ago}"


def find_user_code(scope: Scope) -> str | None:
    """The code in the address of that page, for a person who has to log in first."""
    if scope["path"] != PAGE:
        return None
    given = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return rules.parse_user_code(given.get("user_code", [""])[0])
