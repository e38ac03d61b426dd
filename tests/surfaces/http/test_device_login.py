"""An agent on another machine gets a token: begun by the agent, approved by a person in a browser,
fetched once. And everything that must not get one.
"""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.ground.settings import owner_of
from holdfast.identity import rules
from holdfast.scope import Scope
from holdfast.surfaces.http import login
from holdfast.surfaces.http.device import Polls
from tests.surfaces.http.callers import FORM, URL, Served, serve_in_process
from tests.surfaces.http.server import is_problem

PAGE = {"Accept": "text/html"}


@pytest.fixture
async def served(
    database_url: str, workspace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Served]:
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0.0)
    async with serve_in_process(database_url, workspace, tmp_path / "data") as running:
        yield running


async def begin(client: httpx.AsyncClient, **fields: str) -> dict[str, Any]:
    answer = await client.post(
        "/api/logins", json={"agent": "codex", "machine": "ana-laptop", **fields}
    )
    assert answer.status_code == 201, answer.text
    begun: dict[str, Any] = answer.json()
    return begun


async def redeem(client: httpx.AsyncClient, begun: dict[str, Any]) -> httpx.Response:
    return await client.post("/api/logins/token", json={"device_code": begun["device_code"]})


async def log_in(served: Served, token: str, **more: str) -> httpx.AsyncClient:
    browser = await served.open(None)
    answer = await browser.post("/login", data={"token": token, **more}, headers=FORM)
    assert answer.status_code == 303, answer.text
    return browser


async def decide(
    browser: httpx.AsyncClient, begun: dict[str, Any], decision: str = "approve", **more: str
) -> httpx.Response:
    form = {"user_code": begun["user_code"], "decision": decision, **more}
    return await browser.post("/login/device", data=form, headers=FORM)


@pytest.fixture
def patient(served: Served) -> None:
    """An agent that waits as long as it was told, in no time."""
    polls = served.door.app.state.polls
    steps = iter(range(0, 1 << 30, rules.POLL_SECONDS))
    polls._now = lambda: float(next(steps))


# --- the whole way --------------------------------------------------------------------------------


async def test_an_agent_gets_a_token_after_a_person_said_yes(served: Served, patient: None):
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    assert is_problem(await redeem(agent, begun), 400, "authorization_pending")

    browser = await served.open(None)
    asked = await browser.get(begun["verification_uri_complete"], headers=PAGE)
    assert asked.status_code == 401
    assert 'name="user_code"' in asked.text
    form = {"token": made.text, "user_code": begun["user_code"]}
    entered = await browser.post("/login", data=form, headers=FORM)
    shown = await browser.get(entered.headers["location"], headers=PAGE)
    for word in (
        "codex",
        "ana-laptop",
        begun["user_code"],
        "<h1>A laptop wants to act as ana</h1>",
    ):
        assert word in shown.text
    assert "Approved" in (await decide(browser, begun)).text

    granted = (await redeem(agent, begun)).json()
    assert (granted["developer"]["handle"], granted["workspace"]) == (
        "ana",
        served.app.settings.workspace,
    )
    assert granted["scopes"] == ["context:read", "context:publish", "events:write"]
    joined = await served.open(granted["token"])
    me = (await joined.get("/api/me")).json()
    assert (me["developer"]["handle"], me["token"]["agent"]) == ("ana", "codex")
    assert is_problem(await redeem(agent, begun), 400, "expired_token")


async def test_the_developer_of_the_machine_approves_with_its_own_token(
    served: Served, patient: None
):
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, served.key)

    assert "Approved" in (await decide(browser, begun)).text

    granted = (await redeem(agent, begun)).json()
    assert granted["developer"]["handle"] == "owner"
    joined = await served.open(granted["token"])
    assert (await joined.get("/api/state")).status_code == 200


async def test_a_login_that_is_denied_gets_nothing(served: Served, patient: None):
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, made.text)

    assert "Denied" in (await decide(browser, begun, "deny")).text

    assert is_problem(await redeem(agent, begun), 400, "access_denied")
    assert (await decide(browser, begun)).status_code == 409


async def test_it_is_approved_once(served: Served, patient: None):
    ana, bo = await served.add("ana"), await served.add("bo")
    agent = await served.open(None)
    begun = await begin(agent)
    browsers = [await log_in(served, made.text) for made in (ana, bo)]

    answers = await asyncio.gather(*(decide(browser, begun) for browser in browsers))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert (await redeem(agent, begun)).status_code == 200


async def test_an_administrator_approves_for_another_developer_and_nobody_else_does(
    served: Served, patient: None
):
    await served.add("bo")
    admin, ana = await served.add("root", "admin"), await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    by_ana, by_admin = await log_in(served, ana.text), await log_in(served, admin.text)

    page = f"/login/device?user_code={begun['user_code']}"
    assert 'name="developer"' not in (await by_ana.get(page)).text
    assert 'name="developer"' in (await by_admin.get(page)).text
    assert (await decide(by_ana, begun, developer="bo")).status_code == 403
    assert (await decide(by_admin, begun, developer="nobody")).status_code == 404
    assert "Approved" in (await decide(by_admin, begun, developer="bo")).text

    granted = (await redeem(agent, begun)).json()
    assert granted["developer"]["handle"] == "bo"
    assert "admin" not in granted["scopes"]


async def test_what_is_granted_has_no_more_than_its_approver_and_ends_with_its_token(
    served: Served, patient: None
):
    made = await served.add("ana", "context:read")
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, made.text)
    await decide(browser, begun)
    granted = (await redeem(agent, begun)).json()
    joined = await served.open(granted["token"])

    assert granted["scopes"] == ["context:read"]
    await browser.post("/logout", headers=FORM)
    assert (await joined.get("/api/me")).status_code == 200
    await served.app.scope.identity.revoke_token(made.token.id)
    assert is_problem(await joined.get("/api/me"), 401, "unauthorized")


async def test_the_page_says_in_plain_words_what_is_granted_and_no_more(served: Served):
    """That of a developer who may only read offers nothing else; an administrator chooses for whom,
    and Enter in that field decides nothing.
    """
    begun = await begin(await served.open(None))
    page = f"/login/device?user_code={begun['user_code']}"
    shown = {}
    for handle, *scopes in (("ana",), ("bo", "context:read"), ("root", "admin")):
        made = await served.add(handle, *scopes)
        shown[handle] = (await (await log_in(served, made.text)).get(page)).text

    rights = {name: re.findall(r"<li>(\w+)", text) for name, text in shown.items()}
    assert rights == {
        "ana": ["read", "publish", "write"],
        "bo": ["read"],
        "root": ["read", "publish", "write"],
    }
    assert "publish, reserve files, hand over and show live sessions as ana" in shown["ana"]
    assert "wants to act as a developer of this workspace" in shown["root"]
    for name, text in shown.items():
        assert f"<dd>{served.app.settings.workspace}</dd>" in text
        assert " UTC, just now</dd>" in text
        first = re.findall(r"<button[^>]*>", text)[0]
        assert ("disabled" in first) == (name == "root")
        assert re.search(r'value="deny" class="quiet">Deny<.*value="approve">Approve<', text, re.S)
        assert "style=" not in text


# --- what must not get one ------------------------------------------------------------------------


async def test_guessed_codes_are_slowed_down_and_counted(served: Served):
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, made.text)
    guesses = [rules.make_user_code() for _ in range(login.WRONG_TRIES + 2)]

    wrong = [await decide(browser, {"user_code": code}) for code in guesses]

    assert [answer.status_code for answer in wrong] == [404] * login.WRONG_TRIES + [429] * 2
    assert served.door.app.state.user_code_tries.are_too_many
    assert "Approved" in (await decide(browser, begun)).text  # nobody is locked out


async def test_a_developer_of_another_workspace_does_not_reach_a_login(
    served: Served, workspace: str
):
    begun = await begin(await served.open(None))
    elsewhere = owner_of(f"{workspace}.other", "dee")
    scope = Scope(served.app.database, elsewhere)
    await scope.team.enter()
    made = await scope.identity.add_token("claude")

    browser = await served.open(None)
    refused = await browser.post("/login", data={"token": made.text}, headers=FORM)

    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    dee = await served.open(made.text)
    assert (await decide(dee, begun)).status_code == 401
    assert is_problem(await dee.get("/api/me"), 401, "unauthorized")


async def test_a_foreign_page_cannot_approve(served: Served, patient: None):
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, made.text)
    form = {"user_code": begun["user_code"], "decision": "approve"}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ):
        given = {"Content-Type": FORM["Content-Type"], **headers}
        answer = await browser.post("/login/device", data=form, headers=given)
        assert is_problem(answer, 403, "foreign_request")

    assert is_problem(await redeem(agent, begun), 400, "authorization_pending")


async def test_a_link_alone_approves_nothing(served: Served, patient: None):
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    browser = await log_in(served, made.text)

    page = f"/login/device?user_code={begun['user_code']}&decision=approve"
    assert (await browser.get(page, headers=PAGE)).status_code == 200

    assert is_problem(await redeem(agent, begun), 400, "authorization_pending")


async def test_two_who_fetch_at_once_get_one_token(served: Served, monkeypatch):
    monkeypatch.setattr(rules, "POLL_SECONDS", 0)
    made = await served.add("ana")
    agent = await served.open(None)
    begun = await begin(agent)
    await decide(await log_in(served, made.text), begun)

    answers = await asyncio.gather(*(redeem(agent, begun) for _ in range(6)))

    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 5]


async def test_an_agent_that_asks_too_often_is_told_to_slow_down(served: Served):
    agent = await served.open(None)
    begun = await begin(agent)

    codes = [(await redeem(agent, begun)).json()["code"] for _ in range(3)]

    assert codes == ["authorization_pending", "slow_down", "slow_down"]


def test_an_agent_that_waits_is_not_slowed_down_and_the_list_is_bounded(monkeypatch):
    moments = iter([0.0, 5.0, 9.0])
    polls = Polls(lambda: next(moments))
    polls.check("a")
    polls.check("a")
    with pytest.raises(Exception, match="too soon"):
        polls.check("a")


async def test_open_logins_are_bounded(served: Served, monkeypatch):
    monkeypatch.setattr(rules, "MOST_OPEN_LOGINS", 20)
    agent = await served.open(None)
    body = {"agent": "codex", "machine": "m"}

    answers = await asyncio.gather(*(agent.post("/api/logins", json=body) for _ in range(100)))

    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(429)) == (20, 80)
    assert is_problem(await agent.post("/api/logins", json=body), 429, "too_many_logins")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"agent": "codex"},
        {"agent": "", "machine": "m"},
        {"agent": "codex", "machine": "a\nb"},
        {"agent": "codex", "machine": "x" * 61},
        {"agent": "browser", "machine": "m"},
        {"agent": "codex", "machine": "m", "scopes": ["admin"]},
        {"agent": "\x1b[31m", "machine": "m"},
        {"agent": 7, "machine": "m"},
    ],
)
async def test_a_login_with_bad_input_is_refused(served: Served, body: Any):
    agent = await served.open(None)

    assert is_problem(await agent.post("/api/logins", json=body), 400)


async def test_what_an_agent_says_of_itself_is_shown_as_text(served: Served):
    made = await served.add("ana")
    name = "<script>x</script>{handle}"
    begun = await begin(await served.open(None), agent=name, machine='"><img src=x>')
    browser = await log_in(served, made.text)

    shown = (await browser.get(f"/login/device?user_code={begun['user_code']}")).text

    assert html.escape(name) in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert html.escape(name) in (await decide(browser, begun)).text


@pytest.mark.parametrize("code", ["", "x", "A" * 30, "BCDF-GHJK", "<b>", "%00"])
async def test_a_page_for_an_unknown_code_asks_for_another(served: Served, code: str):
    made = await served.add("ana")
    browser = await log_in(served, made.text)

    answer = await browser.get(f"/login/device?user_code={code}")

    assert answer.status_code in (200, 404)
    assert re.search(r'<input id="user_code"', answer.text)


# --- browsers -------------------------------------------------------------------------------------


async def test_a_browser_gets_a_token_of_its_own_which_ends_with_the_pasted_one(served: Served):
    made = await served.add("ana")
    browser = await log_in(served, made.text)
    [cookie] = browser.cookies.values()
    ana = served.app.acting_for(owner_of(served.app.settings.workspace, "ana"))

    assert cookie.startswith("hft_")
    assert cookie != made.text
    assert (await browser.get("/api/me")).json()["token"]["agent"] == "browser"
    newest, _ = await ana.scope.identity.list_tokens()
    assert (newest.agent, newest.granted_by) == ("browser", made.token.id)
    assert newest.expires_at is not None
    await ana.scope.identity.revoke_token(made.token.id)
    assert is_problem(await browser.get("/api/me"), 401, "unauthorized")


async def test_logging_out_ends_what_the_browser_had(served: Served):
    made = await served.add("ana")
    browser = await log_in(served, made.text)
    [cookie] = browser.cookies.values()
    name = login.cookie_name(4790)

    answer = await browser.post("/logout", headers=FORM)

    assert (answer.status_code, answer.headers["location"]) == (303, "/login?logged_out=1")
    assert not browser.cookies
    left = (await browser.get(answer.headers["location"])).text
    assert "You are logged out." in left
    assert "not logged in" not in left
    again = await served.open(None, Cookie=f"{name}={cookie}")
    assert is_problem(await again.get("/api/me"), 401, "unauthorized")
    assert (await (await served.open(made.text)).get("/api/me")).status_code == 200


async def test_the_developer_of_the_machine_logs_out_too(served: Served):
    browser = await log_in(served, served.key)

    await browser.post("/logout", headers=FORM)

    assert not browser.cookies
    assert is_problem(await browser.get("/api/me"), 401, "unauthorized")
    assert (await (await served.as_owner()).get("/api/me")).status_code == 200


async def test_a_foreign_page_cannot_log_a_person_out(served: Served):
    made = await served.add("ana")
    browser = await log_in(served, made.text)

    answer = await browser.post("/logout", headers={"Origin": "http://evil.example"})

    assert is_problem(answer, 403, "foreign_request")
    assert (await browser.get("/api/me")).status_code == 200


async def test_the_way_back_after_a_login_leads_to_the_page_of_a_code_and_nowhere_else(
    served: Served,
):
    made = await served.add("ana")
    for given in ("//evil.example", "https://evil.example", "BCDFGHJK\r\nX: y", "x"):
        browser = await served.open(None)
        form = {"token": made.text, "user_code": given}
        answer = await browser.post("/login", data=form, headers=FORM)
        assert answer.headers["location"] == "/"
    assert URL not in answer.headers["location"]
