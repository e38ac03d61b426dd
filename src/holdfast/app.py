"""The composition root: settings, then the store, then the services. Nothing else constructs them."""

from __future__ import annotations

from holdfast import errors, lifecycle
from holdfast.ground.settings import Owner, Settings, load_settings, sqlite_path
from holdfast.storage.database import drive
from holdfast.storage.opening import open_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from holdfast.sessions.service import SessionService
    from holdfast.storage.accounting import Accounting
    from holdfast.storage.database import Database
    from holdfast.storage.spool import Spool

    T = TypeVar("T")


class App:
    """One program's access to one store. On SQLite it never needs an event loop."""

    def __init__(self, settings: Settings | None = None, *, patience_seconds: float = 30.0):
        self.settings = settings or load_settings()
        self._opening = open_database(self.settings.database, patience_seconds=patience_seconds)
        self._database: Database | None = None
        self._runner: Any = None

    def __enter__(self) -> App:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._database is not None:
            self.run(self._opening.__aexit__(None, None, None))
        if self._runner is not None:
            self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """To its end: by hand where nothing ever waits, on a loop of our own where it does."""
        if sqlite_path(self.settings.database):
            return drive(coroutine)
        if self._runner is None:
            import asyncio

            self._runner = asyncio.Runner()
        result: T = self._runner.run(coroutine)
        return result

    @property
    def database(self) -> Database:
        if self._database is None:
            self._database = self.run(self._opening.__aenter__())
        return self._database

    @property
    def sessions(self) -> SessionService:
        from holdfast.sessions.service import SessionService

        return SessionService(self.database, owner=self.settings.owner)

    @property
    def spool(self) -> Spool:
        from holdfast.storage.spool import Spool

        return Spool(self.settings.home)

    def drain_spool(self, limit: int | None = None) -> int:
        """Store what waited while the store was busy or down."""
        return self.run(self.spool.drain(self._store_record, limit))

    def count(self) -> Accounting:
        """Where every accepted input is: stored, spooled or rejected, and none lost."""
        from holdfast.storage.accounting import Accounting

        self.drain_spool()
        numbered, stored, sessions = self.run(self.sessions.store.count_events())
        spooled, rejected = self.spool.count_spooled(), self.spool.count_rejected()
        return Accounting(numbered + spooled + rejected, stored, spooled, rejected, sessions)

    async def _store_record(self, record: dict[str, Any]) -> None:
        try:
            owner = Owner(record["workspace_id"], record["developer_id"])
            await lifecycle.store_record(self.database, owner, record)
        except (KeyError, TypeError) as error:
            raise errors.InvalidValueError("Spooled record", sorted(record), f"is not whole ({error!r})") from None
