"""What whoever continues is handed, the same at every door: one document.

It is a bundle about the session to continue from. Where a person or a program continues a certain
session, that session's own context sets follow it, with the files that are still there. The
document is bounded and the sets are not: where an answer is, they get the room that is left.
"""

from __future__ import annotations

import os
import sys

from holdfast.errors import NotFound, Refused
from holdfast.ground.errors import GitFailedError, GitMissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.app import App
    from holdfast.bundles.model import Bundle
    from holdfast.sessions.model import Session
    from holdfast.workstreams.service import WorkstreamService

PHASE, PLANNING = "implementation", "planning"
UNREAD = "What clients wrote since then waits in their transcripts until the store can be used."
SPACE_BETWEEN = 20  # empty lines, and the number of what is left out


async def hand_over(
    app: App,
    session: Session,
    *,
    worktree: str | None,
    exists: Callable[[str], bool] = os.path.exists,
    max_chars: int = sys.maxsize,
    call_for_more: str = "",
) -> str:
    """To whoever continues this session; `worktree` is what the caller may look at, if anything."""
    document = await make_document(app, worktree, continues=session.id, has_sets=False)
    room = max_chars - len(document) - len(call_for_more) - SPACE_BETWEEN
    sets, left_out = await app.scope.sessions.fit_resume_text(session.id, exists, room)
    more = f"+{left_out} more: {call_for_more}" if left_out else ""
    return "\n\n".join(part for part in (document, sets, more) if part)


async def hand_to_new(app: App, session: Session, *, worktree: str | None) -> str:
    """To whoever has just started this session: about the last one before it.

    For the session, so that a start that is repeated is answered with the same bytes.
    """
    if worktree is not None:
        return await make_document(app, worktree, session_id=session.id)
    if session.worktree is None:
        return ""
    last = await app.scope.sessions.find_last_session(
        session.worktree, session.id, until=session.started_at
    )
    if last is None:
        return ""
    return await make_document(app, None, session_id=session.id, continues=last.id)


async def show_handoff(app: App, worktree: str) -> tuple[str, tuple[str, ...]]:
    """What the next session of a working tree is handed, up to the last message in the transcripts
    of its clients: also after one was killed. And what it lacks, where they cannot be stored now.
    """
    from holdfast.usecases.catching_up import catch_up_for_reader

    is_whole = await catch_up_for_reader(app, worktree)
    text = await make_document(app, worktree)
    return text, () if is_whole else (UNREAD,)


async def make_document(
    app: App,
    worktree: str | None,
    *,
    session_id: str | None = None,
    continues: str | None = None,
    has_sets: bool = True,
    window: str | None = None,
    kept: Sequence[str] = (),
    phase: str = PHASE,
    is_preview: bool = False,
) -> str:
    """About that session, else about the last one of the worktree; empty where nothing is known.

    A broken repository keeps nobody from continuing.
    """
    work = app.workstreams(worktree) if worktree else None
    if work:
        await work.begin(phase)  # bundles are loaded meanwhile
    try:
        bundle, _ = await build_bundle(
            app,
            work,
            phase,
            session_id=session_id,
            worktree=worktree,
            continues=continues,
            has_sets=has_sets,
            window=window,
            kept=kept,
            keeps_empty=False,
            is_preview=is_preview,
        )
    except (NotFound, Refused):
        return ""
    finally:
        if work:
            work.abandon()
    from holdfast.bundles.sections import says_something

    shown = [part.section for part in bundle.sections if part.items]
    return bundle.text if says_something(shown) else ""


async def build_bundle(
    app: App,
    work: WorkstreamService | None,
    phase: str,
    workstream_id: str | None = None,
    **about: Any,
) -> tuple[Bundle, tuple[str, ...]]:
    """Where git does not answer, a bundle of what sessions know, which needs none; and why."""
    try:
        return await app.bundles(work).build(phase, workstream_id, **about), ()
    except (GitMissingError, GitFailedError) as error:
        bundle = await app.bundles(None).build(phase, workstream_id, **about)
        return bundle, (f"Without the repository's notes: {error.message}",)
