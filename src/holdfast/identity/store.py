"""The only file that turns verbs of identity into queries.

A secret comes in as its hash. Times are the store's own: the clocks of the machines around it may
differ by hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from holdfast.ground import clock
from holdfast.ground import light_json as json
from holdfast.identity.model import Login, Token
from holdfast.storage.queries import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row


def add_seconds(moment: str, seconds: int | None) -> str | None:
    """For statements of SQLite, whose own functions lose the microseconds."""
    if seconds is None:
        return None
    later = clock.from_text(moment) + timedelta(seconds=seconds)
    return clock.to_text(later)


QUERIES = Room("identity", __file__, functions={"seconds_after": add_seconds})


class IdentityStore:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.workspace = owner.workspace_id
        self.owner = owner.workspace_id, owner.developer_id

    # --- workspaces -------------------------------------------------------------------------------

    async def add_workspace(self) -> bool:
        """Whether it was new."""
        [(_, is_new)] = await self.database.write(QUERIES["add_workspace"], *self.owner)
        return bool(is_new)

    async def has_workspace(self) -> bool:
        return bool(await self.database.read(QUERIES["find_workspace"], *self.owner))

    # --- tokens -----------------------------------------------------------------------------------

    async def add_token(
        self,
        token_id: str,
        token_hash: bytes,
        *,
        handle: str,
        agent: str,
        scopes: Sequence[str],
        granted_by: str | None,
        ttl_seconds: int | None,
    ) -> Token | None:
        """None where the token that grants it has ended."""
        about = (handle, agent, json.dumps(list(scopes)), token_hash, granted_by, ttl_seconds)
        rows = await self.database.write(QUERIES["add_token"], *self.owner, token_id, *about)
        return _first_token(rows)

    async def list_tokens(self, limit: int) -> list[Token]:
        rows = await self.database.read(QUERIES["list_tokens"], *self.owner, limit)
        return [_make_token(row) for row in rows]

    async def find_live_token(self, token_id: str) -> Token | None:
        query = QUERIES["find_live_token"]
        return _first_token(await self.database.read(query, *self.owner, token_id))

    async def authenticate(self, token_hash: bytes) -> Token | None:
        query = QUERIES["authenticate"]
        return _first_token(await self.database.write(query, self.workspace, token_hash))

    async def revoke_token(self, token_id: str) -> Token | None:
        query = QUERIES["revoke_token"]
        return _first_token(await self.database.write(query, self.workspace, token_id))

    # --- logins -----------------------------------------------------------------------------------

    async def begin_login(
        self,
        login_id: str,
        device_hash: bytes,
        user_code_hash: bytes,
        *,
        agent: str,
        machine: str,
        ttl_seconds: int,
        most: int,
    ) -> Login | None:
        """None where too many are open."""
        about = (login_id, user_code_hash, agent, machine, ttl_seconds, most)
        rows = await self.database.write(
            QUERIES["begin_login"], self.workspace, device_hash, *about
        )
        return _first_login(rows)

    async def find_login(self, user_code_hash: bytes) -> Login | None:
        query = QUERIES["find_login"]
        return _first_login(await self.database.read(query, self.workspace, user_code_hash))

    async def decide_login(
        self,
        user_code_hash: bytes,
        *,
        handle: str,
        decision: str,
        scopes: Sequence[str],
        granted_by: str | None,
    ) -> Login | None:
        """None where it was decided before, or has expired."""
        about = (user_code_hash, handle, decision, json.dumps(list(scopes)), granted_by)
        rows = await self.database.write(QUERIES["decide_login"], *self.owner, *about)
        return _first_login(rows)

    async def redeem_login(
        self, device_hash: bytes, token_id: str, token_hash: bytes
    ) -> tuple[str | None, Token | None] | None:
        """The decision, and the token once it was approved; None where the code does not count."""
        rows = await self.database.write(
            QUERIES["redeem_login"], self.workspace, device_hash, token_id, token_hash
        )
        if not rows:
            return None
        decision, *token = rows[0]
        return decision, _make_token(token) if token[0] is not None else None


# --- rows -----------------------------------------------------------------------------------------


def _first_token(rows: Sequence[Row]) -> Token | None:
    return _make_token(rows[0]) if rows else None


def _first_login(rows: Sequence[Row]) -> Login | None:
    return _make_login(rows[0]) if rows else None


def _make_token(row: Row) -> Token:
    token_id, developer_id, handle, agent, scopes, granted_by = row[:6]
    created_at, last_used_at, expires_at, revoked_at = row[6:]
    return Token(
        id=token_id,
        developer_id=developer_id,
        handle=handle,
        agent=agent,
        scopes=tuple(json.loads(scopes)),
        granted_by=granted_by,
        created_at=clock.parse(created_at),
        last_used_at=clock.parse_optional(last_used_at),
        expires_at=clock.parse_optional(expires_at),
        revoked_at=clock.parse_optional(revoked_at),
    )


def _make_login(row: Row) -> Login:
    login_id, agent, machine, asked_at, expires_at, is_expired, handle, decision = row
    return Login(
        id=login_id,
        agent=agent,
        machine=machine,
        asked_at=clock.parse(asked_at),
        expires_at=clock.parse(expires_at),
        is_expired=bool(is_expired),
        handle=handle,
        decision=decision,
    )
