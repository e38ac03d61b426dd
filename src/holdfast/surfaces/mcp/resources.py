"""What a client can read by address: the bundle of each phase, as an agent would be handed it now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import InvalidValueError

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.surfaces.which_session import Caller

BUNDLE = "holdfast://bundle/"
TEMPLATE = BUNDLE + "{phase}"
PHASES = ("planning", "implementation")
TITLE = "What an agent is handed for {phase}"
DESCRIPTION = "Earlier sessions' notes, checked against this checkout just now, within their budget"
ADDRESSES = tuple(BUNDLE + phase for phase in PHASES)


async def read(app: App, caller: Caller, uri: str) -> str:
    from holdfast.surfaces.mcp.repo_context import work_of

    if uri not in ADDRESSES:
        raise InvalidValueError("Resource", uri, "is unknown", known=ADDRESSES)
    phase = uri.removeprefix(BUNDLE)
    return (await app.bundles(work_of(app, caller)).build(phase, worktree=caller.worktree)).text
