"""Offering to save a conversation, at a prompt in which the person stops, or after long work.

The model is handed a line and asks; nothing is saved by it. When a conversation was saved, offered
and refused is kept with its sessions, so that it holds in every client that the work goes on in.
Hooks come here only in a session that belongs to a conversation.
"""

from __future__ import annotations

import os

from holdfast.conversations.offering import (
    PAUSE,
    REMINDER,
    SaveState,
    join_states,
    read_state,
    write_offer,
)
from holdfast.ground import clock
from holdfast.ground.frozen import replace
from holdfast.sessions.changing import CONVERSATION, SAVING
from holdfast.sessions.model import make_session
from holdfast.sessions.requests import is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.app import App
    from holdfast.clients.contract import HookEvent, HookMoment
    from holdfast.conversations.model import Conversation
    from holdfast.sessions.model import Session

MOST_REQUESTS = 200  # that are counted
TRIES = 3


async def offer_save(app: App, moment: HookMoment, event: HookEvent, room: int) -> str:
    """What the model is told with this prompt, before it is stored; mostly nothing.

    `room`: the characters that a notice of the same prompt has left.
    """
    sessions = app.scope.sessions
    row = await app.scope.session_store.find_last_native(event.client, event.native_id)
    is_persons = event.role == "user" and is_request(event.content, event.parts)
    if row is None or not is_persons:
        return ""
    # One that has ended goes on when this prompt is stored, with what is kept of it now.
    session = await _take_answer(app, make_session(row), event)
    own = _read_own(session)
    if own is None:
        return ""
    thread = await sessions.list_thread(session.id)
    state = join_states(own, [read_state(own.conversation, _get_kept(each)) for each in thread])
    if state.declined_at:
        return ""
    reason, turns = await _find_reason(app, state, thread, event.content)
    text = write_offer(reason, turns, moment.client.STOP_COMMAND) if reason else ""
    if not text or len(text) > room or moment.client.is_headless(moment.payload, os.environ):
        return ""
    after = state.offer(reason, clock.to_text(clock.now()), event.event_id)
    if not await sessions.note_saving(session.id, _get_kept(session), after.to_dict()):
        return ""
    _record(app, moment, after, reason, text, turns)
    return text


async def note_saved(app: App, session_id: str, conversation_id: str, at: datetime) -> None:
    """A save begins another stretch; what a person has declined before stays declined."""
    for _ in range(TRIES):
        session = await app.scope.sessions.get_session(session_id)
        own = _read_own(session)
        if own is None or own.conversation != conversation_id:
            return  # it has gone on with another one
        after = replace(own, saved_at=clock.to_text(at), asked_with="")
        if await app.scope.sessions.note_saving(session_id, _get_kept(session), after.to_dict()):
            return


def was_saved_after(session: Session, conversation: Conversation, moment: datetime) -> bool:
    state = read_state(conversation.id, _get_kept(session))
    return state.saved_at > clock.to_text(moment)


def _read_own(session: Session) -> SaveState | None:
    """None where the session belongs to no conversation."""
    linked = session.metadata.get(CONVERSATION)
    return read_state(linked, _get_kept(session)) if isinstance(linked, str) else None


def _get_kept(session: Session) -> object:
    return session.metadata.get(SAVING)


async def _take_answer(app: App, session: Session, event: HookEvent) -> Session:
    """What the person says after an offer: a no holds for good, anything else leaves it open."""
    own = _read_own(session)
    if own is None or not own.awaits_answer(event.event_id):
        return session
    from holdfast.conversations.reminding import is_declined

    declined_at = clock.to_text(clock.now()) if is_declined(event.content) else own.declined_at
    after = replace(own, asked_with="", declined_at=declined_at)
    await app.scope.sessions.note_saving(session.id, _get_kept(session), after.to_dict())
    return await app.scope.sessions.get_session(session.id)


async def _find_reason(
    app: App, state: SaveState, thread: Sequence[Session], said: str
) -> tuple[str, int]:
    """Why to offer it now, and how many requests are not saved; empty where there is no reason."""
    from holdfast.conversations import pausing, reminding

    may_pause = not state.has_offered(PAUSE)
    is_pause = may_pause and pausing.find_pause_signal(said, _list_own_words(app)) is not None
    if is_pause and reminding.refuses_saving(said):
        return "", 0
    if not is_pause and state.has_offered(PAUSE, REMINDER):
        return "", 0
    unsaved = await _list_unsaved(app, state, thread)
    if is_pause and unsaved:
        return PAUSE, len(unsaved)
    if is_pause or not unsaved:
        return "", 0
    turns = len(unsaved) + 1  # with this one
    is_offered = state.has_offered(PAUSE, REMINDER)
    stretch = reminding.Stretch(min(unsaved), turns, is_offered=is_offered)
    return (REMINDER, turns) if reminding.is_reminder_due(stretch, clock.now()) else ("", 0)


def _list_own_words(app: App) -> tuple[str, ...]:
    from holdfast.ground.user_settings import load_user_settings

    return load_user_settings(app.settings.home).pause_words


async def _list_unsaved(app: App, state: SaveState, thread: Sequence[Session]) -> list[datetime]:
    """When the person asked for something since the last save, the newest first."""
    found: list[datetime] = []
    for session in reversed(thread):
        requests = await app.scope.sessions.list_requests(session.id, MOST_REQUESTS, 0)
        moments = [request.happened_at for request in requests]
        new = [moment for moment in moments if clock.to_text(moment) > state.saved_at]
        found += new
        if len(new) < len(moments) or len(found) >= MOST_REQUESTS:
            break
    return found[:MOST_REQUESTS]


def _record(
    app: App, moment: HookMoment, state: SaveState, reason: str, text: str, turns: int
) -> None:
    """For a person who asks why the agent asked: it stands beside the notices."""
    from holdfast.notices.model import OFFER, Match
    from holdfast.notices.store import ToldFile
    from holdfast.usecases.location import locate_worktree

    entry = {
        "identity": f"{OFFER}:{state.conversation}:{state.pause_at}:{state.reminder_at}",
        "id": state.conversation,
        "kind": OFFER,
        "text": text,
    }
    worktree = locate_worktree(moment.origin.cwd)
    facts = {"worktree": worktree, "hook": moment.event_name, "chars": len(text)}
    told = ToldFile(app.settings.home, moment.client.NAME, moment.origin.native_id)
    told.claim([Match(0, entry, reason, str(turns))], facts)
