"""The document to continue from, handed to a client's model by a hook, once per context window.

A window begins with a session, when a person clears it, and after a compaction. A session that its
client resumes has the text of the first time in its history.
"""

from __future__ import annotations

import time

from holdfast.sessions.model import make_session
from holdfast.usecases import continuation, transcripts
from holdfast.usecases.location import locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin

COMPACTED = "compact"
NEW_WINDOWS = ("startup", "clear", "fork", COMPACTED)


async def hand_over(
    app: App, client: Client, origin: HookOrigin, payload: Mapping[str, Any]
) -> str | None:
    """The text for the model of a window that has none yet; None where there is nothing to say."""
    store = app.scope.sessions.store
    state, _ = await store.find_capture(client.NAME, origin.native_id)
    is_new = payload.get("source") in NEW_WINDOWS
    if state.get(transcripts.HANDED) and not is_new:
        return None
    worktree = locate_worktree(origin.cwd)
    session_id = await store.find_native_id(client.NAME, origin.native_id)
    text = await continuation.make_document(
        app,
        worktree,
        session_id=session_id,
        continues=await _find_continued(app, client, origin, payload),
    )
    if not text:
        return None
    handed = {transcripts.HANDED: time.time()}
    await transcripts.change_state(
        store, client.NAME, origin.native_id, lambda known: {**known, **handed}
    )
    return text


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
