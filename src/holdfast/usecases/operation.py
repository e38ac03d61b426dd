"""What the operator of a store does: copy it, and empty what ended before a date.

Emptying is erasure, as `forget` does it: contents go, numbers and hashes stay, and an audit row of
each developer says what was emptied. It is decided for all developers of a workspace, so each of
them is acted for in turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

from holdfast.ground import clock
from holdfast.ground.frozen import asdict, dataclass
from holdfast.ground.settings import Owner, Settings, sqlite_path
from holdfast.scope import Scope
from holdfast.storage import backup
from holdfast.storage.prunings import Prunings
from holdfast.usecases.forget import clear_notices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App

PRUNED = "pruned"


@dataclass(frozen=True)
class Prunable:
    """How much ended before a date and has contents, of one developer or of all."""

    sessions: int = 0
    receipts: int = 0
    contexts: int = 0
    claims: int = 0
    handoffs: int = 0
    presences: int = 0  # of sessions, with their paths and branches

    def to_dict(self) -> dict[str, int]:
        return asdict(self)

    @property
    def is_empty(self) -> bool:
        return not any(self.to_dict().values())

    def __add__(self, other: Prunable) -> Prunable:
        theirs = other.to_dict()
        return Prunable(**{name: count + theirs[name] for name, count in self.to_dict().items()})


async def back_up(settings: Settings, target: Path) -> None:
    """A copy of the whole store in a file that does not exist yet."""
    path = sqlite_path(settings.database)
    if path is None:
        await backup.copy_postgres(settings.database, target)
    else:
        backup.copy_sqlite(path, target)


async def find_prunable(app: App, before: datetime) -> Prunable:
    """How much of the whole workspace there is to empty now."""
    until = min(before, clock.now())
    found = Prunable()
    async for scope in _each_developer(app):
        found += await _count(scope, until)
    return found


async def prune(app: App, before: datetime) -> Prunable:
    """Empty it, one developer after the other; again, it goes on where it was stopped."""
    until = min(before, clock.now())
    done = Prunable()
    async for scope in _each_developer(app):
        found = await _count(scope, until)
        if not found.is_empty:
            await _empty(scope, until, found)
            done += found
    await app.database.scrub()
    clear_notices(app)
    return done


async def _each_developer(app: App) -> AsyncIterator[Scope]:
    workspace = app.settings.workspace
    for developer_id in await Prunings(app.database, app.settings.owner).list_owners():
        yield Scope(app.database, Owner(workspace, developer_id))


async def _count(scope: Scope, before: datetime) -> Prunable:
    sessions = [each async for each in scope.sessions.read_sessions_to_prune(before)]
    ended = await scope.own_team.store.count_ended(clock.to_text(before))
    receipts = await scope.journal.count_receipts(before)
    return Prunable(len(sessions), receipts, *ended)


async def _empty(scope: Scope, before: datetime, found: Prunable) -> None:
    """The audit row first: it allows the rest, and is there where the rest is stopped."""
    await Prunings(scope.database, scope.owner).keep(before, found.to_dict())
    async for session_id in scope.sessions.read_sessions_to_prune(before):
        await scope.sessions.forget_session(session_id, reason=PRUNED)
    await scope.journal.erase_receipts(before)
    await scope.own_team.store.erase_ended(clock.to_text(before))
