"""Opening a store by its URL, and accepting a pool or a store that is already open."""

from __future__ import annotations

from holdfast.errors import InvalidValueError
from holdfast.ground import settings
from holdfast.storage.database import PATIENCE_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.storage.database import Database


class open_database:  # noqa: N801  # reads as a verb: `async with open_database(url) as database`
    """The store that a URL names, made or brought up to date when needed.

    A class and not a generator: `contextlib` is more than a hook can afford.
    """

    def __init__(self, url: str | None = None, *, patience_seconds: float | None = None):
        if patience_seconds is None:
            patience_seconds = PATIENCE_SECONDS
        if url is None:
            url = settings.load_settings().database
        settings.check_database_url(url)
        self.patience_seconds = patience_seconds
        self.leaves_log = False  # of SQLite, to the next program
        self.url = url
        self._context: Any = None

    async def __aenter__(self) -> Database:
        if path := settings.sqlite_path(self.url):
            from holdfast.storage.sqlite import open_sqlite

            database = open_sqlite(path, self.patience_seconds)
            database.leaves_log = self.leaves_log
            self._database: Database = database
        else:
            from holdfast.storage.postgres import open_postgres

            self._context = open_postgres(self.url, self.patience_seconds)
            self._database = await self._context.__aenter__()
        return self._database

    async def __aexit__(self, *exception: Any) -> None:
        if self._context is None:
            await self._database.close()
        else:
            await self._context.__aexit__(*exception)


def find_owner(pool_or_database: Any) -> settings.Owner:
    """Whom a service acts for that was given none: a person, or the program that has the pool."""
    if _is_database(pool_or_database):
        return settings.load_settings().owner
    return settings.load_service_owner()


def _is_database(pool_or_database: Any) -> bool:
    return hasattr(pool_or_database, "write_rows")


def as_database(pool_or_database: Any) -> Database:
    """Our database as it is; a plain `asyncpg.Pool` behind the same verbs, never migrated."""
    if _is_database(pool_or_database):
        database: Database = pool_or_database
        return database
    if not (hasattr(pool_or_database, "acquire") and hasattr(pool_or_database, "fetch")):
        problem = (
            "is neither an open database nor an asyncpg.Pool; "
            "open one with `async with open_database(url) as database`"
        )
        # Its type and not itself: it may be a URL with a password.
        raise InvalidValueError("db_pool", type(pool_or_database).__name__, problem)
    from holdfast.storage.postgres import wrap_pool

    return wrap_pool(pool_or_database)
