"""What a client can read by address: the bundle of each phase, as an agent would be handed it now,
and what an agent that continues a conversation is handed.

With the same bytes as by the tools: a bundle is frozen for the session that the caller is in.
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
CONVERSATION = "holdfast://conversations/"
CONVERSATION_TEMPLATE = CONVERSATION + "{id}"
CONVERSATION_DESCRIPTION = "What to know to continue a conversation, and what has changed since"
CONTEXTS = "holdfast://contexts"
CONTEXTS_TITLE = "What teammates work on"
CONTEXTS_DESCRIPTION = "The active published contexts of the team; words of others stand in fences"


async def read(app: App, caller: Caller, uri: str) -> str:
    from holdfast.usecases.continuation import build_bundle
    from holdfast.usecases.which_session import find_session

    if uri.startswith(CONVERSATION):
        return await _read_conversation(app, caller, uri.removeprefix(CONVERSATION))
    if uri not in ADDRESSES:
        known = (*ADDRESSES, CONVERSATION_TEMPLATE)
        raise InvalidValueError("Resource", uri, "is unknown", known=known)
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


async def _read_conversation(app: App, caller: Caller, quoted_id: str) -> str:
    """Its id has a slash, which some clients write as it is. Nothing is continued by reading."""
    from urllib.parse import unquote

    from holdfast.surfaces.mcp import conversations

    worktree = conversations.find_worktree(app, caller)
    found = await conversations.choose(app, worktree, unquote(quoted_id))
    prepared = await conversations.prepare(app, caller, found)
    return prepared.text


async def read_contexts(app: App, caller: Caller) -> str:
    """As `covibe_session` `get_context` says it, and counted as that call."""
    from holdfast.ground.off_loop import off_loop
    from holdfast.surfaces.mcp.published_contexts import make_contexts_answer
    from holdfast.usecases import exchange, exchange_place

    contexts = await exchange.get_contexts(app.scope)
    is_here = await off_loop(exchange_place.find_here, caller.worktree)
    fresh = await off_loop(exchange_place.compare_with, caller.worktree, contexts)
    return make_contexts_answer(app, contexts, fresh, is_here).to_text()
