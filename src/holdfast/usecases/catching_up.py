"""When transcripts are read: at the end of a turn, and at a start for what was cut off before.

This is the path of a hook, so it loads no dataclasses.
"""

from __future__ import annotations

import os
import time

from holdfast.clients import get_reader
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.off_sessions import OffSessions
from holdfast.usecases import capture, transcripts
from holdfast.usecases.location import locate_branch, locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.clients.contract import Client, HookOrigin

LOOK_BACK_SECONDS = 30 * 24 * 3600.0
BY_HAND_SECONDS = 24 * 3600.0  # where somebody has wired hooks, and did not say since when
CATCH_UP_SECONDS = 2.0


async def catch_up(app: App, client: Client, origin: HookOrigin) -> None:
    """Store what the transcripts of this folder's sessions have and the log has not.

    A client that was killed said nothing at its end, and a hook may have found no program.
    """
    worktree = locate_worktree(origin.cwd)
    enrolled = Enrolment(app.settings.home).find(worktree)
    if enrolled is None or worktree is None:
        return
    since = float(enrolled["since"])
    look_back = LOOK_BACK_SECONDS if since else BY_HAND_SECONDS
    since = max(since, time.time() - look_back)
    reader = get_reader(client)
    off = OffSessions(app.settings.home)
    store = app.scope.sessions.store
    until = time.monotonic() + CATCH_UP_SECONDS  # opening the store may have taken long
    for found in reader.list_transcripts(worktree, _find_person_folder(), since):
        if off.has(client.NAME, found.native_id) or time.monotonic() > until:
            continue
        session = make_captured(app, client, found.native_id, worktree)
        await transcripts.capture_all(store, session, found.path, until)


async def capture_turn(app: App, client: Client, origin: HookOrigin, path: str) -> None:
    """Store what is new in the transcript that a hook names."""
    session = make_captured(app, client, origin.native_id, locate_worktree(origin.cwd))
    store = app.scope.sessions.store  # opened before the time counts
    until = time.monotonic() + CATCH_UP_SECONDS
    await transcripts.capture_all(store, session, path, until)


def _find_person_folder() -> str:
    return os.path.expanduser("~")


def make_captured(
    app: App, client: Client, native_id: str, worktree: str | None
) -> transcripts.CapturedSession:
    settings = app.settings
    record = {
        "client": client.NAME,
        "native_id": native_id,
        "user_id": settings.developer,
        "worktree": worktree,
        "git_branch": locate_branch(worktree),
    }
    return transcripts.CapturedSession(
        client,
        get_reader(client),
        native_id,
        capture.describe_session(record),
        settings.home,
    )
