"""Whether the store really works: a write that is durable, and a read that finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.storage.errors import StoreDamagedError
from holdfast.storage.queries import STORAGE as QUERIES

if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database


async def check_health(database: Database, owner: Owner) -> None:
    """Raises what is wrong; every call writes."""
    names = owner.workspace_id, owner.developer_id
    [(written,)] = await database.write(QUERIES["beat"], *names)
    rows = await database.read(QUERIES["last_beat"], *names)
    is_found = any(found >= written for (found,) in rows)
    if not is_found:
        raise StoreDamagedError("The store", "a write that was acknowledged cannot be read")
