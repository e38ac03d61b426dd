"""The document to continue from, handed to a client's model by a hook, once per context window.

A window begins with a session, when a person clears it, and after a compaction. A session that its
client resumes has the text of the first time in its history.
"""

from __future__ import annotations

import time

from holdfast.clients.contract import COMPACTED
from holdfast.sessions.model import make_session
from holdfast.usecases import continuation, transcripts
from holdfast.usecases.location import locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin
    from holdfast.sessions.store import SessionStore

AGAIN_SECONDS = 5.0  # the same start cannot come again so soon
NEW_WINDOWS = ("startup", "clear", "fork", COMPACTED)


async def hand_over(
    app: App, client: Client, origin: HookOrigin, payload: Mapping[str, Any]
) -> str | None:
    """The text for the model of a window that has none yet; None where there is nothing to say.

    The window is taken first, also where there is nothing to say: where a hook is set up twice,
    both processes ask at once, and a session that is resumed needs no text about itself.
    """
    store = app.scope.sessions.store
    native = client.NAME, origin.native_id
    if not await _take_window(store, native, payload):
        return None
    text = await continuation.make_document(
        app,
        locate_worktree(origin.cwd),
        session_id=await store.find_native_id(*native),
        continues=await _find_continued(app, client, origin, payload),
    )
    return text or None


async def _take_window(
    store: SessionStore, native: tuple[str, str], payload: Mapping[str, Any]
) -> bool:
    """Whether it is taken now; tried again where another process captures the same session."""
    asked = {"source": payload.get("source"), "prompt": payload.get("prompt_id")}
    for _ in range(transcripts.TRIES):
        state, revision = await store.find_capture(*native)
        if _is_handed(state.get(transcripts.HANDED), asked):
            return False
        taken = {**state, transcripts.HANDED: {"asked": asked, "at": time.time()}}
        if await store.save_capture(*native, taken, revision):
            return True
    return False


def _is_handed(handed: Mapping[str, Any] | None, asked: Mapping[str, Any]) -> bool:
    if handed is None:
        return False
    if asked["source"] not in NEW_WINDOWS:
        return True
    seconds = time.time() - float(handed["at"])
    return bool(handed["asked"] == asked) and seconds < AGAIN_SECONDS


async def _find_continued(
    app: App, client: Client, origin: HookOrigin, payload: Mapping[str, Any]
) -> str | None:
    """The client's own session where it goes on after a compaction or an end, else the last one."""
    store = app.scope.sessions.store
    if payload.get("source") == COMPACTED:
        return await store.find_native_id(client.NAME, origin.native_id)
    row = await store.find_last_native(client.NAME, origin.native_id)
    if row is None:
        return None
    session = make_session(row)
    return session.id if session.ended_at else None
