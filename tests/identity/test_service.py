"""The room on both engines: tokens and what they grant, logins and who decides about them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.settings import Owner, owner_of
from holdfast.identity import errors, rules
from holdfast.identity.model import Token
from holdfast.identity.scopes import USUAL_SCOPES
from holdfast.identity.service import IdentityService
from holdfast.scope import Scope

ANA, BO, CY = (owner_of("north", name) for name in ("ana", "bo", "cy"))
DEE = owner_of("south", "dee")


@pytest.fixture
async def identities(
    database: Any, workspace: str
) -> Callable[[Owner], Awaitable[IdentityService]]:
    """The room for a developer, who exists then, in a workspace of this test."""

    async def open_for(owner: Owner) -> IdentityService:
        own = owner_of(f"{workspace}.{owner.workspace_id}", owner.handle)
        scope = Scope(database, own)
        await scope.team.enter()
        return scope.identity

    return open_for


def flip(text: str, place: int) -> str:
    return text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]


async def is_live(identity: IdentityService, token: Token) -> bool:
    return await identity.find_live_token(token.id) is not None


# --- tokens ---------------------------------------------------------------------------------------


async def test_a_token_names_its_developer_and_is_stored_as_a_hash_only(identities):
    identity = await identities(ANA)
    made = await identity.add_token("claude", ["context:read"])

    found = await identity.authenticate(made.text)

    assert found is not None
    assert (found.id, found.handle, found.agent) == (made.token.id, "ana", "claude")
    assert found.scopes == ("context:read",)
    assert found.developer_id == identity.owner.developer_id
    assert made.text.endswith(f".{identity.owner.workspace_id}")
    [listed] = await identity.list_tokens()
    assert made.text not in repr(listed)
    assert rules.hash_secret(made.text).hex() not in repr(listed)


async def test_what_is_not_exactly_the_token_does_not_count(identities):
    ana, dee = await identities(ANA), await identities(DEE)
    text = (await ana.add_token("claude")).text
    secret, _, _ = text.partition(".")
    wrong = [
        *(flip(text, place) for place in (4, 20, len(secret) - 1)),
        *(text[:-1], text[1:], secret, f"{secret}.", f"{text} ", text.upper(), f"{text}\n", ""),
        *(f"{secret}.{dee.owner.workspace_id}", "hft_" + "x" * 8192, "\ud800"),
    ]

    assert [await ana.authenticate(each) for each in wrong] == [None] * len(wrong)
    assert await dee.authenticate(text) is None
    assert await ana.authenticate(text) is not None


async def test_a_revoked_token_ends_at_once_and_stays_as_it_was_revoked(identities):
    identity = await identities(ANA)
    made = await identity.add_token("claude")

    first = await identity.revoke_token(made.token.id)
    again = await identity.revoke_token(made.token.id)

    assert first.revoked_at is not None
    assert again == first
    assert await identity.authenticate(made.text) is None
    assert not await is_live(identity, made.token)


async def test_an_expired_token_does_not_count(identities):
    identity = await identities(ANA)
    made = await identity.add_token("claude", ttl_seconds=-1)

    assert await identity.authenticate(made.text) is None
    assert not await is_live(identity, made.token)


async def test_the_use_of_a_token_is_noted_once_a_minute(identities):
    identity = await identities(ANA)
    text = (await identity.add_token("claude")).text

    first = await identity.authenticate(text)
    again = await identity.authenticate(text)

    assert first.last_used_at is not None
    assert again.last_used_at == first.last_used_at


async def test_another_developer_lists_and_finds_none_of_ones_tokens(identities):
    ana, bo = await identities(ANA), await identities(BO)
    made = await ana.add_token("claude")

    assert await bo.list_tokens() == []
    assert not await is_live(bo, made.token)


@pytest.mark.parametrize("token_id", ["", "x", None, 7, "0190d3a1-0000-7000-8000-000000000009"])
async def test_an_id_that_is_no_token_s_is_not_found(identities, token_id):
    identity = await identities(ANA)
    with pytest.raises(errors.TokenNotFoundError):
        await identity.revoke_token(token_id)


async def test_a_token_of_another_workspace_is_not_found(identities):
    ana, dee = await identities(ANA), await identities(DEE)
    made = await ana.add_token("claude")

    with pytest.raises(errors.TokenNotFoundError):
        await dee.revoke_token(made.token.id)
    assert await ana.authenticate(made.text) is not None


async def test_what_a_token_granted_ends_with_it_through_all_generations(identities):
    identity = await identities(ANA)
    root = await identity.add_token("claude")
    browser = await identity.log_in_browser(root.token)
    child = await identity.add_token("codex", granted_by=root.token)
    grandchild = await identity.add_token("gemini", granted_by=child.token)
    other = await identity.add_token("other")

    await identity.revoke_token(root.token.id)

    for ended in (root, browser, child, grandchild):
        assert await identity.authenticate(ended.text) is None
    assert await identity.authenticate(other.text) is not None


async def test_logging_out_ends_the_browser_alone(identities):
    identity = await identities(ANA)
    root = await identity.add_token("claude")
    browser = await identity.log_in_browser(root.token)

    await identity.revoke_token(browser.token.id)

    assert await identity.authenticate(browser.text) is None
    assert await identity.authenticate(root.text) is not None


async def test_nothing_is_granted_by_a_token_that_has_ended(identities):
    identity = await identities(ANA)
    revoked = await identity.add_token("claude")
    await identity.revoke_token(revoked.token.id)
    expired = await identity.add_token("claude", ttl_seconds=-1)

    for ended in (revoked, expired):
        with pytest.raises(errors.TokenEndedError):
            await identity.log_in_browser(ended.token)


async def test_a_granted_token_expires_with_the_one_that_granted_it(identities):
    identity = await identities(ANA)
    short = await identity.add_token("claude", ttl_seconds=60)
    browser = await identity.log_in_browser(short.token)

    assert browser.token.expires_at == short.token.expires_at
    assert browser.token.scopes == short.token.scopes


async def test_grants_that_race_with_a_revocation_leave_no_token(identities):
    """Whichever comes first: it is refused, or it ends with the one that granted it."""
    identity = await identities(ANA)
    for _ in range(5):
        root = await identity.add_token("claude")
        granting = [identity.log_in_browser(root.token) for _ in range(8)]
        revoking = identity.revoke_token(root.token.id)
        *made, _ = await asyncio.gather(*granting, revoking, return_exceptions=True)

        texts = [each.text for each in made if not isinstance(each, Exception)]
        assert [await identity.authenticate(text) for text in texts] == [None] * len(texts)


@pytest.mark.parametrize("scopes", [["context:write"], ["admin", ""], [None]])
async def test_an_unknown_scope_is_refused_with_the_known_ones(identities, scopes):
    identity = await identities(ANA)
    with pytest.raises(InvalidValueError, match="context:read, context:publish"):
        await identity.add_token("claude", scopes)


@pytest.mark.parametrize("agent", ["", " ", "a\nb", "x" * 61, "Browser", None, "\x1b[2J"])
async def test_a_name_of_an_agent_is_one_short_line(identities, agent):
    identity = await identities(ANA)
    with pytest.raises(InvalidValueError):
        await identity.add_token(agent)


async def test_a_workspace_is_added_once(identities):
    identity = await identities(ANA)
    assert not await identity.has_workspace()
    assert await identity.add_workspace()
    assert not await identity.add_workspace()
    assert await identity.has_workspace()


# --- logins ---------------------------------------------------------------------------------------


async def test_a_login_is_approved_and_its_token_fetched_once(identities):
    ana = await identities(ANA)
    login = await ana.begin_login("claude", "laptop")
    with pytest.raises(errors.AuthorizationPendingError):
        await ana.redeem_login(login.device_code)

    shown = await ana.get_login(rules.show_user_code(login.user_code).lower())
    await ana.approve_login(login.user_code)
    made = await ana.redeem_login(login.device_code)

    assert (shown.agent, shown.machine) == ("claude", "laptop")
    assert (made.token.handle, made.token.agent) == ("ana", "claude on laptop")
    assert made.token.scopes == USUAL_SCOPES
    found = await ana.authenticate(made.text)
    assert found is not None
    assert found.id == made.token.id
    with pytest.raises(errors.ExpiredTokenError):
        await ana.redeem_login(login.device_code)


async def test_a_login_that_was_denied_is_told_so(identities):
    ana = await identities(ANA)
    login = await ana.begin_login("claude", "laptop")
    await ana.deny_login(login.user_code)

    with pytest.raises(errors.AccessDeniedError):
        await ana.redeem_login(login.device_code)
    with pytest.raises(errors.LoginDecidedError):
        await ana.approve_login(login.user_code)
    assert await ana.list_tokens() == []


async def test_two_who_redeem_at_once_get_one_token(identities):
    ana = await identities(ANA)
    for _ in range(5):
        login = await ana.begin_login("claude", "laptop")
        await ana.approve_login(login.user_code)
        answers = await asyncio.gather(
            *(ana.redeem_login(login.device_code) for _ in range(4)), return_exceptions=True
        )
        made = [each for each in answers if not isinstance(each, Exception)]
        refused = [each for each in answers if isinstance(each, errors.ExpiredTokenError)]
        assert (len(made), len(refused)) == (1, 3)
    assert len(await ana.list_tokens()) == 5


async def test_an_answer_that_was_lost_is_given_again_for_the_same_token(identities):
    """A statement that a broken connection repeats has the same arguments."""
    ana = await identities(ANA)
    login = await ana.begin_login("claude", "laptop")
    await ana.approve_login(login.user_code)
    device_hash = rules.hash_secret(login.device_code)
    token = "0190d3a1-0000-7000-8000-00000000000a", rules.hash_secret("a token")

    first = await ana.store.redeem_login(device_hash, *token)
    again = await ana.store.redeem_login(device_hash, *token)

    assert first == again
    assert first is not None
    assert first[1] is not None


async def test_two_who_decide_at_once_decide_once(identities):
    ana, bo = await identities(ANA), await identities(BO)
    login = await ana.begin_login("claude", "laptop")

    answers = await asyncio.gather(
        ana.approve_login(login.user_code),
        bo.approve_login(login.user_code),
        ana.deny_login(login.user_code),
        return_exceptions=True,
    )

    refused = [each for each in answers if isinstance(each, errors.LoginDecidedError)]
    assert len(refused) == 2, answers


async def test_a_developer_of_another_workspace_does_not_find_a_login(identities):
    ana, dee = await identities(ANA), await identities(DEE)
    login = await ana.begin_login("claude", "laptop")

    for verb in (dee.get_login, dee.approve_login, dee.deny_login):
        with pytest.raises(errors.LoginNotFoundError):
            await verb(login.user_code)
    with pytest.raises(errors.ExpiredTokenError):
        await dee.redeem_login(login.device_code)
    with pytest.raises(errors.AuthorizationPendingError):
        await ana.redeem_login(login.device_code)


@pytest.mark.parametrize(
    "code", ["", "BCDFGHJ", "BCDFGHJKL", "AEIOUAEI", "BCDF0HJK", None, 7, "B" * 5000, "BCDFGHJK"]
)
async def test_a_code_that_is_no_login_s_is_not_found(identities, code):
    ana = await identities(ANA)
    with pytest.raises(errors.LoginNotFoundError):
        await ana.get_login(code)


@pytest.mark.parametrize("code", ["", "hfd_", None, 7, "hfd_" + "x" * 43, "x" * 9000])
async def test_a_device_code_that_is_no_login_s_gets_nothing(identities, code):
    ana = await identities(ANA)
    with pytest.raises(errors.ExpiredTokenError):
        await ana.redeem_login(code)


async def test_a_login_ends_after_its_time(identities, monkeypatch):
    ana = await identities(ANA)
    approved = await ana.begin_login("claude", "laptop")
    await ana.approve_login(approved.user_code)
    monkeypatch.setattr(rules, "LOGIN_SECONDS", -1)
    late = await ana.begin_login("claude", "laptop")

    for verb in (ana.get_login, ana.approve_login, ana.deny_login):
        with pytest.raises(errors.LoginNotFoundError):
            await verb(late.user_code)
    with pytest.raises(errors.ExpiredTokenError):
        await ana.redeem_login(late.device_code)
    assert await ana.redeem_login(approved.device_code)


async def test_open_logins_are_bounded_and_those_that_were_decided_leave_room(
    identities, monkeypatch
):
    monkeypatch.setattr(rules, "MOST_OPEN_LOGINS", 3)
    ana, dee = await identities(ANA), await identities(DEE)
    begun = await asyncio.gather(
        *(ana.begin_login("claude", "laptop") for _ in range(10)), return_exceptions=True
    )
    logins = [each for each in begun if not isinstance(each, Exception)]
    refused = [each for each in begun if isinstance(each, errors.TooManyLoginsError)]
    assert (len(logins), len(refused)) == (3, 7)

    await dee.begin_login("claude", "laptop")
    await ana.deny_login(logins[0].user_code)
    await ana.begin_login("claude", "laptop")
    with pytest.raises(errors.TooManyLoginsError):
        await ana.begin_login("claude", "laptop")


async def test_a_login_gets_no_more_than_its_approver_has_and_ends_with_it(identities):
    ana = await identities(ANA)
    approver = (await ana.add_token("claude", ["context:read"])).token
    login = await ana.begin_login("codex", "laptop")

    await ana.approve_login(login.user_code, approver)
    made = await ana.redeem_login(login.device_code)

    assert made.token.scopes == ("context:read",)
    await ana.revoke_token(approver.id)
    assert await ana.authenticate(made.text) is None


async def test_a_login_that_a_browser_approved_outlives_the_browser(identities):
    ana = await identities(ANA)
    pasted = (await ana.add_token("claude")).token
    browser = (await ana.log_in_browser(pasted)).token
    login = await ana.begin_login("codex", "laptop")
    await ana.approve_login(login.user_code, browser)
    made = await ana.redeem_login(login.device_code)

    await ana.revoke_token(browser.id)
    assert await ana.authenticate(made.text) is not None
    await ana.revoke_token(pasted.id)
    assert await ana.authenticate(made.text) is None


async def test_a_login_whose_approver_was_revoked_meanwhile_gets_nothing(identities):
    ana = await identities(ANA)
    approver = (await ana.add_token("claude")).token
    login = await ana.begin_login("codex", "laptop")
    await ana.approve_login(login.user_code, approver)
    await ana.revoke_token(approver.id)

    with pytest.raises(errors.ExpiredTokenError):
        await ana.redeem_login(login.device_code)


async def test_an_administrator_lets_an_agent_in_for_another_developer(identities):
    ana, bo = await identities(ANA), await identities(BO)
    admin = (await ana.add_token("claude", ["admin"])).token
    login = await bo.begin_login("codex", "laptop")

    await bo.approve_login(login.user_code, admin)
    made = await bo.redeem_login(login.device_code)

    assert (made.token.handle, made.token.granted_by) == ("bo", None)
    assert made.token.scopes == USUAL_SCOPES
