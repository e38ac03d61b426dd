"""What a client can read by address: the bundle of each phase, as an agent would be handed it now.

With the same bytes as by the tool: they are frozen for the session that the caller is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import InvalidValueError

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.usecases.which_session import Caller

BUNDLE = "holdfast://bundle/"
TEMPLATE = BUNDLE + "{phase}"
PHASES = ("planning", "implementation")
TITLE = "What an agent is handed for {phase}"
DESCRIPTION = "Earlier sessions' notes, checked against this checkout just now, within their budget"
ADDRESSES = tuple(BUNDLE + phase for phase in PHASES)


async def read(app: App, caller: Caller, uri: str) -> str:
    from holdfast.usecases.continuation import build_bundle
    from holdfast.usecases.which_session import find_session

    if uri not in ADDRESSES:
        raise InvalidValueError("Resource", uri, "is unknown", known=ADDRESSES)
    phase = uri.removeprefix(BUNDLE)
    choice = await find_session(app.scope, None, caller)
    built, _ = await build_bundle(
        app,
        app.work_in(caller.worktree),
        phase,
        session_id=choice.session_id,
        worktree=caller.worktree,
    )
    return built.text
