"""The rooms on one database, for one owner.

The database may be the whole store or one open transaction of it: a verb of any room runs on either
and need not know which. A room is loaded when it is first asked for, so that a hook pays for none
of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.masking import Mask
    from holdfast.ground.settings import Owner
    from holdfast.memories.service import MemoryService
    from holdfast.sessions.service import SessionService
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.database import Database
    from holdfast.storage.idempotency import RequestKeys
    from holdfast.storage.journal import Journal
    from holdfast.storage.outbox import Outbox


class Scope:
    def __init__(self, database: Database, owner: Owner, mask: Mask | None = None):
        self.database = database
        self.owner = owner
        self.mask = mask  # for what the rooms are given to store

    def on(self, database: Database) -> Scope:
        """The same on an open transaction."""
        return Scope(database, self.owner, self.mask)

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
