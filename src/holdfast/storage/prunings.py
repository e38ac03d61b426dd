"""Retention: whose rows a workspace has, and the audit row that allows emptying what ended.

On PostgreSQL a developer may be hidden from every other one, so only the owner of the tables can
list them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from holdfast.ground import clock, ids
from holdfast.ground import light_json as json
from holdfast.storage.errors import OwnerNeededError
from holdfast.storage.queries import STORAGE as QUERIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


class Prunings:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    async def list_owners(self) -> list[str]:
        """The ids of all developers of the workspace, private ones too."""
        await _require_owner(self.database)
        rows = await self.database.read(QUERIES["list_owners"], *self.owner)
        return [developer_id for (developer_id,) in rows]

    async def keep(self, before: datetime, found: Mapping[str, int]) -> None:
        """Before anything is emptied: what is emptied without one is refused."""
        await self._keep(before, found)

    async def allow(self, entry_id: str, kind: str) -> None:
        """The same for what a person forgets: it allows emptying that, and nothing by its time."""
        await self._keep(LONG_AGO, {"forgotten": entry_id, "kind": kind})

    async def _keep(self, before: datetime, found: Mapping[str, object]) -> None:
        text = json.dumps(dict(found))
        row = (ids.new_id(), clock.to_text(before), text)
        await self.database.write(QUERIES["keep_pruning"], *self.owner, *row)


async def _require_owner(database: Any) -> None:
    if database.engine != "postgres":
        return
    role = await database.role()
    if not role.owns:
        raise OwnerNeededError(database.where, role.name)
