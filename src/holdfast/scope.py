"""The rooms on one database, for one owner.

The database may be the whole store or one open transaction of it: a verb of any room runs on either
and need not know which. A room is loaded when it is first asked for, so that a hook pays for none
of them.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.ground.masking import Mask
    from holdfast.ground.settings import Owner
    from holdfast.identity.service import IdentityService
    from holdfast.memories.service import MemoryService
    from holdfast.sessions.service import SessionService
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.database import Database
    from holdfast.storage.idempotency import RequestKeys
    from holdfast.storage.journal import Journal
    from holdfast.storage.outbox import Outbox
    from holdfast.team.remote import RemoteTeam
    from holdfast.team.seam import Team
    from holdfast.team.service import TeamService


class Scope:
    def __init__(
        self,
        database: Database,
        owner: Owner,
        mask: Mask | None = None,
        find_remote: Callable[[], RemoteTeam | None] | None = None,
    ):
        self.database = database
        self.owner = owner
        self.mask = mask  # for what the rooms are given to store
        self._find_remote = find_remote

    def on(self, database: Database) -> Scope:
        """The same on an open transaction."""
        return Scope(database, self.owner, self.mask, self._find_remote)

    @property
    def sessions(self) -> SessionService:
        from holdfast.sessions.service import SessionService

        return SessionService(self.database, owner=self.owner, mask=self.mask)

    @property
    def session_store(self) -> SessionStore:
        """Where the queries of sessions are enough; the verbs would load much more."""
        from holdfast.sessions.store import SessionStore

        return SessionStore(self.database, self.owner)

    @property
    def memories(self) -> MemoryService:
        from holdfast.memories.service import MemoryService

        return MemoryService(self.database, owner=self.owner, mask=self.mask)

    @property
    def team(self) -> Team:
        """That of the server that was joined, else that of this store."""
        return self.remote_team or self.own_team

    @property
    def remote_team(self) -> RemoteTeam | None:
        return self._find_remote() if self._find_remote else None

    @property
    def has_team_elsewhere(self) -> bool:
        """Also where that team cannot be asked, because the token is missing."""
        try:
            return self.remote_team is not None
        except HoldfastError:
            return True

    @property
    def own_team(self) -> TeamService:
        from holdfast.team.service import TeamService

        return TeamService(self.database, owner=self.owner)

    @property
    def identity(self) -> IdentityService:
        from holdfast.identity.service import IdentityService

        return IdentityService(self.database, owner=self.owner)

    @property
    def journal(self) -> Journal:
        from holdfast.storage.journal import Journal

        return Journal(self.database, self.owner)

    @property
    def outbox(self) -> Outbox:
        from holdfast.storage.outbox import Outbox

        return Outbox(self.database, self.owner)

    @property
    def request_keys(self) -> RequestKeys:
        from holdfast.storage.idempotency import RequestKeys

        return RequestKeys(self.database, self.owner)
