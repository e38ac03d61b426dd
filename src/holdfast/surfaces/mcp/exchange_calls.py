"""What the tools of the exchange share: refused calls are counted, and a call without a repository,
a branch or a session means those of its caller.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.ground.off_loop import off_loop
from holdfast.usecases import which_session

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.call import Call
    from holdfast.usecases.exchange_place import Place


@asynccontextmanager
async def counting(call: Call) -> AsyncIterator[None]:
    """Around what may refuse a call before the exchange itself sees it, and counts it."""
    from holdfast.write import count_call

    try:
        yield
    except HoldfastError as error:
        await count_call(call.scope, call.name, error.code)
        raise


async def find_own_session(call: Call) -> str | None:
    """The one that is named, else the caller's; none is started for the exchange."""
    choice = await call.find_session()
    session = choice.session
    if session is None:
        return None
    if call.session_id is not None:
        which_session.require_on(call.app.settings, session.client, session.native_id)
    return session.id


async def find_own_place(call: Call) -> Place | None:
    """Of the caller's working tree, unless another repository is named."""
    from holdfast.usecases.exchange_place import find_place

    place = await off_loop(find_place, call.caller.worktree)
    if place is not None:
        call.scope.team.allow(place.repo)
    named = call.arguments.get("repo")
    if place is None or (named is not None and not place.is_meant_by(named)):
        return None
    return place


def fill_in(call: Call, place: Place | None, session_id: str | None) -> dict[str, Any]:
    """What code saw: for fields that were not given, and the one name of what was given."""
    from holdfast.usecases.exchange_place import name_paths

    seen = {"session_id": session_id, **name_paths(place, call.arguments)}
    if place is not None:
        seen["repo"] = place.repo
        seen["branch"] = call.arguments.get("branch", place.branch)
    return seen


def get_key(call: Call) -> Any:
    return call.arguments.get("idempotency_key")
