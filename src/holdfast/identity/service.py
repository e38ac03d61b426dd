"""The verbs of identity: check by rule, use the store of its scope, return a frozen type.

A verb acts for the developer of its scope, except for the few that only what is presented decides:
a token, a code, or the id of a token that an administrator or its own holder revokes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.ground import ids
from holdfast.identity import rules
from holdfast.identity.errors import (
    AccessDeniedError,
    AuthorizationPendingError,
    ExpiredTokenError,
    LoginDecidedError,
    LoginNotFoundError,
    TokenEndedError,
    TokenNotFoundError,
    TooManyLoginsError,
)
from holdfast.identity.model import APPROVED, DENIED, Login, NewLogin, NewToken, Token
from holdfast.identity.scopes import USUAL_SCOPES, check_scopes, limit_scopes
from holdfast.identity.store import IdentityStore
from holdfast.storage.opening import as_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Owner

LISTED = 200


class IdentityService:
    def __init__(self, db_pool: Any, *, owner: Owner):
        self.owner = owner
        self.store = IdentityStore(as_database(db_pool), owner)

    # --- workspaces -------------------------------------------------------------------------------

    async def add_workspace(self) -> bool:
        """Make the workspace of the scope known; whether it was new."""
        return await self.store.add_workspace()

    async def has_workspace(self) -> bool:
        return await self.store.has_workspace()

    # --- tokens -----------------------------------------------------------------------------------

    async def add_token(
        self,
        agent: object,
        scopes: Iterable[object] = (),
        *,
        granted_by: Token | None = None,
        ttl_seconds: int | None = None,
    ) -> NewToken:
        """A token for an agent of this developer. Its text is in the answer, and nowhere else."""
        return await self._add_token(
            rules.check_agent(agent), check_scopes(scopes), granted_by, ttl_seconds
        )

    async def log_in_browser(self, pasted: Token) -> NewToken:
        """A token for the browser in which another one was pasted; it ends with that one."""
        return await self._add_token(rules.BROWSER, pasted.scopes, pasted, rules.BROWSER_SECONDS)

    async def list_tokens(self, limit: int = LISTED) -> Sequence[Token]:
        """Those of this developer, newest first, also those that have ended."""
        return await self.store.list_tokens(limit)

    async def find_live_token(self, token_id: str) -> Token | None:
        return await self.store.find_live_token(token_id)

    async def authenticate(self, text: str) -> Token | None:
        """Whose token this is; None for whatever does not count in this workspace."""
        if not rules.is_token_of(text, self.owner.workspace_id):
            return None
        return await self.store.authenticate(rules.hash_secret(text))

    async def revoke_token(self, token_id: object) -> Token:
        """End a token of this workspace and all that it has granted; again it does nothing."""
        parsed = ids.parse_id(token_id)
        revoked = parsed and await self.store.revoke_token(parsed)
        if not revoked:
            raise TokenNotFoundError(token_id)
        return revoked

    async def _add_token(
        self,
        agent: str,
        scopes: Sequence[str],
        granted_by: Token | None,
        ttl_seconds: int | None,
    ) -> NewToken:
        text = rules.make_token(self.owner.workspace_id)
        token = await self.store.add_token(
            ids.new_id(),
            rules.hash_secret(text),
            handle=self.owner.handle,
            agent=agent,
            scopes=scopes,
            granted_by=granted_by.id if granted_by else None,
            ttl_seconds=ttl_seconds,
        )
        if token is None:
            raise TokenEndedError
        return NewToken(token, text)

    # --- logins -----------------------------------------------------------------------------------

    async def begin_login(self, agent: object, machine: object) -> NewLogin:
        """An agent asks to act for a developer, who compares the short code and says yes or no."""
        checked_agent = rules.check_agent(agent)
        checked_machine = rules.check_label("machine", machine)
        device_code, user_code = rules.make_device_code(), rules.make_user_code()
        login = await self.store.begin_login(
            ids.new_id(),
            rules.hash_secret(device_code),
            rules.hash_secret(user_code),
            agent=checked_agent,
            machine=checked_machine,
            ttl_seconds=rules.LOGIN_SECONDS,
            most=rules.MOST_OPEN_LOGINS,
        )
        if login is None:
            raise TooManyLoginsError(rules.MOST_OPEN_LOGINS)
        return NewLogin(login, device_code, user_code)

    async def get_login(self, user_code: object) -> Login:
        """One that waits for a decision."""
        parsed = rules.parse_user_code(user_code)
        found = parsed and await self.store.find_login(rules.hash_secret(parsed))
        if not found:
            raise LoginNotFoundError
        if found.decision is not None:
            raise LoginDecidedError(found.decision)
        if found.is_expired:
            raise LoginNotFoundError
        return found

    async def approve_login(self, user_code: object, approver: Token | None = None) -> Login:
        """Let the agent act for this developer, with no more than the approver may do itself.

        What it gets ends with the token of the approver. A browser is only where somebody said yes:
        its own token counts as the one that was pasted there.
        """
        scopes: Sequence[str] = USUAL_SCOPES
        granted_by = None
        if approver is not None:
            scopes = limit_scopes(USUAL_SCOPES, approver.scopes)
            if approver.developer_id == self.owner.developer_id:
                granted_by = _find_root(approver)
        return await self._decide(user_code, APPROVED, scopes, granted_by)

    async def deny_login(self, user_code: object) -> Login:
        return await self._decide(user_code, DENIED, (), None)

    async def redeem_login(self, device_code: object) -> NewToken:
        """The token of a login that was approved, once; until then the reason why there is none."""
        if not rules.is_device_code(device_code):
            raise ExpiredTokenError
        assert isinstance(device_code, str)
        text = rules.make_token(self.owner.workspace_id)
        found = await self.store.redeem_login(
            rules.hash_secret(device_code), ids.new_id(), rules.hash_secret(text)
        )
        if found is None:
            raise ExpiredTokenError
        decision, token = found
        if token is not None:
            return NewToken(token, text)
        if decision == DENIED:
            raise AccessDeniedError
        raise AuthorizationPendingError

    async def _decide(
        self, user_code: object, decision: str, scopes: Sequence[str], granted_by: str | None
    ) -> Login:
        login = await self.get_login(user_code)
        parsed = rules.parse_user_code(user_code) or ""
        decided = await self.store.decide_login(
            rules.hash_secret(parsed),
            handle=self.owner.handle,
            decision=decision,
            scopes=scopes,
            granted_by=granted_by,
        )
        if decided is None:  # another developer was faster, or its time is over
            await self.get_login(user_code)
            raise LoginDecidedError(login.decision or "decided")
        return decided


def _find_root(approver: Token) -> str:
    if approver.agent == rules.BROWSER and approver.granted_by is not None:
        return approver.granted_by
    return approver.id
