"""The document to continue from, handed to a client's model by a hook, once per context window.

A window begins with a session, when a person clears it, and after a compaction. A session that its
client resumes has the text of the first time in its history, and is told only what has happened in
another session since.
"""

from __future__ import annotations

import os
import time
from itertools import accumulate

from holdfast.bundles.model import KEPT, LOST
from holdfast.clients import get_reader
from holdfast.clients.contract import COMPACTED
from holdfast.sessions.model import make_session
from holdfast.usecases import continuation, transcripts
from holdfast.usecases.location import locate_head, locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin
    from holdfast.clients.transcript import TranscriptReader
    from holdfast.sessions.model import Session
    from holdfast.sessions.store import SessionStore
    from holdfast.storage.resumes import Promise

AGAIN_SECONDS = 5.0  # the same start cannot come again so soon
TAKEN_SECONDS = 10.0  # after that, whoever has taken a window was stopped
RESUMED = "resume"
PROMISES = "resumes.json"
KEPT_CHARS = 500_000  # of a window
STARTED_ANEW = "startup"
NEW_WINDOWS = (STARTED_ANEW, "clear", "fork", COMPACTED)


async def hand_over(
    app: App, client: Client, origin: HookOrigin, payload: Mapping[str, Any]
) -> str | None:
    """The text for the model of a window that has none yet, empty where there is nothing to say;
    None for any other window.

    The window is taken first, also where there is nothing to say: where a hook is set up twice,
    both processes ask at once, and a session that is resumed needs no text about itself. A process
    that does not get to its end has taken it for a short time only.
    """
    store = app.scope.session_store
    native = client.NAME, origin.native_id
    worktree = locate_worktree(origin.cwd)
    row = await store.find_last_native(*native)
    own = make_session(row) if row else None
    newer = await _find_newer(app, own, worktree)
    is_new = own is None or not own.last_sequence
    promise = _take_promise(app.settings.home, client, worktree, native[1], is_new=is_new)
    is_taken = await _take_window(store, native, payload, newer, worktree)
    if promise is not None and worktree is not None:
        text = await _keep_promise(app, client, origin, payload, promise, worktree)
        if text is not None:
            await _finish_window(store, native)
            return text
    if not is_taken:
        return None
    state, _ = await store.find_capture(*native)
    reader = get_reader(client)
    is_lost = payload.get("source") == COMPACTED or bool(state.get(transcripts.LOST))
    # An old session that a client begins anew with, and which has none of our texts in it.
    may_be_lost = payload.get("source") == STARTED_ANEW and not client.TELLS_OF_COMPACTION
    kept = None
    if own and (is_lost or may_be_lost):
        kept = _list_kept(reader, origin.native_id, payload.get("transcript_path"))
    is_lost = is_lost or kept is not None
    about = await _find_subject(app, own, newer, is_lost=is_lost)
    phase = continuation.PHASE
    if reader.is_planning(payload):
        phase = continuation.PLANNING
    text = await continuation.make_document(app, worktree, phase=phase, kept=kept or (), **about)
    await _finish_window(store, native)
    return text


def _take_promise(
    home: str, client: Client, worktree: str | None, native_id: str, *, is_new: bool
) -> Promise | None:
    """What `holdfast resume` has opened this client for; most starts find no file."""
    if not os.path.exists(os.path.join(home, PROMISES)):
        return None
    from holdfast.storage.resumes import Promises

    return Promises(home).take(client.NAME, worktree, native_id, is_new=is_new)


async def _keep_promise(
    app: App,
    client: Client,
    origin: HookOrigin,
    payload: Mapping[str, Any],
    promise: Promise,
    worktree: str,
) -> str | None:
    """None where what it should go on with is gone meanwhile."""
    from holdfast.usecases import resuming

    model = payload.get("model")
    return await resuming.keep_promise(
        app, worktree, promise, client, origin, model if isinstance(model, str) else None
    )


async def _find_newer(app: App, own: Session | None, worktree: str | None) -> Session | None:
    """Another session of this folder in which something happened after this one's last event."""
    if own is None or worktree is None:
        return None
    last = await app.scope.sessions.find_last_session(worktree)
    is_own = last is None or (last.client, last.native_id) == (own.client, own.native_id)
    return None if is_own else last


async def _find_subject(
    app: App, own: Session | None, newer: Session | None, *, is_lost: bool
) -> dict[str, Any]:
    """What the text is about: what was lost from the window, and nothing that is still in it.

    After a compaction that is the session itself. Else it is what happened elsewhere since, or what
    came before the session began, however often it was resumed: for the same session, so that the
    bytes stay as they were.
    """
    if own is None:
        return {}
    if is_lost:
        return {"session_id": own.id, "continues": own.id, "window": LOST}
    if newer is not None:
        return {"continues": newer.id}
    thread = await app.scope.sessions.list_thread(own.id)
    first = next(each for each in thread if each.native_id == own.native_id)
    return {"session_id": first.id, "window": KEPT}


def _list_kept(reader: TranscriptReader, native_id: str, path: object) -> list[str] | None:
    """What the last compaction has left in the window, as far as the transcript tells of one.

    A person waits, so of a long window only the end is compared.
    """
    if not isinstance(path, str):
        return None
    texts = reader.list_kept(reader.find_sources(native_id, path)[0])
    if texts is None:
        return None
    sizes = accumulate(map(len, texts))
    return [text for text, size in zip(texts, sizes, strict=True) if size <= KEPT_CHARS]


async def _take_window(
    store: SessionStore,
    native: tuple[str, str],
    payload: Mapping[str, Any],
    newer: Session | None,
    worktree: str | None,
) -> bool:
    """Whether it is taken now; tried again where another process captures the same session."""
    asked = {"source": payload.get("source"), "prompt": payload.get("prompt_id")}
    about = newer.id if newer else None
    for _ in range(transcripts.TRIES):
        state, revision = await store.find_capture(*native)
        if _is_handed(state.get(transcripts.HANDED), asked, about):
            return False
        handed = {"asked": asked, "at": time.time(), "about": about, "is_done": False}
        taken = {**state, transcripts.HANDED: handed}
        taken.setdefault(transcripts.HEAD, locate_head(worktree))
        if await store.save_capture(*native, taken, revision):
            return True
    return False


async def _finish_window(store: SessionStore, native: tuple[str, str]) -> None:
    for _ in range(transcripts.TRIES):
        state, revision = await store.find_capture(*native)
        handed = {**(state.get(transcripts.HANDED) or {}), "is_done": True}
        done = {**state, transcripts.HANDED: handed, transcripts.LOST: False}
        if await store.save_capture(*native, done, revision):
            return


def _is_handed(
    handed: Mapping[str, Any] | None, asked: Mapping[str, Any], about: str | None
) -> bool:
    """Once for a window; once more where it is resumed after something happened elsewhere."""
    if handed is None:
        return False
    seconds = time.time() - float(handed["at"])  # less than nothing where the clock was set back
    if not handed["is_done"]:
        return 0 <= seconds < TAKEN_SECONDS
    if asked["source"] == RESUMED and about and about != handed["about"]:
        return False
    if asked["source"] not in NEW_WINDOWS:
        return True
    return bool(handed["asked"] == asked) and 0 <= seconds < AGAIN_SECONDS
