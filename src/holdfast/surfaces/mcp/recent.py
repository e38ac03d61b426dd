"""The newest events of a session, within what the caller wants to pay for.

The limit counts what is delivered: the envelope or the prose, whichever is longer. Messages come
before what tools printed. Where something is cut or left out, the answer names the call that gives
more, with a limit that holds the messages whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.ground.fence import one_line
from holdfast.ground.frozen import dataclass
from holdfast.ground.tokens import CHARS_PER_TOKEN, tokens_of
from holdfast.sessions.requests import (
    AGENT_ID,
    ORIGIN,
    REWOUND,
    USER_MESSAGE,
    is_request,
    list_taken_back,
    name_speaker,
)
from holdfast.sessions.rules import LARGEST_LIMIT
from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.event_choice import EventChoice, Wanted, choose_events
from holdfast.surfaces.mcp.event_forms import MESSAGES, EventForms

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService

MAX_TURNS = 30
MAX_TOKENS = 2_000
MOST_EVENTS = 1_000
PAGE_EVENTS = 64
PAGE_CHARS = 4_000  # of an event, until it is known to be shown
EVENT_COST = 200  # of an event without its text, about
BRIEF_COST = 300  # of a shortened one, about
READ_SHARE = 4  # so many times what fits is looked at, to find the messages among it
LEAST_CHARS = 1_200  # of an answer with one event, however small the limit
LEAST_TOKENS = LEAST_CHARS // CHARS_PER_TOKEN
FEW_TOKENS = f"An answer takes up to {LEAST_TOKENS} tokens: fewer count as those."
MORE = 4  # times as much is offered next
WHO_CHARS = 60
EVENT_FIELDS = ("id", "sequence", "type", "role", "content", "created_at")


@dataclass(frozen=True)
class RecentEvents:
    """What was read: newest first, long texts cut, and whether it is all that was asked for."""

    newest_first: list[SessionEvent]
    is_complete: bool


async def make_recent(
    sessions: SessionService,
    session: Session,
    warnings: Sequence[str],
    *,
    max_turns: int = MAX_TURNS,
    max_tokens: int = MAX_TOKENS,
    whole: bool = False,
) -> Answer:
    """`whole`: with all fields of each event."""
    notes = list(warnings)
    if max_tokens < LEAST_TOKENS:
        notes.append(FEW_TOKENS)
    limit = max(max_tokens, LEAST_TOKENS)
    longest = _word_call(session.id, LARGEST_LIMIT, detail=whole)
    around = _make_answer(session.id, [], notes, older=10**9, actions=[longest]).chars
    room = limit * CHARS_PER_TOKEN - around
    choice = await _choose(sessions, session, max_turns, room, whole=whole)
    forms = choice.list_forms()
    older = forms[-1]["sequence"] - len(forms) if forms else 0
    has_cut = not all(map(choice.has_whole, choice.events))
    actions = []
    if has_cut or (older and len(forms) < MOST_EVENTS):
        needed = tokens_of((around + choice.count_needed()) * 3 // 2)
        tokens = min(max(limit * MORE, needed), LARGEST_LIMIT)
        actions.append(_word_call(session.id, tokens, detail=whole))
    return _make_answer(session.id, forms, notes, older=older, actions=actions)


async def _choose(
    sessions: SessionService, session: Session, max_turns: int, room: int, *, whole: bool
) -> EventChoice:
    recent = await _read_newest(sessions, session.id, max_turns, room)
    events = recent.newest_first
    message = request = offer = None
    if max_turns and events:
        message = await _find_message(sessions, session.id, events)
        request = await _find_request(sessions, session, message, max_turns)
        offer = await _find_offer(sessions, request or message, events, max_turns)
    known = {event.id: event for event in (message, request, offer) if event}
    known |= {event.id: event for event in _list_candidates(events, room)}
    loaded = [await _load_whole(sessions, event) for event in known.values()]
    in_order = sorted(loaded, key=lambda event: event.sequence)
    taken_back = list_taken_back(in_order, session.metadata.get(REWOUND, ()))
    forms = {
        event.id: EventForms(event, _write_fields(event, taken_back, whole=whole), room)
        for event in in_order
    }
    wanted = [forms[event.id] if event else None for event in (message, request, offer)]
    is_complete = recent.is_complete and all(event.id in known for event in events)
    return choose_events(
        list(forms.values()), Wanted(*wanted), room, is_complete=is_complete, detail=whole
    )


# --- reading --------------------------------------------------------------------------------------


async def _read_newest(
    sessions: SessionService, session_id: str, max_turns: int, room: int
) -> RecentEvents:
    """Until there is more than fits: neither the log nor an event makes it cost more."""
    found: list[SessionEvent] = []
    below, turns = None, max(max_turns, 1)
    most = MOST_EVENTS if max_turns else 1
    while turns > 0 and len(found) < most:
        if _fills(found, room):
            return RecentEvents(found, is_complete=False)
        page = await sessions.list_turn_events(
            session_id,
            below,
            max_turns=turns,
            max_events=min(PAGE_EVENTS, most - len(found)),
            max_chars=PAGE_CHARS,
            max_bytes=PAGE_CHARS,
        )
        found += reversed(page)
        if len(page) < PAGE_EVENTS:
            break
        below = page[0].sequence
        turns -= sum(event.type == USER_MESSAGE for event in page)
    return RecentEvents(found, is_complete=True)


def _fills(events: Sequence[SessionEvent], room: int) -> bool:
    messages = [event for event in events if event.type in MESSAGES]
    cost_of_messages = sum(EVENT_COST + len(event.content) for event in messages)
    cost_of_others = BRIEF_COST * (len(events) - len(messages))
    return cost_of_messages > room or cost_of_messages + cost_of_others > READ_SHARE * room


def _list_candidates(newest_first: Sequence[SessionEvent], room: int) -> Iterable[SessionEvent]:
    """Those that may be shown: the others are not read whole."""
    messages = others = 0
    for event in newest_first:
        if event.type in MESSAGES and messages <= 2 * room:
            messages += EVENT_COST + len(event.content)
            yield event
        elif event.type not in MESSAGES and others <= room:
            others += EVENT_COST
            yield event


async def _find_message(
    sessions: SessionService, session_id: str, newest_first: Sequence[SessionEvent]
) -> SessionEvent | None:
    """The newest user message, however many events are behind it."""
    for event in newest_first:
        if event.type == USER_MESSAGE:
            return event
    return await sessions.find_turn_start(session_id, newest_first[-1].sequence)


async def _find_request(
    sessions: SessionService, session: Session, message: SessionEvent | None, max_turns: int
) -> SessionEvent | None:
    """The last one of a person, where the newest user message is of a client, for a subagent, or
    taken back.
    """
    if message is None or max_turns < 2:
        return None
    is_taken_back = message.id in session.metadata.get(REWOUND, ())
    if not is_taken_back and is_request(message.content, message.parts):
        return None
    for found in await sessions.list_requests(session.id):
        if found.sequence < message.sequence:
            return await sessions.get_event(found.id)
    return None


async def _find_offer(
    sessions: SessionService,
    request: SessionEvent | None,
    newest_first: Sequence[SessionEvent],
    max_turns: int,
) -> SessionEvent | None:
    """What the agent said last before a request: "2" is about the options that it offered."""
    if request is None or max_turns < 2:
        return None
    before = [event for event in newest_first if event.sequence < request.sequence]
    if not before and request.sequence > 1:
        page = await sessions.list_turn_events(
            request.session_id,
            request.sequence,
            max_turns=max_turns - 1,
            max_events=PAGE_EVENTS,
            max_chars=PAGE_CHARS,
            max_bytes=PAGE_CHARS,
        )
        before = page[::-1]
    return next((event for event in before if _is_of_agent(event)), None)


def _is_of_agent(event: SessionEvent) -> bool:
    parts = event.parts or {}
    is_other = parts.get(AGENT_ID) or parts.get(ORIGIN)
    return event.type == "model_message" and not is_other


async def _load_whole(sessions: SessionService, event: SessionEvent) -> SessionEvent:
    parts = event.parts or {}
    is_read = len(event.content) < PAGE_CHARS and parts.get("cut") is not True
    return event if is_read else await sessions.get_event(event.id)


# --- writing --------------------------------------------------------------------------------------


def _write_fields(
    event: SessionEvent, taken_back: Collection[str], *, whole: bool
) -> dict[str, Any]:
    """With who speaks in front of the words, where its role alone would mislead."""
    fields = event.to_dict() if whole else make_brief_event(event)
    speaker = name_speaker(
        event.type, event.role, event.parts, is_taken_back=event.id in taken_back
    )
    return {"who": one_line(speaker, WHO_CHARS), **fields} if speaker else fields


def make_brief_event(event: SessionEvent) -> dict[str, Any]:
    known = event.to_dict()
    optional = [name for name in ("parts", "erased_at") if known[name] is not None]
    return {name: known[name] for name in (*EVENT_FIELDS, *optional)}


def _word_call(session_id: str, max_tokens: int, *, detail: bool) -> str:
    call = f"session operation=recent session_id={session_id}"
    limits = f"max_tokens={max_tokens} max_turns={MOST_EVENTS}"
    return f"{call} {limits} detail=true" if detail else f"{call} {limits}"


def _make_answer(
    session_id: str,
    events: Sequence[dict[str, Any]],
    warnings: Sequence[str],
    *,
    older: int,
    actions: Sequence[str],
) -> Answer:
    data = {"events": list(events), "session_id": session_id, "older": older}
    return Answer(data, warnings, actions, text=wording.describe_events(data))
