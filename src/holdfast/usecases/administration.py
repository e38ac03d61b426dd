"""Who is in a workspace and what may act for them, as the owner of the store decides it.

Each change is made as the developer whom it is about: the policies of the store hold for an
administrator too, and a private developer is in no list but reached by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.ground.handles import fold_handle
from holdfast.ground.settings import check_workspace, owner_of
from holdfast.identity.errors import (
    DeveloperExistsError,
    UnknownDeveloperError,
    WorkspaceNotFoundError,
)
from holdfast.identity.model import NewToken, Token
from holdfast.scope import Scope
from holdfast.team.model import Developer
from holdfast.team.service import LISTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App

LOCAL = "local"


async def add_workspace(app: App, slug: str) -> bool:
    """Make a workspace known; whether it was new."""
    checked = check_workspace(slug, field="workspace")
    return await _act_for(app, app.settings.developer, workspace=checked).identity.add_workspace()


async def add_developer(app: App, handle: object, visibility: str) -> Developer:
    """A developer of the workspace of the settings, who was not there before."""
    folded = fold_handle(handle)
    workspace = app.settings.workspace
    scope = _act_for(app, folded)
    if workspace != LOCAL and not await scope.identity.has_workspace():
        raise WorkspaceNotFoundError(workspace)
    if await scope.own_team.store.find_me() is not None:
        raise DeveloperExistsError(folded, workspace)
    return await scope.own_team.enter(visibility)


async def set_visibility(app: App, handle: object, visibility: str) -> Developer:
    scope = await _act_for_known(app, handle)
    return await scope.own_team.set_visibility(visibility)


async def add_token(app: App, handle: object, agent: str, scopes: Iterable[str]) -> NewToken:
    scope = await _act_for_known(app, handle)
    return await scope.identity.add_token(agent, scopes)


async def list_tokens(app: App, handle: object = None) -> Sequence[Token]:
    """Of one developer, or of those that can be seen."""
    if handle is not None:
        scope = await _act_for_known(app, handle)
        return await scope.identity.list_tokens()
    found: list[Token] = []
    for developer in await app.scope.own_team.store.list_developers(LISTED):
        found += await _act_for(app, developer.handle).identity.list_tokens()
    return found


async def revoke_token(app: App, token_id: object) -> Token:
    return await app.scope.identity.revoke_token(token_id)


async def _act_for_known(app: App, handle: object) -> Scope:
    folded = fold_handle(handle)
    scope = _act_for(app, folded)
    if await scope.own_team.store.find_me() is None:
        raise UnknownDeveloperError(folded, app.settings.workspace)
    return scope


def _act_for(app: App, handle: str, *, workspace: str | None = None) -> Scope:
    owner = owner_of(workspace or app.settings.workspace, handle)
    return Scope(app.database, owner)
