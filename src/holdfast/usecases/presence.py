"""What the team sees of a developer's live sessions: where they are, and what is not committed.

Code reports it, no model does, and only of developers who agreed. A session that ends in the store
takes its presence and its reservations with it, by a trigger. One whose program was killed said
nothing, so the next session of the same developer on that machine ends them; and presence fades.
"""

from __future__ import annotations

from contextlib import suppress

from holdfast.storage.brief import BriefDatabase
from holdfast.team.store import TeamStore
from holdfast.usecases.capture import find_exchange_choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.app import App
    from holdfast.team.model import Reservation

PATHS = 50
BUSY_SECONDS = 0.1


async def has_agreed(app: App) -> bool:
    """Whether this developer wants to be seen: by a setting, a handle, or a call made before."""
    if find_exchange_choice(app.settings):
        return True
    return await TeamStore(app.database, app.settings.owner).find_me() is not None


async def enter(app: App) -> None:
    """From a developer's first session on, others can hand something to that developer."""
    from holdfast.errors import StoreBusyError
    from holdfast.team.service import TeamService

    brief = BriefDatabase(app.database, BUSY_SECONDS)
    with suppress(StoreBusyError):  # the next session tries again
        await TeamService(brief, owner=app.settings.owner).enter()


async def show(
    app: App,
    session_id: str,
    paths: Iterable[str],
    *,
    client: str,
    repo: str,
    branch: str | None,
) -> None:
    """A store that another process holds is not waited for: the next hook tells the same."""
    from holdfast.team.service import TeamService  # not at each edit

    brief = BriefDatabase(app.database, BUSY_SECONDS)
    team = TeamService(brief, owner=app.settings.owner)
    kept = list(dict.fromkeys(paths))[:PATHS]
    await team.show_presence(session_id, kept, client=client, repo=repo, branch=branch)


async def end_left(app: App, own: Sequence[Reservation], current: str | None = None) -> list[str]:
    """End the presence of a developer's sessions whose program was found to have ended on this
    machine, and release what they reserved; returns which those are.
    """
    left = await find_left(app, own, current)
    if not left:
        return []
    from holdfast.team.service import TeamService

    brief = BriefDatabase(app.database, BUSY_SECONDS)
    team = TeamService(brief, owner=app.settings.owner)
    for session_id in left:
        await team.end_presence(session_id)
    return left


async def find_left(app: App, own: Sequence[Reservation], current: str | None = None) -> list[str]:
    """The sessions that are still shown and whose program has ended on this machine."""
    shown = {each.session_id for each in own if each.session_id and each.session_id != current}
    if not shown:
        return []
    from holdfast.sessions.model import make_session
    from holdfast.usecases.session_status import find_busy

    busy = find_busy(app.settings.home)
    left = []
    for session_id in sorted(shown):
        row = await app.scope.session_store.find_session(session_id)
        if row is not None and busy.has_left(make_session(row)):
            left.append(session_id)
    return left


def find_shown(own: Sequence[Reservation], session_id: str) -> Reservation | None:
    """What is shown of a session now, where it has anything uncommitted."""
    for each in own:
        if each.is_soft and each.session_id == session_id:
            return each
    return None
