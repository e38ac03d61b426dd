"""Whether an event can be stored: all that an append does, and undone at its end.

A write to a table of its own says little: the table of the events may be locked, damaged or not
writable while every other one works.
"""

from __future__ import annotations

import contextlib

from holdfast.sessions import rules
from holdfast.sessions.store import SessionStore

LABEL = "health"


class RehearsedError(Exception):
    """Takes the rehearsal out of its transaction, which undoes it."""


async def rehearse_append(store: SessionStore) -> None:
    """Raise what an append to a new session would; no other process sees anything of it."""
    with contextlib.suppress(RehearsedError):
        await store.in_transaction(_append_and_undo)


async def _append_and_undo(store: SessionStore) -> None:
    session_id = await store.start_session(user_id=LABEL, chatmode=LABEL)
    event = rules.check_event("system_event", "system", "", None, None)
    await store.append_events(session_id, [event], None)
    raise RehearsedError
